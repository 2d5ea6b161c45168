import { spawnSync } from 'node:child_process'
import { createCipheriv } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { unbzip2 } from './bzip2.ts'

const hasBzip2 = spawnSync('bzip2', ['--help']).status === 0

/** Bytes that do not compress, the same on every run. */
const noise = (length: number): Buffer =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(length))
const pack = (body: Buffer, level = 9): Buffer =>
  spawnSync('bzip2', ['-c', `-${level}`], { input: body, maxBuffer: 2 ** 28 }).stdout

/** In chunks of this size, as a file or a socket would give them. */
async function* chunked(bytes: Buffer, size = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size))
}

async function unpacked(bytes: Buffer, size?: number, isJoined?: boolean): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of unbzip2(chunked(bytes, size), isJoined)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe.skipIf(!hasBzip2)('what bzip2 packed is unpacked to the same bytes', () => {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from('x')],
    ['four equal bytes, whose count is the last byte', Buffer.alloc(4, 'a')],
    [
      'runs around the longest one',
      Buffer.concat(
        [3, 4, 5, 254, 255, 256, 258, 259, 260, 261].flatMap(count => [Buffer.alloc(count, 'a'), Buffer.from('b')]),
      ),
    ],
    ['every byte there is', Buffer.from(Array.from({ length: 256 * 40 }, (_, i) => (i * 7) & 255))],
    ['one byte many times, so that a small block unpacks to 10 MB', Buffer.alloc(10_000_000, 0)],
    ['noise of several blocks', noise(1_000_000)],
    ['text', Buffer.from(Array.from({ length: 40_000 }, (_, i) => `line ${i} of ${i * i}\n`).join(''))],
  ])('%s', async (_name, body) => {
    for (const level of [1, 9]) expect((await unpacked(pack(body, level))).equals(body)).toBe(true)
    expect((await unpacked(pack(body), 1021)).equals(body)).toBe(true)
  })
  test('streams one after the other, where that is asked for', async () => {
    const bodies = [Buffer.from('x'), noise(1_000_000), Buffer.alloc(0), Buffer.from('text')]
    const joined = Buffer.concat(bodies.map(body => pack(body)))
    expect((await unpacked(joined, 1021, true)).equals(Buffer.concat(bodies))).toBe(true)
    await expect(unpacked(joined)).rejects.toThrow('something follows the end')
    await expect(unpacked(Buffer.concat([joined, Buffer.from('more')]), 1021, true)).rejects.toThrow('begin')
  })
})

describe.skipIf(!hasBzip2)('what is no whole bzip2 stream is refused', () => {
  const body = Buffer.concat([noise(5000), Buffer.alloc(5000, 'x')])
  const whole = hasBzip2 ? pack(body, 1) : Buffer.alloc(0)
  const refused = async (bytes: Buffer): Promise<string> => {
    try {
      return (await unpacked(bytes)).equals(body) ? 'accepted' : 'accepted as something else'
    } catch (error) {
      return (error as { why?: string }).why ?? `a fault: ${String(error)}`
    }
  }

  test('cut off at any byte', async () => {
    for (let length = 0; length < whole.length; length += 29)
      expect(await refused(whole.subarray(0, length)), `${length} bytes`).toMatch(/cut off|does not begin/)
  })

  test('with any byte changed it is refused, never a fault, never other bytes, and never without end', async () => {
    for (let at = 0; at < whole.length; at += 11) {
      const bent = Buffer.from(whole)
      bent[at] = (bent[at] ?? 0) ^ (1 << (at % 8))
      // the level alone says how large a block may be, and the last bits of the last byte say nothing
      expect(await refused(bent), `byte ${at}`).not.toMatch(/^a fault|accepted as/)
    }
  })

  test.each([
    ['another stream behind it', Buffer.concat([whole, whole]), /follows the end/],
    ['zeros behind it', Buffer.concat([whole, Buffer.alloc(9)]), /follows the end/],
    ['gzip', Buffer.from('1f8b0800000000000003', 'hex'), /does not begin/],
    ['a level that does not exist', Buffer.from('BZh0aaaaaaaaaaaaa'), /block size/],
    ['no block behind the header', Buffer.from('BZh9aaaaaaaaaaaaaaaa'), /neither another block nor the end/],
    ['the randomised kind', Buffer.from('425a683931415926535900000000ffffffffffffff', 'hex'), /randomised/],
  ])('%s', async (_name, bytes, why) => {
    expect(await refused(bytes)).toMatch(why)
  })

  test('more blocks than anything needs, each of one byte', async () => {
    const bitsOf = (bytes: Buffer): string => [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
    const all = bitsOf(pack(Buffer.from('x'), 1))
    const block = all.slice(32, all.indexOf(bitsOf(Buffer.from('177245385090', 'hex'))))
    const eight = Buffer.from((block.repeat(8).match(/.{8}/g) ?? []).map(byte => parseInt(byte, 2)))
    const bytes = Buffer.concat([Buffer.from('BZh1'), ...Array.from({ length: 12_501 }, () => eight)])
    expect(await refused(bytes)).toMatch(/more than 100000 blocks/)
  })

  test('a run length that grows without end is refused at once', async () => {
    // one symbol, all codes a bit long, and nothing but RUNA: 2^n bytes after n bits
    const header = '425a6839314159265359'
    // crc, not randomised, origin 0, bytes 0x00 alone, two codes, one selector, lengths 1 2 2 for both
    const bits = [
      '0'.repeat(32),
      '0',
      '0'.repeat(24),
      '1000000000000000',
      '1000000000000000',
      '010',
      '000000000000011',
      '0',
      '0',
      '0',
      '00001',
      '0',
      '100',
      '0',
      '00001',
      '0',
      '100',
      '0',
      '0'.repeat(4000),
    ].join('')
    const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => parseInt(byte, 2)))
    expect(await refused(Buffer.concat([Buffer.from(header, 'hex'), bytes]))).toMatch(
      /unpacks to more than its header says/,
    )
  })
})
