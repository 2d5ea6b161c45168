import { xz } from '@napi-rs/lzma'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { crc64 } from './crc64.ts'
import { XZ_FLAGS, xzBlock, xzHeader, xzTail, type XzBlock } from './xz-stream.ts'

const hasXz = spawnSync('xz', ['--version']).status === 0

const streamOf = (blocks: readonly XzBlock[]): Buffer =>
  Buffer.concat([xzHeader(XZ_FLAGS), ...blocks.map(block => block.data), xzTail(XZ_FLAGS, blocks)])

async function joined(texts: readonly string[]): Promise<Buffer> {
  return streamOf(await Promise.all(texts.map(text => xzBlock(Buffer.from(text)))))
}

test.each([0, 1, 2, 3, 200])('%i pieces joined are one stream that the library reads whole', async count => {
  const texts = Array.from({ length: count }, (_, n) => `Package: p${n}\n`.repeat(1 + ((n * 13) % 97)))
  const stream = await joined(texts)
  expect((await xz.decompress(stream)).toString()).toBe(texts.join(''))
  if (!hasXz) return
  expect(spawnSync('xz', ['-t'], { input: stream }).status).toBe(0)
  expect(spawnSync('xz', ['-dc'], { input: stream, maxBuffer: 1 << 26 }).stdout.toString()).toBe(texts.join(''))
})

test.each([1, 4_095, 4_096, 4_097, 65_536, 65_537, 450_000])(
  'a block of %i bytes, of text and of noise, is read whole',
  async size => {
    for (const bytes of [Buffer.alloc(size, 'Package: hello\nVersion: 1.0\n'), randomBytes(size)]) {
      const block = await xzBlock(bytes)
      expect(block.data.length).toBe(Math.ceil(block.unpadded / 4) * 4)
      const stream = streamOf([block])
      expect((await xz.decompress(stream)).equals(bytes)).toBe(true)
      if (!hasXz) continue
      const { status, stdout } = spawnSync('xz', ['-dc'], { input: stream, maxBuffer: 1 << 26 })
      expect([status, stdout.equals(bytes)]).toEqual([0, true])
    }
  },
)

test('a block is no larger than what xz makes of the same', async () => {
  const text = Array.from(
    { length: 2_000 },
    (_, n) => `Package: p${n}\nVersion: 1.${n % 7}\nSHA256: ${randomBytes(32).toString('hex')}\n`,
  ).join('')
  expect(streamOf([await xzBlock(Buffer.from(text))]).length).toBeLessThan(1.01 * (await xz.compress(text)).length)
})

// the check value of CRC-64/XZ in the catalogue of parametrised CRC algorithms
test('the sum of "123456789" is the one that is published', () => {
  expect(
    Buffer.from(crc64(Buffer.from('123456789')))
      .reverse()
      .toString('hex'),
  ).toBe('995dc9bbdf1939fa')
  expect(crc64(Buffer.alloc(0)).toString('hex')).toBe('0000000000000000')
})
