import { expect, test } from 'vitest'
import { leftOf, stepTo } from './drawn-rows.ts'

const KNOWN = { from: 100, to: 250 }

/** Steps until nothing changes. */
function walk(view: { from: number; to: number }, start: { from: number; to: number }) {
  const steps = [start]
  for (;;) {
    const now = steps.at(-1) ?? start
    const next = stepTo(now, view, KNOWN)
    if (next.from === now.from && next.to === now.to) return steps
    steps.push(next)
  }
}

test('rows in sight come first, then those around them, few in each frame', () => {
  const steps = walk({ from: 150, to: 168 }, { from: 0, to: 0 })
  expect(steps[1]).toEqual({ from: 150, to: 174 })
  expect(steps.at(-1)).toEqual({ from: 134, to: 184 })
  for (const [n, { from, to }] of steps.entries())
    if (n > 1) expect(to - from - ((steps[n - 1]?.to ?? 0) - (steps[n - 1]?.from ?? 0))).toBeLessThanOrEqual(5)
})

test('what is far behind goes away, what is near stays, and nothing is drawn that was not read', () => {
  expect(walk({ from: 200, to: 218 }, { from: 134, to: 184 }).at(-1)).toEqual({ from: 168, to: 234 })
  expect(walk({ from: 160, to: 178 }, { from: 134, to: 184 }).at(-1)).toEqual({ from: 134, to: 194 })
  expect(walk({ from: 240, to: 258 }, { from: 230, to: 250 }).at(-1)).toEqual({ from: 224, to: 250 })
})

test('a place that was not read yet leaves the rows as they are', () => {
  expect(stepTo({ from: 134, to: 184 }, { from: 900, to: 918 }, KNOWN)).toEqual({ from: 134, to: 184 })
})

test('a row left a list when its neighbours are still there; at an end of what was read it may only have moved on', () => {
  const inside = { isStart: false, isEnd: false }
  expect([...leftOf(['a', 'b', 'c', 'd'], ['a', 'c', 'd', 'e'], inside)]).toEqual(['b'])
  expect([...leftOf(['a', 'b', 'c', 'd'], ['new', 'a', 'b', 'c'], inside)]).toEqual([])
  expect([...leftOf(['a', 'b'], [], inside)]).toEqual([])
  expect([...leftOf(['a', 'b', 'c'], ['b'], { isStart: true, isEnd: true })]).toEqual(['a', 'c'])
  expect([...leftOf(['a', 'b'], [], { isStart: true, isEnd: true })]).toEqual(['a', 'b'])
})
