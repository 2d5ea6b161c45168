import { isOfDependency, mergeFindings, worst, type Finding } from '../core/findings.ts'
import type { Iso } from '../core/identity.ts'
import { transition, type Manifest, type State } from '../core/manifest.ts'
import { saysNothing, type Report } from '../core/report.ts'
import { newFindings } from '../core/review.ts'
import { lacksSignature } from '../core/signed-debt.ts'

/** The ids of findings, each once. */
export const idsOf = (findings: readonly Finding[]): string[] => [...new Set(findings.map(({ id }) => id))].sort()
/** Every score moves a little every day; people notice a hundredth. */
const printFindings = (findings: readonly Finding[]): string =>
  JSON.stringify(
    [...findings]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, package: name, severity, detected_by, fixed_in, epss, kev }) => [
        id,
        name,
        severity,
        detected_by,
        fixed_in,
        Math.round((epss ?? -1) * 100),
        kev,
      ]),
  )

/** False when nothing is worth writing. */
export const differ = (a: readonly Finding[], b: readonly Finding[]): boolean => printFindings(a) !== printFindings(b)

/** What a scan makes of a manifest: ids that no scan had found before, and ids that this one no longer found. */
export interface Scanned {
  readonly after: Manifest
  readonly fresh: readonly Finding[]
  readonly lost: readonly string[]
}

/** Whether an engine could not answer. What the package hides from it is another matter: the engine did answer. */
export const isSilent = ({ outcome, verdict }: Report): boolean => outcome === 'unavailable' && verdict !== 'partial'

/** The reports with one in the place of that of the same step. */
export const withReport = (reports: readonly Report[], report: Report): readonly Report[] =>
  reports.some(({ step }) => step === report.step)
    ? reports.map(one => (one.step === report.step ? report : one))
    : [...reports, report]

/** The manifest with new reports in place of those of the same steps, and their findings. */
export function withScan(before: Manifest, reports: readonly Report[], now: Iso): Scanned {
  const scan = reports.find(({ step }) => step === 'vulnerabilities')
  const needed = reports.find(({ step }) => step === 'dependencies')
  const inDependencies =
    needed === undefined || isSilent(needed) ? before.findings.filter(isOfDependency) : (needed.findings ?? [])
  const found = mergeFindings([scan?.findings ?? [], inDependencies])
  // an engine that could not answer does not change what was known before
  const findings =
    scan === undefined || isSilent(scan)
      ? mergeFindings([found, before.findings])
      : scan.outcome === 'skipped'
        ? mergeFindings([before.findings, inDependencies])
        : found
  const fresh = newFindings(before, findings)
  const lost = idsOf(before.findings.filter(known => !findings.some(({ id }) => id === known.id)))
  const gone = [...new Set([...(before.review?.gone ?? []), ...lost])].filter(
    id => !findings.some(finding => finding.id === id),
  )
  const { worst: _, ...rest } = before
  const severity = worst(findings)
  const replaced = before.reports.map(report => reports.find(({ step }) => step === report.step) ?? report)
  const added = reports.filter(({ step }) => !before.reports.some(report => report.step === step))
  const after: Manifest = {
    ...rest,
    changed_at: now,
    reports: [...replaced, ...added].filter(report => !saysNothing(report)),
    findings,
    ...(severity === undefined ? {} : { worst: severity }),
    ...(gone.length === 0 && before.review === undefined ? {} : { review: { ...before.review, gone } }),
  }
  return { after, fresh, lost }
}

/**
 * Where the policy sends a known package. Only a person's decision leads out of rejection and quarantine, but for what
 * was there only until its signature came.
 */
export function stateAfter(before: Manifest, wanted: State): State {
  if (before.state === 'published' && wanted !== 'published') return transition(before.state, 'hold')
  if (wanted !== 'published') return before.state
  return before.state === 'pending_review' || lacksSignature(before)
    ? transition(before.state, 'approve')
    : before.state
}
