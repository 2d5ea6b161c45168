import { listDecided, type DecisionFilter } from '../catalog/queries/decisions.ts'
import { pageOf, type Page, type Paging } from '../catalog/page.ts'
import type { Named } from '../core/identity.ts'
import type { Decision, Manifest } from '../core/manifest.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'

/** A decision as answers show it, in both forms of the specification. */
export interface DecisionView {
  readonly decision: string
  readonly action: 'approve' | 'reject'
  readonly justification: string
  readonly comment: string
  readonly cve: string | null
  readonly decided_by: string
  readonly decided_at: string
  readonly expires_at: string | null
  readonly expired: boolean
  /** The deadline, by the policy of that time. */
  readonly due_at: string | null
}

export function decisionView(
  { decision, action, justification, cve, by, at, expires_at, due_at }: Decision,
  now: string,
): DecisionView {
  return {
    decision,
    action,
    justification,
    comment: justification,
    cve: cve ?? null,
    decided_by: by,
    decided_at: at,
    expires_at: expires_at ?? null,
    expired: expires_at !== undefined && expires_at <= now,
    due_at: due_at ?? null,
  }
}

/** Every decision on a package, newest first. */
export function historyOf(
  { review, decision }: Pick<Manifest, 'review' | 'decision'>,
  now: string,
): readonly DecisionView[] {
  return [...(review?.history ?? (decision === undefined ? [] : [decision]))]
    .reverse()
    .map(one => decisionView(one, now))
}

/** A decision and its package, which may have been deleted since. */
export type DecisionRow = DecisionView & Named

/** A page of all decisions ever made, newest first. */
export async function listDecisions(
  db: Queryable,
  viewer: Viewer,
  { filter, paging, now }: { readonly filter: DecisionFilter; readonly paging: Paging; readonly now: Date },
): Promise<Page<DecisionRow>> {
  const { rows, total } = await listDecided(db, viewer, { filter, paging, now })
  const at = now.toISOString()
  return pageOf(
    rows.map(({ format, distribution, name, version, arch, cve, by, decided_at, expires_at, due_at, ...said }) => ({
      name,
      version,
      arch,
      distribution,
      format,
      ...decisionView(
        {
          ...said,
          by,
          at: decided_at.toISOString(),
          ...(cve === '' ? {} : { cve }),
          ...(expires_at === null ? {} : { expires_at: expires_at.toISOString() }),
          ...(due_at === null ? {} : { due_at: due_at.toISOString() }),
        },
        at,
      ),
    })),
    total,
    paging,
  )
}
