import type { Alternatives } from '../../core/relation.ts'
import { certainNeeds } from '../../formats/relations.ts'
import { createChosen, type Chosen } from './chosen.ts'
import type { Candidate } from './closure.ts'
import type { SearchSetup } from './search.ts'

/**
 * The packages that come with `root` in every case: by needs that one single package can meet, transitively; packages
 * that exclude one of them do not count. Undefined when that shows that the root cannot be installed.
 */
export function findForced(root: Candidate, { choices, rules, arch, base }: SearchSetup): Chosen | undefined {
  const installed = createChosen(rules, arch)
  for (const one of base) installed.add(one)
  const forced = createChosen(rules, arch)
  forced.add(root)
  const fits = (one: Candidate): boolean =>
    forced.has(one) || (forced.clash(one) === undefined && installed.clash(one) === undefined)
  const wanted = (one: Candidate): Alternatives[] =>
    rules.wants(one, false).flatMap(({ need }) => [...certainNeeds(need)])

  /** Adds what one need forces; false when nothing can meet it. */
  const force = (alternatives: Alternatives, byName: boolean): boolean => {
    if (installed.meets(alternatives) || forced.meets(alternatives)) return true
    const [only, ...others] = choices.of(alternatives).filter(fits)
    if (only === undefined) return false
    if (others.length === 0 || (byName && others.every(({ name }) => name === only.name))) forced.add(only)
    return true
  }
  // several versions of one package are no choice that apt has, but a later need may ask for the older one
  const isLast = (byName: boolean): boolean => byName || rules.atOnce === true
  for (let [before, byName] = [-1, false]; before !== forced.length || !isLast(byName);) {
    byName = before === forced.length
    before = forced.length
    for (let at = 0; at < forced.length; at++) {
      const one = forced.list[at]
      if (one !== undefined && !wanted(one).every(need => force(need, byName))) return undefined
    }
  }
  return forced
}
