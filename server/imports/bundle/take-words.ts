import type { Actor } from '../../catalog/change.ts'
import { isRefusal } from '../../core/errors.ts'
import type { Codename, Iso, PackageRef } from '../../core/identity.ts'
import { isRegistry, type Distribution } from '../../core/repository.ts'
import type { RegistryIntake, WordFate } from '../../pipeline/registry-intake.ts'
import type { OpenBundle } from './members.ts'
import { refAt, type RefRow } from './manifest.ts'
import type { ItemOutcome, WordOutcome } from './senders.ts'

export interface TakeWordsDeps {
  readonly intake: Pick<RegistryIntake, 'setTag' | 'setMark' | 'keepTags'>
  readonly distributionOf: (codename: string) => Distribution | undefined
}

export interface TakeWordsFrom {
  readonly bundle: Pick<OpenBundle, 'manifest'>
  readonly sender: string
  readonly actor: Actor
  readonly hidden: readonly string[]
  readonly signal: AbortSignal
  /** What became of the packages. */
  readonly items: readonly ItemOutcome[]
}

/** How many came as they were carried, and what became of the others. */
export interface TakenWords {
  readonly done: number
  readonly others: readonly WordOutcome[]
}

const REMOVED = 'It is gone there, so it was removed here, too.'
/** So many are kept of those that did not come as they were carried. */
const MOST_KEPT = 1_000

const refOf = ([format, codename, name, version, arch]: RefRow): PackageRef => ({
  ...{ format, name, version, arch },
  codename: codename as Codename,
})

/** Sets the tags and marks of a bundle, once its versions are in. */
export async function takeWords(deps: TakeWordsDeps, from: TakeWordsFrom): Promise<TakenWords> {
  const { bundle, sender, actor, hidden, signal, items } = from
  const { manifest } = bundle
  const { tags, marks, sets = [] } = manifest.registries ?? { tags: [], marks: [] }
  const others: WordOutcome[] = []
  const changed = new Set(items.filter(({ outcome }) => outcome === 'upstream_changed').map(({ seq }) => seq))
  let done = 0

  /** The registry that it is about, or why there is none. */
  function placeOf([format, codename]: RefRow, of: number): Distribution | string {
    const registry = hidden.includes(codename) ? undefined : deps.distributionOf(codename)
    if (registry === undefined || !isRegistry(registry) || registry.format !== format)
      return `There is no registry ${codename} of this format here.`
    if (registry.registry?.kind === 'group') return `${codename} is a group here, which has no versions of its own.`
    if (registry.state === 'retired') return `The registry ${codename} is retired here.`
    return changed.has(of) ? 'The version has other bytes here.' : registry
  }

  async function take(
    of: number,
    word: Pick<WordOutcome, 'word' | 'tag'>,
    set: (registry: Distribution, ref: PackageRef) => Promise<WordFate>,
  ): Promise<void> {
    signal.throwIfAborted()
    const ref = refAt(manifest, of)
    if (ref === undefined) return
    const registry = placeOf(ref, of)
    let fate: WordFate
    try {
      fate = typeof registry === 'string' ? { outcome: 'refused', why: registry } : await set(registry, refOf(ref))
    } catch (error) {
      if (!isRefusal(error)) throw error
      fate = { outcome: 'refused', why: error.message.slice(0, 500) }
    }
    if (fate.outcome === 'done' || fate.outcome === 'already') done++
    if (fate.why !== null && others.length < MOST_KEPT)
      others.push({ ...word, ref, outcome: fate.outcome, why: fate.why })
  }

  const by = `source:bundle-${sender}`
  for (const { of, mark } of marks)
    await take(of, { word: 'mark', tag: null }, (registry, ref) =>
      deps.intake.setMark({ registry, ref, mark, from: { by, at: manifest.created_at as Iso } }, actor),
    )
  for (const { of, tag, at } of tags)
    await take(of, { word: 'tag', tag }, (registry, ref) =>
      deps.intake.setTag({ registry, ref, tag, at: new Date(at).toISOString() as Iso, by }, actor),
    )
  const until = new Date(manifest.created_at).toISOString() as Iso
  for (const { of, tags: kept } of sets) {
    signal.throwIfAborted()
    const ref = refAt(manifest, of)
    const registry = ref === undefined ? '' : placeOf(ref, of)
    if (ref === undefined || typeof registry === 'string') continue
    const { format, codename, name } = refOf(ref)
    const gone = await deps.intake.keepTags({ registry, of: { format, codename, name }, tags: kept, until, by }, actor)
    for (const { tag, version } of gone) {
      done++
      const [, , , , arch] = ref
      if (others.length < MOST_KEPT)
        others.push({ word: 'tag', tag, ref: [format, codename, name, version, arch], outcome: 'done', why: REMOVED })
    }
  }
  return { done, others }
}
