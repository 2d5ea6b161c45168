import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { createChanges, type Changes } from './changes.ts'
import type { Db } from './db.ts'
import { createRelay } from './relay.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
const open: Changes[] = []
afterAll(async () => {
  for (const changes of open) await changes.stop()
  await close()
})

async function replica(instance: string, { redis = false, others = 1 } = {}) {
  const viaRedis: unknown[] = []
  const heard: unknown[] = []
  const changes = createChanges(db, () => undefined)
  const relay = await createRelay({
    ...{ db, changes, instance },
    shared: {
      client: () => (redis ? ({} as never) : undefined),
      tell: (_, message) => void viaRedis.push(message),
      hear: () => undefined,
    },
    replicas: { others: () => others },
    onError: vi.fn(),
  })
  relay.hear('events', message => void heard.push(message))
  changes.start()
  open.push(changes)
  return { relay, heard, viaRedis }
}

test('without Redis, what one replica tells the others hear once and in order, and those that come later do not', async () => {
  const [one, two, three] = [await replica('one'), await replica('two'), await replica('three')]
  for (const n of [1, 2, 3]) one.relay.tell('events', { n })
  two.relay.tell('events', { n: 4 })
  two.relay.tell('other', { n: 5 })
  const all = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]
  await vi.waitFor(
    () => expect(three.heard.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual(all),
    { timeout: 10_000 },
  )
  await vi.waitFor(() => expect([one.heard, two.heard]).toEqual([[{ n: 4 }], all.slice(0, 3)]), { timeout: 10_000 })
  const late = await replica('late')
  one.relay.tell('events', { n: 6 })
  await vi.waitFor(() => expect(late.heard).toEqual([{ n: 6 }]), { timeout: 10_000 })
  await vi.waitFor(() => expect(three.heard).toHaveLength(5), { timeout: 10_000 })
})

test('with Redis, and where nobody else is, nothing is written', async () => {
  await db.query('truncate replica_message')
  const [withRedis, alone] = [await replica('redis', { redis: true }), await replica('alone', { others: 0 })]
  withRedis.relay.tell('events', { n: 1 })
  alone.relay.tell('events', { n: 2 })
  const witness = await replica('witness')
  witness.relay.tell('events', { n: 3 })
  await vi.waitFor(() => expect(alone.heard).toEqual([{ n: 3 }]), { timeout: 10_000 })
  expect(withRedis.viaRedis).toEqual([{ n: 1 }])
  expect(await db.query('select body from replica_message')).toEqual([{ body: { n: 3 } }])
})
