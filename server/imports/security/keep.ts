import type { Run } from '../../core/work.ts'
import type { NoticeUpdate } from '../../outbound/notice.ts'
import type { Tally } from '../mirror/report.ts'
import { saveSecurityReport, summaryOf, type Entry, type SecurityReport } from './report.ts'
import type { SecurityCursor, SecurityDeps } from './run.ts'

const MOST = 50

const RESULTS = { success: 'SUCCESS', partial: 'PARTIAL', error: 'ERROR' } as const

/** Report, audit line and message, once for each run. */
export async function keepReport(
  { db, audit, notices }: Pick<SecurityDeps, 'db' | 'audit' | 'notices'>,
  { report, tally }: { readonly report: SecurityReport; readonly tally: Tally },
  step?: Run<SecurityCursor>['step'],
): Promise<void> {
  const { message, distributions } = summaryOf(report)
  const { added, pending, blocked, errors } = tally
  const named = (of: 'came' | 'held' | 'missing'): NoticeUpdate[] =>
    report.parts.flatMap(part => part[of].map(entry => updateOf(part.codename, entry))).slice(0, MOST)
  await db.tx(async tx => {
    if (!(await saveSecurityReport(tx, report))) return
    await audit.owe(tx, {
      action: 'SECURITY_SYNC',
      result: RESULTS[report.result],
      user: report.by,
      facts: { kind: 'security.updated', distributions, added, pending, blocked, failed: errors },
    })
    await notices.owe(tx, {
      event: 'sync.finished',
      source: 'security updates',
      result: report.result === 'error' ? 'failure' : 'success',
      // what was held before this run is no news
      packages: added + pending + blocked,
      detail: message,
      updates: { came: named('came'), held: named('held'), missing: named('missing') },
    })
    await step?.({ say: [{ level: report.result === 'success' ? 'info' : 'warning', message }] }, tx)
  })
}

const updateOf = (distribution: string, { name, version, arch, standing, why }: Entry): NoticeUpdate => ({
  ...{ name, version, arch, distribution, standing, why },
})
