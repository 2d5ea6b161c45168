import { expect, test } from 'vitest'
import { cached, cachedByViewer, tenthOfTheTime, type Freshness } from './cached.ts'

function counted(ms: Freshness) {
  let now = 1_000_000
  let asked = 0
  let next: () => Promise<number> = async () => ++asked
  const ask = cached({ clock: { now: () => new Date(now) }, ms, read: () => next() })
  return {
    ask,
    wait: (by: number) => {
      now += by
    },
    answerWith: (read: () => Promise<number>) => {
      next = read
    },
  }
}

test('the source is asked once while the answer is fresh, and again afterwards', async () => {
  const { ask, wait } = counted(100)
  expect([await ask(), await ask()]).toEqual([1, 1])
  wait(99)
  expect(await ask()).toBe(1)
  wait(1)
  expect(await ask()).toBe(2)
})

test('callers who come while the answer is on its way share it', async () => {
  const { ask } = counted(100)
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
})

test('a failure goes to all who waited, and the next caller asks again', async () => {
  const { ask, answerWith } = counted(100)
  answerWith(() => Promise.reject(new Error('gone')))
  expect((await Promise.allSettled([ask(), ask()])).map(one => one.status)).toEqual(['rejected', 'rejected'])
  answerWith(async () => 7)
  expect(await ask()).toBe(7)
})

test('a clock that was set back does not keep an answer', async () => {
  const { ask, wait } = counted(100)
  await ask()
  wait(-50)
  expect(await ask()).toBe(2)
})

test('an answer that took long to get is kept longer', async () => {
  const { ask, wait, answerWith } = counted(tenthOfTheTime)
  answerWith(async () => {
    wait(300)
    return 1
  })
  await ask()
  answerWith(async () => 2)
  wait(2_999)
  expect(await ask()).toBe(1)
  wait(1)
  expect(await ask()).toBe(2)
})

test('an answer is shared only by viewers from whom the same is hidden', async () => {
  const asked: string[] = []
  const ask = cachedByViewer({
    clock: { now: () => new Date(1_000_000) },
    ms: 100,
    read: async ({ hidden }) => asked.push(hidden.join()) && hidden.join(),
  })
  expect([
    await ask({ hidden: [] }),
    await ask({ hidden: ['noble', 'jammy'] }),
    await ask({ hidden: ['jammy', 'noble'] }),
    await ask({ hidden: ['jammy'] }),
    await ask({ hidden: [] }),
  ]).toEqual(['', 'noble,jammy', 'noble,jammy', 'jammy', ''])
  expect(asked).toEqual(['', 'noble,jammy', 'jammy'])
  for (let n = 0; n < 200; n++) await ask({ hidden: [`d${n}`] })
  await ask({ hidden: [] })
  expect(asked.slice(-2)).toEqual(['d199', ''])
})
