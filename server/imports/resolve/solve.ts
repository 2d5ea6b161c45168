import { relationsIn } from '../../formats/relations.ts'
import { createChoices } from './choices.ts'
import type { Chosen } from './chosen.ts'
import type { Candidate, Clash, Closure, Question, Root, Universe, Unresolved } from './closure.ts'
import { explain, unknownRoot } from './explain.ts'
import { findForced } from './forced.ts'
import type { Rules } from './rules.ts'
import { createSearch, type SearchSetup } from './search.ts'
import { tryAll } from './try-all.ts'
import { createUniverse } from './universe.ts'

/** One root with all that it needs, as far as it goes. */
interface Solved {
  readonly chosen: Chosen
  readonly unresolved: readonly Unresolved[]
  readonly conflicts: readonly Clash[]
}

/**
 * In the client's order; with the packages that must come in any case known before where that runs into a conflict;
 * over every choice where the client does so.
 */
function solveStrictly(root: Candidate, setup: SearchSetup): Chosen | undefined {
  if (setup.rules.atOnce !== true) {
    const first = createSearch(setup)
    if (first.mark(root) && first.settle()) return first.chosen
  }
  const forced = findForced(root, setup)
  if (forced === undefined) return undefined
  const second = createSearch(setup, forced)
  if (second.mark(root) && second.settle()) return second.chosen
  if (setup.rules.atOnce !== true) return undefined
  // libsolv finds a way where there is one
  const third = createSearch(setup)
  return tryAll(forced.list, third.chosen, setup) && third.settle() ? third.chosen : undefined
}

function solveRoot(options: readonly Candidate[], setup: SearchSetup): Solved {
  for (const option of options) {
    const chosen = solveStrictly(option, setup)
    if (chosen !== undefined) return { chosen, unresolved: [], conflicts: [] }
  }
  const [first] = options
  const search = createSearch(setup)
  if (first === undefined) return { chosen: search.chosen, unresolved: [], conflicts: [] }
  return { ...explain(first, search, setup), chosen: search.chosen }
}

/** Each after what it depends on; what that is of the base set comes too, without what it depends on itself. */
function leavesFirst(
  from: readonly Candidate[],
  { chosen, base, rules, recommends }: Pick<Found, 'chosen' | 'base' | 'rules'> & { readonly recommends: boolean },
): Candidate[] {
  const done = new Set<Candidate>()
  const order: Candidate[] = []
  const needed = (one: Candidate): Candidate[] => {
    if (base.has(one)) return []
    return rules
      .wants(one, recommends)
      .flatMap(({ need }) => relationsIn(need))
      .map(relation => chosen.meeting(relation))
      .filter(other => other !== undefined)
  }
  for (const root of from) {
    const stack = [{ one: root, below: done.has(root) ? undefined : needed(root).values() }]
    done.add(root)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.below?.next().value
      if (next === undefined) {
        if (top.below !== undefined) order.push(top.one)
        stack.pop()
      } else if (!done.has(next)) {
        done.add(next)
        stack.push({ one: next, below: needed(next).values() })
      }
    }
  }
  return order
}

/** What the roots brought so far. */
interface Sum {
  readonly packages: Set<Candidate>
  readonly assumed: Set<Candidate>
  readonly roots: { readonly asked: Root; readonly package?: Candidate }[]
  readonly unresolved: Unresolved[]
  readonly conflicts: Clash[]
}

/** Resolves each root on top of what the ones before it brought. */
export function solve(universe: Universe, question: Question, rules: Rules): Closure {
  const { arch, recommends } = question
  const sum: Sum = { packages: new Set(), assumed: new Set(), roots: [], unresolved: [], conflicts: [] }
  for (const asked of question.roots) {
    const published = createUniverse([...question.published, ...sum.packages], rules.compareVersions)
    const choices = createChoices({ universe, published, rules, arch })
    const options = choices.root(asked)
    // what is asked for by name is wanted here, also where machines have it anyway
    const base = question.base.filter(({ name }) => !options.some(option => option.name === name))
    const setup = { universe, choices, rules, arch, recommends, base }
    if (options.length === 0) {
      sum.roots.push({ asked })
      sum.unresolved.push(unknownRoot(asked, universe))
      continue
    }
    const { chosen, unresolved, conflicts } = solveRoot(options, setup)
    const root = options.find(option => chosen.has(option))
    sum.roots.push({ asked, ...(root === undefined ? {} : { package: root }) })
    sum.unresolved.push(...unresolved)
    sum.conflicts.push(...conflicts)
    collect(sum, { chosen, root, base: new Set(base), rules }, question)
  }
  return {
    roots: sum.roots,
    packages: [...sum.packages],
    assumed: [...sum.assumed],
    unresolved: sum.unresolved,
    conflicts: sum.conflicts,
    satisfied: sum.unresolved.length === 0 && sum.conflicts.length === 0,
  }
}

interface Found {
  readonly chosen: Chosen
  readonly root: Candidate | undefined
  readonly base: ReadonlySet<Candidate>
  readonly rules: Rules
}

function collect({ packages, assumed }: Sum, found: Found, question: Question): void {
  const { chosen, root, base } = found
  const { recommends, onlyRoots } = question
  const there = new Set(question.published.map(({ id }) => id))
  const brought = chosen.list.slice(base.size)
  for (const one of leavesFirst(root === undefined ? brought : [root, ...brought], { ...found, recommends })) {
    if (base.has(one) || there.has(one.id) || (onlyRoots === true && one !== root)) assumed.add(one)
    else packages.add(one)
  }
}
