import { afterAll, expect, test } from 'vitest'
import { createWorkers, type ThreadBody, type Workers } from './workers.ts'

/** Counts the jobs of its thread. */
const count: ThreadBody<null, number> = () => {
  let jobs = 0
  return (_, __, answer) => answer(++jobs)
}
const all: Workers<null, number>[] = []
const make = (idleMs?: number): (() => Promise<number>) => {
  const workers = createWorkers<null, number>({ body: count, size: 1, ...(idleMs === undefined ? {} : { idleMs }) })
  all.push(workers)
  return () => {
    const job = workers.job()
    job.send(null)
    return job.answer
  }
}
afterAll(async () => {
  for (const one of all) await one.close()
})

test('a thread goes on with the next job, and remembers', async () => {
  const ask = make()
  expect([await ask(), await ask(), await ask()]).toEqual([1, 2, 3])
})

test('a thread without a job ends after a while, and the next job starts another one', async () => {
  const ask = make(20)
  expect([await ask(), await ask()]).toEqual([1, 2])
  await expect.poll(ask, { interval: 200, timeout: 30_000 }).toBe(1)
})

test('jobs that come together are answered by one thread, however short it may wait', async () => {
  const ask = make(0)
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 2, 3])
})
