import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'

let it: Daemon
let admin: string
beforeAll(async () => {
  it = await startDaemon()
  admin = await it.setupAdmin()
  expect((await it.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })).status).toBe(200)
  expect((await upload('first')).status).toBe(201)
})
afterAll(() => it.close())

const upload = async (name: string): Promise<Answer> =>
  it.upload(await buildDeb({ name, version: '1.0' }), { token: admin, distribution: 'jammy' })
const set = async (disk: Record<string, number>): Promise<void> => {
  expect((await it.call('PATCH', '/settings/', { token: admin, body: { disk } })).status).toBe(200)
}

test('below the free room that uploads need they are refused with the way out, and everything else goes on', async () => {
  await set({ min_free_disk_gb: 900_000 })
  expect(await upload('second')).toMatchObject({
    status: 507,
    body: {
      code: 'uploads_stopped',
      detail: expect.stringMatching(
        /^Nothing is taken in: [\d.]+ GB are free on the disk of \/repos, and below 900000 GB uploads are refused \(disk\.min_free_disk_gb\)\. Nothing was kept\. Delete packages/,
      ),
    },
  })
  expect(await readdir(join(it.root, 'incoming'))).toEqual([])
  const health = await it.call('GET', '/health', { token: admin })
  expect(health).toMatchObject({
    status: 200,
    body: {
      status: 'degraded',
      checks: {
        non_critical: {
          disk: {
            ok: false,
            level: 'stopped',
            error: expect.stringMatching(/^[\d.]+ GB are free; below 900000 GB uploads are refused$/),
            remedy: expect.stringContaining('Delete packages'),
          },
        },
      },
    },
  })
  const hold = { token: admin, body: { reason: 'a look at it' } }
  const quarantine = '/security/packages/first/1.0/quarantine?distribution=jammy'
  expect((await it.call('POST', quarantine, hold)).status).toBe(200)
  expect((await it.call('DELETE', '/artifacts/first/1.0?distribution=jammy', { token: admin })).status).toBe(200)
  await set({ min_free_disk_gb: 0 })
  expect((await upload('second')).status).toBe(201)
})

test('facts of the machine are shown to an admin, and not to whoever passes by', async () => {
  const infoFor = async (token?: string) =>
    (await it.call<{ checks: { info: object } }>('GET', '/health', token === undefined ? {} : { token })).body.checks
      .info
  const elsewhere = { holds: ['database'], free_gb: null, total_gb: null, used_pct: null, why: expect.any(String) }
  await expect
    .poll(() => infoFor(admin))
    .toMatchObject({
      host: {
        ok: true,
        cores: expect.any(Number),
        memory: { total_mb: expect.any(Number) },
        disks: [
          { holds: expect.arrayContaining(['packages']), free_gb: expect.any(Number) },
          ...(it.databaseUrl === undefined ? [] : [elsewhere]),
        ],
      },
    })
  const open = await infoFor()
  expect([Object.keys(open).includes('host'), Object.keys(open).includes('forecast')]).toEqual([false, false])
})

test('the reserve is given back by an admin alone, once, and the log says by whom', async () => {
  await writeFile(join(it.root, '.reserve'), Buffer.alloc(3 << 20))
  const body = { username: 'max', password: 'Correct-horse-9', role: 'maintainer' }
  expect((await it.call('POST', '/auth/users', { token: admin, body })).status).toBe(201)
  const signedIn = await it.call('POST', '/auth/token', { body: { username: 'max', password: 'Correct-horse-9' } })
  const max = String(signedIn.body.access_token)
  const give = (token: string): Promise<Answer> => it.call('POST', '/disk/reserve/give-back', { token })
  expect((await give(max)).status).toBe(403)
  expect(await give(admin)).toMatchObject({
    status: 200,
    body: {
      status: 'given_back',
      message: expect.stringMatching(
        /^3 MB are free again\. It is made again within the hour once [\d.]+ GB are free\.$/,
      ),
      freed_bytes: 3 << 20,
      reserve: {
        state: 'missing',
        wanted_mb: 256,
        kept_mb: 0,
        given_back_by: 'admin',
        given_back_at: expect.any(String),
      },
    },
  })
  expect(existsSync(join(it.root, '.reserve'))).toBe(false)
  expect(await give(admin)).toMatchObject({ status: 409, body: { code: 'no_reserve' } })
  const { items } = (await it.call('GET', '/artifacts/audit/logs?action=RESERVE_GIVE_BACK', { token: admin })).body as {
    items: object[]
  }
  expect(items).toMatchObject([{ user: 'admin', facts: { kind: 'reserve.given_back', bytes: 3 << 20 } }])
  const forMax = (await it.call('GET', '/disk', { token: max })).body
  expect(forMax).toEqual({
    level: expect.any(String),
    used_pct: expect.any(Number),
    free_gb: expect.any(Number),
    total_gb: expect.any(Number),
    warn_used_pct: 80,
    min_free_disk_gb: 0,
    forecast: {
      days_until_full: null,
      days_until_uploads_stop: null,
      bytes_per_day: null,
      samples: expect.any(Number),
      since: expect.any(String),
      why: expect.stringMatching(/^There (is|are) \d+ samples?; it takes 24, over two days\.$/),
    },
    reserve: expect.objectContaining({ state: 'missing', given_back_by: 'admin' }),
    days: [{ at: expect.any(String), used_bytes: expect.any(Number), free_bytes: expect.any(Number) }],
  })
  expect((await it.call('GET', '/health', { token: max })).body).toMatchObject({
    checks: { info: { reserve: { state: 'missing' }, forecast: { days_until_full: null } } },
  })
})
