import { keyOfRow, type BundledPackage, type RefRow } from './manifest.ts'
import { providersOf, type Known, type Providers, type Published } from './published.ts'
import { registryProviders } from './registry-closure.ts'
import { tagNamesHere, tagsHere, wordsFor, type Words, type WordsThere } from './registry-words.ts'

/** What a site is taken to have. */
export interface Base {
  /** By `keyOfRow`: what its receipt says is there, with the digest of its first file. */
  readonly there: ReadonlyMap<string, string>
  /** What bundles that no receipt confirms have brought it, if they came. */
  readonly sent: ReadonlySet<string>
  /** Tags and marks of registries, where its receipt says them. */
  readonly words: WordsThere | undefined
}

export interface Choice {
  /** What goes into the bundle, each after what it needs. */
  readonly packages: readonly BundledPackage[]
  readonly published: readonly Published[]
  readonly assumes: readonly RefRow[]
  /** The site has these with other bytes, and would refuse ours. */
  readonly different: readonly RefRow[]
  /** Undefined where nothing of a registry is asked for. */
  readonly words: Words | undefined
}

/** Packages after what they need; where needs go in circles, in the given order. */
function leavesFirst(all: readonly Published[], needs: Providers) {
  const byKey = new Map(all.map(one => [keyOfRow(one.ref), one]))
  const sorted: Published[] = []
  const seen = new Set<Published>()
  for (const root of all) {
    const stack = [{ one: root, below: undefined as Iterator<Published> | undefined }]
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as (typeof stack)[number]
      if (top.below === undefined) {
        if (seen.has(top.one)) {
          stack.pop()
          continue
        }
        seen.add(top.one)
        const below = (needs.get(top.one.id) ?? []).flat().flatMap(ref => byKey.get(keyOfRow(ref)) ?? [])
        top.below = below[Symbol.iterator]()
      }
      const next = top.below.next()
      if (next.done !== true) stack.push({ one: next.value, below: undefined })
      else {
        sorted.push(top.one)
        stack.pop()
      }
    }
  }
  return sorted
}

/** Leaves out what the site has, and says of each package what it needs of the others. */
export async function chooseFor(
  known: Known,
  wanted: readonly Published[],
  { there, sent, words: wordsThere }: Base,
  signal: AbortSignal,
): Promise<Choice> {
  const assumed: Published[] = []
  const going: Published[] = []
  const different: RefRow[] = []
  for (const one of wanted) {
    const key = keyOfRow(one.ref)
    const digest = there.get(key)
    if (digest !== undefined && !one.digests.includes(digest)) different.push(one.ref)
    if (digest !== undefined || sent.has(key)) assumed.push(one)
    else going.push(one)
  }
  const needs = new Map([
    ...(await providersOf(known, going, signal)),
    ...(await registryProviders(known, { going, among: wanted }, signal)),
  ])
  const sorted = leavesFirst(going, needs)
  const places = new Map([...sorted, ...assumed].map(({ ref }, n) => [keyOfRow(ref), n]))
  const packages = sorted.map(({ id, ref, component, files, words }): BundledPackage => {
    const lists = (needs.get(id) ?? [])
      .map(list => list.flatMap(one => places.get(keyOfRow(one)) ?? []))
      .filter(list => list.length > 0)
    return {
      ref,
      ...(component === null ? {} : { component }),
      files: files.map(({ name, sha256 }) => ({ name, sha256 })),
      ...(lists.length === 0 ? {} : { needs: lists }),
      ...(words === undefined ? {} : { published_at: words.published_at.toISOString() }),
    }
  })
  const words = wanted.some(one => one.words !== undefined)
    ? wordsFor(
        wanted,
        { tags: await tagsHere(known, wanted), names: await tagNamesHere(known, wanted) },
        { places, going: sorted.length, there: wordsThere },
      )
    : undefined
  return { packages, published: sorted, assumes: assumed.map(({ ref }) => ref), different, words }
}
