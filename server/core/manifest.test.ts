import { describe, expect, test } from 'vitest'
import { STATES, TRANSITIONS, transition, type Event, type State } from './manifest.ts'

// the specification's table of package states, and the two ways out of quarantine in docs/decisions.md
const ALLOWED: readonly [State, Event, State][] = [
  ['pending_review', 'approve', 'published'],
  ['pending_review', 'reject', 'rejected'],
  ['pending_review', 'quarantine', 'quarantined'],
  ['pending_review', 'hold', 'pending_review'],
  ['published', 'approve', 'published'],
  ['published', 'quarantine', 'quarantined'],
  ['published', 'hold', 'pending_review'],
  ['quarantined', 'approve', 'published'],
  ['quarantined', 'reject', 'rejected'],
  ['rejected', 'approve', 'published'],
]
const EVENTS: readonly Event[] = ['approve', 'reject', 'quarantine', 'hold']

describe('the state table', () => {
  test.each(ALLOWED)('%s, %s → %s', (from, event, to) => {
    expect(transition(from, event)).toBe(to)
  })

  test('allows nothing else, and says what is possible', () => {
    const cells = STATES.flatMap(state => EVENTS.map(event => [state, event] as const))
    const forbidden = cells.filter(([state, event]) => !ALLOWED.some(([from, by]) => from === state && by === event))
    expect(forbidden).toHaveLength(cells.length - ALLOWED.length)
    for (const [state, event] of forbidden)
      expect(() => transition(state, event)).toThrow(
        `Possible: ${Object.keys(TRANSITIONS[state])
          .filter(one => one !== 'hold')
          .join(', ')}.`,
      )
  })
})
