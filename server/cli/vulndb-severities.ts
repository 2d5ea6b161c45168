import { SEVERITY_SOURCES, type Finding, type SeveritySource } from '../core/findings.ts'
import { sayRatedBy } from '../core/rated-by.ts'
import type { OsvScanner } from '../scanners/osv.ts'
import type { Snapshot } from '../vulndb/store/database.ts'

/** How many packages are asked about at once. */
const AT_ONCE = 500

/**
 * How many findings have a known severity, by whose word it is: over every package of an ecosystem's tables, at the
 * oldest version there can be. One line each.
 */
export async function listSeverities(
  ecosystem: string,
  { snapshot, scanner }: { readonly snapshot: Snapshot; readonly scanner: Pick<OsvScanner, 'match'> },
): Promise<readonly string[]> {
  const counts = new Map<SeveritySource | undefined, number>()
  const names = await snapshot.names(ecosystem)
  let total = 0
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const queries = names.slice(at, at + AT_ONCE).map(name => ({ ecosystem, name, version: '0' }))
    const findings: readonly Finding[] = (await scanner.match(queries)).flatMap(({ findings }) => findings)
    for (const { severity_source: source } of findings) {
      counts.set(source, (counts.get(source) ?? 0) + 1)
      total++
    }
  }
  const share = (n: number): string => `${n} (${total === 0 ? '0' : ((100 * n) / total).toFixed(1)} %)`
  const known = total - (counts.get(undefined) ?? 0)
  return [
    `${ecosystem}: ${total} findings in ${names.length} packages, severity known of ${share(known)}`,
    ...SEVERITY_SOURCES.map(source => `  ${sayRatedBy(source)}: ${share(counts.get(source) ?? 0)}`),
    `  nobody's word, judged as cve_policy.unknown_as: ${share(total - known)}`,
  ]
}
