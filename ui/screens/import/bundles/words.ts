import { count, plural } from '../../../show.ts'
import type { Reply } from '../../../wire.ts'
import type { Said } from '../words.ts'

export type Bundles = Reply<'GET /bundles'>
export type Made = Bundles['bundles'][number]
export type Taken = Bundles['imports'][number]
export type Site = Reply<'GET /bundles/sites'>['sites'][number]
export type Sender = Reply<'GET /bundles/senders'>['senders'][number]
export type Preview = Reply<'GET /bundles/sites/{site}/preview'>
export type Inspection = Reply<'POST /bundles/inspect'>
export type Medium = Reply<'GET /bundles/media'>['media'][number]
export type NotPublished = Taken['not_published'][number]

const BUNDLE_ENDING = '.bundle.tar'
const RECEIPT_ENDING = '.receipt.tar'
export const isReceipt = (name: string): boolean => name.endsWith(RECEIPT_ENDING)
export const isBundle = (name: string): boolean => name.endsWith(BUNDLE_ENDING)

/** How a bundle stands at its site, as far as receipts say. */
export const THERE: Readonly<Record<Made['standing'], Said>> = {
  unconfirmed: { word: 'Not yet confirmed', icon: 'wait', tone: 'dim' },
  late: { word: 'Late', icon: 'warn', tone: 'warned' },
  imported: { word: 'Imported', icon: 'published', tone: 'published' },
  partly: { word: 'Imported in part', icon: 'review', tone: 'review' },
  lost: { word: 'Lost', icon: 'fail', tone: 'failed' },
}

/** How the import of a bundle ended here. */
export const HERE: Readonly<Record<Taken['state'], Said>> = {
  running: { word: 'Running', icon: 'run', tone: 'accent-c' },
  done: { word: 'Taken in', icon: 'published', tone: 'published' },
  failed: { word: 'Failed', icon: 'fail', tone: 'failed' },
}

export const OUTCOMES: Readonly<Record<NotPublished['outcome'], Said>> = {
  held: { word: 'Held', icon: 'review', tone: 'review' },
  refused: { word: 'Refused', icon: 'rejected', tone: 'rejected' },
  upstream_changed: { word: 'Other bytes than here', icon: 'fail', tone: 'failed' },
  waits: { word: 'Waits', icon: 'wait', tone: 'dim' },
}

/** What goes along beside packages. */
export const DATA: Readonly<Record<string, string>> = {
  vulnerability: 'Vulnerability data',
  antivirus: 'Antivirus signatures',
}
export const DATA_ENDS: Readonly<Record<Taken['data'][number]['outcome'], Said>> = {
  loaded: { word: 'Loaded', icon: 'published', tone: 'published' },
  already: { word: 'Here already', icon: 'published', tone: 'dim' },
  older: { word: 'Older than here', icon: 'minus', tone: 'dim' },
  failed: { word: 'Failed', icon: 'fail', tone: 'failed' },
  unknown_kind: { word: 'Not known here', icon: 'unavailable', tone: 'unavailable' },
}

/** What became of a tag or a mark of a registry. */
export const WORD_ENDS: Readonly<Record<Taken['words'][number]['outcome'], Said>> = {
  done: { word: 'Set', icon: 'published', tone: 'published' },
  already: { word: 'Here already', icon: 'published', tone: 'dim' },
  stays: { word: 'Stays as here', icon: 'minus', tone: 'dim' },
  waits: { word: 'Waits', icon: 'wait', tone: 'dim' },
  refused: { word: 'Refused', icon: 'rejected', tone: 'rejected' },
}

interface Counts {
  readonly published: number
  readonly already: number
  readonly held: number
  readonly refused: number
  readonly upstream_changed: number
  readonly waits: number
}
/** What became of the packages of a bundle, those counts that are not zero. */
export function countsOf({
  published,
  already,
  held,
  refused,
  upstream_changed: changed,
  waits,
}: Counts): readonly Said[] {
  const all: readonly (readonly [number, Said])[] = [
    [published, { word: `${count(published)} published`, icon: 'published', tone: 'published' }],
    [already, { word: `${count(already)} there already`, icon: 'published', tone: 'dim' }],
    [held, { word: `${count(held)} held`, icon: 'review', tone: 'review' }],
    [refused, { word: `${count(refused)} refused`, icon: 'rejected', tone: 'rejected' }],
    [changed, { word: `${count(changed)} with other bytes`, icon: 'fail', tone: 'failed' }],
    [waits, { word: `${count(waits)} waiting for others`, icon: 'wait', tone: 'dim' }],
  ]
  return all.filter(([n]) => n > 0).map(([, said]) => said)
}

const DAY_MS = 86_400_000
/** `no receipt for 18 days`, `94 published, 2 held` */
export function whyThere({ standing, receipt, made_at: madeAt }: Made, now = Date.now()): string {
  if (receipt !== null)
    return (
      countsOf(receipt)
        .map(({ word }) => word)
        .join(', ') || 'nothing in it was new there'
    )
  if (standing === 'lost') return 'a later one came without it'
  const days = Math.floor((now - Date.parse(madeAt)) / DAY_MS)
  return days < 1 ? 'no receipt' : `no receipt for ${plural(days, ['# day', '# days'])}`
}

/** Numbers of bundles, as their names end: `0003, 0004`. */
export const numbersOf = (numbers: readonly number[]): string => numbers.map(n => String(n).padStart(4, '0')).join(', ')

/** What is left out of a bundle. */
export const BASES = {
  receipt: 'the last receipt: what it has stays here',
  bundle: 'the last bundle: what it and those before it brought stays here, too',
  all: 'nothing: everything goes',
} as const
export type BaseKind = keyof typeof BASES
