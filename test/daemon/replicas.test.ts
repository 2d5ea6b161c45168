import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded, type Embedded } from '../../server/db/embedded.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 3)
const LANES = Number(process.env.KILL_LANES ?? 1)
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

describe('three replicas on one database and one root', () => {
  let folder: string
  let cluster: Embedded
  let db: Db
  let token: string
  let url: string
  const replicas: Daemon[] = []
  const acknowledged: string[] = []
  let number = 0

  const start = async (): Promise<Daemon> =>
    startDaemon({ root: join(folder, 'repos'), env: { DATABASE_URL: url, JWT_EXPIRE_MINUTES: '600' } })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-replicas-'))
    cluster = await startEmbedded({ folder: join(folder, 'pg'), onTrouble: () => undefined })
    const { socket, database } = cluster
    url = `postgres://postgres@localhost/${database}?host=${encodeURIComponent(socket)}`
    db = createDb({ socket, database })
    for (let n = 0; n < 3; n++) replicas.push(await start())
    token = (await replicas[0]?.setupAdmin()) ?? ''
    expect(
      await (await leader()).call('POST', '/distributions/init', { token, body: { codename: 'jammy' } }),
    ).toMatchObject({ status: 200 })
  })
  afterAll(async () => {
    for (const one of replicas) await one.stop().catch(() => undefined)
    await db.close()
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })

  interface Report {
    readonly checks: {
      readonly info: {
        readonly ha: { readonly is_leader: boolean; readonly scheduler_active: boolean; readonly instance_id: string }
      }
      readonly non_critical: {
        readonly scheduler: { readonly ok: boolean; readonly jobs: unknown[]; readonly note?: string }
      }
    }
  }
  const reportOf = async (one: Daemon): Promise<Report> => (await one.call<Report>('GET', '/health', { token })).body
  /** The ones that say that they lead. */
  async function leaders(of: readonly Daemon[] = replicas): Promise<Daemon[]> {
    const all = await Promise.all(of.map(async one => ({ one, ha: (await reportOf(one)).checks.info.ha })))
    return all.flatMap(({ one, ha }) => (ha.is_leader ? [one] : []))
  }
  async function leader(of: readonly Daemon[] = replicas): Promise<Daemon> {
    const only = async (): Promise<Daemon> => {
      const [one, ...others] = await leaders(of)
      if (one === undefined || others.length > 0) throw new Error(one ? 'several lead' : 'nobody leads')
      return one
    }
    return vi.waitFor(only, { timeout: 20_000, interval: 200 })
  }
  async function upload(to: Daemon): Promise<void> {
    const name = `pack${number++}`
    const { status, body } = await to.upload(await buildDeb({ name, version: '1.0' }), { token, distribution: 'jammy' })
    expect([200, 201], JSON.stringify(body)).toContain(status)
    expect(body.status, JSON.stringify(body)).toBe('published')
    acknowledged.push(name)
  }
  /** The names in the index as one replica serves it. */
  async function served(by: Daemon): Promise<string[]> {
    const { text } = await by.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')
    return packageNames(text)
  }
  const allServed = (of: readonly Daemon[] = replicas): Promise<void> =>
    vi.waitFor(
      async () => {
        for (const one of of) expect(await served(one)).toEqual(acknowledged.toSorted())
      },
      { timeout: 30_000, interval: 300 },
    )
  const others = (one: Daemon): Daemon[] => replicas.filter(other => other !== one)

  test('one leads and says so; the others say that they are passive', async () => {
    const one = await leader()
    expect((await reportOf(one)).checks.non_critical.scheduler.jobs.length).toBeGreaterThan(5)
    expect(
      (await one.call<{ checks: { info: { ha: { replicas: unknown[] } } } }>('GET', '/health', { token })).body.checks
        .info.ha.replicas,
    ).toHaveLength(3)
    for (const passive of others(one))
      expect((await reportOf(passive)).checks).toMatchObject({
        info: { ha: { is_leader: false, scheduler_active: false } },
        non_critical: { scheduler: { ok: true, jobs: [], note: expect.any(String) } },
      })
    expect(
      new Set(await Promise.all(replicas.map(async each => (await reportOf(each)).checks.info.ha.instance_id))).size,
    ).toBe(3)
  })

  test('each takes uploads, is answered when they are published, and serves them', async () => {
    await Promise.all(replicas.flatMap(one => [upload(one), upload(one)]))
    await allServed()
  })

  test('what one of them changed is known to all; what only the leader does is refused by the others with a way out', async () => {
    const one = await leader()
    const [passive] = others(one)
    const patch = { body: { review: { four_eyes: true } }, token }
    const refused = await passive?.call('PATCH', '/settings/', patch)
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await one.call('PATCH', '/settings/', patch)).status).toBe(200)
    await one.call('POST', '/distributions/', { token, body: { codename: 'mine', based_on: 'bookworm' } })
    await vi.waitFor(
      async () => {
        for (const each of replicas) {
          expect((await each.call('GET', '/settings/', { token })).body).toMatchObject({ review: { four_eyes: true } })
          expect((await each.call('GET', '/distributions/mine/setup', { token })).status).toBe(200)
        }
      },
      { timeout: 10_000 },
    )
    // a long work that a passive one is asked for is done by the leader
    expect((await passive?.call('POST', '/artifacts/admin/sync-index', { token }))?.body).toMatchObject({
      status: 'ok',
      manifests: acknowledged.length,
    })
    expect(await passive?.call('POST', '/security/packages/pack0/1.0/rescan', { token })).toMatchObject({
      status: 200,
      body: { name: 'pack0', previous_status: 'published' },
    })
    interface Schedule {
      readonly is_leader: boolean
      readonly jobs: readonly { readonly id: string; readonly next_run: string | null }[]
    }
    const [leads, follows] = await Promise.all(
      [one, passive ?? one].map(async each => (await each.call<Schedule>('GET', '/schedule', { token })).body),
    )
    expect([leads?.is_leader, follows?.is_leader]).toEqual([true, false])
    expect(follows?.jobs).toEqual(leads?.jobs)
  })

  test('limits are those of one service, whichever replica is asked', async () => {
    const body = { username: 'nobody', password: 'x' }
    const statuses: number[] = []
    for (let n = 0; n < 15; n++)
      statuses.push(
        ((await replicas[n % 3]?.call('POST', '/auth/token', { body, ip: '198.51.100.7' })) ?? { status: 0 }).status,
      )
    expect(statuses).toEqual([...Array<number>(10).fill(401), ...Array<number>(5).fill(429)])
  })

  /** Reads live events of one replica until one is about the package. @returns its id */
  async function eventOf(by: Daemon, name: string, lastId = '', opened: () => void = () => undefined): Promise<string> {
    const stop = new AbortController()
    const answer = await fetch(`${by.url}/api/v1/dashboard/events`, {
      headers: { Authorization: `Bearer ${token}`, ...(lastId === '' ? {} : { 'Last-Event-ID': lastId }) },
      signal: stop.signal,
    })
    let text = ''
    let id = ''
    for await (const chunk of answer.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (text.includes('hello')) opened()
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      const found = blocks.find(block => block.includes(`"${name}"`))
      if (found === undefined) continue
      id = /^id: ?(.+)$/m.exec(found)?.[1] ?? ''
      break
    }
    stop.abort()
    return id
  }

  test('a live stream has what happens on every replica, and goes on with its last id on another one when the leader is killed', async () => {
    const one = await leader()
    const [two, three] = others(one) as [Daemon, Daemon]
    const opened = Promise.withResolvers<undefined>()
    const seen = eventOf(one, `pack${number}`, '', () => opened.resolve(undefined))
    await opened.promise
    await upload(two)
    const lastId = await seen
    expect(lastId).not.toBe('')
    await one.kill9()
    await leader([two, three])
    const missed = `pack${number}`
    await upload(two)
    expect(await eventOf(three, missed, lastId)).not.toBe('')
    await one.restart()
    await leader()
  })

  test.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
    'the leader is killed while uploads come in, for the time %i: another one goes on, nothing is lost',
    async () => {
      const one = await leader()
      const left = others(one)
      let on = true
      const lanes = left
        .flatMap(each => Array.from({ length: LANES }, () => each))
        .map(async each => {
          while (on) await upload(each)
        })
      await vi.waitFor(() => expect(acknowledged.length % 5).toBe(0), 20_000)
      await one.kill9()
      const next = await leader(left)
      const known = acknowledged.length
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(known + 4), 30_000)
      on = false
      await Promise.all(lanes)
      expect(left).toContain(next)
      await one.restart()
      await leader()
      await allServed()
    },
  )

  test('a leader that stands still is replaced, and does no harm when it is woken', async () => {
    const one = await leader()
    const left = others(one)
    await upload(left[0] as Daemon)
    const before = await db.first<{ epoch: number }>('select epoch from leader')
    // in the middle of publishing, as likely as not
    const busy = Promise.all(left.map(upload))
    process.kill(one.pid, 'SIGSTOP')
    try {
      const next = await leader(left)
      await busy
      await upload(next)
      await allServed(left)
    } finally {
      process.kill(one.pid, 'SIGCONT')
    }
    await vi.waitFor(async () => expect(await leaders([one])).toEqual([]), { timeout: 20_000, interval: 200 })
    expect((await db.first<{ epoch: number }>('select epoch from leader'))?.epoch).toBeGreaterThan(before?.epoch ?? 0)
    await upload(one)
    await allServed()
  })

  test('PostgreSQL ends every session: what was under way is answered or done, and one leads again', async () => {
    await leader()
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
    )
    await leader()
    await upload(replicas[0] as Daemon)
    await upload(replicas[1] as Daemon)
    await allServed()
  })

  test('afterwards nothing of the dead is left, and pool, database, documents and trees agree', async () => {
    const { readdir } = await import('node:fs/promises')
    const ids = await Promise.all(replicas.map(async each => (await reportOf(each)).checks.info.ha.instance_id))
    expect((await readdir(join(folder, 'repos', '.replicas'))).sort()).toEqual(ids.sort())
    expect(await readdir(join(folder, 'repos', 'incoming'))).toEqual([])
    const { spawnSync } = await import('node:child_process')
    const done = spawnSync(process.execPath, [VERIFY, join(folder, 'repos')], {
      env: { ...process.env, REPOS_ROOT: join(folder, 'repos'), DATABASE_URL: url },
      encoding: 'utf8',
    })
    expect([done.status, done.stdout, done.stderr]).toEqual([0, expect.any(String), expect.any(String)])
  })

  test('a daemon of another database is refused on this root', async () => {
    await db.query('create database stranger')
    const stranger = url.replace(/\/[^/?]+\?/, '/stranger?')
    await expect(startDaemon({ root: join(folder, 'repos'), env: { DATABASE_URL: stranger } })).rejects.toThrow(
      'with another database',
    )
    await expect(startDaemon({ root: join(folder, 'repos'), env: { DATABASE_URL: undefined } })).rejects.toThrow(
      'is in use by',
    )
  })
})
