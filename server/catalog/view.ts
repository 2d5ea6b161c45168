import { whyOf } from '../core/why.ts'
import { named, type Named } from '../core/identity.ts'
import { printAlternatives } from '../core/relation.ts'
import { whatClientsSee, type Manifest, type PackageKind, type State } from '../core/manifest.ts'
import { byKind, nameFact, type InstallFact, type InstallRecord } from '../core/install-facts.ts'
import type { ContentsRecord, Report, StepName } from '../core/report.ts'
import type { SaidMark } from '../core/mark.ts'
import { wasScanned } from '../core/review.ts'
import type { Finding, Severity } from '../core/findings.ts'
import { sayRatedBy } from '../core/rated-by.ts'
import type { IndexedManifest, MarkedManifest, PackageRow } from './queries/search.ts'

/**
 * The specification's two vocabularies for our one `State`: an upload and a list say `status`, a manifest says `status`
 * and `cve_status`. Quarantined and rejected packages are both `blocked`: neither may be installed.
 */
const CVE_STATUS: Record<State, 'approved' | 'pending_review' | 'blocked'> = {
  published: 'approved',
  pending_review: 'pending_review',
  quarantined: 'blocked',
  rejected: 'blocked',
}

/** The `status` of a manifest. The specification knows `validated` and `pending_review`, the other two are ours. */
const MANIFEST_STATUS: Record<State, string> = {
  published: 'validated',
  pending_review: 'pending_review',
  quarantined: 'quarantined',
  rejected: 'rejected',
}

/** The specification's word for the result about vulnerabilities. */
export function cveStatus(state: State): 'approved' | 'pending_review' | 'blocked' {
  return CVE_STATUS[state]
}

/** A version with its state, as answers name it. */
export interface NamedVersion extends Named {
  readonly status: State
  readonly cve_status: string
}
export const namedVersion = ({ ref, state }: Pick<Manifest, 'ref' | 'state'>): NamedVersion => ({
  ...named(ref),
  status: state,
  cve_status: CVE_STATUS[state],
})

/** One row of a list. Never a path on disk. */
export interface PackageItem extends NamedVersion {
  readonly kind: PackageKind
  readonly severity: Severity | null
  readonly findings: number
  readonly warned: boolean
  /** Whether a vulnerability engine answered for it. */
  readonly scanned: boolean
  /** Whether people should leave it, in the word of its clients. */
  readonly mark: SaidMark | null
  readonly filename: string | null
  readonly size: number
  readonly sha256: string
  readonly summary: string
  readonly uploaded_by: string
  readonly source: string
  readonly created_at: string
  readonly updated_at: string
}
export function packageItem(row: PackageRow): PackageItem {
  return {
    ...named(row),
    kind: row.kind,
    status: row.state,
    cve_status: CVE_STATUS[row.state],
    severity: row.worst,
    findings: row.findings,
    warned: row.warned,
    scanned: row.scanned,
    mark: row.mark,
    filename: row.filename,
    size: row.size,
    sha256: row.sha256,
    summary: row.summary,
    uploaded_by: row.uploaded_by,
    source: row.origin,
    created_at: row.created_at.toISOString(),
    updated_at: row.changed_at.toISOString(),
  }
}

/** One step of the gate as answers show it. An engine that could not answer has not passed. */
export interface StepView {
  readonly name: StepName
  readonly passed: boolean
  readonly verdict: string
  readonly message: string
  readonly detail: string
  readonly warning: boolean
  /** Whether the policy asked for a review because of it. */
  readonly holds: boolean
  /** How long the step took at the gate. */
  readonly took_ms?: number
}

/** A report as the API has always shown it. */
export function stepView(report: Report): StepView {
  const missing = report.missing ?? []
  return {
    name: report.step,
    passed: report.outcome !== 'failed' && report.outcome !== 'unavailable',
    verdict: report.verdict,
    message: report.said,
    detail: missing.length === 0 ? report.outcome : `missing: ${missing.join(', ')}`,
    warning: report.outcome === 'warned' || report.outcome === 'unavailable',
    holds: report.holds === true,
    ...(report.took_ms === undefined ? {} : { took_ms: report.took_ms }),
  }
}

/** The gate's reports in upload results and details. */
export interface ValidationView {
  readonly passed: boolean
  readonly cve_status: string
  readonly steps: readonly StepView[]
  readonly deps_missing: readonly string[]
  /** What it carries inside; absent where nothing in it has a name, and all of it was read. */
  readonly contents?: ContentsRecord
  /** What installing it does; absent where it only puts plain files in their places, or nobody has looked. */
  readonly install?: InstallView
  /** What of that is new since the version that clients had before. */
  readonly since?: NonNullable<Report['since']>
  /** What its state means for clients. */
  readonly publication: string
}

/** A fact as answers show it: with its sentence. */
export const factView = (fact: InstallFact) => ({ ...fact, said: nameFact(fact) })

/** What installing a package does, as answers show it. */
export const installView = ({ scripts, facts, more }: InstallRecord) => ({
  scripts,
  facts: facts.toSorted(byKind).map(factView),
  ...(more === undefined ? {} : { more }),
})
export type InstallView = ReturnType<typeof installView>

function validation(manifest: IndexedManifest): ValidationView {
  const contents = manifest.reports.find(({ step }) => step === 'vulnerabilities')?.contents
  const { install, since } = manifest.reports.find(({ step }) => step === 'scripts') ?? {}
  return {
    passed:
      manifest.state === 'published' ||
      (manifest.state === 'pending_review' && manifest.reports.every(report => report.outcome !== 'failed')),
    cve_status: CVE_STATUS[manifest.state],
    steps: manifest.reports.map(stepView),
    deps_missing: manifest.reports.flatMap(report => report.missing ?? []),
    ...(contents === undefined ? {} : { contents }),
    ...(install === undefined ? {} : { install: installView(install) }),
    ...(since === undefined ? {} : { since }),
    publication: whatClientsSee(manifest.state),
  }
}

type PipelineView = Readonly<Record<'antivirus' | 'cve_scan' | 'gpg' | 'dependencies', string>>

/** The specification's four words. A step that was not reached says `not_run`. */
function pipeline(reports: readonly Report[]): PipelineView {
  const said = (step: StepName): string => reports.find(report => report.step === step)?.verdict ?? 'not_run'
  return {
    antivirus: said('antivirus'),
    cve_scan: said('vulnerabilities'),
    gpg: said('signature'),
    dependencies: said('dependencies'),
  }
}

/** The answer to an upload or import: both forms of the specification in one object. */
export function uploadResult(manifest: Manifest, outcome: 'created' | 'already' | 'changed' | 'deleted') {
  const { ref, files } = manifest
  return {
    ...named(ref),
    package: ref.name,
    status: outcome === 'already' ? ('already_imported' as const) : manifest.state,
    state: manifest.state,
    pipeline: pipeline(manifest.reports),
    filename: files[0].path,
    sha256: files[0].blob.sha256,
    size: files[0].blob.size,
    validation: validation(manifest),
    cves: manifest.findings.map(findingView),
  }
}
export type UploadResult = ReturnType<typeof uploadResult>

/**
 * A finding as answers show it, with whose word its severity is; `fixed_version` is what existing clients call
 * `fixed_in`, `why` its proof in sentences.
 */
export function findingView(finding: Finding) {
  const { severity_source: source } = finding
  return {
    ...finding,
    ...(source === undefined ? {} : { severity_said: sayRatedBy(source) }),
    fixed_version: finding.fixed_in ?? null,
    detected_by: [...finding.detected_by],
    why: whyOf(finding),
  }
}

/** Everything known about one package, without file list and index facts. Never a path on disk. */
export function packageDetail(manifest: MarkedManifest) {
  const { about, files } = manifest
  const [{ path, blob, signed }] = files
  return {
    ...namedVersion(manifest),
    kind: manifest.kind ?? 'binary',
    manifest_status: MANIFEST_STATUS[manifest.state],
    severity: manifest.worst ?? null,
    scanned: wasScanned(manifest),
    mark: manifest.mark,
    filename: path,
    size: blob.size,
    sha256: blob.sha256,
    sha512: blob.sha512,
    sha1: blob.sha1,
    md5: blob.md5,
    signed: signed === undefined ? null : { key: signed.key, at: signed.at, received_sha256: signed.received.sha256 },
    // a single file is shown above
    ...(files.length === 1
      ? {}
      : { files: files.map(file => ({ path: file.path, size: file.blob.size, sha256: file.blob.sha256 })) }),
    summary: about.summary,
    description: about.description,
    source_package: about.source,
    source_version: about.source_version,
    homepage: about.homepage ?? null,
    maintainer: about.maintainer ?? null,
    section: about.section ?? null,
    license: about.license ?? null,
    installed_size: about.installed_size ?? null,
    depends: about.depends.map(printAlternatives),
    provides: about.provides.map(offer =>
      offer.version === undefined ? offer.name : `${offer.name} (= ${offer.version})`,
    ),
    conflicts: about.conflicts.map(printAlternatives),
    pipeline: pipeline(manifest.reports),
    validation: validation(manifest),
    cves: manifest.findings.map(findingView),
    decision: manifest.decision ?? null,
    uploaded_by: manifest.by,
    source: manifest.from,
    created_at: manifest.at,
    updated_at: manifest.changed_at,
  }
}
export type PackageDetail = ReturnType<typeof packageDetail>
