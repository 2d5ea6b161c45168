import { isRefusal, type AppError } from '../../core/errors.ts'
import type { WorkKind } from '../../core/work.ts'
import { RESCAN, type RescanRequest } from '../../review/rescan-request.ts'
import type { Rescanned, Rescans } from '../../review/rescan.ts'
import type { RescannedView } from './contract.ts'
import { movedView } from './moved-view.ts'
import { refusedOf, type Refused } from './several.ts'

/** What each package was found to be, or why it was not looked at. */
export interface RescanResult {
  readonly packages: readonly RescannedView[]
  readonly errors: readonly Refused[]
}

async function viewOf({ changed, before, report, fresh, gone }: Rescanned): Promise<RescannedView> {
  const { findings, worst } = changed.manifest
  return {
    ...(await movedView(changed, before)),
    cve_scan: report.verdict,
    said: report.said,
    findings: findings.length,
    severity: worst ?? null,
    new: [...fresh],
    gone: [...gone],
  }
}

/**
 * Scanning packages again that people name, one after the other. Goes on behind the last one that was scanned.
 * Fails with the first refusal when every package was refused.
 */
export const rescanWork = ({
  rescans,
}: {
  readonly rescans: Pick<Rescans, 'rescan'>
}): WorkKind<RescanRequest, RescanResult, RescanResult> => ({
  kind: RESCAN,
  name: 'Scan packages again',
  see: 'maintainer+',
  cancel: 'maintainer+',
  limit: 4,
  run: async (run, { refs, viewer, ip }) => {
    let sofar: RescanResult = run.cursor ?? { packages: [], errors: [] }
    let refusal: AppError | undefined
    const seen = sofar.packages.length + sofar.errors.length
    await run.step({ done: seen, total: refs.length })
    for (const [n, ref] of refs.slice(seen).entries()) {
      try {
        const scanned = await rescans.rescan({ ref, viewer }, { name: run.by, ip }, run.signal)
        sofar = { ...sofar, packages: [...sofar.packages, await viewOf(scanned)] }
      } catch (error) {
        if (!isRefusal(error)) throw error
        refusal ??= error
        sofar = { ...sofar, errors: [...sofar.errors, refusedOf(ref, error)] }
      }
      await run.step({ cursor: sofar, done: seen + n + 1 })
    }
    if (sofar.packages.length === 0 && refusal !== undefined) throw refusal
    return sofar
  },
})
