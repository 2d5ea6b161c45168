import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { compressedRows } from './compressed-rows.ts'

/** In pieces of a size; `isLate`: the end comes a while after the last piece. */
async function* piecesOf(rows: Buffer, size: number, isLate = false): AsyncGenerator<Buffer> {
  for (let at = 0; at < rows.length; at += size) yield rows.subarray(at, at + size)
  if (isLate) await new Promise(resolve => setImmediate(resolve))
}
const compress = async (rows: AsyncIterable<Buffer>): Promise<Buffer> => buffer(compressedRows(rows))

test.each([0, 1, 5_000, 131_072, 700_000])(
  '%i bytes of rows are the same bytes, in whatever pieces they come',
  async n => {
    const rows = Buffer.from(randomBytes(Math.ceil(n / 2)).toString('hex')).subarray(0, n)
    const whole = await compress(piecesOf(rows, Math.max(n, 1)))
    expect(zstdDecompressSync(whole).equals(rows)).toBe(true)
    for (const size of [997, 65_536]) expect((await compress(piecesOf(rows, size))).equals(whole)).toBe(true)
    expect((await compress(piecesOf(rows, 65_536, true))).equals(whole)).toBe(true)
    expect((await compress(Readable.from([rows]))).equals(whole)).toBe(true)
  },
)

test('an error of the rows is that of the whole', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('a row')
    await Promise.resolve()
    throw new Error('the database went away')
  }
  await expect(compress(broken())).rejects.toThrow('the database went away')
})
