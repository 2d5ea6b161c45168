import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lacking } from '../../test/support/tools.ts'
import { BadArchive, readArchive } from './archive-reader.ts'
import type { ArchiveManifest, Member } from './archive-manifest.ts'
import { writeArchive } from './archive-writer.ts'
import { fileHeader } from '../lib/tar-writer.ts'

const NEVER = new AbortController().signal
const LONG = `${'manifests/deb/jammy/'}${'a-very-long-name-'.repeat(9)}/1.0_amd64.json`
const FILES: Readonly<Record<string, Buffer>> = {
  'database/tables.json': Buffer.from('{}'),
  [LONG]: Buffer.from('long'),
  'documents/jammy/Übersetzung': Buffer.from('not ASCII'),
  'pool/empty': Buffer.alloc(0),
  'pool/large': Buffer.alloc(3 * 2 ** 20 + 7, 'x'),
}
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-archive-'))
  for (const [path, bytes] of Object.entries(FILES)) {
    await mkdir(join(folder, 'in', path, '..'), { recursive: true })
    await writeFile(join(folder, 'in', path), bytes)
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function write(
  name: string,
  passphrase = '',
  change: (members: readonly Member[]) => unknown = members => members,
) {
  const to = join(folder, name)
  await rm(to, { force: true })
  await writeArchive({
    folder: join(folder, 'in'),
    paths: Object.keys(FILES),
    name: 'gatehouse_backup_20261123_043000',
    to,
    passphrase,
    signal: NEVER,
    told: () => undefined,
    conclude: async members => [
      JSON.stringify({ format: 1, files: change(members) } as Partial<ArchiveManifest>),
      'signed',
    ],
  })
  return to
}
const whyOf = (path: string, passphrase = ''): Promise<string> =>
  readArchive(path, { passphrase, signal: NEVER }).then(
    () => 'read',
    (error: unknown) => (error instanceof BadArchive ? error.message : `no refusal: ${String(error)}`),
  )

describe('an archive', () => {
  test('is read as it was written, by us and by tar', async () => {
    const path = await write('plain.tar.gz')
    const out = join(folder, 'out')
    const read = await readArchive(path, { passphrase: '', to: out, signal: NEVER })
    expect([read.signature, read.manifest.files.length]).toEqual(['signed', 5])
    for (const [name, bytes] of Object.entries(FILES))
      expect((await readFile(join(out, name))).equals(bytes), name).toBe(true)
    await mkdir(join(folder, 'tar'))
    expect(spawnSync('tar', ['-xzf', path, '--strip-components=1', '-C', join(folder, 'tar')]).status).toBe(0)
    for (const [name, bytes] of Object.entries(FILES))
      expect((await readFile(join(folder, 'tar', name))).equals(bytes), name).toBe(true)
    expect((await readdir(join(folder, 'tar'))).sort()).toEqual([
      'database',
      'documents',
      'manifest.json',
      'manifest.json.asc',
      'manifests',
      'pool',
    ])
  })

  test('is encrypted as age does it, and needs its passphrase', async () => {
    const path = await write('sealed.tar.gz.age', 'Eleven-blue-herons')
    expect((await readFile(path)).subarray(0, 21).toString()).toBe('age-encryption.org/v1')
    expect(await whyOf(path, 'Eleven-blue-herons')).toBe('read')
    expect(await whyOf(path, 'other')).toContain('is not the one')
    expect(await whyOf(path)).toContain('is encrypted')
  })

  test.skipIf(lacking('age').length > 0)('is decrypted by age itself (needs age)', async () => {
    // age asks a terminal for a passphrase: script gives it one
    const path = await write('sealed2.tar.gz.age', 'Eleven-blue-herons')
    const done = spawnSync('script', ['-qec', `age -d -o ${folder}/opened ${path}`, '/dev/null'], {
      input: 'Eleven-blue-herons\n',
      encoding: 'utf8',
    })
    expect([done.status, done.stdout]).toEqual([0, expect.any(String)])
    expect(await whyOf(`${folder}/opened`)).toBe('read')
  })

  test.each<[string, (members: readonly Member[]) => unknown, string]>([
    ['lacks a member', members => [...members, { path: 'pool/more', size: 1, sha256: 'x' }], 'lacks pool/more'],
    ['has one too many', members => members.slice(1), 'which its manifest does not name'],
    [
      'has other bytes',
      members => members.map(one => ({ ...one, sha256: 'f'.repeat(64) })),
      'is damaged: its SHA-256 is',
    ],
  ])('that %s is refused', async (_what, change, why) => {
    expect(await whyOf(await write('wrong.tar.gz', '', change))).toContain(why)
  })

  test('that was cut at any place is refused', async () => {
    const path = await write('whole.tar.gz')
    const { length } = await readFile(path)
    for (const at of [0, 1, 9, 600, 4_000, Math.floor(length / 2), length - 1_200, length - 8, length - 1]) {
      const cut = await write('cut.tar.gz')
      await truncate(cut, at)
      expect(await whyOf(cut), `cut at ${at} of ${length}`).toMatch(/damaged or cut short|has no manifest/)
    }
  })

  test('whose member leaves the folder is refused, and writes nothing outside', async () => {
    const { gzipSync } = await import('node:zlib')
    for (const name of ['x/../../evil', '/etc/evil', 'x//evil', 'evil', 'x/./evil']) {
      const bytes = Buffer.concat([fileHeader(name, 4), Buffer.from('evil'), Buffer.alloc(508), Buffer.alloc(1024)])
      await writeFile(join(folder, 'evil.tar.gz'), gzipSync(bytes))
      expect(await whyOf(join(folder, 'evil.tar.gz')), name).toMatch(/which no backup has|has no manifest/)
    }
    expect(await readdir(folder)).not.toContain('evil')
  })
})
