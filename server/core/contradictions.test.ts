import { describe, expect, test } from 'vitest'
import type { Action } from './action.ts'
import { contradictionsOf, contradictionWarnings, refuseContradiction } from './contradictions.ts'
import { isRefusal } from './errors.ts'

const DEFAULT = { critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' } as const
const rules = (change: Partial<Record<keyof typeof DEFAULT, Action>> = {}) => ({ ...DEFAULT, ...change })
const refusal = (next: ReturnType<typeof rules>, before: ReturnType<typeof rules>): unknown => {
  try {
    refuseContradiction(next, before)
  } catch (error) {
    return error
  }
}

describe('a policy', () => {
  test.each<[string, Partial<Record<keyof typeof DEFAULT, Action>>, string[]]>([
    ['the default', {}, []],
    ['all alike', { critical: 'warn', high: 'warn', low: 'warn', negligible: 'warn' }, []],
    ['medium blocks', { medium: 'block' }, ['high review < medium block']],
    [
      'low is harder than two',
      { medium: 'allow', high: 'allow', low: 'warn' },
      ['high allow < low warn', 'medium allow < low warn'],
    ],
    ['critical passes', { critical: 'allow' }, ['critical allow < high review']],
  ])('%s: names each severity that is milder than a lesser one', (_, change, expected) => {
    expect(
      contradictionsOf(rules(change)).map(one => `${one.worse} ${one.action} < ${one.lesser} ${one.lesser_action}`),
    ).toEqual(expected)
  })

  test('says each in one sentence', () => {
    expect(contradictionWarnings(rules({ medium: 'block' }))).toEqual([
      'The policy treats high more mildly than medium: review and block. The hardest action of all findings counts.',
    ])
  })

  test('is refused when a change makes it contradict itself, with the way out', () => {
    const error = refusal(rules({ medium: 'block' }), rules())
    expect(isRefusal(error, 'policy_contradiction')).toBe(true)
    expect(error).toMatchObject({
      message:
        'The policy would treat high more mildly than medium: review and block. Set high to block, or send confirm=true when it is meant so.',
      facts: { contradictions: [{ worse: 'high', lesser: 'medium' }] },
    })
  })

  test('that contradicted itself before does not stop another change', () => {
    expect(refusal(rules({ medium: 'block' }), rules({ medium: 'block' }))).toBeUndefined()
    expect(refusal(rules(), rules({ medium: 'block' }))).toBeUndefined()
  })
})
