import { namesAsked, reactsTo } from '../../formats/relations.ts'
import type { Candidate, Root, Universe } from './closure.ts'
import { offeredNames } from './rules.ts'
import { createUniverse } from './universe.ts'

/**
 * Every package that has one of these names, or is found under it (`foundUnder`: what it provides, its files, what it
 * reacts to). One question to the catalogue; the order does not matter, equal versions stay in that of their sources.
 */
export type RowsOf = (names: readonly string[]) => Promise<readonly Candidate[]>

/** Levels of bookworm: hello 4, GNOME 15. More than this is a chain that somebody made. */
const MAX_LEVELS = 200

/** What there is to know before roots can be resolved. */
export interface Gathered {
  readonly universe: Universe
  readonly published: readonly Candidate[]
}

/**
 * Fetches the packages that resolution may look at, level by level: those of a name, then those of the names that they
 * ask for. One question to each side a level, each name asked once.
 */
export async function gather(
  rows: { readonly upstream: RowsOf; readonly published: RowsOf },
  of: { readonly roots: readonly Root[]; readonly recommends: boolean },
  compareVersions: (a: string, b: string) => number,
): Promise<Gathered> {
  const asked = new Set<string>()
  const upstream = new Map<Candidate['id'], Candidate>()
  const published = new Map<Candidate['id'], Candidate>()
  let front = [...new Set(of.roots.map(({ name }) => name))]
  for (let level = 0; front.length > 0 && level < MAX_LEVELS; level++) {
    for (const name of front) asked.add(name)
    const [above, here] = await Promise.all([rows.upstream(front), rows.published(front)])
    const found = [...above.filter(({ id }) => !upstream.has(id)), ...here.filter(({ id }) => !published.has(id))]
    for (const one of above) upstream.set(one.id, one)
    for (const one of here) published.set(one.id, one)
    const next = new Set<string>()
    for (const one of found) {
      for (const name of namesAsked(one.relations, of.recommends)) next.add(name)
      for (const name of offeredNames(one)) next.add(reactsTo(name))
    }
    front = [...next].filter(name => !asked.has(name))
  }
  return {
    universe: createUniverse(upstream.values(), compareVersions),
    published: [...published.values()],
  }
}

/** The rows of packages in memory. */
export function rowsIn(universe: Universe): RowsOf {
  return names => Promise.resolve([...new Set(names.flatMap(name => universe.offering(name)))])
}
