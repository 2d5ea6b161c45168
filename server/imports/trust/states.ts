import { WAYS_OUT } from '../catalogue/outcome.ts'
import type { SyncState } from '../source.ts'

/** What a state means. What to do about it stands in `WAYS_OUT`. */
const WHAT: Readonly<Record<SyncState, string>> = {
  never: 'It was never synchronised',
  ok: 'It is whole and trusted',
  unsigned: 'It carries no signature',
  untrusted: 'No trusted key signed it',
  expired: 'Its data have ended',
  not_yet_valid: 'Its data are from the future',
  replayed: 'It answered with an older state than before, and nothing was taken over',
  other_suite: 'It is another suite than the one that is set up',
  origin_changed: 'Its owner or its release has changed, and nothing was taken over',
  clock_suspect: 'Many sources say that their data have ended or not begun',
  mirror_syncing: 'Its index is not the one that its root names',
  damaged: 'Its files are not what it says they are',
  unreachable: 'No usable answer came from it',
  gone: 'For three days it has answered that there is nothing',
  refused: 'No request is sent there',
  error: 'The synchronisation failed here, not there',
}

/** A state in words: what, the detail, the way out. */
export function describeState(state: SyncState, detail?: string): string {
  const said = detail === undefined ? WHAT[state] : `${WHAT[state]}: ${detail.replace(/\.$/, '')}`
  return state === 'ok' || state === 'never' ? `${said}.` : `${said}. ${WAYS_OUT[state]}`
}
