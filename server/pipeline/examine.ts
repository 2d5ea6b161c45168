import type { Verdict } from '../core/policy.ts'
import { saysNothing, type Report } from '../core/report.ts'
import type { Step, Subject } from './subject.ts'

/** Turns reports into a verdict: `core/policy.ts` with the policy and mode of this run. */
export type Decide = (reports: readonly Report[]) => Verdict

/**
 * Runs the steps in order, yields each report with the time that its step took, returns the verdict. Stops at the first
 * `failed`. Writes nothing.
 * Each step starts when its report is asked for, so a reader that stops reading stops the work.
 * @throws what a step throws: bad_package, digest_mismatch, and the signal's reason once it is aborted
 */
export async function* examine(
  run: { readonly subject: Subject; readonly steps: readonly Step[]; readonly signal: AbortSignal },
  decide: Decide,
): AsyncGenerator<Report, Verdict> {
  const reports: Report[] = []
  for (const step of run.steps) {
    run.signal.throwIfAborted()
    const started = performance.now()
    const told = await step.run(run.subject, run.signal)
    const report: Report = { ...told, took_ms: Math.round(performance.now() - started) }
    if (saysNothing(report)) continue
    reports.push(report)
    yield report
    if (report.outcome === 'failed') break
  }
  return decide(reports)
}
