import { isCve, type Finding } from '../core/findings.ts'
import type { ThreatIntel } from '../vulndb/intel/threat-intel.ts'

/** The data that findings are enriched from. They are local, so no call waits for a network. */
export type Intel = ThreatIntel

/** Findings with what is known about their exploitation, and which of the two catalogues could not be asked. */
export interface Enriched {
  readonly findings: readonly Finding[]
  readonly without: readonly ('epss' | 'kev')[]
}

/** The CVEs of a finding; both catalogues know nothing else. */
function cvesOf({ id, aliases = [] }: Finding): readonly string[] {
  return [id, ...aliases].filter(isCve).map(cve => cve.toUpperCase())
}

async function enrichOne(finding: Finding, intel: Intel): Promise<Finding> {
  const known = await Promise.all(
    cvesOf(finding).map(async cve => [await intel.epss(cve), await intel.kev(cve)] as const),
  )
  // with several CVEs the likeliest counts, and the earliest day
  const [score] = known.flatMap(([epss]) => epss ?? []).sort((a, b) => b.epss - a.epss)
  const [listed] = known.flatMap(([, kev]) => kev ?? []).sort((a, b) => (a.due < b.due ? -1 : 1))
  if (score === undefined && listed === undefined) return finding
  const { kev_due: _, ...rest } = finding
  return {
    ...(listed === undefined ? finding : rest),
    ...(score === undefined ? {} : { epss: score.epss, epss_percentile: score.percentile }),
    ...(listed === undefined ? {} : { kev: true, ...(listed.due === '' ? {} : { kev_due: listed.due }) }),
  }
}

/** The catalogues that are not loaded. */
export async function missingOf(intel: Pick<Intel, 'status'>): Promise<Enriched['without']> {
  const { epss, kev } = await intel.status()
  return [...(epss === undefined ? ['epss' as const] : []), ...(kev === undefined ? ['kev' as const] : [])]
}

/**
 * Adds to each finding how likely it is to be exploited (EPSS) and whether it is known to be (KEV). Keeps the engine's
 * own values where nothing is known here.
 */
export async function enrich(findings: readonly Finding[], intel: Intel): Promise<Enriched> {
  try {
    const without = await missingOf(intel)
    return { findings: await Promise.all(findings.map(finding => enrichOne(finding, intel))), without }
  } catch {
    return { findings, without: ['epss', 'kev'] } // damaged data are reported as missing
  }
}
