import type { Db } from '../../db/db.ts'
import type { UpstreamRoot } from '../../formats/upstream.ts'
import type { JudgeRoots } from '../catalogue/reach.ts'
import type { Source, SyncState } from '../source.ts'
import { describeState } from './states.ts'

/** What is known of the root whose packages the catalogue holds. Everything is absent before the first time. */
export interface RememberedRoot {
  readonly at?: Date | undefined
  readonly origin?: string | undefined
  /** Its codename, or its suite where it has none. */
  readonly codename?: string | undefined
}

/** Why a root is not taken although its signature is good. */
export interface Refusal {
  readonly state: SyncState
  readonly detail: string
}

const DAY_MS = 86_400_000
const STILL_DAYS = 10
const day = (at: Date): string => at.toISOString().slice(0, 10)

function factsOf(roots: readonly UpstreamRoot[]): RememberedRoot {
  const times = roots.flatMap(({ at }) => (at === undefined ? [] : [at.getTime()]))
  return {
    at: times.length === 0 ? undefined : new Date(Math.max(...times)),
    origin: roots[0]?.origin,
    codename: roots[0]?.codename ?? roots[0]?.suite,
  }
}

/**
 * Replay, and whoever else answers under that address. Pure.
 * @param remembered  an admin accepts an older or another root once by having this forgotten
 * @returns undefined for roots that may be read
 */
export function judgeRoot(
  remembered: RememberedRoot,
  roots: readonly UpstreamRoot[],
  { signed }: Pick<Source, 'signed'>,
): Refusal | undefined {
  const now = factsOf(roots)
  const moved = (['origin', 'codename'] as const).find(
    name => remembered[name] !== undefined && remembered[name] !== now[name],
  )
  if (moved !== undefined)
    return {
      state: 'origin_changed',
      detail: `its ${moved} was ${remembered[moved] ?? ''} and is ${now[moved] ?? 'missing'}`,
    }
  // without a signature the date is anybody's word
  if (!signed || remembered.at === undefined || (now.at !== undefined && now.at >= remembered.at)) return undefined
  return {
    state: 'replayed',
    detail: `it was made at ${now.at?.toISOString() ?? 'no known time'}, the one before at ${remembered.at.toISOString()}`,
  }
}

/** What a person should know of a source whose last synchronisation went well, in sentences. Pure. */
export function notesOf(
  held: { readonly at?: Date | undefined; readonly validUntil?: Date | undefined },
  { security, kind }: Pick<Source, 'security' | 'kind'>,
  now: Date,
): readonly string[] {
  const { at, validUntil } = held
  if (validUntil !== undefined && validUntil < now)
    return [
      kind === 'tree'
        ? `These data were valid until ${day(validUntil)}: the medium is older. Later security updates are not on it.`
        : `These data were valid until ${day(validUntil)}. Synchronise again; look at the mirror if that stays.`,
    ]
  const isStill = at !== undefined && now.getTime() - at.getTime() > STILL_DAYS * DAY_MS
  return security && isStill && kind === 'http'
    ? [`Nothing has changed there since ${day(at)}, which is unusual for security updates. Look at another mirror.`]
    : []
}

/** States that a wrong clock of this machine gives everything. */
const OF_CLOCKS: ReadonlySet<SyncState> = new Set(['expired', 'not_yet_valid'])
/** Whether a source complains of dates, as all do when the clock here is wrong. */
export const isOfClock = ({ state }: { readonly state: SyncState }): boolean => OF_CLOCKS.has(state)
/** States of sources that told nothing of their dates. */
const UNHEARD: ReadonlySet<SyncState> = new Set(['never', 'unreachable', 'gone', 'mirror_syncing', 'refused', 'error'])

/**
 * Whether this machine's clock is wrong rather than its sources: three or more say that data have ended or not begun,
 * and they are at least half of those that answered.
 * @param states  of sources of one format: not all formats date theirs
 */
export function isClockSuspect(states: readonly SyncState[]): boolean {
  const dated = states.filter(state => OF_CLOCKS.has(state)).length
  return dated >= 3 && dated * 2 >= states.filter(state => !UNHEARD.has(state)).length
}

/** Judges by what the database remembers of a source. */
export function createJudge(db: Db): JudgeRoots {
  return async ({ id, signed }, roots) => {
    const row = await db.first<{ at: Date | null; origin: string | null; codename: string | null }>(
      'select at, origin, codename from import_root where source_id = $1',
      [id],
    )
    const remembered = {
      at: row?.at ?? undefined,
      origin: row?.origin ?? undefined,
      codename: row?.codename ?? undefined,
    }
    const refusal = judgeRoot(remembered, roots, { signed })
    return refusal && { state: refusal.state, said: describeState(refusal.state, refusal.detail) }
  }
}
