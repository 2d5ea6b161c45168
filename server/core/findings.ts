/** Severities of the specification, worst first. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible', 'unknown'] as const
export type Severity = typeof SEVERITIES[number]

/** One vulnerability in one package, whoever saw it. Merged by (id, package); `detected_by` is the union, sorted. */
export interface Finding {
  readonly id: string
  readonly package: string
  readonly severity: Severity
  readonly detected_by: readonly string[]
  readonly aliases?: readonly string[]
  readonly fixed_in?: string
  readonly summary?: string
  /** 0 to 1, the probability that it is exploited within 30 days (FIRST EPSS). */
  readonly epss?: number
  /** Listed in CISA's catalogue of known exploited vulnerabilities. */
  readonly kev?: boolean
  /** What the engine matched: the source or binary package, in which feed, with which version. */
  readonly matched?: { readonly ecosystem: string; readonly name: string; readonly version: string }
  /** Who says so: `DSA-5678-1`, `ALSA-2024:2084`, `GHSA-…`; without those that are the id itself. */
  readonly advisories?: readonly string[]
  /** The vector the score was computed from; `version` is `4.0`, `3.1`, `3.0` or `2.0`. */
  readonly cvss?: { readonly version: string; readonly vector: string; readonly score: number }
  /** Addresses where people read about it, at most a handful. */
  readonly references?: readonly string[]
}

/** `unknown` ranks between medium and low: not knowing is not harmless. */
const RANK: Record<Severity, number> = { critical: 6, high: 5, medium: 4, unknown: 3, low: 2, negligible: 1 }

/** 6 for critical to 1 for negligible, as lists are sorted. */
export function rankOf(severity: Severity): number {
  return RANK[severity]
}

export function worse(a: Severity, b: Severity): Severity {
  return RANK[a] >= RANK[b] ? a : b
}

/** The worst severity of a list, or undefined for an empty one. */
export function worst(findings: readonly Finding[]): Severity | undefined {
  return findings.reduce<Severity | undefined>((sofar, finding) => sofar === undefined ? finding.severity : worse(sofar, finding.severity), undefined)
}

/** Joins what several engines found: one entry per (id, package), worst severity, first answer for the rest. */
export function mergeFindings(lists: readonly (readonly Finding[])[]): Finding[] {
  const merged = new Map<string, Finding>()
  for (const finding of lists.flat()) {
    const key = `${finding.package}\u0000${finding.id}`
    const known = merged.get(key)
    merged.set(key, known === undefined ? finding : {
      ...finding, ...known,
      severity: worse(known.severity, finding.severity),
      detected_by: [...new Set([...known.detected_by, ...finding.detected_by])].sort(),
    })
  }
  return [...merged.values()].sort((a, b) => RANK[b.severity] - RANK[a.severity] || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}
