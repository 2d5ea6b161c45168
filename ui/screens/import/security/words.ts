import { count } from '../../../show.ts'
import type { Reply } from '../../../wire.ts'
import type { Said } from '../words.ts'

export type Overview = Reply<'GET /import/security-updates'>
export type Run = NonNullable<Overview['last_run']>
export type Summary = Reply<'GET /import/security-updates/runs'>['runs'][number]
export type Entry = Run['parts'][number]['came'][number]
export type Available = Reply<'GET /import/security-updates/available'>['distributions'][number]

/** How a run ended as a whole. */
export const RESULTS: Readonly<Record<Summary['result'], Said>> = {
  success: { word: 'Up to date', icon: 'published', tone: 'published' },
  partial: { word: 'In part', icon: 'warn', tone: 'warned' },
  error: { word: 'Failed', icon: 'fail', tone: 'failed' },
}

/** Why a run came to its end. */
export const ENDS: Readonly<Record<Summary['end'], string>> = {
  complete: 'It looked at everything.',
  packages: 'It brought as many packages as one run may; the next goes on.',
  time: 'Its time was over; the next goes on.',
  disk: 'The disk is too full; make room, and the next goes on.',
  cancelled: 'It was cancelled; the next goes on.',
  failed: 'It could not go on; its log says why.',
}

/** What became of an update, or will become of it. */
export const STANDINGS: Readonly<Record<Entry['standing'], Said>> = {
  wanted: { word: 'Comes next', icon: 'wait', tone: 'accent-c' },
  published: { word: 'Published', icon: 'published', tone: 'published' },
  pending_review: { word: 'In review', icon: 'review', tone: 'review' },
  blocked: { word: 'Blocked', icon: 'rejected', tone: 'rejected' },
  failed: { word: 'Failed', icon: 'fail', tone: 'failed' },
  upstream_changed: { word: 'Other bytes than here', icon: 'fail', tone: 'failed' },
  own_build: { word: 'Own build', icon: 'minus', tone: 'dim' },
  excluded: { word: 'Left out by the rule', icon: 'minus', tone: 'dim' },
  removed: { word: 'Removed here', icon: 'minus', tone: 'dim' },
  frozen: { word: 'Frozen', icon: 'pause', tone: 'warned' },
}

/** What a run came to, those counts that are not zero. */
export function countsOf({ came_count: came, held_count: held, missing_count: missing }: Summary): readonly Said[] {
  const all: readonly (readonly [number, Said])[] = [
    [came, { word: `${count(came)} came`, icon: 'published', tone: 'published' }],
    [held, { word: `${count(held)} held`, icon: 'review', tone: 'review' }],
    [missing, { word: `${count(missing)} missing`, icon: 'warn', tone: 'warned' }],
  ]
  return all.filter(([n]) => n > 0).map(([, said]) => said)
}
