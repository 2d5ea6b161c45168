import type { Action } from './action.ts'
import { fail } from './errors.ts'

/** The severities that a policy names, the worst first. */
export const RATED = ['critical', 'high', 'medium', 'low', 'negligible'] as const
type Rated = (typeof RATED)[number]
type Rules = Readonly<Record<Rated, Action>>

const HARDEST_FIRST: readonly Action[] = ['block', 'review', 'warn', 'allow']

/** A severity that a policy treats more mildly than a lesser one. */
export interface Contradiction {
  readonly worse: Rated
  readonly action: Action
  readonly lesser: Rated
  readonly lesser_action: Action
}

/** Where a policy contradicts itself: for each severity the first lesser one that is treated harder. */
export function contradictionsOf(rules: Rules): Contradiction[] {
  const hardness = (severity: Rated): number => HARDEST_FIRST.indexOf(rules[severity])
  return RATED.flatMap((worse, n) => {
    const lesser = RATED.slice(n + 1).find(one => hardness(one) < hardness(worse))
    return lesser === undefined ? [] : [{ worse, action: rules[worse], lesser, lesser_action: rules[lesser] }]
  })
}

/** The same as sentences, for those who read no members. */
export function contradictionWarnings(rules: Rules): string[] {
  return contradictionsOf(rules).map(
    ({ worse, action, lesser, lesser_action }) =>
      `The policy treats ${worse} more mildly than ${lesser}: ${action} and ${lesser_action}. The hardest action of all findings counts.`,
  )
}

/**
 * Refuses a change that makes a policy contradict itself; what did so before is no reason to refuse another change.
 * @throws policy_contradiction with all contradictions of `next`
 */
export function refuseContradiction(next: Rules, before: Rules): void {
  if (RATED.every(severity => next[severity] === before[severity])) return
  const contradictions = contradictionsOf(next)
  const [first] = contradictions
  if (first !== undefined) fail('policy_contradiction', { ...first, contradictions })
}
