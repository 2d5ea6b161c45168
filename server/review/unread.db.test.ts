import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import { NOTHING } from '../contents/component.ts'
import type { Matched } from './rescan.ts'
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
  const known = new Set(read)
  const stopping = new AbortController()
  const progress: (string | undefined)[] = []
  const { run, progress: far } = createUnread({
    db: stock.db,
    contents: { known: async ({ ref }) => (known.has(ref.name) ? NOTHING : undefined) },
    signal: stopping.signal,
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
      progress.push(far())
      known.add(ref.name)
      expect(facts).toBeDefined()
      return look(ref.name)
    },
  })
  return { looked, progress, far, run, stopping }
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

test('it says how far it is while it runs, and what it did', async () => {
  await stock.put({ name: 'a' })
  await stock.put({ name: 'read' })
  await stock.put({ name: 'b' })
  const { progress, far, run } = scan(() => 'same', ['read'])
  await run()
  expect([progress, far()]).toEqual([
    ['0 of 3 packages seen, 0 of them read', '2 of 3 packages seen, 1 of them read'],
    undefined,
  ])
  expect(told.at(-1)).toEqual({ looked: 2, held: 0, unavailable: 0 })
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
  const first = scan(() => {
    first.stopping.abort()
    return 'same'
  })
  expect(await first.run()).toEqual({ looked: 1, held: 0, unavailable: 0 })
  expect(await scan(undefined, first.looked).run()).toEqual({ looked: 2, held: 0, unavailable: 0 })
})
