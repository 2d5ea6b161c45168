import { readdir } from 'node:fs/promises'
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
  await expect
    .poll(() => infoFor(admin))
    .toMatchObject({
      host: {
        ok: true,
        cores: expect.any(Number),
        memory: { total_mb: expect.any(Number) },
        disks: [{ holds: expect.arrayContaining(['packages']), free_gb: expect.any(Number) }],
      },
    })
  const open = await infoFor()
  expect([Object.keys(open).includes('host'), Object.keys(open).includes('forecast')]).toEqual([false, false])
})
