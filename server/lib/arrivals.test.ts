import { expect, test, vi } from 'vitest'
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

test('with a rest, quiet comes only when nobody followed the last one for so long', async () => {
  vi.useFakeTimers()
  try {
    const { enter, quiet } = createArrivals()
    const first = enter()
    let isQuiet = false
    void quiet(60_000, 50).then(() => {
      isQuiet = true
    })
    first()
    await vi.advanceTimersByTimeAsync(49)
    const second = enter()
    await vi.advanceTimersByTimeAsync(1_000)
    second()
    await vi.advanceTimersByTimeAsync(49)
    expect(isQuiet).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isQuiet).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})
