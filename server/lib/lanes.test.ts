import { expect, test } from 'vitest'
import { createLanes, type Lanes } from './lanes.ts'

const SMALL = { upToBytes: 10, atOnce: 2, mostWaiting: 5 }
const LARGE = { upToBytes: 100, atOnce: 1, mostWaiting: 2 }
const full = (waiting: number): never => {
  throw new Error(`${waiting} are waiting`)
}

/** Starts work that ends when it is told to. */
function begin(lanes: Lanes, sizeBytes: number, log: string[], name: string) {
  const end = Promise.withResolvers<undefined>()
  const stop = new AbortController()
  const done = lanes.run({ sizeBytes, signal: stop.signal }, async () => {
    log.push(name)
    await end.promise
    return name
  })
  done.catch(() => undefined)
  return { done, end: () => end.resolve(undefined), abort: () => stop.abort(new Error('the client has gone')) }
}

test('small work never waits behind large work', async () => {
  const lanes = createLanes([SMALL, LARGE], full)
  const log: string[] = []
  const [one, two] = [begin(lanes, 90, log, 'large 1'), begin(lanes, 1_000, log, 'large 2')]
  const small = begin(lanes, 10, log, 'small')
  small.end()
  expect(await small.done).toBe('small')
  expect(log).toEqual(['large 1', 'small'])
  one.end()
  two.end()
  expect(await two.done).toBe('large 2')
})

test('work of one size runs in the order of its arrival, so many at once', async () => {
  const lanes = createLanes([SMALL, LARGE], full)
  const log: string[] = []
  const all = ['a', 'b', 'c', 'd'].map(name => begin(lanes, 1, log, name))
  expect(log).toEqual(['a', 'b'])
  all[1]?.end()
  await all[1]?.done
  expect(log).toEqual(['a', 'b', 'c'])
  for (const one of all) one.end()
  await Promise.all(all.map(({ done }) => done))
  expect(log).toEqual(['a', 'b', 'c', 'd'])
})

test('whoever leaves while waiting frees the place, and work that fails does too', async () => {
  const lanes = createLanes([LARGE], full)
  const log: string[] = []
  const failing = lanes.run({ sizeBytes: 1, signal: new AbortController().signal }, () =>
    Promise.reject(new Error('it is damaged')),
  )
  const gone = begin(lanes, 1, log, 'gone')
  const next = begin(lanes, 1, log, 'next')
  gone.abort()
  await expect(gone.done).rejects.toThrow('the client has gone')
  await expect(failing).rejects.toThrow('it is damaged')
  next.end()
  expect(await next.done).toBe('next')
  const aborted = begin(lanes, 1, log, 'late')
  aborted.end()
  await aborted.done
  expect(log).toEqual(['next', 'late'])
})

test('a queue that is too long is refused, and nothing that waits is lost', async () => {
  const lanes = createLanes([LARGE], full)
  const log: string[] = []
  const all = ['a', 'b', 'c'].map(name => begin(lanes, 1, log, name))
  await expect(begin(lanes, 1, log, 'd').done).rejects.toThrow('2 are waiting')
  for (const one of all) one.end()
  expect(await Promise.all(all.map(({ done }) => done))).toEqual(['a', 'b', 'c'])
})
