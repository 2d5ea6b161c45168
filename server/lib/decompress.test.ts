import { createCipheriv } from 'node:crypto'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { compressSync } from '@napi-rs/lzma/xz'
import { describe, expect, test } from 'vitest'
import type { Compression, Packed } from './packed.ts'
import { unpack } from './decompress.ts'
import { limited } from './limited.ts'
import { createXzWatch } from './xz.ts'

const KINDS = ['gzip', 'xz', 'zstd'] as const

function pack(body: Buffer, kind: Exclude<Compression, 'bzip2' | 'lzma'>): Buffer {
  switch (kind) {
    case 'gzip':
      return gzipSync(body)
    case 'xz':
      return compressSync(body)
    case 'zstd':
      return zstdCompressSync(body, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    case 'none':
      return body
  }
}

/** Bytes that do not compress, the same on every run. */
function noise(length: number): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(length))
}

interface Watched extends Packed {
  taken(): number
  open(): number
}

/** A source that counts how much was asked of it and how often it was left open. */
function source(bytes: Buffer, compression: Compression, chunkSize = 65536): Watched {
  let taken = 0
  let open = 0
  return {
    what: 'data.tar',
    compression,
    size: bytes.length,
    taken: () => taken,
    open: () => open,
    async *chunks() {
      open += 1
      try {
        for (let at = 0; at < bytes.length; at += chunkSize) {
          const chunk = bytes.subarray(at, at + chunkSize)
          taken += chunk.length
          yield chunk
        }
      } finally {
        open -= 1
      }
    },
  }
}

async function drain(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const SMALL = Buffer.from('hello '.repeat(1000))
const LARGE = Buffer.concat([noise(300_000), Buffer.alloc(3_000_000), noise(200_000)])

describe.each(KINDS)('%s', kind => {
  test.each([
    ['small', SMALL],
    ['large', LARGE],
    ['empty', Buffer.alloc(0)],
  ])('a %s stream comes out as it went in', async (_, body) => {
    for (const chunkSize of [1000, 65536, 1 << 20]) {
      const from = source(pack(body, kind), kind, chunkSize)
      expect((await drain(unpack(from))).equals(body)).toBe(true)
      expect(from.open()).toBe(0)
    }
  })

  test.each([
    ['small', SMALL],
    ['large', LARGE],
  ])('a %s stream that is cut off, damaged or continued is refused', async (_, body) => {
    const good = pack(body, kind)
    const flipped = Buffer.from(good)
    flipped[good.length >> 1] = (flipped[good.length >> 1] ?? 0) ^ 0x55
    const wrong = [
      good.subarray(0, good.length - 1),
      good.subarray(0, good.length >> 1),
      good.subarray(0, 3),
      flipped,
      Buffer.concat([good, Buffer.from('x')]),
      Buffer.concat([good, Buffer.alloc(1)]),
      Buffer.concat([good, Buffer.alloc(64), good]),
      Buffer.concat([good, noise(100_000)]),
    ]
    for (const [i, bytes] of wrong.entries()) {
      const from = source(bytes, kind)
      await expect(drain(unpack(from)), `case ${i}`).rejects.toMatchObject({
        name: 'Malformed',
        why: expect.stringMatching(/^data\.tar/),
      })
      expect(from.open()).toBe(0)
    }
  })

  test('a bomb is stopped by the byte budget after its first chunks', async () => {
    const bomb = pack(Buffer.alloc(20 * 2 ** 20), kind)
    let seen = 0
    const stream = limited(unpack(source(bomb, kind, 1024)), 5 * 2 ** 20, 'data.tar')
    const count = async (): Promise<void> => {
      for await (const chunk of stream) seen += chunk.length
    }
    await expect(count()).rejects.toThrow('data.tar unpacks to more than 5 MiB')
    expect(seen).toBeLessThanOrEqual(5 * 2 ** 20)
  })

  test('it reads no further than it is asked to', async () => {
    const from = source(pack(noise(16_000_000), kind), kind)
    for await (const chunk of unpack(from)) if (chunk.length > 0) break
    // the decoder of xz is given 8 MiB at most, however long nobody takes any
    expect(from.taken()).toBeLessThan(10_000_000)
    expect(from.open()).toBe(0)
  })

  test('an error of the source is the error that is thrown', async () => {
    const bytes = pack(LARGE, kind)
    const chunks = async function* (): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 5000)
      throw new Error('the disk is gone')
    }
    const broken: Packed = { what: 'data.tar', compression: kind, size: bytes.length, chunks }
    await expect(drain(unpack(broken))).rejects.toThrow('the disk is gone')
  })
})

test.each([
  // small members are unpacked in one call, large ones as a stream
  ['small', 1000],
  ['large', 300_000],
])(
  'what follows the end of a %s stream is refused in one sentence that names the member and the rule',
  async (_, size) => {
    const behind = 'behind the end of its compressed stream, where not every reader looks'
    const said = async (kind: (typeof KINDS)[number], more: Buffer): Promise<unknown> =>
      drain(unpack(source(Buffer.concat([pack(noise(size), kind), more]), kind))).catch(
        (error: unknown) => (error as { readonly why?: string }).why,
      )
    const garbage = Buffer.from('GARBAGE!')
    const zeros = Buffer.alloc(64)
    const second = (kind: (typeof KINDS)[number]): Buffer => pack(Buffer.from('more'), kind)
    const xz = 'data.tar: something follows the end of the xz stream, where dpkg never looks'
    expect([await said('xz', garbage), await said('xz', zeros), await said('xz', second('xz'))]).toEqual([xz, xz, xz])
    expect([await said('zstd', garbage), await said('zstd', zeros), await said('zstd', second('zstd'))]).toEqual([
      `data.tar goes on for 8 bytes ${behind}`,
      `data.tar goes on for 64 bytes ${behind}`,
      `data.tar goes on for ${second('zstd').length} bytes ${behind}`,
    ])
    expect([await said('gzip', garbage), await said('gzip', zeros)]).toEqual([
      'data.tar is no gzip stream, or something that is none follows its end, where not every reader looks',
      `data.tar goes on for 64 bytes ${behind}`,
    ])
  },
)

test('joined gzip members are one stream, as dpkg reads them', async () => {
  for (const body of [SMALL, LARGE]) {
    for (const chunkSize of [100, 65536, gzipSync(body).length]) {
      const joined = Buffer.concat([gzipSync(body), gzipSync(body)])
      expect((await drain(unpack(source(joined, 'gzip', chunkSize)))).equals(Buffer.concat([body, body]))).toBe(true)
    }
  }
})

test('a reader that blocks this thread gets all of it: waits for input and for the reader end each by its own', async () => {
  const body = Buffer.concat([...Array(40)].flatMap(() => [noise(100_000), Buffer.alloc(900_000)]))
  const stuck = new Int32Array(new SharedArrayBuffer(4))
  let size = 0
  for await (const chunk of unpack(source(gzipSync(body), 'gzip'))) {
    size += chunk.length
    Atomics.wait(stuck, 0, 0, 3)
  }
  expect(size).toBe(body.length)
})

test('what is not compressed passes as it is', async () => {
  expect((await drain(unpack(source(LARGE, 'none')))).equals(LARGE)).toBe(true)
})

describe('the xz watch', () => {
  test.each([0, 1, 65536, 2_500_000])(
    'knows that %i bytes come out, in whatever pieces the stream comes in',
    length => {
      for (const body of [noise(length), Buffer.alloc(length)]) {
        const bytes = compressSync(body)
        for (const piece of [1, 7, 4096, bytes.length]) {
          if (bytes.length / piece > 100_000) continue
          const watch = createXzWatch()
          for (let at = 0; at < bytes.length; at += piece) watch.push(bytes.subarray(at, at + piece))
          watch.end()
          expect(watch.unpackedBytes).toBe(length)
        }
      }
    },
  )

  test('says so when the stream ends before it should, wherever', () => {
    const bytes = compressSync(SMALL)
    for (let length = 0; length < bytes.length; length++) {
      const watch = createXzWatch()
      watch.push(bytes.subarray(0, length))
      expect(() => watch.end(), String(length)).toThrow('ends too early')
    }
  })
})

describe('an xz stream that costs a decoder more than it unpacks to is refused', () => {
  // the watch reads no checksums, the decoder behind it does
  const start = Buffer.from('fd377a585a00000100000000', 'hex')
  const block = Buffer.from('020021011600000000000000', 'hex')
  const chunk = Buffer.from('0100007801000078', 'hex')

  test('chunks of one byte', () => {
    const bytes = Buffer.concat([start, block, ...Array.from({ length: 600 }, () => chunk)])
    expect(() => createXzWatch().push(bytes)).toThrow('chunks that unpack to 100')
  })

  test('more blocks than anything needs', () => {
    const empty = Buffer.concat([block, Buffer.alloc(8)]) // no chunk, padding, and a checksum
    const bytes = Buffer.concat([start, ...Array.from({ length: 200_001 }, () => empty)])
    expect(() => createXzWatch().push(bytes)).toThrow('more than 200000 blocks')
  })
})
