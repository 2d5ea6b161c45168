import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import { NOTHING } from '../contents/component.ts'
import type { Matched } from './rescan.ts'
import { runAlone } from '../../test/support/jobs.ts'
import { createUnread } from './unread.ts'

let stock: Stock
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const errors: unknown[] = []
const told: unknown[] = []
function scan(look: (name: string) => Matched = () => 'same', read: readonly string[] = []) {
  const looked: string[] = []
  const asked: unknown[] = []
  const known = new Set(read)
  const { work, ask } = createUnread({
    db: stock.db,
    jobs: {
      ask: async order => {
        asked.push(order)
        return { id: '', isNew: true }
      },
    },
    contents: { known: async ({ ref }) => (known.has(ref.name) ? NOTHING : undefined) },
    log: {
      error: (facts: unknown) => {
        errors.push(facts)
      },
      info: (facts: unknown) => {
        told.push(facts)
      },
    },
    look: async ({ ref, facts }) => {
      looked.push(ref.name)
      known.add(ref.name)
      expect(facts).toBeDefined()
      return look(ref.name)
    },
  })
  return { looked, asked, ask, run: (run = runAlone<unknown>()) => work.run(run, {}) }
}

test('what nobody has read is read, the newest first, each once, and new ones later', async () => {
  await stock.put({ name: 'old' })
  await stock.put({ name: 'read' })
  await stock.put({ name: 'bad', state: 'quarantined' })
  await stock.put({ name: 'waiting', state: 'pending_review' })
  await stock.put({ name: 'new' })
  const { looked, run } = scan(name => (name === 'old' ? 'held' : 'unavailable'), ['read'])
  expect(await run()).toEqual({ looked: 3, held: 1, unavailable: 2 })
  await stock.put({ name: 'later' })
  expect(await run()).toEqual({ looked: 1, held: 0, unavailable: 1 })
  expect(looked).toEqual(['new', 'waiting', 'old', 'later'])
})

test('it says how far it is while it runs, and what it did; it is asked for only when packages came', async () => {
  const { asked, ask, run } = scan(() => 'same', ['read'])
  for (let n = 0; n < 60; n++) await stock.put({ name: `p${n}` })
  await stock.put({ name: 'read' })
  await ask()
  const one = runAlone<unknown>()
  await run(one)
  await ask()
  expect(asked).toEqual([{ kind: 'contents', request: {}, by: 'system', codenames: 'all' }])
  expect(one.steps.map(({ done, total }) => [done, total])).toEqual([
    [50, 61],
    [61, 61],
  ])
  expect(told.at(-1)).toEqual({ looked: 60, held: 0, unavailable: 0 })
})

test('a package that cannot be read does not delay the others', async () => {
  await stock.put({ name: 'b' })
  await stock.put({ name: 'a' })
  const { looked, run } = scan(name => {
    if (name === 'a') throw new Error('broken')
    return 'same'
  })
  await run()
  expect([looked, errors]).toEqual([['a', 'b'], [expect.objectContaining({ package: 'a' })]])
})

test('a service that stops does not wait for the rest, which is read after the next start', async () => {
  for (const name of ['a', 'b', 'c']) await stock.put({ name })
  const stopping = new AbortController()
  const first = scan(() => {
    stopping.abort(new Error('the service stops'))
    return 'same'
  })
  await expect(first.run(runAlone({ signal: stopping.signal }))).rejects.toThrow('the service stops')
  expect(first.looked).toEqual(['c'])
  expect(await scan(undefined, first.looked).run()).toEqual({ looked: 2, held: 0, unavailable: 0 })
})

test('a run goes on behind what an earlier one has seen', async () => {
  for (let n = 0; n < 70; n++) await stock.put({ name: `p${n}` })
  const stopping = new AbortController()
  const first = scan()
  const run = runAlone<unknown>({ signal: stopping.signal })
  await expect(
    first.run({
      ...run,
      step: async progress => {
        await run.step(progress)
        stopping.abort(new Error('the service stops'))
      },
    }),
  ).rejects.toThrow('the service stops')
  const next = scan()
  expect(await next.run(runAlone({ cursor: run.steps[0]?.cursor }))).toEqual({ looked: 70, held: 0, unavailable: 0 })
  expect(next.looked).toEqual(Array.from({ length: 20 }, (_, n) => `p${19 - n}`))
})
