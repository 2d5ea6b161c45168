import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'
import { packageNames } from '../support/tree.ts'

const MB = 1024 ** 2
const CLI = (name: string): string => join(import.meta.dirname, '..', '..', 'server', 'cli', `${name}.ts`)
const disk = await mountSmallDisk(640)

describe.skipIf(disk === undefined)(
  'a restore where the disk gets full, with the database on it (needs to be root, and mount)',
  () => {
    const root = disk ?? ''
    const filler = join(root, 'somebody-else')
    let it: Daemon
    let admin: string
    let elsewhere: string
    let archive: string
    let sizeBytes: number
    let name: string

    const served = async (): Promise<string[]> =>
      packageNames((await it.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')).text)
    async function upload(pack: string, size: number): Promise<void> {
      const deb = await buildDeb({ name: pack, version: '1.0', files: { 'usr/share/x': randomBytes(size) } })
      // while it was built the connection of before may have been closed: only what changes nothing is sent again
      await it.call('GET', '/health/live')
      expect((await it.upload(deb, { token: admin, distribution: 'jammy' })).status).toBe(201)
    }
    /** Somebody else leaves so much. */
    async function leave(bytes: number): Promise<void> {
      const { bavail, bsize } = await statfs(root)
      const rest = Buffer.alloc(Math.max(0, bavail * bsize - Math.ceil(bytes)), 1)
      // the restore takes its part meanwhile
      await writeFile(filler, rest, { flag: 'a' }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOSPC') throw error
      })
    }
    const env = { ...process.env, REPOS_ROOT: root, ENV: 'test' } as Record<string, string>
    delete env['DATABASE_URL']
    /** `npm run restore`; `onLine` is called with what it says. */
    async function restore(onLine: (text: string) => Promise<void> = async () => undefined) {
      const child = spawn(process.execPath, [CLI('restore'), archive], { env })
      let said = ''
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
      const ended = new Promise<number | null>(resolve => child.once('close', resolve))
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) await onLine((said += chunk.toString()))
      return { status: await ended, said }
    }
    /** Nothing has changed, and the service goes on with it once there is room. */
    async function isAsBefore(): Promise<void> {
      await rm(filler, { force: true })
      expect(existsSync(join(root, '.restored.json'))).toBe(false)
      const verified = spawnSync(process.execPath, [CLI('verify')], { env, encoding: 'utf8' })
      expect([verified.status, verified.stdout + verified.stderr]).toEqual([0, expect.any(String)])
      await it.restart()
      expect(await served()).toEqual(['after', 'large'])
      expect(existsSync(join(root, '.restore'))).toBe(false)
      await it.stop()
    }

    beforeAll(async () => {
      elsewhere = await mkdtemp(join(tmpdir(), 'gh-archive-'))
      it = await startDaemon({ root, env: { DATABASE_URL: undefined } })
      admin = await it.setupAdmin()
      const disks = { warn_used_pct: 0, min_free_disk_gb: 0, reserve_mb: 0 }
      expect((await it.call('PATCH', '/settings/', { token: admin, body: { disk: disks } })).status).toBe(200)
      const body = { codename: 'jammy' }
      expect((await it.call('POST', '/distributions/init', { token: admin, body })).status).toBe(200)
      await upload('large', 30 * MB)
      const made = await it.call<{ file_name: string; size: number }>('POST', '/backup/', { token: admin })
      ;({ file_name: name, size: sizeBytes } = made.body)
      archive = join(elsewhere, name)
      await copyFile(join(root, 'backups', name), archive)
      await rm(join(root, 'backups', name))
      await upload('after', 1)
      await it.stop()
    }, 120_000)
    afterEach(() => rm(filler, { force: true }))
    afterAll(async () => {
      await it.close()
      await unmountSmallDisk(root)
      await rm(elsewhere, { recursive: true, force: true })
    })

    test('is refused before anything is read, with what it needs and what is free', async () => {
      await leave(sizeBytes)
      const { status, said } = await restore()
      expect([status, said]).toEqual([
        1,
        expect.stringMatching(/needs \d+ MB beside what is there, and \d+ MB are free/),
      ])
      await isAsBefore()
    })

    test(
      'is given up while files are read, and while rows are loaded: nothing has changed',
      { timeout: 240_000 },
      async () => {
        for (const line of ['reading the backup', 'loading 1 packages']) {
          let isFull = false
          await leave(sizeBytes * 1.1 + 24 * MB) // enough, until somebody takes it
          const { status, said } = await restore(async text => {
            if (isFull || !text.includes(line)) return
            isFull = true
            await leave(0)
          })
          expect([status, said], line).toEqual([1, expect.stringContaining('is full. Nothing was restored')])
          await isAsBefore()
        }
      },
    )

    test(
      'into a running service is given up with the reason, and the service goes on',
      { timeout: 120_000 },
      async () => {
        await it.restart()
        admin = await it.setupAdmin()
        await copyFile(archive, join(root, 'backups', name))
        await leave(sizeBytes)
        const asked = { token: admin, body: { file_name: name } }
        const ends = async (): Promise<unknown> => {
          const begun = await it.call<{ job_id?: string }>('POST', '/backup/restore', asked)
          if (begun.body.job_id === undefined) return begun.body
          const { job_id } = begun.body
          return vi.waitFor(
            async () => {
              const { body } = await it.call<{ status: string }>('GET', `/jobs/${job_id}`, { token: admin })
              expect(['error', 'done', 'cancelled']).toContain(body.status)
              return body
            },
            { timeout: 60_000, interval: 50 },
          )
        }
        expect(JSON.stringify(await ends())).toMatch(/needs \d+ MB beside what is there/)
        await rm(filler)
        await leave(sizeBytes * 1.1 + 24 * MB)
        const filling = vi.waitFor(() => expect(existsSync(join(root, '.restore'))).toBe(true), {
          timeout: 30_000,
          interval: 1,
        })
        const [end] = await Promise.all([ends(), filling.then(() => leave(0))])
        // or the database went away with it: the next attempt is refused for what it needs
        const code = expect.stringMatching(/^(disk_full|backup_refused)$/) as unknown
        expect(end).toMatchObject({ status: 'error', error: { code } })
        await rm(filler)
        expect(await served()).toEqual(['after', 'large'])
        await upload('later', 1)
        expect(existsSync(join(root, '.restore'))).toBe(false)
      },
    )
  },
)
