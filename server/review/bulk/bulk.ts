import { beginSelection, findSelection, removeSelections } from '../../catalog/queries/review-selection.ts'
import { fail } from '../../core/errors.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import type { RequestedDecision } from '../requested-decision.ts'
import { createPreview, KEPT_MS, type Caller, type ManyPreview, type PreviewDeps, type WhichMany } from './preview.ts'
import { KIND, manyWork, type ManyDeps, type ManyRequest } from './work.ts'

/** For so long a decision about many waits, and can be taken back whole. */
export const UNDO_MS = 10_000

/** A decision about many packages that was sent. */
export interface Sent {
  readonly job: string
  /** Until then nothing is decided, and cancelling the job takes all of it back. */
  readonly beginsAt: string
  readonly total: number
}

export interface SendMany {
  readonly selection: string
  readonly said: RequestedDecision
  /** The keys of those that were remarked and are ticked. */
  readonly confirmed: readonly number[]
  readonly ip: string
}

/** Decisions about many packages: looked at first, then done as one job. */
export interface Bulk {
  /** @throws too_many_selected */
  preview(which: WhichMany, caller: Caller): Promise<ManyPreview>
  /**
   * Asks for the job that decides on a selection. @throws short_justification, selection_not_found, selection_used,
   * bad_decision, nothing_selected
   */
  send(wish: SendMany, caller: Caller): Promise<Sent>
  /** Removes what was looked at and never decided on. */
  clean(): Promise<void>
  readonly work: WorkKind
}

export type BulkDeps = Omit<PreviewDeps & ManyDeps, 'undoMs'> & {
  readonly jobs: Pick<Jobs, 'ask'>
  /** `UNDO_MS` by default. */
  readonly undoMs?: number
}

export function createBulk({ undoMs = UNDO_MS, jobs, ...deps }: BulkDeps): Bulk {
  const { db, settings, clock } = deps

  /** The selection of this caller, as long as it is kept. @throws selection_not_found, selection_used, bad_decision */
  async function selectionOf({ selection: id, said }: SendMany, { who }: Caller) {
    const kept = await findSelection(db, id)
    if (kept === undefined || kept.made_by !== who.name || clock.now().getTime() - kept.made_at.getTime() > KEPT_MS)
      return fail('selection_not_found', { id })
    if (kept.begins_at !== null) return fail('selection_used', {})
    if (kept.decision !== said.decision)
      return fail('bad_decision', { field: 'decision', why: `What was looked at is the decision ${kept.decision}` })
    return kept
  }

  return {
    preview: createPreview({ ...deps, undoMs }),
    async send(wish, caller) {
      const { selection, said, confirmed, ip } = wish
      const least = settings.now().review.min_reason_chars
      const { length } = [...said.justification]
      if (length < least) return fail('short_justification', { length, least, field: 'justification' })
      const { packages } = await selectionOf(wish, caller)
      const { hidden } = caller.viewer
      const allowed = caller.who.scope?.distributions
      const codenames = [...new Set<string>(packages.map(({ codename }) => codename))].filter(
        codename => !hidden.includes(codename) && (allowed === undefined || allowed.includes(codename)),
      )
      if (codenames.length === 0) return fail('nothing_selected', { why: 'the preview says why for each' })
      const beginsAt = new Date(clock.now().getTime() + undoMs)
      if (!(await beginSelection(db, selection, beginsAt))) return fail('selection_used', {})
      const request: ManyRequest = {
        ...{ selection, decision: said.decision, justification: said.justification, confirmed, codenames, ip },
        ...(said.expiresAt === undefined ? {} : { expires_at: said.expiresAt }),
        arrived_at: said.arrivedAt,
        begins_at: beginsAt.toISOString(),
      }
      const { id } = await jobs.ask({
        kind: KIND,
        target: said.decision,
        request: { ...request },
        codenames,
        by: caller.who.name,
      })
      return { job: id, beginsAt: request.begins_at, total: packages.length }
    },
    clean: () => removeSelections(db, new Date(clock.now().getTime() - 24 * KEPT_MS)),
    work: manyWork({ ...deps, undoMs }),
  }
}
