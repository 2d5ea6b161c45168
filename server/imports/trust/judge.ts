import type { UpstreamRoot } from '../../formats/upstream.ts'
import type { Source, SyncState } from '../source.ts'

/** What is known of the root whose packages the catalogue holds. Everything is absent before the first time. */
export interface RememberedRoot {
  readonly sha256?: string | undefined
  readonly at?: Date | undefined
  readonly origin?: string | undefined
  readonly codename?: string | undefined
}

/** A root that verified, compared with the one before. */
export type Judgement =
  /** `notes`: what a person should know of it, in sentences. */
  | { readonly verdict: 'same' | 'new'; readonly notes: readonly string[] }
  | { readonly verdict: 'refused'; readonly state: SyncState; readonly detail: string }

/** What an admin has looked at and accepts once. */
export type Accepted = 'older' | 'origin'

const DAY_MS = 86_400_000
const STILL_DAYS = 10
const day = (at: Date): string => at.toISOString().slice(0, 10)

/** The roots of a source as one: where each architecture has its own, all of them have to be what they were. */
export function joinRoots(roots: readonly UpstreamRoot[], hash: (text: string) => string): UpstreamRoot | undefined {
  const [first, ...others] = roots
  if (first === undefined || others.length === 0) return first
  return {
    ...first,
    sha256: hash(roots.map(({ sha256 }) => sha256).join('\n')),
    signedBy: [...new Set(roots.flatMap(({ signedBy }) => signedBy))],
  }
}

function notesOf(root: UpstreamRoot, { security, kind }: Pick<Source, 'security' | 'kind'>, now: Date): string[] {
  const { at, validUntil } = root
  if (validUntil !== undefined && validUntil < now)
    return [
      kind === 'tree'
        ? `These data were valid until ${day(validUntil)}: the medium is older than that. Newer security updates are missing.`
        : `These data were valid until ${day(validUntil)} and are accepted all the same, as this source is set up.`,
    ]
  const days = at === undefined ? 0 : (now.getTime() - at.getTime()) / DAY_MS
  return security && at !== undefined && days > STILL_DAYS
    ? [
        `Nothing has changed there since ${day(at)}, which is unusual for security updates. Compare it with another mirror.`,
      ]
    : []
}

/** Replay, and whoever else answers under that address. Pure. */
export function judgeRoot(
  remembered: RememberedRoot,
  root: UpstreamRoot,
  given: {
    readonly source: Pick<Source, 'security' | 'kind' | 'signed'>
    readonly now: Date
    readonly accepted?: readonly Accepted[]
  },
): Judgement {
  const { source, now, accepted = [] } = given
  if (remembered.sha256 === root.sha256) return { verdict: 'same', notes: notesOf(root, source, now) }
  const moved = (['origin', 'codename'] as const).find(
    name => remembered[name] !== undefined && remembered[name] !== root[name],
  )
  if (moved !== undefined && !accepted.includes('origin'))
    return {
      verdict: 'refused',
      state: 'origin_changed',
      detail: `its ${moved} was ${remembered[moved] ?? ''} and is ${root[moved] ?? 'missing'}`,
    }
  // without a signature the date is anybody's word
  const isOlder =
    source.signed &&
    remembered.at !== undefined &&
    (root.at === undefined || root.at.getTime() < remembered.at.getTime())
  if (isOlder && !accepted.includes('older'))
    return {
      verdict: 'refused',
      state: 'replayed',
      detail: `it was made at ${root.at?.toISOString() ?? 'no known time'}, and the one known here at ${remembered.at?.toISOString() ?? ''}`,
    }
  return { verdict: 'new', notes: notesOf(root, source, now) }
}

/** States that a wrong clock of this machine gives everything. */
const OF_CLOCKS: ReadonlySet<SyncState> = new Set(['expired', 'not_yet_valid'])

/**
 * Whether this machine's clock is wrong rather than its sources: three or more say that data have ended or not begun,
 * and they are at least half of those that were asked.
 */
export function isClockSuspect(states: readonly SyncState[]): boolean {
  const dated = states.filter(state => OF_CLOCKS.has(state)).length
  return dated >= 3 && dated * 2 >= states.length
}
