import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { storedGzip } from './stored-gzip.ts'

const bytes = randomBytes(600_000)

async function zipped(plain: Buffer, piece: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  const body = (async function* body() {
    const shared = Buffer.alloc(piece) // as whoever reads files gives them: in one buffer
    for (let at = 0; at < plain.length; at += piece) yield shared.subarray(0, plain.copy(shared, 0, at))
  })()
  for await (const one of storedGzip(body)) pieces.push(Buffer.from(one))
  return Buffer.concat(pieces)
}

test.each([0, 1, 65_534, 65_535, 65_536, 262_140, 262_141, 600_000])('%i bytes are what gunzip finds', async size => {
  const plain = bytes.subarray(0, size)
  for (const piece of [512, 65_535, 262_144]) {
    const all = await zipped(plain, piece)
    expect(gunzipSync(all).equals(plain), `pieces of ${piece}`).toBe(true)
    expect(all.length).toBe(10 + size + 5 * Math.ceil(size / 65_535) + 13)
  }
})
