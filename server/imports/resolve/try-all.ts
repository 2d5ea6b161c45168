import type { Alternatives } from '../../core/relation.ts'
import { certainNeeds, isRich, type Need, type Operand } from '../../formats/relations.ts'
import { meetsAlone, type Chosen } from './chosen.ts'
import type { Candidate } from './closure.ts'
import { offers } from './rules.ts'
import type { SearchSetup } from './search.ts'

/** How many packages are tried at most: what needs more of them is told as unresolved. */
const MAX_TRIES = 5_000

/** Packages of which each would bring an open need closer to being met; none where nothing can meet it any more. */
function waysTo(need: Need | Operand, chosen: Chosen, setup: SearchSetup): readonly Candidate[] {
  const { choices, rules, arch } = setup
  if (!isRich(need)) return choices.of('name' in need ? [need] : need)
  const below = (part: Operand | undefined): readonly Candidate[] =>
    part === undefined || chosen.meets(part) ? [] : waysTo(part, chosen, setup)
  const [first, second, third] = need.of
  switch (need.rich) {
    case 'and':
      return below(need.of.find(part => !chosen.meets(part)))
    case 'or':
      return need.of.every(part => !isRich(part)) ? choices.of(need.of as Alternatives) : need.of.flatMap(below)
    // what lacks the part after `else` may also be met with the condition
    case 'if':
      return second !== undefined && chosen.meets(second) ? below(first) : [...below(third), ...below(second)]
    case 'unless':
      if (second !== undefined && chosen.meets(second)) return below(third)
      return third === undefined ? below(first) : [...below(first), ...below(second)]
    default:
      return certainNeeds(first ?? need)
        .flatMap(one => choices.of(one))
        .filter(one => meetsAlone(one, need, (a, b) => offers(a, b, rules, arch)))
  }
}

/**
 * Adds packages to `chosen` until it has all that these need, going back over every choice where one leads nowhere:
 * what is least free is decided first. Finds a way where there is one, within bounds.
 * @param packages that must come in any case
 * @returns false, with packages left in `chosen`, where no way was found
 */
export function tryAll(packages: readonly Candidate[], chosen: Chosen, setup: SearchSetup): boolean {
  const { rules, base } = setup
  const isFree = (one: Candidate): boolean => !chosen.has(one) && chosen.clash(one) === undefined
  for (const one of packages) {
    if (chosen.has(one)) continue
    if (!isFree(one)) return false
    chosen.add(one)
  }
  /** The ways to meet the open need that has the fewest; undefined when all is met. */
  const tightest = (): readonly Candidate[] | undefined => {
    let found: readonly Candidate[] | undefined
    for (const one of chosen.list.slice(base.length))
      for (const { need } of rules.wants(one, false)) {
        if (chosen.meets(need)) continue
        const ways = [...new Set(waysTo(need, chosen, setup))].filter(isFree)
        if (found === undefined || ways.length < found.length) found = ways
        if (ways.length === 0) return ways
      }
    return found
  }
  const decisions: { readonly at: number; readonly rest: Candidate[] }[] = []
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const ways = tightest()
    if (ways === undefined && chosen.broken() === undefined) return true
    decisions.push({ at: chosen.length, rest: [...(ways ?? [])] })
    // back to the last choice that has something left
    for (let last = decisions.at(-1); last !== undefined; last = decisions.at(-1)) {
      chosen.cut(last.at)
      const next = last.rest.shift()
      if (next !== undefined) {
        chosen.add(next)
        break
      }
      decisions.pop()
    }
    if (decisions.length === 0) return false
  }
  return false
}
