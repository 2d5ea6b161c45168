import { expect, test } from 'vitest'
import { problemOf } from '../http/problem.ts'
import { createUnpacking } from './unpacking.ts'

test('where too many are waiting, the sender is asked to come again: the package is not blamed', async () => {
  const unpacking = createUnpacking([{ upToBytes: Infinity, atOnce: 1, mostWaiting: 0 }])
  const place = { sizeBytes: 1, signal: new AbortController().signal }
  const end = Promise.withResolvers<string>()
  const first = unpacking.run(place, () => end.promise)
  const refused = await unpacking.run(place, () => Promise.resolve()).catch((error: unknown) => problemOf(error))
  expect(refused).toEqual({
    status: 503,
    code: 'unpacking_full',
    detail:
      'The package was not looked at: 0 packages of its size are waiting to be unpacked already. Nothing was kept; send it again in 60 s.',
    facts: { waiting: 0, retry_after: 60 },
  })
  end.resolve('done')
  expect(await first).toBe('done')
})

test('a small package does not wait for large ones', async () => {
  const unpacking = createUnpacking()
  const { signal } = new AbortController()
  const end = Promise.withResolvers<undefined>()
  const large = Array.from({ length: 5 }, () => unpacking.run({ sizeBytes: 500e6, signal }, () => end.promise))
  expect(await unpacking.run({ sizeBytes: 1e6, signal }, () => Promise.resolve('looked at'))).toBe('looked at')
  end.resolve(undefined)
  await Promise.all(large)
})
