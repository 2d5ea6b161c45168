import { isRefusal } from '../../core/errors.ts'
import type { SyncState } from '../source.ts'

/** What a state means and what to do about it: the only place of these sentences. */
const SENTENCES: Readonly<Record<SyncState, readonly [what: string, wayOut: string]>> = {
  never: ['It was never synchronised', 'Start a synchronisation.'],
  ok: ['It is whole and trusted', ''],
  unsigned: ['It carries no signature', 'Ask its owner; a source that signs is never taken without.'],
  untrusted: [
    'No trusted key signed it',
    "Compare the key that it names with its owner's site; then add and pin that key.",
  ],
  expired: [
    'Its data have ended',
    'The mirror stands still: try another one, or allow expired data for this source and say why.',
  ],
  not_yet_valid: ['Its data are from the future', 'Look at the clock of this machine.'],
  replayed: [
    'It answered with an older state than before',
    'Nothing was taken over. Try another mirror; an admin can accept the older state once.',
  ],
  other_suite: ['It is another suite than the one that is set up', 'Correct the suite or the address.'],
  origin_changed: [
    'Its owner or its release has changed',
    'Nothing was taken over. Look whether the address still belongs to the same vendor; an admin can accept it once.',
  ],
  clock_suspect: [
    'Many sources say that their data have ended or not begun',
    'That is most likely the clock of this machine: set it, then synchronise again.',
  ],
  mirror_syncing: [
    'Its index is not the one that its root names, so the mirror is being updated',
    'It is tried again by itself.',
  ],
  damaged: [
    'Its files are not what it says they are',
    'The catalogue stays as it was. Try another mirror if it goes on.',
  ],
  unreachable: ['It gave no usable answer', 'It is tried again by itself. The catalogue stays as it was.'],
  gone: [
    'For three days it has answered that there is nothing',
    'Releases move when they end: look at the archive of its vendor and correct the address.',
  ],
  refused: [
    'No request is sent there',
    'An admin can allow hosts of the private network with notifications.allow_private_hosts, and directories with import.tree_roots.',
  ],
  error: ['The synchronisation failed here, not there', 'The log says what happened.'],
}

/** A state in words: what, the detail, the way out. */
export function describeState(state: SyncState, detail?: string): string {
  const [what, wayOut] = SENTENCES[state]
  const said = detail === undefined ? what : `${what}: ${detail.replace(/\.$/, '')}`
  return wayOut === '' ? `${said}.` : `${said}. ${wayOut}`
}

const GONE_MS = 3 * 86_400_000

/** By the word of the reader. What is not there is `gone` only after days. */
const BY_FAULT: Readonly<Record<string, SyncState>> = {
  missing: 'unreachable',
  unsigned: 'unsigned',
  untrusted: 'untrusted',
  expired: 'expired',
  not_yet_valid: 'not_yet_valid',
  other_suite: 'other_suite',
}

/** Why a source was not synchronised. */
export interface Failed {
  readonly state: SyncState
  readonly detail: string
  /** The root itself is not there: remember since when. */
  readonly isMissing: boolean
}

/**
 * What an error of reaching or reading a source is.
 * @param given.missingSince  since when its root answers that it does not exist
 * @param given.isIndex  its root was good and what it lists was wrong
 */
export function stateOf(
  error: unknown,
  given: { readonly missingSince?: Date | undefined; readonly now: Date; readonly isIndex?: boolean },
): Failed {
  if (isRefusal(error, 'outbound_refused') || isRefusal(error, 'tree_refused'))
    return { state: 'refused', detail: error.message, isMissing: false }
  if (isRefusal(error, 'outbound_failed')) return { state: 'unreachable', detail: error.message, isMissing: false }
  if (!isRefusal(error, 'upstream_refused'))
    return { state: 'error', detail: error instanceof Error ? error.message : String(error), isMissing: false }
  const { fault, path, why } = error.facts
  const detail = `${String(path)}: ${String(why)}`
  const isMissing = fault === 'missing' && given.isIndex !== true
  const since = given.missingSince ?? given.now
  if (isMissing && given.now.getTime() - since.getTime() >= GONE_MS) return { state: 'gone', detail, isMissing }
  if (given.isIndex === true) return { state: fault === 'malformed' ? 'damaged' : 'mirror_syncing', detail, isMissing }
  return { state: BY_FAULT[String(fault)] ?? 'damaged', detail, isMissing }
}
