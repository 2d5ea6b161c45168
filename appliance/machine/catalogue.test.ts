import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BOUNDS, catalogue } from './catalogue.ts'

let stick: string
beforeEach(async () => {
  stick = await mkdtemp(join(tmpdir(), 'gatehouse-stick-'))
})
afterEach(() => rm(stick, { recursive: true }))

const WHEN = new Date('2026-11-01T04:30:00.000Z')
async function put(path: string, content: string | Buffer = 'x', at = WHEN): Promise<void> {
  await mkdir(dirname(join(stick, path)), { recursive: true })
  await writeFile(join(stick, path), content)
  await utimes(join(stick, path), at, at)
}
const kinds = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await catalogue(stick)).files.map(({ path, kind }) => [path, kind]))

test('what is of use is listed, by its name and by how it begins', async () => {
  await put('gatehouse_backup_20261101_043000.tar.gz.age', 'age-encryption.org/v1\n-> scrypt')
  await put('old/gatehouse_backup_20261001_043000.tar.gz', Buffer.from([0x1f, 0x8b, 8, 0]))
  await put('gatehouse_backup_20261102_043000.tar.gz', 'no archive')
  await put('berlin-4.bundle.tar')
  await put('gatehouse-0.3.0-linux-x64.gatehouse-update')
  await put('clamav/main.cvd', 'ClamAV-VDB:16 Sep 2021')
  await put('clamav/daily.cld', 'ClamAV-VDB:20 Nov 2026')
  await put('clamav/fake.cvd', 'MZ')
  await put('vulndb-20261101.tar')
  await put('debian-all.zip')
  await put('epss_scores-2026-11-01.csv.gz')
  await put('advisories/anything at all.json')
  await put('gatehouse.ini')
  await put('deeper/gatehouse.ini')
  await put('holiday.jpg')
  await put('photos.zip')
  expect(await kinds()).toEqual({
    'gatehouse_backup_20261101_043000.tar.gz.age': 'backup',
    'old/gatehouse_backup_20261001_043000.tar.gz': 'backup',
    'berlin-4.bundle.tar': 'bundle',
    'gatehouse-0.3.0-linux-x64.gatehouse-update': 'update',
    'clamav/main.cvd': 'signatures',
    'clamav/daily.cld': 'signatures',
    'vulndb-20261101.tar': 'advisories',
    'debian-all.zip': 'advisories',
    'epss_scores-2026-11-01.csv.gz': 'advisories',
    'advisories/anything at all.json': 'advisories',
    'gatehouse.ini': 'seed',
  })
})

test('the newest comes first, with its size and time', async () => {
  await put('a.bundle.tar', '12345')
  await put('b.bundle.tar', '1', new Date('2026-11-02T00:00:00.000Z'))
  expect(await catalogue(stick)).toEqual({
    files: [
      { path: 'b.bundle.tar', kind: 'bundle', size: 1, modified_at: '2026-11-02T00:00:00.000Z' },
      { path: 'a.bundle.tar', kind: 'bundle', size: 5, modified_at: '2026-11-01T04:30:00.000Z' },
    ],
    said: '',
  })
})

test('a link is not followed, wherever it leads', async () => {
  await symlink('/etc', join(stick, 'etc'))
  await symlink('/etc/passwd', join(stick, 'x.bundle.tar'))
  await symlink('.', join(stick, 'again'))
  expect(await catalogue(stick)).toEqual({ files: [], said: '3 links are not followed.' })
})

test('names that deceive are counted and shown escaped, and not listed', async () => {
  await put('a\nb.bundle.tar')
  await put('\u001b[2J.bundle.tar')
  await put('rat\u202e.bundle.tar')
  await writeFile(Buffer.concat([Buffer.from(`${stick}/`), Buffer.from([0xff, 0xfe]), Buffer.from('.bundle.tar')]), 'x')
  await put('fine.bundle.tar')
  const { files, said } = await catalogue(stick)
  expect(files.map(({ path }) => path)).toEqual(['fine.bundle.tar'])
  expect(said).toMatch(/^4 names have characters that are not taken: .*, …\.$/)
  expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

test('a name of 255 letters is listed whole', async () => {
  const name = `${'n'.repeat(244)}.bundle.tar`
  await put(name)
  expect((await catalogue(stick)).files.map(({ path }) => path)).toEqual([name])
})

test('looking ends after so many files, and says so', async () => {
  for (let n = 0; n < 60; n++) await put(`many/${n}`)
  expect(await catalogue(stick, { ...BOUNDS, entries: 50 })).toEqual({
    files: [],
    said: 'Only the first 50 files and folders were looked at.',
  })
  for (let n = 0; n < 10; n++) await put(`${n}.bundle.tar`)
  const { files, said } = await catalogue(stick, { ...BOUNDS, files: 4 })
  expect(files).toHaveLength(4)
  expect(said).toBe('Only the first 4 files that are of use here were looked at.')
})

test('looking ends after so many seconds, and below so many folders', async () => {
  await put('1/2/3/4/near.bundle.tar')
  await put('1/2/3/4/5/far.bundle.tar')
  expect(await kinds()).toEqual({ '1/2/3/4/near.bundle.tar': 'bundle' })
  let clock = 0
  const { said } = await catalogue(stick, BOUNDS, () => (clock += 15_000))
  expect(said).toBe('Only what could be read in 20 seconds were looked at.')
})

test('a stick that is gone is said, and nothing is thrown', async () => {
  expect(await catalogue(join(stick, 'gone'))).toEqual({ files: [], said: '1 file cannot be read: /.' })
})
