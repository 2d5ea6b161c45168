import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded, type Embedded } from '../../server/db/embedded.ts'
import { ADMIN, nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { startFront, type FrontServer } from '../support/nginx.ts'
import { buildDeb } from '../support/packages.ts'
import { createRedis, type TestRedis } from '../support/redis.ts'
import { lacking } from '../support/tools.ts'
import { packageNames } from '../support/tree.ts'

/** `STORM=20` kills the leader twenty times, PostgreSQL and Redis a quarter as often, under thirty lanes. */
const KILLS = Number(process.env.STORM ?? 2)
const LANES = Number(process.env.STORM_LANES ?? (KILLS > 2 ? 30 : 4))
const STANDSTILL_MS = Number(process.env.STORM_STANDSTILL_S ?? (KILLS > 2 ? 60 : 8)) * 1_000
/** A build server that hears nothing for so long asks again: all lanes may wait for the process that stands still. */
const PATIENCE_MS = 40_000
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const INDEX = 'main/binary-amd64/Packages.gz'

describe.skipIf(lacking('nginx-light', 'redis-server').length > 0)(
  'three replicas behind nginx, on one root, PostgreSQL and Redis, while everything is killed',
  () => {
    let folder: string
    let cluster: Embedded
    let redis: TestRedis
    let front: FrontServer
    let db: Db
    let url: string
    let token: string
    const replicas: Daemon[] = []
    let on = true
    let number = 0
    let broken: unknown
    const published = new Set<string>()
    const promoted = new Set<string>()
    const refused = new Map<string, number>()
    const tree = { looks: 0, bad: [] as string[] }
    const events = { seen: 0, opened: 0 }

    async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
      const isForm = body instanceof FormData
      const answer = await fetch(`${front.url}/api/v1${path}`, {
        method,
        headers: {
          'Authorization': `Bearer ${token}`,
          'X-Forwarded-For': nextAddress(),
          ...(body === undefined || isForm ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      }).catch(() => undefined)
      if (answer === undefined) return { status: 0, body: {} }
      const text = await answer.text().catch(() => '{}')
      return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : {} }
    }
    function refuse(what: string, status: number): void {
      refused.set(`${what} ${status}`, (refused.get(`${what} ${status}`) ?? 0) + 1)
    }
    /** Until it is done or was done by an earlier attempt whose answer was lost. */
    async function insist(what: string, work: () => Promise<{ status: number; body: unknown }>): Promise<boolean> {
      for (let attempt = 0; attempt < 120; attempt++) {
        const { status, body } = await work()
        if (status === 200 || status === 201 || status === 409) return true
        refuse(what, status)
        if (status !== 0 && status < 500) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`)
        await setTimeout(250)
      }
      throw new Error(`${what} was refused for too long`)
    }

    /** A build server: uploads a package, which is held, has it approved, and promotes every third. */
    async function lane(): Promise<void> {
      while (on) {
        const n = number++
        const name = `pack${n}`
        const content = await buildDeb({ name, version: '1.0' })
        const form = (): FormData => {
          const fields = new FormData()
          fields.set('file', new Blob([new Uint8Array(content)]), `${name}.deb`)
          fields.set('distribution', 'jammy')
          return fields
        }
        await insist('upload', () => call('POST', '/upload/', form()))
        await insist('decide', () =>
          call('POST', `/security/packages/${name}/1.0/decide`, {
            decision: 'approve',
            justification: 'tested',
            distribution: 'jammy',
          }),
        )
        published.add(name)
        if (n % 3 !== 0) continue
        await insist('promote', () =>
          call('POST', '/distributions/promote', { name, version: '1.0', from_dist: 'jammy', to_dist: 'noble' }),
        )
        promoted.add(name)
      }
    }

    /** A machine that updates: an index by the digest that a root names has that digest, always. */
    async function client(): Promise<void> {
      while (on) {
        const base = `${front.url}/repos/dists/jammy`
        const root = await fetch(`${base}/InRelease`).catch(() => undefined)
        if (root?.status === 200) {
          const text = await root.text().catch(() => '')
          const [, digest] = new RegExp(`^ ([0-9a-f]{64}) +\\d+ ${INDEX.replace('.', '\\.')}$`, 'm').exec(text) ?? []
          if (digest !== undefined) await look(`${base}/main/binary-amd64/by-hash/SHA256/${digest}`, digest)
        }
        await setTimeout(50)
      }
    }
    async function look(address: string, digest: string): Promise<void> {
      const index = await fetch(address).catch(() => undefined)
      const bytes = await index?.arrayBuffer().catch(() => undefined)
      if (index === undefined || bytes === undefined || index.status >= 502) return // nginx had nobody to ask
      tree.looks++
      const got = createHash('sha256').update(new Uint8Array(bytes)).digest('hex')
      if (index.status !== 200 || got !== digest) tree.bad.push(`${address}: ${index.status} ${got}`)
    }

    /** A console that stays open. */
    async function follower(): Promise<void> {
      while (on) {
        const stop = new AbortController()
        const answer = await fetch(`${front.url}/api/v1/dashboard/events`, {
          headers: { Authorization: `Bearer ${token}` },
          signal: stop.signal,
        }).catch(() => undefined)
        if (answer?.status === 200 && answer.body !== null) {
          events.opened++
          try {
            for await (const chunk of answer.body) {
              events.seen += new TextDecoder().decode(chunk).split('event:').length - 1
              if (!on) stop.abort()
            }
          } catch {
            // it was cut, and is opened again
          }
        }
        await setTimeout(200)
      }
    }

    async function isLeader(one: Daemon): Promise<boolean> {
      const { body } = await one
        .call<{ checks?: { info: { ha: { is_leader: boolean } } } }>('GET', '/health', { token })
        .catch(() => ({ body: {} as { checks?: { info: { ha: { is_leader: boolean } } } } }))
      return body.checks?.info.ha.is_leader === true
    }
    async function leader(of: readonly Daemon[] = replicas): Promise<Daemon> {
      return vi.waitFor(
        async () => {
          const all = await Promise.all(of.map(async one => ((await isLeader(one)) ? [one] : [])))
          const [first, ...more] = all.flat()
          expect(more).toEqual([])
          if (first === undefined) throw new Error('nobody leads')
          return first
        },
        { timeout: 60_000, interval: 200 },
      )
    }
    /** Work goes on: this many more packages were published. */
    const goesOn = (by: number): Promise<void> => {
      const before = published.size
      return vi
        .waitFor(
          () => {
            if (broken === undefined) expect(published.size).toBeGreaterThan(before + by)
          },
          { timeout: 240_000, interval: 200 },
        )
        .then(() => {
          if (broken !== undefined) throw broken as Error
        })
    }
    async function served(codename: string): Promise<string[]> {
      const answer = await fetch(`${front.url}/repos/dists/${codename}/main/binary-amd64/Packages`)
      return packageNames(await answer.text())
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gh-storm-'))
      cluster = await startEmbedded({ folder: join(folder, 'pg'), onTrouble: () => undefined })
      redis = await createRedis()
      redis.start()
      url = `postgres://postgres@localhost/${cluster.database}?host=${encodeURIComponent(cluster.socket)}`
      db = createDb(cluster)
      for (let n = 0; n < 3; n++)
        replicas.push(
          await startDaemon({
            root: join(folder, 'repos'),
            env: { DATABASE_URL: url, REDIS_URL: redis.url, JWT_EXPIRE_MINUTES: '600', TRUSTED_PROXIES: '127.0.0.1' },
          }),
        )
      front = await startFront(
        join(folder, 'nginx'),
        replicas.map(one => new URL(one.url).port),
      )
      token = (await replicas[0]?.setupAdmin()) ?? ''
      expect(ADMIN.username).toBe('admin')
      const one = await leader()
      for (const codename of ['jammy', 'noble'])
        expect((await one.call('POST', '/distributions/init', { token, body: { codename } })).status).toBe(200)
      const limits = { per_minute_address: 0, per_minute_user: 100_000, per_minute_token: 100_000 }
      const body = {
        validation: { on_scanner_unavailable: 'hold', clamav_scan: false },
        upload_limits: { ...limits, per_minute_address: 100_000 },
      }
      expect((await one.call('PATCH', '/settings/', { token, body })).status).toBe(200)
    })
    afterAll(async () => {
      on = false
      for (const one of replicas) await one.stop().catch(() => undefined)
      await front?.close()
      await db?.close()
      await cluster?.stop()
      await redis?.close()
      await rm(folder, { recursive: true, force: true })
    })

    const limits = { timeout: 600_000 + KILLS * 120_000 }
    test(
      'every acknowledged upload, decision and promotion is served, no client sees a mixed tree, streams go on',
      limits,
      async () => {
        const work = Promise.all([...Array.from({ length: LANES }, lane), client(), client(), follower()])
        work.catch((error: unknown) => {
          broken = error
        })
        await goesOn(3)
        for (let kill = 1; kill <= KILLS; kill++) {
          const one = await leader()
          await one.kill9()
          await leader(replicas.filter(other => other !== one))
          await goesOn(3)
          await one.restart()
          if (kill % 4 === 2) {
            process.kill(cluster.pid, 'SIGKILL')
            await goesOn(3)
          }
          if (kill % 4 === 1) {
            await redis.kill()
            await goesOn(3)
            redis.start()
          }
        }
        const still = await leader()
        process.kill(still.pid, 'SIGSTOP')
        try {
          await leader(replicas.filter(other => other !== still))
          await setTimeout(STANDSTILL_MS) // what is tried is that much time standing still
          await goesOn(3)
        } finally {
          process.kill(still.pid, 'SIGCONT')
        }
        await goesOn(3)
        const before = events.seen
        await vi.waitFor(() => expect(events.seen).toBeGreaterThan(before), { timeout: 60_000, interval: 200 })
        on = false
        await work
        await vi.waitFor(
          async () => {
            const [jammy, noble] = [new Set(await served('jammy')), new Set(await served('noble'))]
            expect([...published].filter(name => !jammy.has(name))).toEqual([])
            expect([...promoted].filter(name => !noble.has(name))).toEqual([])
          },
          { timeout: 60_000, interval: 500 },
        )
        expect(tree.bad).toEqual([])
        expect(tree.looks).toBeGreaterThan(KILLS * 10)
        const twice = await db.query('select codename, n from generation group by codename, n having count(*) > 1')
        expect(twice).toEqual([])
        process.stdout.write(
          `storm: ${published.size} published, ${promoted.size} promoted, ${tree.looks} looks at the tree, ${events.seen} events over ${events.opened} streams; refused and repeated: ${JSON.stringify(Object.fromEntries(refused))}\n`,
        )
      },
    )

    test('afterwards pool, database, documents and trees agree', async () => {
      await leader()
      await vi.waitFor(
        () => {
          const done = spawnSync(process.execPath, [VERIFY, join(folder, 'repos')], {
            env: { ...process.env, REPOS_ROOT: join(folder, 'repos'), DATABASE_URL: url },
            encoding: 'utf8',
          })
          expect([done.status, done.stdout, done.stderr]).toEqual([0, expect.any(String), expect.any(String)])
        },
        { timeout: 30_000, interval: 1_000 },
      )
    })
  },
)
