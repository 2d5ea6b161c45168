import { describe, expect, test } from 'vitest'
import { createEvents, type LiveEvent } from './events.ts'

const clock = { now: () => new Date('2026-03-01T12:00:00Z') }
const event = (n: number): LiveEvent => ({ type: 'upload', at: '2026-03-01T12:00:00.000Z', data: { n } })

async function take(
  source: AsyncIterable<{ readonly id: string; readonly event: LiveEvent }>,
  count: number,
): Promise<{ ids: string[]; ns: unknown[] }> {
  const ids: string[] = []
  const ns: unknown[] = []
  for await (const {
    id,
    event: { data },
  } of source) {
    ids.push(id)
    ns.push(data.n)
    if (ns.length === count) break
  }
  return { ids, ns }
}

describe('events', () => {
  test('a new follower gets what comes from now on, in order', async () => {
    const events = createEvents({ clock })
    events.emit(event(0))
    const following = take(events.follow(undefined, new AbortController().signal), 3)
    await Promise.resolve()
    for (const n of [1, 2, 3]) events.emit(event(n))
    expect((await following).ns).toEqual([1, 2, 3])
  })

  test('a follower that comes back with its last id misses nothing', async () => {
    const events = createEvents({ clock })
    for (const n of [0, 1, 2, 3]) events.emit(event(n))
    const all = await take(events.follow('unknown', new AbortController().signal), 4)
    expect(all.ns).toEqual([0, 1, 2, 3])
    expect((await take(events.follow(all.ids[1], new AbortController().signal), 2)).ns).toEqual([2, 3])
  })

  test('an unknown id, or one from before a restart, gets all events that are kept', async () => {
    const events = createEvents({ clock, kept: 3 })
    for (const n of [0, 1, 2, 3, 4]) events.emit(event(n))
    for (const id of ['abc-4', '', '-', 'x', '5', '__proto__-1']) {
      expect((await take(events.follow(id, new AbortController().signal), 3)).ns).toEqual([2, 3, 4])
    }
  })

  test('a follower that goes on with another replica gets what came since, and some seconds before', async () => {
    const [one, other] = [createEvents({ clock }), createEvents({ clock: { now: () => new Date(1) } })]
    const at = (n: number): LiveEvent => ({
      ...event(n),
      at: new Date(Date.UTC(2026, 2, 1, 12, 0, n * 10)).toISOString(),
    })
    for (const n of [0, 1, 2]) one.emit(at(n))
    const seen = await take(one.follow('unknown', new AbortController().signal), 3)
    // it has them all, and those that came while the client was away
    for (const n of [0, 1, 2, 3, 4]) other.emit(at(n))
    expect((await take(other.follow(seen.ids[2], new AbortController().signal), 3)).ns).toEqual([2, 3, 4])
  })

  test('a follower slower than the ring loses the oldest and goes on', async () => {
    const events = createEvents({ clock, kept: 2 })
    const follower = events.follow(undefined, new AbortController().signal)[Symbol.asyncIterator]()
    const first = follower.next()
    await Promise.resolve()
    for (const n of [0, 1, 2, 3, 4]) events.emit(event(n))
    const seen = [await first, await follower.next()].map(step => step.value?.event.data.n)
    expect(seen).toEqual([3, 4])
  })

  test('following ends when the client goes away, also while waiting', async () => {
    const events = createEvents({ clock })
    const client = new AbortController()
    const following = take(events.follow(undefined, client.signal), 1)
    client.abort()
    expect((await following).ns).toEqual([])
    expect((await take(events.follow(undefined, client.signal), 1)).ns).toEqual([])
  })
})
