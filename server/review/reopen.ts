import { listReopening } from '../catalog/queries/rescans.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Judgement } from '../catalog/change.ts'
import type { Iso } from '../core/identity.ts'
import { transition, type Manifest } from '../core/manifest.ts'
import { isApproved, reconsider, reopensAt } from '../core/review.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { policyOf } from '../core/policy.ts'
import type { Queryable } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Settings } from '../settings/store.ts'

export interface ReopenDeps {
  readonly db: Queryable
  readonly catalog: Pick<Catalog, 'change'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}

/** The end of an acceptance: without its approval the package is held again, and the vulnerability counts again. */
function judge(before: Manifest, now: Iso, settings: ReturnType<Settings['now']>): Judgement | undefined {
  const due = reopensAt(before)
  if (due === undefined || due > now) return undefined
  const approvalEnded = before.decision?.action === 'approve' && !isApproved(before, now)
  const wanted = approvalEnded ? 'pending_review' : reconsider(before, policyOf(settings), now).state
  const state =
    before.state === 'published' && wanted === 'pending_review' ? transition(before.state, 'hold') : before.state
  const ended = (before.review?.history ?? []).filter(
    ({ action, expires_at }) =>
      action === 'approve' &&
      expires_at !== undefined &&
      expires_at <= now &&
      expires_at > (before.review?.lapsed_at ?? ''),
  )
  const said = ended
    .map(
      ({ cve, by, expires_at }) =>
        `The acceptance${cve === undefined ? '' : ` of ${cve}`} by ${by} ended at ${expires_at ?? ''}.`,
    )
    .join(' ')
  const { decision, ...rest } = before
  return {
    after: {
      ...rest,
      ...(decision === undefined || approvalEnded ? {} : { decision }),
      state,
      changed_at: now,
      review: { ...before.review, lapsed_at: now, ...(state === before.state ? {} : { held_for: said }) },
    },
    fact: {
      action: 'SECURITY_DECISION',
      result: 'WARNING',
      facts: {
        kind: 'package.lapsed',
        from_state: before.state,
        to_state: state,
        ended: ended.map(({ cve, by, expires_at = '' }) => ({
          ...(cve === undefined ? {} : { cve }),
          by,
          ended_at: expires_at,
        })),
      },
    },
  }
}

const MOST = 500

/** Reopens what was accepted until a time that has passed. @returns how many packages had such a decision */
export async function reopenExpired({ db, catalog, settings, clock }: ReopenDeps): Promise<number> {
  const refs = await listReopening(db, ALL_SEEING, { now: clock.now(), limit: MOST })
  for (const ref of refs) {
    await catalog.change(
      { kind: 'review', ref, judge: (before, now) => judge(before, now, settings.now()) },
      { name: 'review deadline' },
    )
  }
  return refs.length
}
