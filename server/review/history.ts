import { hash } from 'node:crypto'
import { listDecided, type DecidedRow, type DecisionFilter } from '../catalog/queries/decisions.ts'
import { pageOf, type Page, type Paging } from '../catalog/page.ts'
import type { Named } from '../core/identity.ts'
import type { Decision, Manifest } from '../core/manifest.ts'
import type { Viewer } from '../core/viewer.ts'
import { slaView, type Sla } from './queue.ts'
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

/** A decision and its package, which may have been deleted since; also in the words of existing clients. */
export interface DecisionRow extends DecisionView, Named {
  /** The same for as long as the decision is known; says nothing about how many others there are. */
  readonly id: number
  readonly package: string
  readonly status: 'active' | 'expired'
  readonly expires_in_days: number | null
  readonly cve_ids: readonly string[]
  readonly assigned_to: string | null
  readonly assigned_to_type: 'user' | null
  /** The end of the decision as a deadline. */
  readonly sla: Sla
  // a decision here is a record: it has no target, and nobody resolves it later
  readonly target_version: null
  readonly assigned_at: null
  readonly resolved_at: null
  readonly resolved_by: null
  readonly resolution_note: null
}

/** 48 bits of a digest over what a decision is about, by whom and when: a rebuild of the database gives the same. */
function idOf({ format, distribution, name, version, arch, cve, by, decision, decided_at }: DecidedRow): number {
  const said = [format, distribution, name, version, arch, cve, by, decision, decided_at.toISOString()]
  return parseInt(hash('sha256', JSON.stringify(said), 'hex').slice(0, 12), 16)
}

function decisionRow(row: DecidedRow, now: Date): DecisionRow {
  const { format, distribution, name, version, arch, cve, by, decided_at, expires_at, due_at, assigned_to, ...said } =
    row
  const at = now.toISOString()
  const end = slaView(expires_at, now)
  const view = decisionView(
    {
      ...said,
      by,
      at: decided_at.toISOString(),
      ...(cve === '' ? {} : { cve }),
      ...(expires_at === null ? {} : { expires_at: expires_at.toISOString() }),
      ...(due_at === null ? {} : { due_at: due_at.toISOString() }),
    },
    at,
  )
  return {
    id: idOf(row),
    name,
    package: name,
    version,
    arch,
    distribution,
    format,
    ...view,
    status: view.expired ? 'expired' : 'active',
    expires_in_days: end.remaining_days,
    cve_ids: cve === '' ? [] : [cve],
    assigned_to,
    assigned_to_type: assigned_to === null ? null : 'user',
    sla: end,
    target_version: null,
    assigned_at: null,
    resolved_at: null,
    resolved_by: null,
    resolution_note: null,
  }
}

/** A page of all decisions ever made, newest first. */
export async function listDecisions(
  db: Queryable,
  viewer: Viewer,
  { filter, paging, now }: { readonly filter: DecisionFilter; readonly paging: Paging; readonly now: Date },
): Promise<Page<DecisionRow>> {
  const { rows, total } = await listDecided(db, viewer, { filter, paging, now })
  return pageOf(
    rows.map(row => decisionRow(row, now)),
    total,
    paging,
  )
}
