import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { createKeptDocuments } from './kept-documents.ts'

test.each([
  ['a small one', 'x'.repeat(100), true, false],
  ['a packed one', 'x'.repeat(5_000), true, true],
  ['one as it is', 'x'.repeat(5_000), false, false],
])('what is kept holds no more memory than its own bytes: %s', async (_, text, wanted, isPacked) => {
  const kept = createKeptDocuments({ clock: systemClock })
  const { bytes, isPacked: is } = await kept.get('key', wanted, () => Promise.resolve({ texts: [text] }))
  expect(is).toBe(isPacked)
  expect((isPacked ? gunzipSync(bytes) : bytes).toString()).toBe(text)
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})
