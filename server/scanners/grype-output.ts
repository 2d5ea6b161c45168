import type { Finding, Severity } from '../core/findings.ts'
import { isFields } from '../lib/fields.ts'

/** What grype prints with `-o json`, as far as it is read. Fields differ between versions, and any may be absent. */
export interface GrypeDocument {
  readonly matches: readonly GrypeMatch[]
  readonly distro?: { readonly name?: string; readonly version?: string }
}

interface GrypeCvss {
  readonly version?: string
  readonly vector?: string
  readonly metrics?: { readonly baseScore?: number }
}
interface GrypeRelated {
  readonly id?: string
  readonly severity?: string
  readonly cvss?: readonly GrypeCvss[]
}
interface GrypeVulnerability extends GrypeRelated {
  readonly namespace?: string
  readonly dataSource?: string
  readonly urls?: readonly string[] | null
  readonly description?: string
  readonly fix?: { readonly versions?: readonly string[] | null; readonly state?: string }
  readonly epss?: readonly { readonly cve?: string; readonly epss?: number; readonly percentile?: number }[] | null
  readonly knownExploited?: readonly { readonly cve?: string; readonly dueDate?: string }[] | null
  readonly advisories?: readonly { readonly id?: string }[] | null
}
export interface GrypeMatch {
  readonly vulnerability: GrypeVulnerability
  readonly relatedVulnerabilities?: readonly GrypeRelated[] | null
  readonly artifact: {
    readonly name: string
    readonly version?: string | null
    readonly purl?: string
    readonly upstreams?: readonly { readonly name?: string }[] | null
  }
}

function isMatch(value: unknown): value is GrypeMatch {
  return (
    isFields(value) &&
    isFields(value.vulnerability) &&
    typeof value.vulnerability.id === 'string' &&
    isFields(value.artifact) &&
    typeof value.artifact.name === 'string'
  )
}

/** Parses the report. @throws Error with the reason when it is cut off or is no report of grype */
export function readGrype(text: string): GrypeDocument {
  const value: unknown = JSON.parse(text)
  // grype writes `null` for no matches in some versions
  if (!isFields(value) || !isFields(value.descriptor) || !('matches' in value))
    throw new Error('it is no report of grype')
  const matches: unknown = value.matches ?? []
  if (!Array.isArray(matches) || !matches.every(isMatch))
    throw new Error('it has a match without vulnerability or package')
  return { matches, ...(isFields(value.distro) ? { distro: value.distro } : {}) }
}

const WORDS: Readonly<Record<string, Severity>> = {
  critical: 'critical',
  high: 'high',
  medium: 'medium',
  low: 'low',
  negligible: 'negligible',
}
const severityOf = (word: string | undefined): Severity | undefined => WORDS[word?.toLowerCase() ?? '']

/** Source: CVSS v3.1 and v4.0 specifications, qualitative severity rating scale. */
function severityOfScore(score: number): Severity {
  return score >= 9 ? 'critical' : score >= 7 ? 'high' : score >= 4 ? 'medium' : score > 0 ? 'low' : 'negligible'
}

const VERSIONS = ['4.0', '3.1', '3.0', '2.0']

/** The newest kind of score. */
function bestCvss(lists: readonly (readonly GrypeCvss[] | null | undefined)[]): Finding['cvss'] {
  const all = lists
    .flatMap(list => list ?? [])
    .flatMap(({ version, vector, metrics }) => {
      const known = VERSIONS.find(one => one === version)
      return known === undefined || vector === undefined || typeof metrics?.baseScore !== 'number'
        ? []
        : [{ version: known, vector, score: metrics.baseScore }]
    })
  return all.sort((a, b) => VERSIONS.indexOf(a.version) - VERSIONS.indexOf(b.version))[0]
}

const isCve = (id: string | undefined): id is string => id !== undefined && /^CVE-\d{4}-\d+$/.test(id)
const MOST_REFERENCES = 5
const LONGEST_SUMMARY = 300

/** Free text as one line. */
export function shortText(text: string | undefined): string | undefined {
  const line = text?.replace(/\s+/g, ' ').trim() ?? ''
  return line === '' ? undefined : line.length > LONGEST_SUMMARY ? `${line.slice(0, LONGEST_SUMMARY - 1)}…` : line
}

/**
 * The names of a finding: one for each CVE. An identifier for one CVE is its alias. An identifier for several CVEs is
 * an advisory about each of them and never merges them.
 */
export function nameFindings(
  id: string,
  related: readonly string[],
): readonly Pick<Finding, 'id' | 'aliases' | 'advisories'>[] {
  if (isCve(id)) return [{ id }]
  const cves = [...new Set(related.filter(isCve))].sort()
  const [only] = cves
  if (only === undefined) return [{ id }]
  return cves.length === 1 ? [{ id: only, aliases: [id] }] : cves.map(cve => ({ id: cve, advisories: [id] }))
}

/**
 * One match as a finding; the distribution's own severity comes first. `of` is the name that the findings are about.
 */
export function grypeFindings({ vulnerability, relatedVulnerabilities, artifact }: GrypeMatch, of: string): Finding[] {
  const related = relatedVulnerabilities ?? []
  const cvss = bestCvss([vulnerability.cvss, ...related.map(one => one.cvss)])
  const severity =
    severityOf(vulnerability.severity) ??
    related.map(one => severityOf(one.severity)).find(one => one !== undefined) ??
    (cvss === undefined ? 'unknown' : severityOfScore(cvss.score))
  const [fixed] = vulnerability.fix?.state === 'fixed' ? (vulnerability.fix.versions ?? []) : []
  const summary = shortText(vulnerability.description)
  const references = [vulnerability.dataSource, ...(vulnerability.urls ?? [])]
    .filter(url => url !== undefined && url !== '')
    .slice(0, MOST_REFERENCES) as string[]
  return nameFindings(
    vulnerability.id ?? '',
    related.flatMap(one => one.id ?? []),
  ).map(names => {
    const score = vulnerability.epss?.find(one => one.cve === names.id)
    const exploited = vulnerability.knownExploited?.find(one => one.cve === undefined || one.cve === names.id)
    const advisories = [...(names.advisories ?? []), ...(vulnerability.advisories ?? []).flatMap(one => one.id ?? [])]
    return {
      ...names,
      package: of,
      severity,
      detected_by: ['grype'],
      ...(fixed === undefined || fixed === '' ? {} : { fixed_in: fixed }),
      ...(summary === undefined ? {} : { summary }),
      ...(cvss === undefined ? {} : { cvss }),
      ...(references.length === 0 ? {} : { references: [...new Set(references)] }),
      ...(advisories.length === 0 ? {} : { advisories: [...new Set(advisories)] }),
      ...(score?.epss === undefined ? {} : { epss: score.epss }),
      ...(score?.percentile === undefined ? {} : { epss_percentile: score.percentile }),
      ...(exploited === undefined
        ? {}
        : { kev: true, ...(exploited.dueDate === undefined ? {} : { kev_due: exploited.dueDate.slice(0, 10) }) }),
      ...(vulnerability.namespace === undefined
        ? {}
        : {
            matched: {
              ecosystem: vulnerability.namespace,
              name: artifact.upstreams?.[0]?.name ?? artifact.name,
              version: artifact.version ?? '',
            },
          }),
    }
  })
}
