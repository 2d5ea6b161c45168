/** Severities of the specification, worst first. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible', 'unknown'] as const
export type Severity = (typeof SEVERITIES)[number]

/** The component inside a package that a finding is about, and how it was found there. */
export interface FoundIn {
  readonly purl: string
  /** The file that names it, behind `!/` inside archives. */
  readonly path: string
  readonly rule: string
  readonly confidence: 'certain' | 'probable'
  readonly presence: 'shipped' | 'declared'
}

/** A record of the loaded data that says so of this version. */
export interface Evidence {
  /** `GHSA-…`, `DEBIAN-CVE-…`: the record's own name. */
  readonly record: string
  /** Where it was loaded from: `osv/npm`, `debian/tracker`. */
  readonly source: string
  /** The day of what is loaded from there, ISO 8601; absent where nothing says it. */
  readonly data_at?: string
  /** The last change of the record, ISO 8601. */
  readonly modified?: string
  /** The versions that it names, such as `versions from 1.0 on and before 1.3`. */
  readonly says: string
}

/** Whose word the severity of a finding is; in this order one is looked for. */
export const SEVERITY_SOURCES = ['distribution', 'advisory', 'ubuntu', 'red_hat', 'cvss', 'alias_cvss', 'nvd'] as const
export type SeveritySource = (typeof SEVERITY_SOURCES)[number]

/** One vulnerability in one package, from any engine. Merged by (id, package); `detected_by` is the union, sorted. */
export interface Finding {
  readonly id: string
  readonly package: string
  readonly severity: Severity
  /** Whose word that is, where the embedded engine found one; other engines do not say. */
  readonly severity_source?: SeveritySource
  readonly detected_by: readonly string[]
  readonly aliases?: readonly string[]
  readonly fixed_in?: string
  readonly summary?: string
  /** 0 to 1, the probability that it is exploited within 30 days (FIRST EPSS). */
  readonly epss?: number
  /** 0 to 1: how many of all scored vulnerabilities are less likely. Scores of different EPSS models do not compare. */
  readonly epss_percentile?: number
  /** Listed in CISA's catalogue of known exploited vulnerabilities. */
  readonly kev?: boolean
  /** The day by which CISA wants it remedied, `YYYY-MM-DD`. */
  readonly kev_due?: string
  /** What the engine matched: the source or binary package, in which feed, with which version. */
  readonly matched?: { readonly ecosystem: string; readonly name: string; readonly version: string }
  /** Which records say so, a few at most. */
  readonly evidence?: readonly Evidence[]
  /** Where it is inside the package; absent when it is about the package itself. */
  readonly at?: FoundIn
  /** The advisories: `DSA-5678-1`, `ALSA-2024:2084`, `GHSA-…`; without those equal to the id. */
  readonly advisories?: readonly string[]
  /** The vector the score was computed from; `version` is `4.0`, `3.1`, `3.0` or `2.0`. */
  readonly cvss?: { readonly version: string; readonly vector: string; readonly score: number }
  /** Pages about it, a few at most. */
  readonly references?: readonly string[]
  /** The vendor's word about a fix that is not there: `Debian: Minor issue (postponed).` */
  readonly vendor_says?: string
  /** Not a weakness: a record of malicious packages names this version. */
  readonly malicious?: true
}

/** A vendor's word that a package does not have a vulnerability, though something else says that it has. */
export interface Denied {
  readonly id: string
  readonly package: string
  /** `Red Hat: not affected: the vulnerable code is not in it.` */
  readonly said: string
  /** Where that was loaded from: `csaf/red-hat`, `debian/tracker`. */
  readonly source: string
}

/**
 * The findings without those that a vendor's word closes: what other engines alone found, under any of its names.
 * @returns also the denials that closed one
 */
export function closeDenied(
  findings: readonly Finding[],
  denied: readonly Denied[],
  engine: string,
): { readonly findings: readonly Finding[]; readonly closed: readonly Denied[] } {
  const denialOf = (finding: Finding): Denied | undefined =>
    finding.detected_by.includes(engine)
      ? undefined
      : denied.find(one => one.package === finding.package && namesOf(finding).includes(one.id))
  return {
    findings: findings.filter(finding => denialOf(finding) === undefined),
    closed: findings.map(denialOf).filter(one => one !== undefined),
  }
}

/** Whether the package itself is the attack: OSV's records of malicious packages are called `MAL-…`. */
export const isMalicious = (finding: Finding): boolean =>
  finding.malicious === true || namesOf(finding).some(name => name.startsWith('MAL-'))

/**
 * Whether it is not certain that the package has what the finding is about: a name was told by strings or file names,
 * or the record by the NVD's names of products.
 */
export const isProbable = ({ at }: Pick<Finding, 'at'>): boolean => at?.confidence === 'probable'

/** The rule of findings in what a package of a registry needs, which is not inside it. */
export const DEPENDENCY_RULE = 'dependency'

/** Whether a finding is about a dependency: about what a client installs beside the package. */
export const isOfDependency = ({ at }: Pick<Finding, 'at'>): boolean => at?.rule === DEPENDENCY_RULE

/** `unknown` ranks between medium and low: not knowing is not harmless. */
const RANK: Record<Severity, number> = { critical: 6, high: 5, medium: 4, unknown: 3, low: 2, negligible: 1 }

/** 6 for critical to 1 for negligible, as lists are sorted. */
export function rankOf(severity: Severity): number {
  return RANK[severity]
}

/** The severity that has a rank; undefined for 0, which is none. */
export function severityOfRank(rank: number): Severity | undefined {
  return SEVERITIES.find(severity => RANK[severity] === rank)
}

/** The worse of two severities. */
export function worse(a: Severity, b: Severity): Severity {
  return RANK[a] >= RANK[b] ? a : b
}

/** The worst severity of a list, or undefined for an empty one. */
export function worst(findings: readonly Finding[]): Severity | undefined {
  return findings.reduce<Severity | undefined>(
    (sofar, finding) => (sofar === undefined ? finding.severity : worse(sofar, finding.severity)),
    undefined,
  )
}

/** True for `CVE-2026-1234`, in any case. */
export const isCve = (id: string): boolean => /^CVE-\d{4}-\d+$/i.test(id)
const namesOf = ({ id, aliases = [] }: Finding): readonly string[] => [id, ...aliases]

/** The CVE of a finding, when its names contain exactly one. */
function cveOf(finding: Finding): string | undefined {
  if (isCve(finding.id)) return finding.id
  const cves = [...new Set(namesOf(finding).filter(isCve))]
  return cves.length === 1 ? cves[0] : undefined
}

/**
 * The common name for each name in one package's findings. Names join when they are aliases and have at most one CVE
 * among them: an advisory about two CVEs never merges them. Where there is a CVE, it is the common name.
 */
function canonicalNames(findings: readonly Finding[]): (finding: Finding) => string {
  const cvesOfName = new Map<string, Set<string>>()
  for (const finding of findings) {
    const cve = cveOf(finding)
    if (cve === undefined) continue
    for (const name of namesOf(finding))
      if (!isCve(name)) cvesOfName.set(name, (cvesOfName.get(name) ?? new Set()).add(cve))
  }
  const parents = new Map<string, string>()
  const root = (name: string): string => {
    let at = name
    for (let next = parents.get(at); next !== undefined; next = parents.get(at)) at = next
    return at
  }
  const others = (finding: Finding): readonly string[] => [
    finding.id,
    ...namesOf(finding).filter(name => !isCve(name) && (cvesOfName.get(name)?.size ?? 0) < 2),
  ]
  for (const finding of findings) {
    if (cveOf(finding) !== undefined) continue
    const [first = '', ...rest] = [...new Set(others(finding).map(root))].sort()
    for (const name of rest) parents.set(name, first)
  }
  const cveOfRoot = new Map<string, Set<string>>()
  for (const [name, cves] of cvesOfName) {
    if (cves.size > 1) continue
    for (const cve of cves) cveOfRoot.set(root(name), (cveOfRoot.get(root(name)) ?? new Set()).add(cve))
  }
  return finding => {
    const cve = cveOf(finding)
    if (cve !== undefined) return cve
    const [only, second] = cveOfRoot.get(root(finding.id)) ?? []
    return only !== undefined && second === undefined ? only : root(finding.id)
  }
}

const union = (...lists: readonly (readonly string[] | undefined)[]): readonly string[] =>
  [...new Set(lists.flatMap(list => list ?? []))].sort()
/** A known severity outweighs an unknown one. */
const joined = (a: Severity, b: Severity): Severity => (a === 'unknown' ? b : b === 'unknown' ? a : worse(a, b))

/** The surer of two places; what one engine says of the package itself is about no place in it. */
function placeOf(known: Finding, finding: Finding): FoundIn | undefined {
  const [a, b] = [known.at, finding.at]
  if (a !== undefined && b !== undefined) return isProbable(known) ? b : a
  const [without, within] = a === undefined ? [known, finding] : [finding, known]
  return within.detected_by.every(engine => without.detected_by.includes(engine)) ? undefined : (a ?? b)
}

function join(known: Finding, finding: Finding, id: string): Finding {
  const aliases = union(namesOf(known), namesOf(finding)).filter(name => name !== id)
  const advisories = union(known.advisories, finding.advisories)
  const severity = joined(known.severity, finding.severity)
  const { severity_source: source } = severity === known.severity ? known : finding
  const { severity_source: _, at: __, ...both } = { ...finding, ...known }
  const at = placeOf(known, finding)
  return {
    ...both,
    id,
    severity,
    ...(source === undefined ? {} : { severity_source: source }),
    ...(at === undefined ? {} : { at }),
    detected_by: union(known.detected_by, finding.detected_by),
    ...(aliases.length === 0 ? {} : { aliases }),
    ...(advisories.length === 0 ? {} : { advisories }),
    ...(known.kev === true || finding.kev === true ? { kev: true } : {}),
  }
}

/**
 * Merges the findings of several engines: one entry per package and vulnerability, under any of its names; the worst
 * severity, otherwise the first answer.
 */
export function mergeFindings(lists: readonly (readonly Finding[])[]): Finding[] {
  const byPackage = new Map<string, Finding[]>()
  for (const finding of lists.flat()) {
    const same = byPackage.get(finding.package)
    if (same === undefined) byPackage.set(finding.package, [finding])
    else same.push(finding)
  }
  const merged = [...byPackage.values()].flatMap(findings => {
    const nameOf = canonicalNames(findings)
    const byName = new Map<string, Finding>()
    for (const finding of findings) {
      const id = nameOf(finding)
      const known = byName.get(id)
      byName.set(id, known === undefined && id === finding.id ? finding : join(known ?? finding, finding, id))
    }
    return [...byName.values()]
  })
  return merged.sort((a, b) => RANK[b.severity] - RANK[a.severity] || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}
