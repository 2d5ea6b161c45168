import type { Alternatives } from '../../core/relation.ts'
import { certainNeeds, isRich, reactsTo, type Need, type Operand } from '../../formats/relations.ts'
import { createChosen, isConditional, meetsAlone, type Chosen } from './chosen.ts'
import type { Choices } from './choices.ts'
import type { Candidate, Universe } from './closure.ts'
import { offeredNames, offers, type Rules, type Wanted } from './rules.ts'

/** How many packages one search tries at most. No package of bookworm takes more than 2,100. */
const MAX_STEPS = 200_000
/** How deep needs may nest, so that the stack holds. In bookworm it is 21. */
const MAX_DEPTH = 400

export interface SearchSetup {
  readonly universe: Universe
  readonly choices: Choices
  readonly rules: Rules
  readonly arch: string
  readonly recommends: boolean
  readonly base: readonly Candidate[]
}

/** One try to install packages together. */
export interface Search {
  readonly chosen: Chosen
  /** Adds a package with all that it needs, or nothing. */
  mark(candidate: Candidate): boolean
  /** Meets a need as `mark` does. */
  meet(need: Need | Operand): boolean
  /**
   * Meets what hangs on conditions, and what was taken for met because it is forced; then what is recommended. False
   * where that cannot be, or where something is excluded now that all is there.
   */
  settle(): boolean
}

/**
 * @param forced packages that must come in any case: what they meet counts as met until `settle`, and nothing is tried
 *   that they exclude
 */
export function createSearch(setup: SearchSetup, forced?: Chosen): Search {
  const { choices, rules, arch, recommends, universe } = setup
  const chosen = createChosen(rules, arch)
  for (const one of setup.base) chosen.add(one)
  const based = chosen.length
  let expected = forced
  let [steps, depth] = [0, 0]

  const isMet = (need: Need): boolean =>
    chosen.meets(need) || (expected !== undefined && !isConditional(need) && expected.meets(need))
  const wants = (one: Candidate, weak: boolean): ReturnType<Rules['wants']> => rules.wants(one, weak)

  const isCertain = ({ need }: Wanted): boolean =>
    certainNeeds(need).some(alternatives => choices.of(alternatives).length === 1)
  const certainFirst = (open: readonly Wanted[]): readonly Wanted[] =>
    open.toSorted((a, b) => Number(isCertain(b)) - Number(isCertain(a)))

  const mark = (candidate: Candidate): boolean => {
    if (chosen.has(candidate)) return true
    if (depth >= MAX_DEPTH || ++steps > MAX_STEPS) return false
    if (chosen.clash(candidate) !== undefined || forced?.clash(candidate) !== undefined) return false
    const at = chosen.length
    chosen.add(candidate)
    const open = wants(candidate, recommends && rules.atOnce !== true).filter(({ need }) => !isMet(need))
    depth++
    const inOrder = rules.atOnce === true ? certainFirst(open) : open
    const failed = inOrder.some(({ need, weak }) => !isMet(need) && !meet(need) && weak !== true)
    depth--
    if (failed) chosen.cut(at)
    return !failed
  }

  /** All in order, or nothing. */
  const meetAll = (needs: readonly (Need | Operand)[]): boolean => {
    const at = chosen.length
    const failed = needs.some(need => !chosen.meets(need) && !meet(need))
    if (failed) chosen.cut(at)
    return !failed
  }

  const plain = (operands: readonly Operand[]): readonly Candidate[] => choices.of(operands as Alternatives)

  const meet = (need: Need | Operand): boolean => {
    if (!isRich(need)) return choices.of('name' in need ? [need] : need).some(mark)
    const [first, second, third] = need.of
    const holds = (part: Operand | undefined): boolean => part === undefined || chosen.meets(part) || meet(part)
    switch (need.rich) {
      case 'and':
        return meetAll(need.of)
      case 'or':
        return rules.atOnce === true && !need.of.some(isRich) ? plain(need.of).some(mark) : need.of.some(holds)
      case 'if':
        return second !== undefined && chosen.meets(second) ? holds(first) : holds(third)
      case 'unless':
        return second !== undefined && chosen.meets(second) ? third !== undefined && holds(third) : holds(first)
      default:
        return certainNeeds(first ?? need)
          .flatMap(one => choices.of(one))
          .filter(one => meetsAlone(one, need, (a, b) => offers(a, b, rules, arch)))
          .some(mark)
    }
  }

  /** Until nothing changes: every package that is added may make a condition hold. */
  const untilStable = (work: (one: Candidate) => boolean): boolean => {
    for (let before = -1; before !== chosen.length;) {
      before = chosen.length
      for (let at = based; at < chosen.length; at++) {
        const one = chosen.list[at]
        if (one !== undefined && !work(one)) return false
      }
    }
    return true
  }
  const settleHard = (): boolean =>
    untilStable(one =>
      wants(one, false).every(
        ({ need }) => (forced === undefined && !isRich(need)) || chosen.meets(need) || meet(need),
      ),
    )
  /** `Conflicts: (a unless b)` is no conflict any more once b comes. */
  const repaired = (): boolean => {
    for (let one = chosen.broken(); one !== undefined; one = chosen.broken()) {
      const { need } = one.excluded
      const [, condition] = isRich(need) && need.rich === 'unless' ? need.of : []
      if (condition === undefined || chosen.meets(condition) || !meet(condition) || !settleHard()) return false
    }
    return true
  }
  const settleWeak = (): boolean =>
    untilStable(one => {
      for (const { need } of wants(one, true)) if (!chosen.meets(need)) meet(need)
      for (const name of offeredNames(one))
        for (const other of universe.offering(reactsTo(name)))
          if (rules.fits(other, arch) && other.relations.supplements?.some(need => chosen.meets(need)) === true)
            mark(other)
      return true
    })

  return {
    chosen,
    mark,
    meet,
    settle() {
      if (forced?.list.every(mark) === false) return false
      expected = undefined
      if (!settleHard()) return false
      if (recommends && rules.atOnce === true && !(settleWeak() && settleHard())) return false
      return repaired()
    },
  }
}
