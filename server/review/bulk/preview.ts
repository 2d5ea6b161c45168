import { randomBytes } from 'node:crypto'
import { keepSelection, selectNamed, selectReviewed, type Selected } from '../../catalog/queries/review-selection.ts'
import type { ReviewFilter } from '../../catalog/queries/reviews.ts'
import { listFrozen } from '../../catalog/queries/store.ts'
import type { Principal } from '../../core/access.ts'
import { AppError, fail } from '../../core/errors.ts'
import type { Codename } from '../../core/identity.ts'
import { slaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Settings } from '../../settings/store.ts'
import { namesOfPerson } from '../four-eyes.ts'
import { DECISIONS } from '../requested-decision.ts'
import {
  countCodes,
  countNotScanned,
  countSeverities,
  forClients,
  leftOut,
  named,
  perilsOf,
  type BySeverity,
  type ForClients,
  type LeftOut,
  type Named,
  type NotScanned,
  type Remarked,
} from './view.ts'

/** So many packages in one decision at most. */
export const MOST = 5_000
/** A selection can be decided on for so long. */
export const KEPT_MS = 3_600_000
/** So many packages are named in an answer, of each kind; the rest are counted. */
export const SHOWN = 200

/** Which packages: all that the filter matches, or those that are named. */
export interface WhichMany {
  readonly decision: string
  readonly filter?: Omit<ReviewFilter, 'states' | 'withFindings'>
  readonly packages?: readonly Named[]
}

export interface Caller {
  readonly who: Pick<Principal, 'name' | 'scope'>
  readonly viewer: Viewer
}

/** What a decision about many packages would do. Nothing is decided by it. */
export interface ManyPreview {
  /** Names these packages in the state in which they were seen. */
  readonly selection: string
  readonly expires_at: string
  readonly decision: string
  readonly publishes: boolean
  /** How many were asked for, and how many of them would be decided on once all that is remarked is ticked. */
  readonly total: number
  readonly decidable: number
  readonly by_severity: BySeverity
  readonly not_scanned: NotScanned
  readonly kev: number
  readonly overdue: number
  readonly malicious: number
  /** How many the caller has uploaded. */
  readonly own: number
  readonly remarked: readonly Remarked[]
  readonly remarked_count: number
  readonly left_out: readonly LeftOut[]
  readonly left_out_by_code: Readonly<Partial<Record<string, number>>>
  /** Empty where nothing is published. */
  readonly clients: readonly ForClients[]
  readonly min_reason_chars: number
  readonly undo_seconds: number
}

export interface PreviewDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  readonly undoMs: number
}

/** Resolves what is to be decided to exact packages, keeps them, and says what would follow. */
export function createPreview({ db, settings, clock, undoMs }: PreviewDeps) {
  /** @throws too_many_selected */
  async function select({ filter = {}, packages }: WhichMany, viewer: Viewer): Promise<readonly Selected[]> {
    const ask = { days: slaDays(settings.now().cve_policy), now: clock.now() }
    if (packages !== undefined)
      return selectNamed(db, viewer, {
        ...ask,
        named: packages.map(({ distribution, ...one }) => ({ ...one, codename: distribution as Codename })),
      })
    const states = ['pending_review'] as const
    const found = await selectReviewed(db, viewer, { ...ask, filter: { ...filter, states }, most: MOST + 1 })
    return found.length <= MOST ? found : fail('too_many_selected', { total: `More than ${MOST}`, most: MOST })
  }

  /** Why this one cannot be decided on by them; undefined where it can. */
  function refusalOf(one: Selected, { who }: Caller, own: ReadonlySet<string>): AppError | undefined {
    const { name, version, codename, state } = one
    if (state !== 'pending_review') return new AppError('not_waiting', { name, version, state })
    const { distributions } = who.scope ?? {}
    if (distributions !== undefined && !distributions.includes(codename))
      return new AppError('outside_distribution', { codename, allowed: distributions.join(', ') })
    return own.has(one.uploaded_by) ? new AppError('four_eyes', { name, version }) : undefined
  }

  return async function preview(which: WhichMany, caller: Caller): Promise<ManyPreview> {
    const publishes = DECISIONS[which.decision] === 'approve'
    const found = await select(which, caller.viewer)
    const uploaders = [...new Set(found.map(one => one.uploaded_by))]
    const own = await namesOfPerson(db, uploaders, caller.who.name)
    const { four_eyes: mustBeTwo, min_reason_chars } = settings.now().review
    const barred = publishes && mustBeTwo ? own : new Set<string>()
    const judged = found.map(one => ({ one, refusal: refusalOf(one, caller, barred) }))
    const refused = judged.flatMap(({ one, refusal }) => (refusal === undefined ? [] : [leftOut(named(one), refusal)]))
    const open = judged.filter(({ refusal }) => refusal === undefined).map(({ one }) => one)
    const kept = open.map(one => ({
      ...{ format: one.format, codename: one.codename, name: one.name, version: one.version, arch: one.arch },
      ...{ seen_at: one.seen_at, state: one.state, by: one.uploaded_by },
      perils: perilsOf(one),
    }))
    const remarked = open.flatMap((one, key) =>
      perilsOf(one).length === 0
        ? []
        : [
            {
              key,
              ...named(one),
              severity: one.severity,
              overdue: one.overdue,
              kev: one.kev,
              malicious: one.malicious,
            },
          ],
    )
    const frozen = new Set<string>(await listFrozen(db, [...new Set(open.map(({ codename }) => codename))]))
    const selection = randomBytes(8).toString('hex')
    const now = clock.now()
    await keepSelection(db, {
      id: selection,
      made_by: caller.who.name,
      made_at: now,
      decision: which.decision,
      packages: kept,
    })
    return {
      selection,
      expires_at: new Date(now.getTime() + KEPT_MS).toISOString(),
      decision: which.decision,
      publishes,
      total: which.packages?.length ?? found.length,
      decidable: open.length,
      by_severity: countSeverities(open),
      not_scanned: countNotScanned(open),
      kev: open.filter(({ kev }) => kev).length,
      overdue: open.filter(({ overdue }) => overdue).length,
      malicious: open.filter(({ malicious }) => malicious).length,
      own: found.filter(one => own.has(one.uploaded_by)).length,
      remarked: remarked.slice(0, SHOWN),
      remarked_count: remarked.length,
      left_out: refused.slice(0, SHOWN),
      left_out_by_code: countCodes(refused),
      clients: publishes ? forClients(open, frozen) : [],
      min_reason_chars,
      undo_seconds: undoMs / 1_000,
    }
  }
}
