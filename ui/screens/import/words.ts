import type { Resource } from '../../resource.svelte.ts'
import { href } from '../../routes.svelte.ts'
import { plural } from '../../show.ts'
import type { Reply } from '../../wire.ts'

export type Hit = Reply<'GET /import/search'>['results'][number]
/** A source as everybody sees it. */
export type Source = Reply<'GET /import/sync-status'>['sources'][number]
/** A source with where it lies and whom it is trusted from: maintainers see that. */
export type SourceDetail = Reply<'GET /import/sources'>['sources'][number]
export type TrustedKey = Reply<'GET /import/keys'>['keys'][number]
export type ImportGroup = Reply<'GET /import/groups'>['groups'][number]
export type SyncJob = Reply<'GET /import/sync/jobs'>['jobs'][number]

/** What every tab of the screen gets; it takes what it needs. */
export interface TabProps {
  readonly status: Resource<Reply<'GET /import/sync-status'>>
  /** Synchronisations that are open. */
  readonly syncs: readonly SyncJob[]
  /** Reads both again. */
  readonly reload: () => void
}

export interface Said {
  readonly word: string
  readonly icon: string
  readonly tone: string
}

const bad = (word: string): Said => ({ word, icon: 'fail', tone: 'failed' })
const warned = (word: string): Said => ({ word, icon: 'warn', tone: 'warned' })
/** How the last synchronisation ended. The server's sentence beside it has the way out. */
const STATES: Readonly<Record<string, Said>> = {
  never: { word: 'No index yet', icon: 'unavailable', tone: 'unavailable' },
  ok: { word: 'In step', icon: 'published', tone: 'published' },
  unsigned: bad('No signature'),
  untrusted: bad('Signature not trusted'),
  replayed: bad('Older than before'),
  other_suite: bad('Another suite'),
  origin_changed: bad('Another owner or release'),
  damaged: bad('Files are damaged'),
  expired: warned('Data have ended'),
  not_yet_valid: warned('Data from the future'),
  clock_suspect: warned('Is this clock right?'),
  mirror_syncing: warned('Mirror is between two states'),
  unreachable: warned('No answer'),
  gone: warned('Not there any more'),
  refused: warned('Not asked'),
  error: warned('Failed here'),
}

export const stateOf = ({ state, notes }: Pick<Source, 'state' | 'notes'>): Said => {
  const said = STATES[state] ?? warned(state)
  return state === 'ok' && notes.length > 0 ? { ...said, icon: 'warn', tone: 'warned' } : said
}

/** Whether somebody has to look after it. */
export const needsCare = ({ enabled, state, notes }: Pick<Source, 'enabled' | 'state' | 'notes'>): boolean =>
  enabled && ((state !== 'ok' && state !== 'never') || notes.length > 0)

/** What an admin may accept once of a source in this state. */
export const acceptable = (state: string): 'older' | 'origin' | undefined =>
  state === 'replayed' ? 'older' : state === 'origin_changed' ? 'origin' : undefined

/** Where a package of a run is read: itself, another version that is here, or what the sources list of it. */
export function packageLink(
  { name, version, arch }: { readonly name: string; readonly version: string; readonly arch: string },
  codename: string,
  here: 'itself' | 'another' | 'none',
): string {
  if (here === 'none') return href('import', { q: name })
  return href('packages', { pick: name, in: codename, ...(here === 'itself' ? { version, arch } : {}) })
}

/** What became of a package of an import. */
export const ITEMS: Readonly<Record<string, Said>> = {
  waiting: { word: 'Waits', icon: 'wait', tone: 'dim' },
  added: { word: 'Published', icon: 'published', tone: 'published' },
  already: { word: 'Was here', icon: 'published', tone: 'published' },
  pending_review: { word: 'In review', icon: 'review', tone: 'review' },
  blocked: { word: 'Blocked', icon: 'rejected', tone: 'rejected' },
  upstream_changed: bad('Other bytes than here'),
  failed: bad('Failed'),
  not_reached: { word: 'Not reached', icon: 'minus', tone: 'dim' },
}

/** Why an import ended before its end. */
export const STOPPED = {
  time: 'The time of the run was over: the rest comes with the next one.',
  disk: 'The run would have left less free on the disk than it may: the rest comes with the next one.',
  out_of_space:
    'The disk has no room for the rest. No half of a package stays. Delete packages and backups that nobody needs, or make the disk larger; then ask for it again.',
} as const

/** The moment that all these data are at least as young as; undefined where one was never read. */
export function oldest(times: readonly (string | null)[]): string | undefined {
  const known = times.filter(one => one !== null)
  return known.length < times.length ? undefined : known.sort()[0]
}

const FEW = 3
/** The first of these names, and how many more there are. */
export const fewOf = (names: readonly string[]): string =>
  names.length <= FEW + 1
    ? names.join(', ')
    : `${names.slice(0, FEW).join(', ')} ${plural(names.length - FEW, ['and # more', 'and # more'])}`
