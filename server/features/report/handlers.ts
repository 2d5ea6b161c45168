import type { Handlers } from '../../core/contract.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { policyView } from '../../review/policy-view.ts'
import type { EngineStatus } from '../../scanners/scanner.ts'
import type { Settings } from '../../settings/store.ts'
import type { report as rows } from './contract.ts'
import { renderReport, REPORT_CSP } from './page.ts'
import { makeReport } from './report.ts'

export interface ReportDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  /** The status of every engine. */
  readonly engines: () => Promise<readonly EngineStatus[]>
}

const REPORT_DAYS = 90

export const reportHandlers: Handlers<typeof rows, ReportDeps> = {
  'GET /security/report': async ({ db, settings, clock, engines }, { query, who, viewer }) => {
    const now = settings.now()
    const report = await makeReport(db, viewer, {
      by: who.name,
      days: query.days ?? REPORT_DAYS,
      now: clock.now(),
      settings: now,
      policy: policyView(now),
      engines: await engines(),
    })
    if (query.format === 'html')
      return { body: Buffer.from(renderReport(report)), type: 'text/html; charset=utf-8', csp: REPORT_CSP }
    return { body: Buffer.from(JSON.stringify(report)), type: 'application/json' }
  },
}
