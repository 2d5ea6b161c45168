import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { claimRestore } from '../../server/backup/restore-database.ts'
import { openClient } from '../../server/db/db.ts'
import { DATABASE } from '../../server/db/embedded.ts'
import { findRunning } from '../../server/db/pid-file.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'

const PASSPHRASE = 'Eleven-blue-herons'
const CLI = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const PACKAGES = '/repos/dists/jammy/main/binary-amd64/Packages'

/** A client that asks for the index and for one package over and over. */
function watchTree(daemon: Daemon, path: string) {
  const seen = { asked: 0, bad: [] as string[] }
  let isOver = false
  const done = (async () => {
    while (!isOver) {
      for (const one of [PACKAGES, path]) {
        seen.asked++
        const status = await fetch(`${daemon.url}${one}`).then(
          async answer => (await answer.arrayBuffer(), answer.status),
          (error: unknown) => `no answer: ${String(error)}`,
        )
        if (status !== 200) seen.bad.push(`${one}: ${status}`)
      }
    }
  })()
  return async () => {
    isOver = true
    await done
    return seen
  }
}

/** What somebody who works is told: statuses with the error's code, and whether each 503 says when to come again. */
function watchApi(daemon: Daemon, token: string) {
  const seen = new Set<string>()
  let isOver = false
  const done = (async () => {
    while (!isOver) {
      const { status, body, headers } = await daemon.call<{ code?: string }>('GET', '/auth/me', { token })
      seen.add(`${status} ${body.code ?? ''} ${headers.get('retry-after') ?? ''}`.trim())
    }
  })()
  return async () => {
    isOver = true
    await done
    return [...seen].sort()
  }
}

describe('a backup restored into a running service', () => {
  let daemon: Daemon
  let token: string
  let archive: string
  /** API tokens that the backup has: one is revoked after it. */
  let revoked: string
  let kept: string

  const served = async (): Promise<string[]> => {
    const { text } = await daemon.call('GET', PACKAGES)
    return packageNames(text)
  }
  const upload = async (name: string): Promise<void> => {
    const answer = await daemon.upload(await buildDeb({ name, version: '1.0' }), { token })
    expect(answer.body.status).toBe('published')
  }
  interface Listed {
    readonly undo: { readonly restored_at: string; readonly until: string } | null
  }
  /** Until the service answers again, by an account of whatever database is there now. */
  async function back(): Promise<Listed> {
    return vi.waitFor(
      async () => {
        token = await daemon.setupAdmin()
        const { status, body } = await daemon.call<Listed>('GET', '/backup/', { token })
        expect(status).toBe(200)
        return body
      },
      { timeout: 120_000, interval: 200 },
    )
  }
  const restore = (passphrase?: string) =>
    daemon.call<{ job_id: string }>('POST', '/backup/restore', {
      token,
      body: { file_name: archive, ...(passphrase === undefined ? {} : { passphrase }) },
    })
  const stateOf = async (job: string) =>
    (await daemon.call<{ status: string; error: unknown }>('GET', `/jobs/${job}`, { token })).body

  beforeAll(async () => {
    daemon = await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600', DATABASE_URL: undefined } })
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    for (const name of ['one', 'two']) await upload(name)
    await daemon.call('PATCH', '/settings/', { token, body: { backup: { passphrase: PASSPHRASE } } })
    const make = async (name: string) =>
      (
        await daemon.call<{ id: string; token: string }>('POST', '/auth/api-tokens', {
          token,
          body: { name, role: 'reader' },
        })
      ).body
    const going = await make('revoked')
    revoked = going.token
    kept = (await make('kept')).token
    archive = (await daemon.call<{ file_name: string }>('POST', '/backup/', { token })).body.file_name
    await upload('three')
    expect((await daemon.call('DELETE', `/auth/api-tokens/${going.id}`, { token })).status).toBe(200)
  })
  afterAll(() => daemon.close())

  test('is looked at before: what it holds beside what is here, and why it would be refused', async () => {
    const look = (body: object) => daemon.call('POST', `/backup/${archive}/preview`, { token, body })
    expect(await look({})).toMatchObject({
      status: 200,
      body: {
        parts: [
          { part: 'packages', now: 3, backup: 2 },
          { part: 'versions', now: 3, backup: 2 },
          { part: 'decisions' },
          { part: 'accounts', now: 1, backup: 1 },
          { part: 'machines', now: 0, backup: 0 },
        ],
        schema: { is: 'same' },
        refused: null,
        notes: [],
      },
    })
    expect(await look({ passphrase: 'not-it' })).toMatchObject({
      status: 422,
      body: {
        code: 'backup_refused',
        detail: [{ msg: expect.stringContaining('not the one that the archive was encrypted') }],
      },
    })
    expect(await readdir(daemon.root)).not.toContain('.restore')
  })

  test('serves its trees meanwhile without a gap, then what was in the backup; and the audit log says so', async () => {
    expect((await daemon.call('GET', '/upload/sample', { token })).body).toMatchObject({ offered: true })
    const client = watchTree(daemon, '/repos/pool/jammy/main/o/one/one_1.0_amd64.deb')
    const person = watchApi(daemon, token)
    expect(await restore()).toMatchObject({ status: 202, body: { status: 'accepted', job_id: expect.any(String) } })
    await vi.waitFor(() => expect(existsSync(join(daemon.root, '.restored.json'))).toBe(true), {
      timeout: 60_000,
      interval: 20,
    })
    const { undo } = await back()
    expect(undo).toMatchObject({ restored_at: expect.any(String), until: expect.any(String) })
    await vi.waitFor(async () => expect(await served()).toEqual(['one', 'two']), { timeout: 30_000, interval: 100 })
    const { asked, bad } = await client()
    expect(asked).toBeGreaterThan(20)
    expect(bad).toEqual([])
    // then the session: none of before goes on, for it may be one that was ended since the backup
    expect(await person()).toEqual(['200', '401 bad_credential', '503 maintenance 5', '503 starting 5'])
    expect((await daemon.call('GET', '/auth/me', { token: revoked })).status).toBe(401)
    expect((await daemon.call('GET', '/auth/me', { token: kept })).status).toBe(200)
    const { body } = await daemon.call<{ items: { action: string; user: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=BACKUP_RESTORE',
      { token },
    )
    expect(body.items).toMatchObject([{ action: 'BACKUP_RESTORE', user: 'admin' }])
    // the log goes on: the lines since the backup are in it, and the chain is whole
    const since = await daemon.call<{ items: { action: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=TOKEN_REVOKE',
      { token },
    )
    expect(since.body.items).toHaveLength(1)
    expect((await daemon.call('GET', '/artifacts/audit/integrity', { token })).body).toMatchObject({
      ok: true,
      replaced: null,
    })
    await vi.waitFor(
      async () => {
        const jobs = await daemon.call<{ items: { job_id: string; asked_by: string }[] }>('GET', '/jobs?kind=verify', {
          token,
        })
        const job = await daemon.call('GET', `/jobs/${jobs.body.items[0]?.job_id ?? ''}`, { token })
        expect(job.body).toMatchObject({
          status: 'done',
          asked_by: 'admin',
          result: { differences: 0, checked: { packages: 2 } },
        })
      },
      { timeout: 60_000, interval: 100 },
    )
    // what clients get now is what the backup served: no sample is added to it
    expect((await daemon.call('GET', '/upload/sample', { token })).body).toMatchObject({ offered: false })
    expect(await daemon.call('POST', '/upload/sample', { token, body: { distribution: 'jammy' } })).toMatchObject({
      status: 409,
      body: { code: 'sample_after_restore' },
    })
    await upload('four')
    expect(spawnSync(process.execPath, [CLI], { env: { ...process.env, REPOS_ROOT: daemon.root } }).status).toBe(0)
  })
  test('a second one beside a restore that is under way is refused, and so is going back', async () => {
    const running = await findRunning(join(daemon.root, '.pg'))
    if (running === undefined) throw new Error('the database does not run')
    const before = await served()
    const client = openClient({ socket: running.socket, database: DATABASE })
    await client.connect()
    try {
      // as a replica that prepares one
      expect(await claimRestore(client)).toBe(true)
      const { body } = await restore()
      await vi.waitFor(
        async () =>
          expect(await stateOf(body.job_id)).toMatchObject({ status: 'error', error: { code: 'restore_under_way' } }),
        { timeout: 60_000, interval: 100 },
      )
      const refused = { status: 409, body: { code: 'restore_under_way' } }
      expect(await daemon.call('POST', '/backup/restore/undo', { token })).toMatchObject(refused)
      // and asked for, not begun
      await client.query(
        `insert into job (id, kind, target, request, request_key, state, asked_by, codenames, told, lease_until)
        values ('0badcafe', 'restore', '', '{"file_name":"other"}', 'other', 'running', 'ada', '{}', 0, now() + interval '1 hour')`,
      )
      expect(await restore()).toMatchObject(refused)
      expect(await daemon.call('POST', '/backup/restore/undo', { token })).toMatchObject(refused)
      await client.query(`delete from job where id = '0badcafe'`)
    } finally {
      await client.end()
    }
    expect(await readdir(daemon.root)).not.toContain('.restore')
    expect(await served()).toEqual(before)
  })

  const away = (name: string): boolean => /^\.before_restore_\d{14}$/.test(name)

  test('is undone: everything is what it was, also what came in before the restore', async () => {
    expect(await daemon.call('POST', '/backup/restore/undo', { token })).toMatchObject({ status: 202 })
    await vi.waitFor(async () => expect((await readdir(daemon.root)).some(away)).toBe(false), {
      timeout: 60_000,
      interval: 50,
    })
    expect(await back()).toMatchObject({ undo: null })
    const log = await daemon.call<{ items: { detail: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=BACKUP_RESTORE&sort=asc',
      { token },
    )
    expect(log.body.items.map(({ detail }) => /This log went on/.test(detail))).toEqual([true, true])
    expect((await daemon.call('GET', '/artifacts/audit/integrity', { token })).body).toMatchObject({ ok: true })
    await vi.waitFor(async () => expect(await served()).toEqual(['one', 'three', 'two']), { timeout: 30_000 })
    expect(await daemon.call('POST', '/backup/restore/undo', { token })).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_undo' },
    })
  })

  test('is refused with a wrong passphrase and a flipped byte, and nothing changed', async () => {
    const before = await served()
    const failed = async (job: string, why: string): Promise<void> =>
      vi.waitFor(
        async () =>
          expect(await stateOf(job)).toMatchObject({
            status: 'error',
            error: { code: 'backup_refused', message: expect.stringContaining(why) },
          }),
        { timeout: 60_000, interval: 100 },
      )
    await failed((await restore('not-it')).body.job_id, 'not the one that the archive was encrypted with')
    const path = join(daemon.root, 'backups', archive)
    const bytes = await readFile(path)
    const harmed = Buffer.from(bytes)
    const at = Math.floor(harmed.length / 2)
    harmed[at] = (harmed[at] ?? 0) ^ 1
    await writeFile(path, harmed)
    await failed((await restore()).body.job_id, 'damaged')
    await writeFile(path, bytes)
    expect(await served()).toEqual(before)
    expect(await readdir(daemon.root)).not.toContain('.restore')
    expect(
      await daemon.call('POST', '/backup/restore', { token, body: { file_name: '../settings.json' } }),
    ).toMatchObject({ status: 404, body: { code: 'backup_not_found' } })
  })

  test('is refused where its secrets need a key that is not here, and the service goes on', async () => {
    const other = await startDaemon({ env: { DATABASE_URL: undefined } })
    let name: string
    try {
      const as = await other.setupAdmin()
      await other.call('POST', '/distributions/init', { token: as, body: { codename: 'jammy' } })
      name = (await other.call<{ file_name: string }>('POST', '/backup/', { token: as })).body.file_name
      await copyFile(join(other.root, 'backups', name), join(daemon.root, 'backups', name))
    } finally {
      await other.close()
    }
    const before = await served()
    const asked = await daemon.call<{ job_id: string }>('POST', '/backup/restore', { token, body: { file_name: name } })
    await vi.waitFor(
      async () =>
        expect(await stateOf(asked.body.job_id)).toMatchObject({
          status: 'error',
          error: { code: 'backup_refused', message: expect.stringContaining('another SETTINGS_ENCRYPTION_KEY') },
        }),
      { timeout: 60_000, interval: 100 },
    )
    expect(await readdir(daemon.root)).not.toContain('.restore')
    expect(await served()).toEqual(before)
    await daemon.call('DELETE', `/backup/${name}`, { token })
  })

  test.each([
    ['restore:read', 3],
    ['restore:before-decision', 3],
    ['restore:before-commit', 2],
    ['restore:after-commit', 2],
    ['restore:between-places#3', 2],
  ] as const)('killed at %s it is there before or after, never between', async (point, left) => {
    await daemon.stop()
    await daemon.restart({ GATEHOUSE_FAILPOINT: point })
    token = await daemon.setupAdmin()
    expect((await restore()).status).toBe(202)
    await daemon.ended()
    await daemon.restart({ GATEHOUSE_FAILPOINT: undefined })
    if (left === 3) {
      // the job begins again and comes to its end
      await vi.waitFor(async () => expect((await readdir(daemon.root)).some(away)).toBe(true), {
        timeout: 60_000,
        interval: 50,
      })
    }
    expect((await back()).undo).not.toBeNull()
    await vi.waitFor(async () => expect(await served()).toEqual(['one', 'two']), { timeout: 30_000 })
    expect(await daemon.call('POST', '/backup/restore/undo', { token })).toMatchObject({ status: 202 })
    await vi.waitFor(async () => expect((await readdir(daemon.root)).some(away)).toBe(false), {
      timeout: 60_000,
      interval: 50,
    })
    await back()
    await vi.waitFor(async () => expect(await served()).toEqual(['one', 'three', 'two']), { timeout: 30_000 })
  })
})
