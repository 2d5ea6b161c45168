import { setTimeout } from 'node:timers/promises'
import type { Changed } from '../../catalog/change.ts'
import { findSelection, type Kept } from '../../catalog/queries/review-selection.ts'
import { AppError, fail, isRefusal } from '../../core/errors.ts'
import type { Iso } from '../../core/identity.ts'
import type { Run, Telling, WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { failpoint } from '../../lib/failpoint.ts'
import type { Outcome } from '../../lib/groups.ts'
import type { Decisions, Seen } from '../decisions.ts'
import { DECISIONS, type RequestedDecision } from '../requested-decision.ts'
import { countCodes, leftOut, named, type LeftOut } from './view.ts'

export const KIND = 'review.decide'

/** A decision about a selection, as its job keeps it. */
export interface ManyRequest {
  readonly selection: string
  readonly decision: string
  readonly justification: string
  readonly expires_at?: Iso
  /** Those that were ticked by themselves. */
  readonly confirmed: readonly number[]
  /** The distributions that whoever decides may see and change. */
  readonly codenames: readonly string[]
  readonly arrived_at: Iso
  readonly begins_at: Iso
  readonly ip: string
}

interface Cursor {
  /** How many of the selection are done. */
  readonly at: number
  readonly decided: number
  readonly left_out: readonly LeftOut[]
}

/** What came of it. The job's log has every package. */
export interface ManyResult {
  readonly decision: string
  readonly total: number
  readonly decided: number
  readonly left_out: readonly LeftOut[]
  readonly left_out_by_code: Readonly<Partial<Record<string, number>>>
}

/** One transaction each: long enough to be fast, short enough that single decisions get in between. */
const BATCH = 100
/** The tree follows when the last package of its distribution is decided on; at the latest so long after a batch. */
const PUBLISH_WITHIN_MS = 30_000
const FOLLOW_MS = 60_000

export interface ManyDeps {
  readonly db: Db
  readonly decisions: Pick<Decisions, 'decideAll'>
  readonly clock: Clock
  readonly undoMs: number
}

type Waiting = Kept & { readonly key: number }

/** Why it is not even tried; undefined where it is. */
function barred(one: Waiting, { codenames, confirmed, decision }: ManyRequest): AppError | undefined {
  const { name, version, codename, perils, key } = one
  if (!codenames.includes(codename))
    return new AppError('outside_distribution', { codename, allowed: codenames.join(', ') })
  if (DECISIONS[decision] === 'approve' && perils.length > 0 && !confirmed.includes(key))
    return new AppError('not_ticked', { name, version, what: perils.join(', ') })
  return undefined
}

/** A change since the preview need not have been a decision. */
function refusalOf(one: Waiting, error: unknown): AppError {
  if (!isRefusal(error)) throw error
  return isRefusal(error, 'already_decided')
    ? new AppError('changed_since', { name: one.name, version: one.version })
    : error
}

const placeOf = ({ name, version, codename, arch }: Kept): string => `${name} ${version} in ${codename}, ${arch}`

function lineOf(one: Waiting, outcome: Outcome<{ readonly manifest: { readonly state: string } }>): Telling {
  if ('error' in outcome) {
    const { code, message } = refusalOf(one, outcome.error)
    return { level: 'warning', message: `Left out: ${message}`, data: { ...named(one), code } }
  }
  const { state } = outcome.value.manifest
  return { level: 'info', message: `${placeOf(one)}: ${state}.`, data: { ...named(one), status: state } }
}

/** Decides on the packages of a selection, a batch at a time: each batch and the cursor after it in one transaction. */
export function manyWork({ db, decisions, clock, undoMs }: ManyDeps): WorkKind {
  async function untilItBegins(run: Run<Cursor>, { begins_at }: ManyRequest, total: number): Promise<void> {
    const restMs = Math.min(Date.parse(begins_at) - clock.now().getTime(), undoMs)
    if (restMs <= 0) return
    const message = `Begins at ${begins_at}. Cancelled before, nothing is decided.`
    await run.step({ done: 0, total, say: [{ level: 'info', message }] })
    await setTimeout(restMs, undefined, { signal: run.signal })
  }

  async function decideBatch(
    run: Run<Cursor>,
    request: ManyRequest,
    { from, batch, lastOf, total }: Batch,
  ): Promise<{ readonly cursor: Cursor; readonly changed: readonly Changed[] }> {
    const { decision, justification, arrived_at: arrivedAt, expires_at: expiresAt } = request
    const said: RequestedDecision = {
      ...{ decision, justification, cves: [], arrivedAt },
      ...(expiresAt === undefined ? {} : { expiresAt }),
    }
    const refusals = new Map(batch.map(one => [one.key, barred(one, request)]))
    const tried = batch.filter(({ key }) => refusals.get(key) === undefined)
    let cursor = from
    const within = async (
      tx: Parameters<Run<Cursor>['step']>[1],
      outcomes: readonly Outcome<{ readonly manifest: { readonly state: string } }>[],
    ): Promise<void> => {
      const of = new Map(tried.map((one, n) => [one.key, outcomes[n]]))
      const all = batch.map(one => ({ one, outcome: of.get(one.key) ?? { error: refusals.get(one.key) } }))
      const left = all.flatMap(({ one, outcome }) =>
        'error' in outcome ? [leftOut(named(one), refusalOf(one, outcome.error))] : [],
      )
      cursor = {
        at: from.at + batch.length,
        decided: from.decided + batch.length - left.length,
        left_out: [...from.left_out, ...left],
      }
      const say = all.map(({ one, outcome }) => lineOf(one, outcome))
      await run.step({ cursor, done: cursor.at, total, say }, tx)
    }
    const seen = tried.map((one): Seen => {
      const { format, codename, name, version, arch, key, by, seen_at: seenAt } = one
      const ref = { format, codename, name, version, arch }
      const isLast = (lastOf.get(codename) ?? key) < from.at + batch.length
      return { ref, by, seenAt, ...(isLast ? {} : { publishWithinMs: PUBLISH_WITHIN_MS }) }
    })
    if (seen.length === 0) {
      await within(undefined, [])
      return { cursor, changed: [] }
    }
    const actor = { name: run.by, ip: request.ip }
    const outcomes = await decisions.decideAll(seen, said, { actor, within })
    return { cursor, changed: outcomes.flatMap(outcome => ('error' in outcome ? [] : [outcome.value])) }
  }

  /** Waits for the trees of the distributions, so that the end of the job is what clients see. */
  async function followTrees(run: Run<Cursor>, last: ReadonlyMap<string, Changed>): Promise<void> {
    for (const [codename, changed] of last) {
      run.signal.throwIfAborted()
      if (changed.manifest.state !== 'published') continue
      const isSeen = await changed.settled(FOLLOW_MS)
      const say: Telling = isSeen
        ? { level: 'info', message: `Clients of ${codename} see it.` }
        : { level: 'warning', message: `Clients of ${codename} do not see it yet: its tree follows by itself.` }
      await run.step({ say: [say] })
    }
  }

  const work: WorkKind<ManyRequest, Cursor, ManyResult> = {
    kind: KIND,
    name: 'Decide on held packages',
    see: 'auditor+',
    cancel: 'admin',
    limit: 2,
    run: async (run, request) => {
      const { selection: id, decision } = request
      const kept = (await findSelection(db, id)) ?? fail('selection_not_found', { id })
      const packages = kept.packages.map((one, key): Waiting => ({ ...one, key }))
      const total = packages.length
      let cursor = run.cursor ?? { at: 0, decided: 0, left_out: [] }
      if (run.cursor === undefined) await untilItBegins(run, request, total)
      const open = packages.filter(one => barred(one, request) === undefined)
      const lastOf = new Map(open.map(({ codename, key }) => [codename as string, key]))
      const last = new Map<string, Changed>()
      while (cursor.at < total) {
        run.signal.throwIfAborted()
        const batch = packages.slice(cursor.at, cursor.at + BATCH)
        const done = await decideBatch(run, request, { from: cursor, batch, lastOf, total })
        cursor = done.cursor
        for (const changed of done.changed) last.set(changed.manifest.ref.codename, changed)
        failpoint('review:after-batch')
      }
      await followTrees(run, last)
      const { decided, left_out } = cursor
      return { decision, total, decided, left_out, left_out_by_code: countCodes(left_out) }
    },
  }
  return work as WorkKind
}

interface Batch {
  readonly from: Cursor
  readonly batch: readonly Waiting[]
  /** The last package of each distribution that is decided on, by its key. */
  readonly lastOf: ReadonlyMap<string, number>
  readonly total: number
}
