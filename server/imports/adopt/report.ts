import { isRefusal } from '../../core/errors.ts'
import type { Telling } from '../../core/work.ts'
import type { Fate } from '../bulk/together.ts'
import { sayChanged } from '../run/changed.ts'
import { whyNot } from '../why-not.ts'

/** What can become of a file of a tree. */
export const FATES = ['added', 'held', 'blocked', 'upstream_changed', 'skipped', 'failed'] as const
export type FateWord = (typeof FATES)[number]

/** A file that is not served now, and why. */
export interface Trouble {
  readonly path: string
  readonly fate: Exclude<FateWord, 'added' | 'skipped'>
  readonly why: string
}

/** What became of a file: in the gate, or `left` out before it, with the reason. */
export interface FileFate {
  readonly path: string
  readonly fate: Fate | { readonly left: string }
}

/** What was done so far. `troubles` are the first ones; the log of the job has all of them. */
export interface Tally extends Readonly<Record<FateWord, number>> {
  readonly troubles: readonly Trouble[]
}

/** So many troubles are in the result. */
const MOST_TROUBLES = 200

export const NOTHING_YET: Tally = {
  ...{ added: 0, held: 0, blocked: 0, upstream_changed: 0, skipped: 0, failed: 0 },
  troubles: [],
}

const reason = (error: unknown): string =>
  isRefusal(error) ? error.message : 'It failed for a reason that the log of the service names.'

function fateOf(fate: FileFate['fate']): { readonly word: FateWord; readonly why: string } {
  if ('left' in fate) return { word: 'failed', why: fate.left }
  if ('error' in fate) {
    const { error } = fate
    if (!isRefusal(error, 'duplicate_conflict')) return { word: 'failed', why: reason(error) }
    const { existing_sha256: here, incoming_sha256: there } = error.facts
    return { word: 'upstream_changed', why: sayChanged('the tree', { here: String(here), there: String(there) }) }
  }
  const { outcome, manifest } = fate.value
  if (outcome === 'already') return { word: 'skipped', why: '' }
  if (manifest.state === 'published') return { word: 'added', why: '' }
  return { word: manifest.state === 'pending_review' ? 'held' : 'blocked', why: whyNot(manifest) }
}

/** The fates of some files more, counted, and the lines of the job's log for those that are in trouble. */
export function countIn(
  before: Tally,
  fates: readonly FileFate[],
): { readonly tally: Tally; readonly say: readonly Telling[] } {
  const counts: Record<FateWord, number> = { ...before }
  const troubles: Trouble[] = []
  for (const { path, fate } of fates) {
    const { word, why } = fateOf(fate)
    counts[word]++
    if (word !== 'added' && word !== 'skipped') troubles.push({ path, fate: word, why })
  }
  return {
    tally: { ...counts, troubles: [...before.troubles, ...troubles].slice(0, MOST_TROUBLES) },
    say: troubles.map(({ path, fate, why }) => ({
      level: fate === 'held' ? 'warning' : 'error',
      message: `${path} is ${fate === 'held' || fate === 'blocked' ? fate : 'left out'}: ${why}`,
      data: { path, fate },
    })),
  }
}

const SAID: Readonly<Partial<Record<FateWord, string>>> = {
  skipped: 'here already',
  upstream_changed: 'with other bytes than here',
}
/** `12 added, 1 held` */
export const sayCounts = (tally: Tally): string =>
  FATES.filter(word => tally[word] > 0 || word === 'added')
    .map(word => `${tally[word]} ${SAID[word] ?? word}`)
    .join(', ')
