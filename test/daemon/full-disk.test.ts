import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDb } from '../../server/db/db.ts'
import { DATABASE } from '../../server/db/embedded.ts'
import { findRunning } from '../../server/db/pid-file.ts'
import { createReserve } from '../../server/features/disk/reserve.ts'
import { createDiskWatch } from '../../server/features/disk/watch.ts'
import { layoutOf } from '../support/repositories.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

const MB = 1024 ** 2
const GB = 1024 ** 3
const clock = { now: () => new Date() }

const disk = await mountSmallDisk(640)

describe.skipIf(disk === undefined)(
  'a disk that is full, with the database on it (needs to be root, and mount)',
  () => {
    const root = disk ?? ''
    let it: Daemon
    let admin: string
    const disks = { warn_used_pct: 80, min_free_disk_gb: 0.2, reserve_mb: 40 }

    /** What the clock does every hour. */
    async function keepReserve(): Promise<void> {
      const database = await findRunning(join(root, '.pg'))
      const db = createDb({ socket: database?.socket ?? '', database: DATABASE })
      const watch = createDiskWatch({
        db,
        layout: { root },
        clock,
        settings: { now: () => ({ disk: disks }) as never },
        notices: { owe: async () => undefined },
        outbox: { nudge: () => undefined },
        reserve: createReserve(layoutOf(root)),
      })
      await watch.keepReserve(new AbortController().signal).finally(() => db.close())
    }
    const upload = async (name: string, size = 1): Promise<Answer> => {
      const deb = await buildDeb({ name, version: '1.0', files: { 'usr/share/x': randomBytes(size) } })
      // while it was built the connection of before may have been closed: only what changes nothing is sent again
      await it.call('GET', '/health/live')
      return it.upload(deb, { token: admin, distribution: 'jammy' })
    }
    const free = async (): Promise<number> => {
      const { bavail, bsize } = await statfs(root)
      return bavail * bsize
    }
    const health = async () =>
      (await it.call('GET', '/health', { token: admin })).body as { status: string; checks: object }

    beforeAll(async () => {
      it = await startDaemon({ root, env: { DATABASE_URL: undefined } })
      admin = await it.setupAdmin()
      expect((await it.call('PATCH', '/settings/', { token: admin, body: { disk: disks } })).status).toBe(200)
      const body = { codename: 'jammy' }
      expect((await it.call('POST', '/distributions/init', { token: admin, body })).status).toBe(200)
    }, 120_000)
    afterAll(async () => {
      await it.close()
      await unmountSmallDisk(root)
    })

    test('uploads stop, the reserve frees room, deletion works without any, and the reserve is made again', async () => {
      expect((await upload('large', 20 * MB)).status).toBe(201)
      await keepReserve()
      expect(await health()).toMatchObject({ checks: { info: { reserve: { state: 'kept', kept_mb: 40 } } } })
      // somebody else fills the disk, to its end
      const rest = await free()
      await writeFile(join(root, 'somebody-else'), Buffer.alloc(rest, 1))
      expect(await free()).toBeLessThan(MB)
      // the folders are looked at once a second at most
      await expect.poll(health).toMatchObject({
        status: 'unhealthy',
        checks: {
          critical: {
            pool: { ok: false, error: 'the disk is full', remedy: expect.stringContaining('Delete packages') },
          },
          non_critical: { disk: { ok: false, level: 'stopped' } },
        },
      })

      expect(await upload('refused')).toMatchObject({ status: 507, body: { code: 'uploads_stopped' } })
      const given = await it.call('POST', '/disk/reserve/give-back', { token: admin })
      expect(given).toMatchObject({ status: 200, body: { freed_bytes: 40 * MB, reserve: { state: 'missing' } } })
      expect(await free()).toBeGreaterThan(36 * MB)
      await keepReserve()
      expect(existsSync(join(root, '.reserve'))).toBe(false) // there is no room for it yet

      expect((await it.call('DELETE', '/artifacts/large?distribution=jammy', { token: admin })).status).toBe(200)
      expect((await upload('refused')).status).toBe(507)
      await rm(join(root, 'somebody-else'))
      expect(await free()).toBeGreaterThan(0.22 * GB)
      expect((await upload('small')).status).toBe(201)
      await keepReserve()
      expect(await health()).toMatchObject({
        checks: { info: { reserve: { state: 'kept', kept_mb: 40, given_back_at: null } } },
      })
    })
  },
)
