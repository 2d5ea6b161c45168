import type { Finding } from '../core/findings.ts'
import type { ThreatIntel } from './osv/threat-intel.ts'

/** The part of the intelligence that findings get; local data, so no call waits for a network. */
export type Intel = Pick<ThreatIntel, 'epss' | 'kev'>

const isCve = (id: string): boolean => /^CVE-\d{4}-\d+$/i.test(id)

/** The CVEs of a finding; both catalogues know nothing else. */
function cvesOf({ id, aliases = [] }: Finding): readonly string[] {
  return [id, ...aliases].filter(isCve).map(cve => cve.toUpperCase())
}

async function enrichOne(finding: Finding, intel: Intel): Promise<Finding> {
  const known = await Promise.all(cvesOf(finding).map(async cve => [await intel.epss(cve), await intel.kev(cve)] as const))
  // of several CVEs the likeliest counts, and the earliest day
  const [score] = known.flatMap(([epss]) => epss ?? []).sort((a, b) => b.epss - a.epss)
  const [listed] = known.flatMap(([, kev]) => kev ?? []).sort((a, b) => a.due < b.due ? -1 : 1)
  if (score === undefined && listed === undefined) return finding
  const { kev_due: _, ...rest } = finding
  return {
    ...listed === undefined ? finding : rest,
    ...score === undefined ? {} : { epss: score.epss, epss_percentile: score.percentile },
    ...listed === undefined ? {} : { kev: true, ...listed.due === '' ? {} : { kev_due: listed.due } },
  }
}

/**
 * Adds to each finding how likely it is to be exploited (EPSS) and whether it is known to be (KEV). What an engine said itself
 * stays where nothing is known here.
 */
export function enrich(findings: readonly Finding[], intel: Intel): Promise<readonly Finding[]> {
  return Promise.all(findings.map(finding => enrichOne(finding, intel)))
}

/** True when the two differ in what enrichment adds; anything else is not compared. */
export function isEnrichedOtherwise(a: readonly Finding[], b: readonly Finding[]): boolean {
  return a.some((finding, n) => {
    const other = b[n]
    return other === undefined || finding.epss !== other.epss || finding.epss_percentile !== other.epss_percentile || finding.kev !== other.kev || finding.kev_due !== other.kev_due
  })
}
