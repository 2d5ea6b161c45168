import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hasClamd, startClamd } from '../../test/support/clamd.ts'
import { systemClock } from '../lib/clock.ts'
import { createClamd } from './clamd.ts'
import { listSignatures, newestSignatures, readHeader } from './clamav-signatures.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-signatures-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const header = (version: number, seconds: number): string =>
  `ClamAV-VDB:16 Nov 2026 08-25 +0000:${version}:2076543:90:0123456789abcdef0123456789abcdef:c2lnbmF0dXJl:builder:${seconds}`.padEnd(
    512,
  )

test.each([
  [header(27777, 1794817500), { version: '27777', signatures: 2076543, built_at: '2026-11-16T08:25:00.000Z' }],
  [
    'ClamAV-VDB:16 Nov 2026 08-25 +0000:27777:2076543:90:md5:sig:builder',
    { version: '27777', signatures: 2076543, built_at: '2026-11-16T08:25:00.000Z' },
  ],
  ['ClamAV-VDB:when:27777:1:90:md5:sig:builder', undefined],
  ['ClamAV-VDB:16 Nov 2026 08-25 +0000:new:1', undefined],
  ['something else', undefined],
])('reads a header: %s', (text, expected) => {
  expect(readHeader(text)).toEqual(expected)
})

test('lists what clamd would load, the newest first, by its header or its time; without daily too', async () => {
  await writeFile(join(folder, 'main.cvd'), header(62, 1789000000))
  await writeFile(join(folder, 'bytecode.cld'), header(335, 1794817500))
  await writeFile(join(folder, 'own.ndb'), 'x')
  await utimes(join(folder, 'own.ndb'), 1790000000, 1790000000)
  await writeFile(join(folder, 'freshclam.dat'), 'no signatures')
  expect((await listSignatures(folder)).map(({ file, version }) => `${file} ${version ?? '-'}`)).toEqual([
    'bytecode.cld 335',
    'own.ndb -',
    'main.cvd 62',
  ])
  expect(await newestSignatures(folder)).toEqual({ version: '335', at: '2026-11-16T08:25:00.000Z' })
  expect(await newestSignatures(join(folder, 'nowhere'))).toBeUndefined()
})

test.skipIf(!hasClamd)(
  'a clamd that does not say how old its signatures are is answered for by the files',
  async () => {
    const clamd = await startClamd()
    try {
      await writeFile(join(folder, 'main.cvd'), header(62, 1794817500))
      const status = await createClamd({
        address: clamd.address,
        clock: systemClock,
        signatures: () => newestSignatures(folder),
      }).status()
      expect(status).toMatchObject({ ok: true, signatures_version: '62', signatures_at: '2026-11-16T08:25:00.000Z' })
      expect((await createClamd({ address: clamd.address, clock: systemClock }).status()).signatures_at).toBeUndefined()
    } finally {
      await clamd.close()
    }
  },
)
