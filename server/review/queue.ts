import { pageOf, type Page } from '../catalog/page.ts'
import { listReviewed, type ReviewAsk, type ReviewFilter, type ReviewRow } from '../catalog/queries/reviews.ts'
import { findingView, namedVersion, type NamedVersion } from '../catalog/view.ts'
import { SEVERITIES, type Severity } from '../core/findings.ts'
import type { CvePolicy } from '../core/policy.ts'
import { acceptanceOf, causeOf, heldSince, wasScanned } from '../core/review.ts'
import { hasPassed, remainingDays } from '../core/remaining-days.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'

/** The state of a waiting package's deadline. */
export interface Sla {
  readonly due_at: string | null
  /** Days that are left, as remainingDays counts them; null without a deadline. */
  readonly days_remaining: number | null
  readonly breached: boolean
  /** The same in the words of existing clients; `warning` for the last seven days. */
  readonly has_sla: boolean
  readonly expires_at: string | null
  readonly remaining_days: number | null
  readonly expired: boolean
  readonly warning: boolean
}

/** How long before its end a deadline is near. */
export const NEAR_DAYS = 7

export function slaView(dueAt: Date | string | null | undefined, now: Date): Sla {
  if (dueAt === null || dueAt === undefined)
    return {
      due_at: null,
      days_remaining: null,
      breached: false,
      has_sla: false,
      expires_at: null,
      remaining_days: null,
      expired: false,
      warning: false,
    }
  const due = new Date(dueAt)
  const days = remainingDays(due, now)
  const isOver = hasPassed(due, now)
  return {
    due_at: due.toISOString(),
    days_remaining: days,
    breached: isOver,
    has_sla: true,
    expires_at: due.toISOString(),
    remaining_days: days,
    expired: isOver,
    warning: !isOver && days <= NEAR_DAYS,
  }
}

/** One package as the review lists show it. */
export interface ReviewItem extends NamedVersion {
  readonly package: string
  /** The worst finding that counts: accepted ones do not. */
  readonly severity: Severity | null
  readonly findings: number
  readonly open_findings: number
  readonly counts: Readonly<Record<Severity, number>>
  readonly epss: number | null
  readonly kev: boolean
  /** Whether a vulnerability engine answered for it. */
  readonly scanned: boolean
  readonly fixable: number
  /** The worst ten, accepted ones last. */
  readonly cves: readonly (ReturnType<typeof findingView> & { readonly accepted: boolean })[]
  /** What is new in what installing it does, since the version that clients have; null where none is known. */
  readonly since: { readonly version: string; readonly said: string } | null
  /** Why it is held or blocked; empty for what is served. */
  readonly reasons: readonly string[]
  readonly held_at: string | null
  readonly sla: Sla
  readonly assigned_to: string | null
  readonly uploaded_by: string
  readonly source: string
  readonly summary: string
  readonly sha256: string
  readonly size: number
  readonly created_at: string
  /** Send it back as `seen_at` with a decision: the decision is refused when anything changed since. */
  readonly updated_at: string
}

const TOP = 10

/** Why it is not served; where today's policy would not hold it any more, what its steps said. */
function reasonsOf(manifest: ReviewRow['manifest'], policy: CvePolicy, now: string): readonly string[] {
  const { reasons } = causeOf(manifest, policy, now)
  if (reasons.length > 0 || manifest.state === 'published') return reasons
  return manifest.reports
    .filter(
      ({ outcome, step, findings = [] }) =>
        outcome === 'failed' || outcome === 'unavailable' || (step === 'vulnerabilities' && findings.length > 0),
    )
    .map(({ said }) => said)
}

function reviewItem({ manifest, due_at }: ReviewRow, policy: CvePolicy, now: Date): ReviewItem {
  const { ref, findings, review } = manifest
  const at = now.toISOString()
  const marked = findings.map(finding => ({
    ...findingView(finding),
    accepted: acceptanceOf(manifest, finding, at) !== undefined,
  }))
  const open = marked.filter(({ accepted }) => !accepted)
  const scores = open.flatMap(({ epss }) => epss ?? [])
  return {
    ...namedVersion(manifest),
    package: ref.name,
    severity: SEVERITIES_BY_RANK.find(severity => open.some(one => one.severity === severity)) ?? null,
    findings: findings.length,
    open_findings: open.length,
    counts: Object.fromEntries(
      SEVERITIES.map(severity => [severity, open.filter(one => one.severity === severity).length]),
    ) as Record<Severity, number>,
    epss: scores.length === 0 ? null : Math.max(...scores),
    kev: open.some(({ kev }) => kev === true),
    scanned: wasScanned(manifest),
    fixable: open.filter(({ fixed_version }) => fixed_version !== null).length,
    cves: [...open, ...marked.filter(({ accepted }) => accepted)].slice(0, TOP),
    since: manifest.reports.find(({ step }) => step === 'scripts')?.since ?? null,
    reasons: reasonsOf(manifest, policy, at),
    held_at: heldSince(manifest) ?? null,
    sla: slaView(due_at, now),
    assigned_to: review?.assigned_to ?? null,
    uploaded_by: manifest.by,
    source: manifest.from,
    summary: manifest.about.summary,
    sha256: manifest.files[0].blob.sha256,
    size: manifest.files[0].blob.size,
    created_at: manifest.at,
    updated_at: manifest.changed_at,
  }
}

// `unknown` ranks between medium and low, see core/findings.ts
const SEVERITIES_BY_RANK: readonly Severity[] = ['critical', 'high', 'medium', 'unknown', 'low', 'negligible']

/** A page of the review queue. */
export async function listReviews(
  db: Queryable,
  viewer: Viewer,
  ask: ReviewAsk & { readonly filter: ReviewFilter; readonly policy: CvePolicy },
): Promise<Page<ReviewItem>> {
  const { rows, total } = await listReviewed(db, viewer, ask)
  return pageOf(
    rows.map(row => reviewItem(row, ask.policy, ask.now)),
    total,
    ask.paging,
  )
}
