import { expect, test } from 'vitest'
import { createArrivals } from './arrivals.ts'

test('quiet comes when the last one has left, however often one says that it leaves', async () => {
  const { enter, quiet } = createArrivals()
  await quiet(60_000)
  const [first, second] = [enter(), enter()]
  let isQuiet = false
  const waiting = quiet(60_000).then(() => {
    isQuiet = true
  })
  first()
  first()
  await new Promise(resolve => setImmediate(resolve))
  expect(isQuiet).toBe(false)
  second()
  await waiting
})

test('who waits for quiet waits no longer than the bound', async () => {
  const { enter, quiet } = createArrivals()
  enter()
  await quiet(1)
})
