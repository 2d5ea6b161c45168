import type { Manifest, State } from '../core/manifest.ts'
import type { Severity } from '../core/findings.ts'
import { acceptanceOf, dueAt, wasScanned, type SlaDays } from '../core/review.ts'
import { snapshotOf, type Snapshot } from '../catalog/snapshot.ts'
import { countFindings, type CveCounts } from '../catalog/version-facts.ts'
import { findingView, namedVersion, stepView, type NamedVersion, type StepView } from '../catalog/view.ts'
import { decisionView, historyOf, type DecisionView } from './history.ts'
import { slaView, type Sla } from './queue.ts'
import type { Found } from './find-version.ts'

/** The same version elsewhere: name it with `distribution` and `arch`. */
export interface Variant {
  readonly distribution: string
  readonly arch: string
  readonly status: State
}
const variantsOf = (others: readonly Found[]): Variant[] =>
  others.map(({ ref, state }) => ({ distribution: ref.codename, arch: ref.arch, status: state }))

/** What is wrong with one version, as far as known. */
export interface VersionCves extends NamedVersion {
  readonly package: string
  /** `counts` and `cves` in the words of existing clients. */
  readonly cve_counts: CveCounts
  readonly cve_results: VersionCves['cves']
  /** Whether an engine answered: without it no findings mean nothing. */
  readonly has_structured_data: boolean
  readonly severity: Severity | null
  readonly total: number
  readonly counts: CveCounts
  readonly cves: readonly (ReturnType<typeof findingView> & {
    readonly accepted: boolean
    readonly acceptance: DecisionView | null
  })[]
  readonly scan: StepView | null
  readonly variants: readonly Variant[]
}

/** The findings of one version, with who accepted which. */
export function versionCves(manifest: Manifest, others: readonly Found[], now: string): VersionCves {
  const scan = manifest.reports.find(({ step }) => step === 'vulnerabilities')
  const counts = countFindings(manifest.findings)
  const cves = manifest.findings.map(finding => {
    const acceptance = acceptanceOf(manifest, finding, now)
    return {
      ...findingView(finding),
      accepted: acceptance !== undefined,
      acceptance: acceptance === undefined ? null : decisionView(acceptance, now),
    }
  })
  return {
    ...namedVersion(manifest),
    package: manifest.ref.name,
    severity: manifest.worst ?? null,
    total: manifest.findings.length,
    counts,
    cve_counts: counts,
    cves,
    cve_results: cves,
    has_structured_data: wasScanned(manifest) || cves.length > 0,
    scan: scan === undefined ? null : stepView(scan),
    variants: variantsOf(others),
  }
}

/** The decisions about one version, and its deadline. */
export interface VersionDecision extends NamedVersion {
  readonly manifest: Snapshot
  readonly decision: DecisionView | null
  readonly sla: Sla
  readonly held_at: string | null
  readonly held_for: string | null
  readonly assigned_to: string | null
  /** Decisions about single vulnerabilities, newest first; ended ones too. */
  readonly exceptions: readonly DecisionView[]
  readonly history: readonly DecisionView[]
  readonly variants: readonly Variant[]
}

export function versionDecision(
  manifest: Manifest,
  others: readonly Found[],
  { days, now }: { readonly days: SlaDays; readonly now: Date },
): VersionDecision {
  const at = now.toISOString()
  const history = historyOf(manifest, at)
  const { review, decision } = manifest
  return {
    ...namedVersion(manifest),
    manifest: snapshotOf(manifest),
    decision: decision === undefined ? null : decisionView(decision, at),
    sla: slaView(dueAt(manifest, days, at), now),
    held_at: manifest.state === 'pending_review' ? (review?.held_at ?? manifest.changed_at) : null,
    held_for: review?.held_for ?? null,
    assigned_to: review?.assigned_to ?? null,
    exceptions: history.filter(({ cve }) => cve !== null),
    history,
    variants: variantsOf(others),
  }
}
