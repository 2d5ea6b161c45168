import type { Policy } from '../../review/policy-view.ts'
import type { EngineStatus } from '../../scanners/scanner.ts'
import type { Queryable } from '../../db/db.ts'
import { policyOf } from '../../core/policy.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import { listDecisions, type DecisionRow } from '../../review/history.ts'
import { readPosture, type Posture } from '../../review/posture.ts'
import { listReviews, type ReviewItem } from '../../review/queue.ts'
import {
  listVulnerabilities,
  readOverview,
  type Vulnerability,
  type VulnerabilityOverview,
} from '../../review/vulnerabilities.ts'

/** The report in numbers; vulnerabilities are each counted once. */
export interface ReportSummary {
  readonly total_packages: number
  readonly packages_scanned: number
  readonly status_counts: Posture['by_status']
  readonly cve_totals: VulnerabilityOverview['summary']
  readonly total_cve: number
  /** In the period. */
  readonly decisions_count: number
  readonly pending_count: number
  /** Exceptions that end within 30 days. */
  readonly expiring_soon: number
}

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
  /** Those of the period, newest first; only the first ones, as in `packages_with_cve` and `pending_review`. */
  readonly decisions: readonly DecisionRow[]
  readonly period: { readonly from: string; readonly to: string; readonly days: number }
  readonly cve_policy: Policy
  readonly summary: ReportSummary
  readonly packages_with_cve: VulnerabilityOverview['packages']
  readonly pending_review: readonly ReviewItem[]
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
  const [posture, waiting, found, decisions, exceptions, overview] = await Promise.all([
    readPosture(db, viewer, { policy: settings.cve_policy, now }),
    listReviews(db, viewer, {
      filter: { states: ['pending_review'] },
      paging,
      sort: 'sla',
      days: slaDays(settings.cve_policy),
      policy: policyOf(settings),
      now,
    }),
    listVulnerabilities(db, viewer, { filter: {}, paging, sort: 'severity' }),
    listDecisions(db, viewer, { filter: { from }, paging, now }),
    listDecisions(db, viewer, { filter: { standing: true }, paging, now }),
    readOverview(db, viewer),
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
    decisions: decisions.items,
    period: { from: from.toISOString(), to: now.toISOString(), days },
    cve_policy: policy,
    summary: {
      total_packages: posture.total_packages,
      packages_scanned: overview.packages_scanned,
      status_counts: posture.by_status,
      cve_totals: overview.summary,
      total_cve: found.total,
      decisions_count: decisions.total,
      pending_count: waiting.total,
      expiring_soon: posture.exceptions.ending_within_30_days,
    },
    packages_with_cve: overview.packages,
    pending_review: waiting.items,
    exceptions: { total: exceptions.total, newest: exceptions.items },
  }
}
