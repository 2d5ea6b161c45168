import type { Finding, Severity } from '../core/findings.ts'
import { nameFindings, shortText } from './grype-output.ts'
import { isFields } from '../lib/fields.ts'

/** What trivy prints with `--format json`, as far as it is read. Source: trivy, pkg/types/report.go */
export interface TrivyDocument {
  readonly results: readonly TrivyResult[]
  readonly os?: { readonly Family?: string; readonly Name?: string; readonly EOSL?: boolean }
}

interface TrivyCvss {
  readonly V2Vector?: string
  readonly V2Score?: number
  readonly V3Vector?: string
  readonly V3Score?: number
  readonly V40Vector?: string
  readonly V40Score?: number
}
export interface TrivyVulnerability {
  readonly VulnerabilityID: string
  readonly VendorIDs?: readonly string[] | null
  readonly PkgName: string
  readonly InstalledVersion?: string
  readonly FixedVersion?: string
  readonly Severity?: string
  readonly SeveritySource?: string
  readonly CVSS?: Readonly<Record<string, TrivyCvss>> | null
  readonly PrimaryURL?: string
  readonly References?: readonly string[] | null
  readonly Title?: string
  readonly Description?: string
  readonly DataSource?: { readonly ID?: string }
}
export interface TrivyResult {
  readonly Class?: string
  readonly Type?: string
  readonly Packages?: readonly { readonly Name?: string; readonly Version?: string }[] | null
  readonly Vulnerabilities?: readonly TrivyVulnerability[] | null
}

function isVulnerability(value: unknown): value is TrivyVulnerability {
  return isFields(value) && typeof value.VulnerabilityID === 'string' && typeof value.PkgName === 'string'
}

function isResult(value: unknown): value is TrivyResult {
  if (!isFields(value)) return false
  const vulnerabilities: unknown = value.Vulnerabilities ?? []
  return Array.isArray(vulnerabilities) && vulnerabilities.every(isVulnerability)
}

/** Parses the report. @throws Error with the reason when it is cut off or is no report of trivy */
export function readTrivy(text: string): TrivyDocument {
  const value: unknown = JSON.parse(text)
  if (!isFields(value) || value.SchemaVersion !== 2) throw new Error('it is no report of trivy with SchemaVersion 2')
  const results: unknown = value.Results ?? []
  if (!Array.isArray(results) || !results.every(isResult))
    throw new Error('it has a vulnerability without identifier or package')
  const os = isFields(value.Metadata) && isFields(value.Metadata.OS) ? value.Metadata.OS : undefined
  return { results, ...(os === undefined ? {} : { os }) }
}

const WORDS: Readonly<Record<string, Severity>> = { CRITICAL: 'critical', HIGH: 'high', MEDIUM: 'medium', LOW: 'low' }

/** The newest kind of score, preferably of the source that gave the severity. */
function bestCvss({ CVSS, SeveritySource }: TrivyVulnerability): Finding['cvss'] {
  const sources = Object.entries(CVSS ?? {})
    .sort(([a], [b]) => Number(b === SeveritySource) - Number(a === SeveritySource) || (a < b ? -1 : 1))
    .map(([, scores]) => scores)
  const pick = (
    vector: 'V40Vector' | 'V3Vector' | 'V2Vector',
    score: 'V40Score' | 'V3Score' | 'V2Score',
    fallback: string,
  ): Finding['cvss'] => {
    const one = sources.find(scores => typeof scores[vector] === 'string' && typeof scores[score] === 'number')
    return one === undefined
      ? undefined
      : {
          version: /^CVSS:(\d\.\d)\//.exec(one[vector] ?? '')?.[1] ?? fallback,
          vector: one[vector] ?? '',
          score: one[score] ?? 0,
        }
  }
  return (
    pick('V40Vector', 'V40Score', '4.0') ?? pick('V3Vector', 'V3Score', '3.0') ?? pick('V2Vector', 'V2Score', '2.0')
  )
}

const MOST_REFERENCES = 5

/** The CVEs of an advisory whose own identifier is none: SUSE and others name them only in their references. */
function cvesOf({ VulnerabilityID, References }: TrivyVulnerability): readonly string[] {
  if (/^(CVE|GHSA)-/.test(VulnerabilityID)) return []
  return (References ?? []).flatMap(reference => /\bCVE-\d{4}-\d{4,}\b/.exec(reference)?.[0] ?? [])
}

/** One vulnerability as a finding. `of` is the name that the findings are about. */
export function trivyFindings(vulnerability: TrivyVulnerability, of: string): Finding[] {
  const {
    VulnerabilityID,
    VendorIDs,
    FixedVersion,
    Severity,
    Title,
    Description,
    PrimaryURL,
    References,
    DataSource,
    PkgName,
    InstalledVersion,
  } = vulnerability
  const cvss = bestCvss(vulnerability)
  const summary = shortText(Title) ?? shortText(Description)
  const references = [
    ...new Set([PrimaryURL, ...(References ?? [])].filter(url => url !== undefined && url !== '')),
  ].slice(0, MOST_REFERENCES) as string[]
  return nameFindings(VulnerabilityID, cvesOf(vulnerability)).map(({ aliases, advisories, ...names }) => {
    // an advisory about one CVE is still an advisory, not another name of it
    const said = [...new Set([...(advisories ?? []), ...(aliases ?? []), ...(VendorIDs ?? [])])]
    return {
      ...names,
      package: of,
      severity: WORDS[Severity ?? ''] ?? 'unknown',
      detected_by: ['trivy'],
      ...(FixedVersion === undefined || FixedVersion === '' ? {} : { fixed_in: FixedVersion }),
      ...(summary === undefined ? {} : { summary }),
      ...(cvss === undefined ? {} : { cvss }),
      ...(references.length === 0 ? {} : { references }),
      ...(said.length === 0 ? {} : { advisories: said }),
      ...(DataSource?.ID === undefined
        ? {}
        : { matched: { ecosystem: DataSource.ID, name: PkgName, version: InstalledVersion ?? '' } }),
    }
  })
}
