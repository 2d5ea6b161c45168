import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { chunksOf, readSmall } from './body.ts'

const bodyOf = (...parts: readonly string[]): Readable => Readable.from(parts.map(part => Buffer.from(part)))

test('a body of the most bytes is read whole, one byte more is not', async () => {
  expect(String(await readSmall(chunksOf(bodyOf('ab', 'c')), 3))).toBe('abc')
  expect(String(await readSmall(chunksOf(bodyOf()), 0))).toBe('')
  expect(await readSmall(chunksOf(bodyOf('ab', 'cd')), 3)).toBeUndefined()
})

test('a body that is too long stays open, for its answer to reach who sends it', async () => {
  const body = bodyOf('ab', 'cd', 'ef')
  expect(await readSmall(chunksOf(body), 1)).toBeUndefined()
  expect(body.destroyed).toBe(false)
})
