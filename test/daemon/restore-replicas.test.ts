import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startEmbedded, type Embedded } from '../../server/db/embedded.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

describe('a backup restored into three replicas that run', () => {
  let folder: string
  let cluster: Embedded
  let url: string
  let token: string
  let archive: string
  const replicas: Daemon[] = []

  const any = (): Daemon => replicas[0] as Daemon
  async function upload(name: string): Promise<void> {
    const { body } = await any().upload(await buildDeb({ name, version: '1.0' }), { token })
    expect(body.status).toBe('published')
  }
  async function served(by: Daemon): Promise<string[]> {
    const { text } = await by.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')
    return packageNames(text)
  }
  /** What the answers say to somebody who signs in anew on each. */
  const allAre = (of: readonly Daemon[], undo: boolean, names: readonly string[]): Promise<void> =>
    vi.waitFor(
      async () => {
        for (const one of of) {
          token = await one.setupAdmin()
          const { body } = await one.call<{ undo: unknown }>('GET', '/backup/', { token })
          expect(body.undo === null).toBe(!undo)
          expect(await served(one)).toEqual(names)
        }
      },
      { timeout: 120_000, interval: 300 },
    )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-restore-replicas-'))
    cluster = await startEmbedded({ folder: join(folder, 'pg'), onTrouble: () => undefined })
    url = `postgres://postgres@localhost/${cluster.database}?host=${encodeURIComponent(cluster.socket)}`
    for (let n = 0; n < 3; n++)
      replicas.push(
        await startDaemon({ root: join(folder, 'repos'), env: { DATABASE_URL: url, JWT_EXPIRE_MINUTES: '600' } }),
      )
    token = await any().setupAdmin()
    await any().call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    await upload('one')
    archive = (await any().call<{ file_name: string }>('POST', '/backup/', { token })).body.file_name
    await upload('two')
  })
  afterAll(async () => {
    for (const one of replicas) await one.stop().catch(() => undefined)
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('all of them stop and start with it, whichever was asked, and one of them restores', async () => {
    const asked = replicas[2] as Daemon
    expect((await asked.call('POST', '/backup/restore', { token, body: { file_name: archive } })).status).toBe(202)
    await allAre(replicas, true, ['one'])
    await upload('three')
    await allAre(replicas, true, ['one', 'three'])
  })

  test('and back again', async () => {
    await vi.waitFor(async () => expect((await any().call('POST', '/backup/restore/undo', { token })).status).toBe(202))
    await allAre(replicas, false, ['one', 'two'])
    const done = spawnSync(process.execPath, [VERIFY, join(folder, 'repos')], {
      env: { ...process.env, REPOS_ROOT: join(folder, 'repos'), DATABASE_URL: url },
      encoding: 'utf8',
    })
    expect([done.status, done.stdout, done.stderr]).toEqual([0, expect.any(String), expect.any(String)])
  })

  // a minute of waiting for the one that stands still
  test.skipIf(process.env.STORM === undefined)(
    'one that stands still meanwhile is not waited for without end, and is of the new installation when it is woken',
    { timeout: 300_000 },
    async () => {
      const [still, ...others] = [...replicas].reverse() as [Daemon, ...Daemon[]]
      process.kill(still.pid, 'SIGSTOP')
      try {
        await vi.waitFor(
          async () => {
            const one = others[0] as Daemon
            token = await one.setupAdmin()
            const { status } = await one.call('POST', '/backup/restore', { token, body: { file_name: archive } })
            expect(status).toBe(202)
          },
          { timeout: 60_000, interval: 500 },
        )
        await vi.waitFor(() => allAre(others, true, ['one']), { timeout: 240_000 })
      } finally {
        process.kill(still.pid, 'SIGCONT')
      }
      await allAre(replicas, true, ['one'])
    },
  )
})
