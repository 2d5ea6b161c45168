import type { FindFixes, FixAdvisory, OfferedPackage } from '../../core/advisories.ts'
import { worse, type Severity } from '../../core/findings.ts'
import type { Advisory } from '../advisory.ts'
import type { Database, Snapshot } from '../store/database.ts'
import { ecosystemOf, familyOf } from './ecosystems.ts'
import type { Orders, VersionOrder } from '../versions/orders.ts'
import { bestScore, ratingOf } from './severity.ts'
import type { StoredRow } from '../store/shards.ts'
import { withoutEpoch } from '../versions/epoch.ts'

/** One advisory, perhaps from several feeds, and the packages it concerns. */
interface Found {
  readonly rows: Set<StoredRow>
  readonly packages: Set<OfferedPackage>
}

/** Whether a row names this very build as fixed. The header of a source package has no epoch. */
function isFixOf(row: StoredRow, one: OfferedPackage, order: VersionOrder): boolean {
  const isSource = row.by === 'source'
  if (row.name !== (isSource ? one.source : one.name) || row.archs?.includes(one.arch) === false) return false
  const spell = isSource ? withoutEpoch : (version: string): string => version
  const version = spell(isSource ? one.source_version : one.version)
  return (
    order.isVersion(version) &&
    row.spans.some(
      ({ to, closed }) => to !== undefined && to !== '0' && closed !== true && order.compare(spell(to), version) === 0,
    )
  )
}

/**
 * `ALBA-2026:1` fixes a bug, `ALEA-2026:1` adds a feature; AlmaLinux, Rocky, Red Hat and Oracle use the same scheme.
 */
function kindOf(id: string): FixAdvisory['kind'] {
  const [, letter] = /^[A-Z]{2}([BE])A-/.exec(id) ?? []
  return letter === 'B' ? 'bugfix' : letter === 'E' ? 'enhancement' : 'security'
}

/** The distribution's own feed first. */
function severityOf(advisory: Advisory, rows: readonly StoredRow[]): Severity | undefined {
  const score = bestScore(advisory.vectors ?? [])
  const said = rows.map(row => row.severity).filter(severity => severity !== undefined)
  return advisory.severity ?? (said.length > 0 ? said.reduce(worse) : score === undefined ? undefined : ratingOf(score))
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const unique = (texts: readonly string[]): string[] => [...new Set(texts)].sort(byText)

/** Of several feeds with one id, the one with the most detail is taken; the CVEs of all are joined. */
function tell({ meta }: Snapshot, { rows, packages }: Found): FixAdvisory | undefined {
  const sorted = [...rows]
    .map(row => ({ row, text: JSON.stringify(row.advisory) }))
    .sort(
      (a, b) =>
        b.row.advisory.rank - a.row.advisory.rank ||
        byText(a.row.advisory.source, b.row.advisory.source) ||
        byText(a.text, b.text),
    )
    .map(({ row }) => row)
  const advisory = sorted[0]?.advisory
  if (advisory === undefined) return undefined
  const severity = severityOf(advisory, sorted)
  const key = ({ name, arch, version }: OfferedPackage): string => `${name} ${arch} ${version}`
  return {
    id: advisory.id,
    kind: kindOf(advisory.id),
    title: advisory.summary ?? advisory.id,
    from: advisory.source,
    ...(severity === undefined ? {} : { severity }),
    at: advisory.modified ?? meta.sources[advisory.source]?.as_of ?? meta.created,
    cves: unique(sorted.flatMap(row => row.advisory.cves)),
    references: advisory.references ?? [],
    packages: [...packages].sort((a, b) => byText(key(a), key(b))),
  }
}

/** Finds advisories whose fix is a given build, in the compiled tables; for binaries or their source. */
export function createAdvisoriesOf({
  database,
  orders,
}: {
  readonly database: Database
  readonly orders: Orders
}): FindFixes {
  return async (distribution, packages) => {
    const { ecosystem } = ecosystemOf(distribution)
    const snapshot = await database.open()
    const family = familyOf(ecosystem)
    if (snapshot?.meta.ecosystems[ecosystem] === undefined || family === undefined) return []
    const found = new Map<string, Found>()
    for await (const one of packages) {
      for (const row of await snapshot.rows(ecosystem, [one.name, one.source])) {
        if (!isFixOf(row, one, orders[row.order ?? family.order])) continue
        const known = found.get(row.advisory.id) ?? { rows: new Set(), packages: new Set() }
        known.rows.add(row)
        known.packages.add(one)
        found.set(row.advisory.id, known)
      }
    }
    return [...found.values()]
      .map(one => tell(snapshot, one))
      .filter(one => one !== undefined)
      .sort((a, b) => byText(a.id, b.id))
  }
}
