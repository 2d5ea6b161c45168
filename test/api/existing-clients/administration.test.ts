import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueLicense } from '../../../server/core/license.ts'
import { fetchAuditArchive } from '../../support/audit-archive.ts'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'

/** Shapes that clients of this kind of service read, with their types, beside our own fields. */

const SECRET = 'what only the vendor of these tests knows'
const text = expect.any(String) as string
const whole = expect.any(Number) as number
const flag = expect.any(Boolean) as boolean
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string

let it: Daemon
let token: string
let preflight: Answer
let closed: Answer
beforeAll(async () => {
  it = await startDaemon({ env: { LICENSE_VENDOR_SECRET: SECRET } })
  preflight = await it.call('GET', '/setup/preflight', { headers: { 'x-forwarded-proto': 'https' } })
  token = await it.setupAdmin()
  closed = await it.call('GET', '/setup/preflight')
})
afterAll(() => it.close())
const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  it.call(method, path, { token, ...(body === undefined ? {} : { body }) })

describe('setup', () => {
  test('the checks look at the machine, and are closed once there is an admin', async () => {
    const check = { ok: flag, detail: text }
    expect([preflight.status, preflight.body]).toEqual([
      200,
      {
        checks: {
          database: { ok: true, detail: expect.stringMatching(/^PostgreSQL \d+(\.\d+)? answers\.$/) as string },
          disk_space: { ok: true, detail: expect.stringMatching(/^[\d.]+ GB are free\.$/) as string },
          clamav: { ok: false, detail: text },
          grype: check,
          secrets: {
            ok: true,
            detail: `${(await readdir(join(it.root, '.secrets'))).length} secrets were made at random; only this service can read them.`,
          },
          tls: { ok: true, detail: 'This page came over TLS.' },
        },
        ready: true,
      },
    ])
    expect([closed.status, closed.body.code]).toEqual([409, 'admin_exists'])
  })

  test('status says when it looked', async () => {
    expect((await it.call('GET', '/setup/status')).body).toEqual({
      admin_exists: true,
      setup_done: true,
      needs_setup: false,
      token_required: false,
      appliance: { name: '', environment: '', colour: 'ochre' },
      checked_at: time,
    })
  })
})

test('users have a number and say whose password theirs is', async () => {
  const user = {
    id: whole,
    username: 'ada',
    role: 'reader',
    roles: ['reader'],
    full_name: null,
    email: null,
    active: true,
    mfa_enabled: false,
    origin: 'local',
    auth_source: 'local',
    created_at: time,
    last_login: null,
    locked_until: null,
  }
  const made = await ask('POST', '/auth/users', { username: 'ada', password: 'Correct-horse-9', role: 'reader' })
  expect([made.status, made.body]).toEqual([201, user])
  const { users } = (await ask('GET', '/auth/users')).body as { users: { id: number; username: string }[] }
  expect(users.find(({ username }) => username === 'ada')).toEqual(user)
  expect(new Set(users.map(({ id }) => id)).size).toBe(users.length)
  const reset = await ask('POST', '/auth/users/ada/reset-password', { new_password: 'Another-horse-9' })
  expect(reset.body).toEqual({ status: 'password_set', username: 'ada', message: text })
  expect((await ask('DELETE', '/auth/users/ada')).body).toEqual({ status: 'deleted', username: 'ada', message: text })
})

test('a licence shows its limits, its number and the days that are left', async () => {
  const card = {
    edition: 'enterprise',
    active: true,
    standing: 'unlicensed',
    issued_to: null,
    issued_at: null,
    expires_at: null,
    max_packages: null,
    max_users: null,
    max_distributions: null,
    features: expect.arrayContaining(['promote', 'sbom', 'Single sign-on']) as string[],
    license_id: null,
    valid: true,
    days_remaining: null,
    warning: null,
  }
  expect((await ask('GET', '/license/')).body).toEqual(card)
  const expires = new Date(Date.now() + 100 * 86_400_000).toISOString()
  const issued = { id: 'l1', issued_to: 'Nordwerk AG', issued_at: '2026-01-01T00:00:00.000Z', expires_at: expires }
  expect((await ask('PUT', '/license', { key: issueLicense(issued, SECRET) })).body).toEqual({
    ...card,
    standing: 'valid',
    issued_to: 'Nordwerk AG',
    issued_at: issued.issued_at,
    expires_at: expires,
    license_id: 'l1',
    days_remaining: 100,
  })
  await ask('PUT', '/license', { key: '' })
})

test('signing keys are listed with the names of gpg, and exported where clients fetch them', async () => {
  expect((await ask('GET', '/settings/gpg')).body).toEqual({
    configured: false,
    fingerprint: null,
    keys: [],
    public_key_url: '/repos/gpg.key',
    public_key_armored: null,
    apk_keys: [],
  })
  expect((await ask('POST', '/settings/gpg/export')).body.code).toBe('no_signing_key')
  const { fingerprint } = (
    await ask('POST', '/settings/gpg/generate', { type: 'ed25519Legacy', name: 'Test', email: 'a@example.test' })
  ).body as { fingerprint: string }
  const { keys, public_key_armored: armored } = (await ask('GET', '/settings/gpg')).body
  expect(keys).toEqual([
    {
      fingerprint,
      user_id: 'Test <a@example.test>',
      algorithm: text,
      created_at: time,
      role: 'current',
      type: 'pub',
      algo: text,
      key_id: fingerprint.slice(-16),
      created: time,
      expires: null,
      uids: ['Test <a@example.test>'],
    },
  ])
  const file = await readFile(join(it.root, 'gpg.key'), 'utf8').catch(() => undefined)
  const exported = (await ask('POST', '/settings/gpg/export')).body
  expect(exported).toEqual({
    status: file === undefined ? 'exported' : 'unchanged',
    path: text,
    url_path: '/repos/gpg.key',
    url: `${it.url}/repos/gpg.key`,
    message: `The public signing keys are at ${it.url}/repos/gpg.key.`,
  })
  expect(await readFile(String(exported.path), 'utf8')).toBe(armored)
  expect((await it.call('GET', '/repos/gpg.key')).text).toBe(armored)
})

test('the next synchronisation is the next run of the job of the clock, unless that is off', async () => {
  const { next_run: next, ...rest } = (await ask('GET', '/settings/next-sync')).body
  expect([next, rest]).toEqual([
    time,
    { status: 'scheduled', job: 'sync', message: `Import sources are synchronised next at ${String(next)}.` },
  ])
  expect((await ask('GET', '/import/sync-schedule')).body).toMatchObject({ cron: '0 0 3 * * *', next_run: next })
  expect((await ask('PATCH', '/settings/', { sync: { enabled: false } })).status).toBe(200)
  expect((await ask('GET', '/settings/next-sync')).body).toEqual({
    next_run: null,
    status: 'paused',
    job: 'sync',
    message: 'The clock synchronises nothing: sync.enabled is off.',
  })
})

test('retention runs now, for every distribution with a rule', async () => {
  await ask('POST', '/distributions/init', { codename: 'jammy' })
  for (const version of ['1', '2', '3'])
    await it.upload(await buildDeb({ name: 'hello', version, arch: 'amd64' }), {
      token,
      filename: `hello_${version}.deb`,
    })
  await ask('PATCH', '/distributions/jammy/retention', { keep: 1 })
  const gone = { name: 'hello', arch: 'amd64', size: whole }
  expect((await ask('POST', '/settings/run-retention')).body).toEqual({
    status: 'done',
    job: 'version-retention',
    message:
      '2 versions were removed by the rules of 1 distribution. 0 imported versions were removed: a newer one took their place more than 30 days ago. No file of the audit log is older than 90 days.',
    imports: {
      days: 30,
      dry_run: false,
      removed: [],
      removed_count: 0,
      kept: [],
      kept_count: 0,
      bytes: 0,
      message: '0 imported versions were removed: a newer one took their place more than 30 days ago.',
    },
    audit: { days: 90, files: 0, lines: 0, bytes: 0, first_day: null, last_day: null, message: text },
    removed: 2,
    bytes: whole,
    distributions: [
      {
        codename: 'jammy',
        keep: 1,
        dry_run: false,
        removed: expect.arrayContaining([
          { ...gone, version: '1' },
          { ...gone, version: '2' },
        ]) as unknown[],
        pinned: [],
        bytes: whole,
        message: text,
      },
    ],
  })
})

test('the settings name the address of the repositories', async () => {
  expect((await ask('GET', '/settings/')).body).toMatchObject({ app_url: '', repo_url: '' })
  await ask('PATCH', '/settings/', { repo_url: 'https://repo.example.test/' })
  const setup = await ask('GET', '/distributions/jammy/setup')
  expect(setup.text).toContain('https://repo.example.test/repos jammy main')
  expect(setup.text).not.toContain(it.url)
})

describe('engines', () => {
  test('clamd that nobody set is not available', async () => {
    expect((await ask('GET', '/security/clamav/status')).body).toEqual({
      ok: false,
      enabled: true,
      when_unavailable: { uploads: 'warn', said: text },
      warning:
        'No antivirus engine is set up. The environment variables are CLAMD_SOCKET, or CLAMD_HOST and CLAMD_PORT. Uploads are published with a warning.',
      engine: 'clamav',
      version: null,
      signatures_version: null,
      signatures_at: null,
      error: text,
      signatures_age_hours: null,
      databases: expect.any(Array) as unknown[],
      available: false,
      daemon_running: false,
      db_version: null,
      db_date: null,
      db_files: expect.any(Array) as string[],
      cooldown_until: null,
    })
  })

  test('grype that is not there is not installed, and feeds that were never fetched are not fresh', async () => {
    expect((await ask('GET', '/security/grype/status')).body).toEqual({
      available: false,
      version: null,
      built_at: null,
      schema: null,
      status: 'not_installed',
      age_hours: null,
      stale: false,
      stale_threshold_hours: whole,
      error: 'grype is not installed on this machine.',
    })
    expect((await ask('GET', '/security/feeds/status')).body).toEqual({
      ttl_hours: whole,
      kev: { available: false, fetched_at: null, total: 0, catalog_version: null, age_hours: null, fresh: false },
      epss: { available: false, updated_at: null, count: 0, age_hours: null, fresh: false },
    })
  })
})

describe('the audit log', () => {
  const listed = async (path: string): Promise<unknown[]> =>
    ((await ask('GET', `/artifacts/audit/logs?per_page=500${path}`)).body as { items: unknown[] }).items

  test('is exported as one list, newest first', async () => {
    const entries = await listed('')
    expect(entries.length).toBeGreaterThan(1)
    const { status, text: said } = await ask('GET', '/artifacts/audit/export')
    expect([status, JSON.parse(said)]).toEqual([200, entries])
  })

  test('is exported as an archive of its files, byte for byte', async () => {
    const files = await fetchAuditArchive(it, token)
    const onDisk = (await readdir(join(it.root, 'audit'))).filter(name => name.endsWith('.jsonl')).sort()
    expect([...files.keys()]).toEqual(onDisk)
    for (const [name, said] of files) expect(await readFile(join(it.root, 'audit', name), 'utf8')).toBe(said)
  })

  test('is exported for one user, with the number of entries', async () => {
    const entries = await listed('&user=admin')
    expect(entries.length).toBeGreaterThan(0)
    expect((await ask('GET', '/artifacts/audit/export/user/admin')).body).toEqual({
      username: 'admin',
      exported_at: time,
      count: entries.length,
      entries,
    })
    expect((await ask('GET', '/artifacts/audit/export/user/nobody')).body).toMatchObject({ count: 0, entries: [] })
  })
})
