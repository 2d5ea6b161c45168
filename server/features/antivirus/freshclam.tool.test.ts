import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram, lacking } from '../../../test/support/tools.ts'
import { isRefusal } from '../../core/errors.ts'
import { runTool } from '../../lib/exec.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import { createFreshclam, type Updated } from './freshclam.ts'

const FRESHCLAM = findProgram('freshclam')

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-freshclam-'))
  for (const name of ['db', 'bundle', 'work']) await mkdir(join(root, name))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const settingsOf = (more: Partial<SettingsValue['clamav']> = {}): SettingsValue['clamav'] => ({
  mirror_url: '',
  bundle_folder: join(root, 'bundle'),
  database_folder: join(root, 'db'),
  update_timeout_minutes: 1,
  ...more,
})
const updater = (program: string | undefined) =>
  createFreshclam({
    exec: runTool,
    folder: join(root, 'work'),
    owner: userInfo().username,
    program: async () => program,
  }).run
const whyOf = async (promise: Promise<Updated>): Promise<string> =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (isRefusal(error) ? `${error.code}: ${error.message}` : String(error)),
  )
/** A program in freshclam's place: declared as such, for what the real one does not do on demand. */
async function standIn(script: string): Promise<string> {
  const path = join(root, 'stand-in')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

describe.skipIf(lacking('clamav-freshclam').length > 0)('the real freshclam', () => {
  test('takes signatures from a bundle folder without a network, tests them, and leaves them for clamd to read', async () => {
    await writeFile(join(root, 'bundle', 'own.ndb'), 'Test.Pattern:0:*:4142434445464748494a\n')
    await writeFile(join(root, 'bundle', 'README.txt'), 'not a signature file')
    const update = updater(FRESHCLAM)
    const done = await update(settingsOf())
    expect(done).toMatchObject({
      status: 'updated',
      source: 'bundle_folder',
      files: [{ file: 'own.ndb', version: null }],
    })
    expect(await readFile(join(root, 'db', 'own.ndb'), 'utf8')).toContain('Test.Pattern')
    expect((await stat(join(root, 'db', 'own.ndb'))).mode & 0o044).toBe(0o044)
    const yesterday = new Date(Date.now() - 86_400_000)
    await utimes(join(root, 'bundle', 'own.ndb'), yesterday, yesterday) // freshclam goes by the time
    expect(await update(settingsOf())).toMatchObject({ status: 'current' })
    expect(await readdir(join(root, 'work'))).toEqual([])
  })

  test('refuses a damaged bundle and leaves what is there', async () => {
    await writeFile(join(root, 'db', 'old.ndb'), 'Old.Pattern:0:*:4142434445464748494a\n')
    await writeFile(join(root, 'bundle', 'main.cvd'), 'this is no container')
    expect(await whyOf(updater(FRESHCLAM)(settingsOf()))).toMatch(
      /^signatures_not_updated: .*freshclam ended with \d+: .*Not a CVD|freshclam ended with \d+: .*Broken/,
    )
    expect((await readdir(join(root, 'db'))).filter(name => !name.startsWith('freshclam.'))).toEqual(['old.ndb'])
    expect(await readdir(join(root, 'work'))).toEqual([])
  })

  test('says that a mirror does not answer', async () => {
    const why = await whyOf(updater(FRESHCLAM)(settingsOf({ bundle_folder: '', mirror_url: 'http://127.0.0.1:9' })))
    expect(why).toMatch(/^signatures_not_updated: .*127\.0\.0\.1:9/)
    expect(why).not.toMatch(/\.\.$/) // its own full stop and ours
  })
})

test.each<[string, () => Partial<SettingsValue['clamav']>, RegExp]>([
  ['a folder that is not there', () => ({ bundle_folder: join(root, 'nowhere') }), /cannot be read/],
  ['a folder without signatures', () => ({}), /there is no signature file in/],
  ['a folder with a space', () => ({ database_folder: `${root}/a b` }), /no folder with a space/],
])('%s is refused before anything is run', async (_, more, why) => {
  const ran = join(root, 'ran')
  expect(await whyOf(updater(await standIn(`touch ${ran}`))(settingsOf(more())))).toMatch(why)
  expect(existsSync(ran)).toBe(false)
})

test('a machine without freshclam says what to install', async () => {
  expect(await whyOf(updater(undefined)(settingsOf()))).toMatch(
    /^engine_unavailable: freshclam does not answer: it is not installed/,
  )
})

test('a stand-in is given a configuration that names the mirror, and two callers share one run', async () => {
  const update = updater(
    await standIn(`echo run >> ${root}/runs; cp "$(echo "$1" | cut -d= -f2)" ${root}/seen.conf; sleep 0.2`),
  )
  const settings = settingsOf({ bundle_folder: '', mirror_url: 'https://mirror.example/clamav' })
  expect((await Promise.all([update(settings), update(settings)])).map(({ source }) => source)).toEqual([
    'private_mirror',
    'private_mirror',
  ])
  expect(await readFile(join(root, 'runs'), 'utf8')).toBe('run\n')
  const lines = (await readFile(join(root, 'seen.conf'), 'utf8')).split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      `DatabaseDirectory ${join(root, 'db')}`,
      'PrivateMirror https://mirror.example/clamav',
      'TestDatabases yes',
    ]),
  )
})

test('a mirror that is asked too often is not asked again before the time it names', async () => {
  const program = await standIn(
    "echo 'WARNING: FreshClam received error code 429 from the ClamAV Content Delivery Network (CDN).'\necho 'WARNING: You are on cool-down until after: 2026-03-02 10:00:00'",
  )
  const freshclam = createFreshclam({
    exec: runTool,
    folder: join(root, 'work'),
    owner: userInfo().username,
    program: async () => program,
  })
  const at = (time: string): string | undefined => freshclam.coolDown(new Date(time))
  expect(at('2026-03-01T10:00:00Z')).toBeUndefined()
  await freshclam.run(settingsOf({ bundle_folder: '' }))
  expect([at('2026-03-01T10:00:00Z'), at('2026-03-02T10:00:01Z')]).toEqual(['2026-03-02T10:00:00.000Z', undefined])
})
