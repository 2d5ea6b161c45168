import { execFileSync } from 'node:child_process'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../../test/support/clamd.ts'
import { ar, buildDeb, EICAR, tar } from '../../test/support/packages.ts'
import { buildRpm } from '../../test/support/packages-rpm.ts'
import { buildZip } from '../../test/support/zip.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { systemClock } from '../lib/clock.ts'
import { createClamd } from './clamd.ts'
import type { AntivirusAnswer } from './scanner.ts'

const never = new AbortController().signal
const eicarTar = tar([{ name: 'e.com', body: EICAR }])
const lzma = (bytes: Buffer): Buffer => execFileSync('xz', ['--format=lzma', '-c'], { input: bytes })
const zip = (name: string, body: Buffer): Buffer => buildZip([{ name, body }])
const tgz = (name: string, body: Buffer): Buffer => gzipSync(tar([{ name, body }]))
const deb = (compression: 'gz' | 'xz' | 'zst'): Promise<Buffer> =>
  buildDeb({ name: 'inner', version: '1', files: { 'usr/e.com': EICAR }, compression })
const rpm = (compression: 'gz' | 'xz' | 'zst' | 'none'): Promise<Buffer> =>
  buildRpm({ name: 'inner', version: '1', release: '1', arch: 'x86_64', files: { 'usr/e.com': EICAR }, compression })

describe.skipIf(!hasClamd)('with a real clamd, which opens neither zstd nor lzma, ar and rpm', () => {
  let clamd: TestClamd
  beforeAll(async () => {
    clamd = await startClamd({ StreamMaxLength: '40M' })
  })
  afterAll(async () => {
    await clamd.close()
  })

  /** Scans a payload that holds one file. */
  function scan(body: Buffer, name = 'usr/share/x'): Promise<AntivirusAnswer> {
    return createClamd({ address: clamd.address, clock: systemClock }).scan(
      {
        identity: { format: 'deb', name: 'a', version: '1', arch: 'amd64' },
        distribution: getDistribution('bookworm'),
        purl: '',
        about: {
          summary: '',
          description: '',
          source: 'a',
          source_version: '1',
          depends: [],
          provides: [],
          conflicts: [],
        },
        inner: async function* () {
          yield {
            name: 'data.tar',
            open: async function* () {
              yield tar([{ name: `./${name}`, body }])
            },
          }
        },
      },
      never,
    )
  }

  test.each<[string, () => Buffer | Promise<Buffer>]>([
    ['a zstd', () => zstdCompressSync(Buffer.from(EICAR))],
    ['a tar.zst', () => zstdCompressSync(eicarTar)],
    ['a tar.lzma', () => lzma(eicarTar)],
    ['a tar.zst in a zip', () => zip('a.tar.zst', zstdCompressSync(eicarTar))],
    ['a tar.zst in a jar in a war', () => zip('WEB-INF/lib/a.jar', zip('a.tar.zst', zstdCompressSync(eicarTar)))],
    ['a tar.zst in a tar.gz', () => tgz('x', zstdCompressSync(eicarTar))],
    ['a zstd in a zstd', () => zstdCompressSync(zstdCompressSync(eicarTar))],
    ['a .deb (gz)', () => deb('gz')],
    ['a .deb (xz)', () => deb('xz')],
    ['a .deb (zst)', () => deb('zst')],
    [
      'a .deb in a .deb',
      async () => buildDeb({ name: 'outer', version: '1', files: { 'usr/x': await deb('zst') }, compression: 'xz' }),
    ],
    ['a .deb in a zip', async () => zip('a.deb', await deb('zst'))],
    ['an .rpm (gz)', () => rpm('gz')],
    ['an .rpm (xz)', () => rpm('xz')],
    ['an .rpm (zst)', () => rpm('zst')],
    ['an .rpm (none)', () => rpm('none')],
    [
      'an ar',
      () =>
        ar([
          { name: 'a.o/', body: 'x' },
          { name: 'e.com/', body: EICAR },
        ]),
    ],
  ])('%s with malware in it is infected', async (_, make) => {
    expect(await scan(await make())).toMatchObject({
      kind: 'infected',
      where: expect.stringContaining('data.tar!/usr/share/x') as string,
    })
  })

  test('the same without malware is clean', async () => {
    for (const body of [
      zstdCompressSync(tar([{ name: 'a', body: 'hello' }])),
      await buildDeb({ name: 'inner', version: '1' }),
      ar([{ name: 'a.o/', body: 'hello' }]),
      zip('a.tar.zst', zstdCompressSync(Buffer.from('hello'))),
    ]) {
      expect(await scan(body)).toEqual({ kind: 'clean' })
    }
  })

  test.each<[string, () => Buffer, string, string]>([
    ['a damaged zstd', () => zstdCompressSync(Buffer.alloc(100_000, 'abc')).subarray(0, -3), 'x', 'damaged or cut off'],
    [
      'a zstd that goes on behind its end',
      () => Buffer.concat([zstdCompressSync(Buffer.from('a'.repeat(20))), Buffer.from('more of something')]),
      'x',
      'behind the end',
    ],
    [
      'a zstd that unpacks to more than clamd takes',
      () => zstdCompressSync(Buffer.alloc(64 << 20)),
      'x',
      'StreamMaxLength',
    ],
    ['a large one', () => Buffer.alloc((16 << 20) + 1, 1), 'usr/x.tar.zst', 'larger than 16 MiB'],
    [
      'an .rpm with damaged headers',
      () => Buffer.from(`edabeedb${'00'.repeat(200)}`, 'hex'),
      'x',
      'headers are damaged',
    ],
  ])('%s is never called clean', async (_, make, name, why) => {
    expect(await scan(make(), name)).toMatchObject({ kind: 'unscannable', why: expect.stringContaining(why) as string })
  })

  test('too deep nesting is reported', async () => {
    let body = zstdCompressSync(Buffer.from('hello'))
    for (let level = 0; level < 20; level++) body = zstdCompressSync(body)
    expect(await scan(body)).toMatchObject({ kind: 'unscannable', why: 'it lies more than 8 archives deep' })
  })
})
