import { randomBytes } from 'node:crypto'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { layoutOf } from '../../../test/support/repositories.ts'
import { buildChanges } from '../../../test/support/sources.ts'
import { mustRun } from '../../../test/support/tools.ts'
import { AppError } from '../../core/errors.ts'
import { createSpool } from '../../files/spool.ts'
import { deb } from '../../formats/deb/index.ts'
import { createDigestThreads } from '../../lib/digest.ts'
import { createDeveloperUploads } from './developer-upload.ts'
import { createWatchedFolder, type WatchedFolder } from './watched-folder.ts'

const threads = createDigestThreads({ threads: 1 })
afterAll(() => threads.close())

let root: string
let folder: string
let watched: WatchedFolder
let leads: boolean
let changed: (now: never) => void
/** What the gate was given. */
let admitted: string[]
let refusal: AppError | undefined
let logged: unknown[]
let ahead: number

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-watched-'))
  folder = join(root, 'watched')
  await mkdir(folder)
  ;[admitted, refusal, logged, ahead] = [[], undefined, [], 0]
  leads = true
  const layout = layoutOf(root)
  const spool = createSpool({ layout, random: randomBytes, threads })
  await spool.sweep()
  const { isAnnouncement, read } = createDeveloperUploads({ formats: [deb] } as never)
  const tell = (...line: unknown[]): unknown => logged.push(line)
  watched = createWatchedFolder({
    spool,
    settings: {
      now: () => ({ developer_uploads: { watched_folder: folder }, validation: { max_upload_size_mb: 500 } }) as never,
      subscribe: listener => {
        changed = listener
      },
    },
    uploads: {
      isAnnouncement,
      read,
      async admit({ announcement, find }) {
        if (refusal !== undefined) throw refusal
        const { files, source, sourceVersion, target } = await read(announcement)
        for (const { name } of files) admitted.push(`${name} ${find(name)?.blob.size}`)
        const signed_by = { name: 'jo', fingerprint: 'F' }
        return { source, version: sourceVersion, distribution: target, signed_by, packages: [] }
      },
    },
    leads: () => leads,
    clock: { now: () => new Date(Date.now() + ahead) },
    log: { info: () => undefined, warn: tell, error: tell } as never,
  })
})
afterEach(async () => {
  await watched.stop?.()
  await rm(root, { recursive: true, force: true })
})

const put = (name: string, bytes: string | Buffer): Promise<void> => writeFile(join(folder, name), bytes)
/** The announcement of one file. */
const announce = (name: string, bytes: string): Buffer =>
  buildChanges({ source: 'acme', version: '1', distribution: 'bookworm', files: { [name]: Buffer.from(bytes) } })
const reason = (name: string): Promise<string> => readFile(join(folder, 'rejected', `${name}.reason`), 'utf8')

test('an upload is taken once it is whole, and again when it comes again', async () => {
  for (let round = 1; round <= 2; round++) {
    await put('a.changes', announce('a.deb', 'whole'))
    await put('a.deb', 'who')
    await watched.scan()
    expect(await readdir(folder)).toEqual(['a.changes', 'a.deb'])
    await put('a.deb', 'whole')
    await watched.scan()
    expect(await readdir(folder)).toEqual([])
    expect(admitted).toEqual(Array(round).fill('a.deb 5'))
  }
  expect(logged).toEqual([])
})

test.each(['a link', 'a pipe', 'a folder'])('%s called .changes is set aside with the reason', async what => {
  const path = join(folder, 'a.changes')
  if (what === 'a link') await symlink('/etc/passwd', path)
  if (what === 'a pipe') await mustRun('mkfifo', [path])
  if (what === 'a folder') await mkdir(path)
  await watched.scan()
  expect(await reason('a.changes')).toBe('a.changes is no plain file. Send the file itself.\n')
  expect((await readdir(join(folder, 'rejected'))).sort()).toEqual(['a.changes', 'a.changes.reason'])
  expect(await readdir(folder)).toEqual(['rejected'])
})

test.each(['a link', 'a pipe', 'a folder'])('%s in place of an announced file is never read', async what => {
  await put('a.changes', announce('a.deb', 'whole'))
  const path = join(folder, 'a.deb')
  await writeFile(join(root, 'elsewhere'), 'whole')
  if (what === 'a link') await symlink(join(root, 'elsewhere'), path)
  if (what === 'a pipe') await mustRun('mkfifo', [path])
  if (what === 'a folder') await mkdir(path)
  await watched.scan()
  expect(await readdir(folder)).toEqual(['a.changes', 'a.deb'])
  ahead = 25 * 60 * 60 * 1000
  await watched.scan()
  expect(await reason('a.changes')).toBe('Not all of its files came within a day.\n')
  expect(admitted).toEqual([])
})

test('an announcement that is too long to be one is not read into memory', async () => {
  await put('a.changes', '')
  await truncate(join(folder, 'a.changes'), 200 * 2 ** 20)
  ahead = 61_000
  await watched.scan()
  expect(await reason('a.changes')).toContain('it is larger than 2 MiB')
})

test('an old date that a copy kept does not make an upload late', async () => {
  await put('a.changes', announce('a.deb', 'whole'))
  await mustRun('touch', ['-d', '2020-01-01', join(folder, 'a.changes')])
  await watched.scan()
  expect(await readdir(folder)).toEqual(['a.changes'])
  await put('a.deb', 'whole')
  await watched.scan()
  expect(admitted).toEqual(['a.deb 5'])
})

test('a name that is no UTF-8 is read as latin-1', async () => {
  await writeFile(Buffer.from(`${folder}/a\xe9.changes`, 'latin1'), announce('a.deb', 'whole'))
  await put('a.deb', 'whole')
  await watched.scan()
  expect(admitted).toEqual(['a.deb 5'])
  expect(await readdir(folder)).toEqual([])
})

test('an upload for which the disk has no room stays for the next run', async () => {
  await put('a.changes', announce('a.deb', 'whole'))
  await put('a.deb', 'whole')
  refusal = new AppError('storage_full', {})
  await watched.scan()
  expect(await readdir(folder)).toEqual(['a.changes', 'a.deb'])
  expect(logged).toHaveLength(1)
  refusal = undefined
  await watched.scan()
  expect(admitted).toEqual(['a.deb 5'])
})

test('a folder that was removed is made and watched again', async () => {
  await watched.scan()
  await rename(folder, join(root, 'gone'))
  await watched.scan()
  await put('a.deb', 'whole')
  await put('a.changes', announce('a.deb', 'whole'))
  // nobody asks for a look: the watcher sees it
  await expect.poll(() => admitted, { timeout: 20_000 }).toEqual(['a.deb 5'])
  await expect(access(join(root, 'gone', 'a.changes'))).rejects.toThrow('ENOENT')
})

test('a folder that is set while the service runs is looked at and watched at once', async () => {
  const later = folder
  const set = (value: string): void => {
    folder = value
    changed({ developer_uploads: { watched_folder: value } } as never)
  }
  folder = ''
  watched.lead?.()
  leads = false
  set(later) // another process looks there
  set('')
  leads = true
  await writeFile(join(later, 'a.deb'), 'whole')
  await writeFile(join(later, 'a.changes'), announce('a.deb', 'whole'))
  set(later)
  // nobody asks for a look, and no clock
  await expect.poll(() => admitted, { timeout: 20_000 }).toEqual(['a.deb 5'])
  await put('b.deb', 'whole')
  await put('b.changes', announce('b.deb', 'whole'))
  await expect.poll(() => admitted, { timeout: 20_000 }).toEqual(['a.deb 5', 'b.deb 5'])
})

test('after a stop no further upload is begun', async () => {
  for (const name of ['a', 'b', 'c']) {
    await put(`${name}.changes`, announce(`${name}.deb`, 'whole'))
    await put(`${name}.deb`, 'whole')
  }
  const scanning = watched.scan()
  await watched.stop?.()
  await scanning
  expect(admitted.length).toBeLessThan(3)
  expect(await readdir(join(root, 'incoming'))).toEqual([])
})
