import { setTimeout } from 'node:timers/promises'
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

test('a job whose parts fail one by one does not end the thread under the next job', async () => {
  const body: ThreadBody<'fail' | 'begin' | 'end', string> = () => (_, message, answer) => {
    if (message === 'fail') throw new Error('it failed')
    if (message === 'end') answer('whole')
  }
  const workers = createWorkers({ body, size: 1, idleMs: 100 })
  const failing = workers.job()
  failing.send('fail')
  failing.send('fail')
  await expect(failing.answer).rejects.toThrow('it failed')
  // the second fault comes while nobody has a job
  await setTimeout(20)
  const long = workers.job()
  long.send('begin')
  await setTimeout(500)
  long.send('end')
  expect(await long.answer).toBe('whole')
  await workers.close()
})
