import { expect, test } from 'vitest'
import { createRateLimits, type RateLimits } from './rate-limit.ts'

/** Whether a request from this address gets through. */
function passes(limits: RateLimits, address: string): Promise<boolean> {
  const ctx = { state: { clientIp: address }, set: () => undefined, response: { get: () => '' } }
  return limits.count(ctx as never, { bucket: 'b', perMinute: 2, id: address }).then(
    () => true,
    () => false,
  )
}

test('exactly so many pass, and an address is forgotten after its minute', async () => {
  let now = Date.now()
  const limits = createRateLimits(() => now)
  const first = []
  for (let n = 0; n < 5; n++) first.push(await passes(limits, 'a'))
  expect(first).toEqual([true, true, false, false, false])
  for (let n = 0; n < 500; n++) await passes(limits, `10.0.${n >> 8}.${n & 255}`)
  expect(limits.size()).toBe(501)
  now += 121_000
  await passes(limits, 'b')
  expect(limits.size()).toBe(1)
})

test.each([
  [1, 1],
  [2, 2],
  [3, 2],
  [40, 2],
])('of %i requests in one moment %i pass', async (asked, passed) => {
  const limits = createRateLimits()
  const answers = await Promise.all(Array.from({ length: asked }, () => passes(limits, 'a')))
  expect(answers.filter(Boolean)).toHaveLength(passed)
  expect(await passes(limits, 'b')).toBe(true)
})
