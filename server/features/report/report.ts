import type { Policy } from '../../review/policy-view.ts'
import type { EngineStatus } from '../../scanners/scanner.ts'
import type { Queryable } from '../../db/db.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import { listDecisions, type DecisionRow } from '../../review/history.ts'
import { readPosture, type Posture } from '../../review/posture.ts'
import { listReviews, type ReviewItem } from '../../review/queue.ts'
import { listVulnerabilities, type Vulnerability } from '../../review/vulnerabilities.ts'

/** What an auditor gets: the state of the repository, the rules, and who accepted what. */
export interface SecurityReport {
  readonly generated_at: string
  readonly generated_by: string
  /** How many days of decisions are in it. */
  readonly days: number
  readonly policy: Policy
  readonly four_eyes: boolean
  readonly posture: Posture
  readonly engines: readonly EngineStatus[]
  /** Longest waiting first; only the first ones. */
  readonly waiting: { readonly total: number; readonly packages: readonly ReviewItem[] }
  readonly vulnerabilities: { readonly total: number; readonly worst: readonly Vulnerability[] }
  readonly decisions: { readonly total: number; readonly newest: readonly DecisionRow[] }
  /** Acceptances that stand, each with its reason and its end. */
  readonly exceptions: { readonly total: number; readonly newest: readonly DecisionRow[] }
}

const SHOWN = 200
const DAY_MS = 86_400_000

export interface ReportAsk {
  readonly by: string
  readonly days: number
  readonly now: Date
  readonly settings: SettingsValue
  readonly policy: Policy
  readonly engines: readonly EngineStatus[]
}

/** The state of things at `now`, with the decisions of the last `days`. */
export async function makeReport(
  db: Queryable,
  viewer: Viewer,
  { by, days, now, settings, policy, engines }: ReportAsk,
): Promise<SecurityReport> {
  const paging = { page: 1, perPage: SHOWN }
  const from = new Date(now.getTime() - days * DAY_MS)
  const [posture, waiting, found, decisions, exceptions] = await Promise.all([
    readPosture(db, viewer, { policy: settings.cve_policy, now }),
    listReviews(db, viewer, {
      filter: { states: ['pending_review'] },
      paging,
      sort: 'sla',
      days: slaDays(settings.cve_policy),
      now,
    }),
    listVulnerabilities(db, viewer, { filter: {}, paging, sort: 'severity' }),
    listDecisions(db, viewer, { filter: { from }, paging, now }),
    listDecisions(db, viewer, { filter: { standing: true }, paging, now }),
  ])
  return {
    generated_at: now.toISOString(),
    generated_by: by,
    days,
    policy,
    four_eyes: settings.review.four_eyes,
    posture,
    engines,
    waiting: { total: waiting.total, packages: waiting.items },
    vulnerabilities: { total: found.total, worst: found.items },
    decisions: { total: decisions.total, newest: decisions.items },
    exceptions: { total: exceptions.total, newest: exceptions.items },
  }
}
