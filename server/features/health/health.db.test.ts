import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Db } from '../../db/db.ts'
import { systemClock } from '../../lib/clock.ts'
import { schemaVersion } from '../../db/migrate.ts'
import { createMetrics } from '../../record/metrics.ts'
import { health } from './contract.ts'
import type { HealthDeps } from './deps.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import { registerGauges } from './gauges.ts'
import { healthHandlers } from './handlers.ts'
import { createHealth, type Health } from './health.ts'
import type { Reader } from './public-viewer.ts'
import { createRepreproProbe } from './reprepro.ts'
import { folderSizes } from './sizes.ts'

let stock: Stock
let started: Health[]
let changed: () => void
let keys: { fingerprint: string }[]
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  started = []
  keys = [{ fingerprint: 'ABCD' }]
})
afterEach(async () => {
  for (const one of started) await one.stop()
})

async function start(over: Partial<HealthDeps> = {}): Promise<Health> {
  const { db, layout, clock, outbox } = stock
  const made = createHealth({
    clock,
    db,
    layout,
    outbox,
    version: 'dev',
    formats: ['deb', 'rpm', 'apk'],
    policy: () => ({ on_scanner_unavailable: 'warn' }),
    starting: { now: () => undefined },
    vulnerabilityDataWarning: async () => undefined,
    schemaVersion: () => schemaVersion(db),
    dirs: {
      pool: layout.pool,
      manifests: layout.manifests,
      audit: layout.audit,
      grype_db: join(layout.security, 'grype'),
      clamav_db: '/nowhere/clamav',
    },
    antivirus: async () => ({
      id: 'clamd',
      ok: true,
      enabled: true,
      version: 'ClamAV 1.4',
      signatures_version: '27000',
    }),
    keyring: {
      keys: async () =>
        keys.map(key => ({ ...key, user_id: '', algorithm: '', created_at: '', role: 'current' as const })),
      onChange: listener => {
        changed = listener
      },
    },
    scheduler: () => ({
      started: true,
      leader: true,
      jobs: [
        { id: 'prune', name: 'Prune', next_run: '2026-03-02T02:00:00.000Z' },
        { id: 'sync', name: 'Sync', next_run: null },
      ],
    }),
    reprepro: async () => ({ version: undefined, isPublisher: false }),
    license: () => ({ edition: 'enterprise', active: true, issued_to: null }),
    instance: { id: 'one', shared: 'local' },
    diskLimits: () => ({ warn_used_pct: 0, min_free_disk_gb: 0 }),
    places: { packages: layout.root, database: undefined, logs: layout.root },
    ...over,
  })
  started.push(made)
  await made.start()
  return made
}
let current: Health
const metrics = createMetrics()
let metricsToken: string | undefined
const { call, statusOf } = createCaller(health, healthHandlers, () => ({
  health: current,
  metrics,
  clock: stock.clock,
  metricsToken,
  viewer: async () => viewer,
}))
let viewer: Reader = ALL_SEEING
/** A keyring whose key expires so many days from the clock of these tests. */
const keyUntil = (days: number): HealthDeps['keyring'] => {
  const end = new Date(Date.parse('2026-03-01T10:00:00Z') + days * 86_400_000).toISOString()
  const card = { fingerprint: 'ABCD', user_id: '', algorithm: '', created_at: '', role: 'current' } as const
  return { keys: async () => [{ ...card, expires_at: end }], onChange: () => undefined }
}
/** A database that is gone in the way given. */
const brokenDb = (first: () => Promise<never>): Db => ({ ...stock.db, first })
const refused = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:5432'), { code: 'ECONNREFUSED' }))
const silent = (): Promise<never> => new Promise(() => undefined)

describe('GET /health', () => {
  test('a whole service is healthy, and every group has the shape of the specification', async () => {
    await stock.put()
    current = await start()
    const report = await call('GET /health')
    expect(statusOf()).toBe(200)
    const folder = {
      ok: true,
      path: expect.any(String),
      free_gb: expect.any(Number),
      total_gb: expect.any(Number),
      used_pct: expect.any(Number),
    }
    expect(report).toEqual({
      status: 'healthy',
      timestamp: '2026-03-01T10:00:00.000Z',
      version: 'dev',
      uptime_seconds: 0,
      checks: {
        critical: {
          manifests: folder,
          pool: folder,
          auth_db: { ok: true, count: 0 },
          manifest_db: { ok: true, count: 1 },
        },
        non_critical: {
          audit: folder,
          clamav: { ok: true, version: 'ClamAV 1.4', signatures_version: '27000', signatures_at: null },
          gpg: { ok: true, fingerprint: 'ABCD' },
          reprepro: { ok: true, version: null, publisher: false, note: expect.any(String) },
          alembic: { ok: true, version: expect.stringMatching(/^\d{4}-/) },
          scheduler: {
            ok: true,
            jobs: [
              { id: 'prune', name: 'Prune', next_run: '2026-03-02T02:00:00.000Z', paused: false },
              { id: 'sync', name: 'Sync', next_run: null, paused: true },
            ],
          },
          disk: {
            ok: true,
            level: 'fine',
            used_pct: expect.any(Number),
            free_gb: expect.any(Number),
            warn_used_pct: 0,
            min_free_disk_gb: 0,
          },
        },
        info: {
          packages: {
            ok: true,
            total_manifests: 1,
            pool_files: expect.any(Number),
            pool_size_mb: expect.any(Number),
            by_format: { deb: 1, rpm: 0, apk: 0 },
          },
          storage: {
            ok: true,
            free_gb: expect.any(Number),
            total_gb: expect.any(Number),
            used_pct: expect.any(Number),
            dirs: {
              pool: { path: stock.layout.pool, size_mb: expect.toSatisfy(isSize) },
              manifests: { path: stock.layout.manifests, size_mb: expect.toSatisfy(isSize) },
              audit: { path: stock.layout.audit, size_mb: expect.toSatisfy(isSize) },
              grype_db: { path: expect.any(String), size_mb: null },
              clamav_db: { path: '/nowhere/clamav', size_mb: null },
            },
          },
          license: { ok: true, edition: 'enterprise', active: true, issued_to: null },
          setup: { ok: true, setup_done: false },
          ha: {
            ok: true,
            is_leader: true,
            instance_id: 'one',
            scheduler_active: true,
            job_state_backend: {
              scan: 'local',
              install: 'local',
              mirror: 'local',
              sync: 'local',
              sse: 'local',
              logs: 'local',
            },
          },
          cache_backend: { ok: true, backend: 'memory' },
          warnings: [],
        },
      },
    })
  })
  const isSize = (value: unknown): boolean => value === null || typeof value === 'number'

  test.each<[string, Partial<HealthDeps>, string]>([
    [
      'the antivirus engine is away',
      { antivirus: async () => ({ id: 'clamd', ok: false, enabled: true, error: 'connect ENOENT /run/secret.sock' }) },
      'clamav',
    ],
    ['a probe throws', { antivirus: () => Promise.reject(new Error('secret')) }, 'clamav'],
    ['there is no key', { keyring: { keys: async () => [], onChange: () => undefined } }, 'gpg'],
    ['the key expires within 60 days', { keyring: keyUntil(59) }, 'gpg'],
    ['the key has expired', { keyring: keyUntil(-1) }, 'gpg'],
    [
      'reprepro is the publisher and missing',
      { reprepro: async () => ({ version: undefined, isPublisher: true }) },
      'reprepro',
    ],
    [
      'the leader did not start its scheduler',
      { scheduler: () => ({ started: false, leader: true, jobs: [] }) },
      'scheduler',
    ],
    ['no migration is known', { schemaVersion: async () => undefined }, 'alembic'],
    ['the disk fills', { diskLimits: () => ({ warn_used_pct: 0.001, min_free_disk_gb: 0 }) }, 'disk'],
    ['uploads stop', { diskLimits: () => ({ warn_used_pct: 0, min_free_disk_gb: 1e9 }) }, 'disk'],
  ])('%s: degraded, and still 200', async (_, over, name) => {
    current = await start(over)
    const report = await call('GET /health')
    expect([statusOf(), report.status]).toEqual([200, 'degraded'])
    expect(
      Object.entries(report.checks.non_critical)
        .filter(([, probe]) => !probe.ok)
        .map(([key, { effect, remedy }]) => [key, effect, remedy]),
    ).toEqual([[name, expect.stringMatching(/^[A-Z].+\.$/), expect.stringMatching(/^[A-Z].+\.$/)]])
    expect(JSON.stringify(report)).not.toContain('secret')
  })

  test('a key that expires later is well, and its last day is said', async () => {
    current = await start({ keyring: keyUntil(61) })
    expect((await call('GET /health')).checks.non_critical['gpg']).toEqual({
      ok: true,
      fingerprint: 'ABCD',
      expires_at: '2026-05-01T10:00:00.000Z',
    })
  })

  test('a passive replica without jobs is well, and an engine that is switched off too', async () => {
    current = await start({
      scheduler: () => ({ started: false, leader: false, jobs: [] }),
      antivirus: async () => ({ id: 'clamd', ok: false, enabled: false }),
    })
    expect(await call('GET /health')).toMatchObject({
      status: 'healthy',
      checks: {
        non_critical: { scheduler: { ok: true, jobs: [], note: expect.any(String) }, clamav: { ok: true } },
        info: { ha: { is_leader: false } },
      },
    })
  })

  test('an engine that does not answer is a warning that says what happens to uploads', async () => {
    const away = { antivirus: async () => ({ id: 'clamd', ok: false, enabled: true }) }
    current = await start(away)
    expect((await call('GET /health')).checks.info['warnings']).toEqual([
      expect.stringContaining('published with a warning'),
    ])
    current = await start({ ...away, policy: () => ({ on_scanner_unavailable: 'hold' }) })
    expect((await call('GET /health')).checks.info['warnings']).toEqual([expect.stringContaining('held for review')])
  })

  test('an antivirus engine that was never set up is not called one that does not answer', async () => {
    current = await start({ antivirus: async () => ({ id: 'clamd', ok: false, silence: 'not_set_up', enabled: true }) })
    expect(await call('GET /health')).toMatchObject({
      checks: {
        non_critical: { clamav: { ok: false, error: 'No antivirus engine is set up.' } },
        info: { warnings: ['No antivirus engine is set up. Uploads are published with a warning.'] },
      },
    })
  })

  test('a scan that is switched off is a warning, whatever the engines answer', async () => {
    current = await start({
      policy: () => ({ on_scanner_unavailable: 'hold', clamav_scan: false, grype_scan: false }),
      antivirus: async () => ({ id: 'clamd', ok: false, enabled: false }),
    })
    expect((await call('GET /health')).checks.info['warnings']).toEqual([
      'The antivirus scan is switched off, and uploads pass without it.',
      'The vulnerability scan is switched off, and uploads pass without it.',
    ])
  })

  test('vulnerability data that are missing or old are a warning, too, and it follows the setting', async () => {
    let then: 'hold' | 'warn' = 'hold'
    current = await start({
      policy: () => ({ on_scanner_unavailable: then }),
      vulnerabilityDataWarning: async () => 'No vulnerability data are loaded.',
    })
    expect(await call('GET /health')).toMatchObject({
      status: 'healthy',
      checks: { info: { warnings: ['No vulnerability data are loaded. Uploads are held for review.'] } },
    })
    then = 'warn'
    expect((await call('GET /health')).checks.info['warnings']).toEqual([
      'No vulnerability data are loaded. Uploads are published with a warning.',
    ])
  })

  test('counts and names nothing of a distribution that is hidden from the caller', async () => {
    await stock.put({ name: 'open' })
    await stock.put({ name: 'secret', codename: 'noble' })
    const warnings = (seen: Viewer): readonly string[] => (seen.hidden.includes('noble') ? [] : ['About noble.'])
    const stuck = async () => [{ key: 'publish:noble', tries: 9 }] as never
    current = await start({ warnings, outbox: { stuck } })
    const told = async () => {
      const { critical, info } = (await call('GET /health')).checks
      const { packages, warnings: said } = info as { packages: Record<string, unknown>; warnings: string[] }
      return [critical.manifest_db, packages['total_manifests'], packages['by_format'], said]
    }
    expect(await told()).toMatchObject([
      { count: 2 },
      2,
      { deb: 2 },
      ['About noble.', 'Not yet delivered: publish:noble (9 tries).'],
    ])
    viewer = { hidden: ['noble'] }
    expect(await told()).toMatchObject([{ count: 1 }, 1, { deb: 1 }, []])
    expect((await call('GET /health')).checks.info['packages']).toMatchObject({ pool_files: 1 })
    expect(JSON.stringify(await call('GET /health'))).not.toContain('noble')
    viewer = ALL_SEEING
  })

  test('the clock is compared with that of the database, for those who see the machine', async () => {
    const seeing: Reader = { hidden: [], seesMachine: true }
    const clockOf = async (reader: Reader) => (await current.report(reader)).checks.info.clock
    current = await start({ clock: systemClock })
    await expect
      .poll(() => clockOf(seeing))
      .toMatchObject({ ok: true, database_ahead_ms: expect.any(Number) as number })
    expect(await clockOf({ hidden: [] })).toBeUndefined()
    current = await start({ clock: { now: () => new Date(Date.now() - 3_600_000) } })
    await expect.poll(async () => (await clockOf(seeing))?.ok).toBe(false)
    const { database_ahead_ms: ahead } = (await clockOf(seeing)) ?? {}
    expect(Math.round((ahead ?? 0) / 3_600_000)).toBe(1)
  })

  test('facts of the machine, the forecast and the reserve are told to those alone who may see them', async () => {
    const watched = { forecast: { days_until_full: 12 }, reserve: { state: 'kept' } } as never
    current = await start({ diskWatch: async () => watched })
    const told = async (reader: Reader) => {
      const { host, forecast, reserve } = (await current.report(reader)).checks.info
      return { host, forecast, reserve }
    }
    await expect.poll(async () => (await told({ hidden: [], seesMachine: true })).host).toBeDefined()
    expect(await told({ hidden: [], seesMachine: true })).toEqual({
      host: {
        ok: true,
        collected_at: expect.any(String),
        uptime_seconds: expect.any(Number),
        cores: expect.any(Number),
        load: {
          one: expect.any(Number),
          five: expect.any(Number),
          fifteen: expect.any(Number),
          per_core: expect.any(Number),
        },
        memory: expect.objectContaining({ total_mb: expect.any(Number) }),
        swap: expect.toSatisfy(one => one === null || one.total_mb > 0),
        disks: [
          {
            holds: ['packages', 'logs'],
            free_gb: expect.any(Number),
            total_gb: expect.any(Number),
            used_pct: expect.any(Number),
          },
          expect.objectContaining({ holds: ['database'], free_gb: null, why: expect.stringContaining('DATABASE_URL') }),
        ],
        temperature_c: expect.toSatisfy(one => one === null || one > 0),
        unknown: {},
      },
      forecast: { days_until_full: 12 },
      reserve: { state: 'kept' },
    })
    expect(await told(ALL_SEEING)).toEqual({ host: undefined, forecast: undefined, reserve: undefined })
  })

  test('a key that was just made shows at once', async () => {
    keys = []
    current = await start()
    expect((await current.report(ALL_SEEING)).status).toBe('degraded')
    keys = [{ fingerprint: 'NEW' }]
    changed()
    await expect
      .poll(async () => (await current.report(ALL_SEEING)).checks.non_critical['gpg'])
      .toEqual({ ok: true, fingerprint: 'NEW' })
  })

  test('a missing folder is critical: unhealthy and 503', async () => {
    current = await start()
    await rm(stock.layout.pool, { recursive: true })
    stock.clock.set('2026-03-01T10:00:05Z')
    expect(await call('GET /health')).toMatchObject({
      status: 'unhealthy',
      checks: {
        critical: {
          pool: {
            ok: false,
            path: stock.layout.pool,
            error: 'it does not exist',
            effect: expect.stringMatching(/^What is written there fails\./) as string,
            remedy: 'Check that the disk is mounted and that the service may write to the folder.',
          },
          manifests: { ok: true },
        },
      },
    })
    expect(statusOf()).toBe(503)
    stock.clock.set('2026-03-01T10:00:00Z')
  })
})

describe('GET /health/ready', () => {
  test('a whole service is ready and names nothing as failing', async () => {
    current = await start()
    const ready = await call('GET /health/ready')
    expect([statusOf(), ready]).toEqual([
      200,
      {
        ready: true,
        status: 'ok',
        timestamp: '2026-03-01T10:00:00.000Z',
        checks: {
          manifests: expect.objectContaining({ ok: true }),
          pool: expect.objectContaining({ ok: true }),
          auth_db: { ok: true, count: 0 },
          manifest_db: { ok: true, count: 0 },
        },
      },
    ])
  })

  test.each([
    ['refuses', refused],
    ['says nothing', silent],
  ])('a database that %s is reported within a second, without its address', async (_, first) => {
    current = await start({ db: brokenDb(first) })
    const ready = await call('GET /health/ready')
    expect(statusOf()).toBe(503)
    expect(ready).toMatchObject({
      ready: false,
      status: 'not_ready',
      failing: ['auth_db', 'manifest_db'],
      checks: { auth_db: { ok: false, error: expect.any(String) }, pool: { ok: true } },
    })
    expect(JSON.stringify(ready)).not.toContain('10.1.2.3')
  })

  test('a database that hangs gets one query at a time, however often readiness is asked', async () => {
    let asked = 0
    current = await start({
      db: brokenDb(() => {
        asked++
        return silent()
      }),
    })
    for (let n = 0; n < 3; n++) {
      stock.clock.set(`2026-03-01T10:00:${10 + 5 * n}Z`)
      await current.ready(ALL_SEEING)
    }
    expect(asked).toBe(1)
    stock.clock.set('2026-03-01T10:00:00Z')
  })
})

test('live answers whatever is broken', async () => {
  current = await start({ db: brokenDb(refused) })
  expect(await call('GET /health/live')).toEqual({ alive: true, status: 'ok', timestamp: '2026-03-01T10:00:00.000Z' })
})

describe('GET /metrics', () => {
  test('gauges match the database, also in a process that has just started', async () => {
    await stock.put()
    await stock.put({ version: '2.0', state: 'pending_review' })
    await stock.put({ version: '3.0', state: 'quarantined' })
    await stock.put({ version: '4.0', state: 'rejected' })
    registerGauges({
      metrics,
      db: stock.db,
      viewer: async () => viewer,
      clock: stock.clock,
      signaturesAt: async () => new Date('2026-03-01T00:00:00Z'),
      vulnerabilityDataAt: async () => new Date('2026-03-01T09:00:00Z'),
    })
    const { body, type } = await call('GET /metrics')
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8')
    for (const line of [
      'svc_packages_total 2',
      'svc_pending_review_total 1',
      'svc_quarantine_total 1',
      'svc_clamav_last_update 1772323200',
      'svc_grype_db_age_seconds 3600',
    ]) {
      expect(String(body).split('\n')).toContain(line)
    }
  })

  test('a metrics token, where there is one, is asked for', async () => {
    metricsToken = 'swordfish'
    expect(await codeOf(call('GET /metrics'))).toBe('not_authenticated')
    expect(await codeOf(call('GET /metrics', { raw: { headers: { authorization: 'Bearer sword' } } }))).toBe(
      'bad_credential',
    )
    expect((await call('GET /metrics', { raw: { headers: { authorization: 'bearer swordfish' } } })).type).toContain(
      'version=0.0.4',
    )
    metricsToken = undefined
  })
})

describe('probes', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-health-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('reprepro is run once for each binary that is installed', async () => {
    let runs = 0
    const probe = createRepreproProbe({
      path: `relative:${folder}/nowhere:${folder}`,
      isPublisher: false,
      run: async () => {
        runs++
        return `reprepro: This is reprepro version 5.3.${runs}\n`
      },
    })
    expect(await probe()).toEqual({ version: undefined, isPublisher: false })
    await writeFile(join(folder, 'reprepro'), '#!')
    expect(await probe()).toEqual({ version: undefined, isPublisher: false }) // not executable
    await chmod(join(folder, 'reprepro'), 0o755)
    expect([await probe(), await probe(), runs]).toEqual([
      { version: '5.3.1', isPublisher: false },
      { version: '5.3.1', isPublisher: false },
      1,
    ])
    await writeFile(join(folder, 'reprepro'), '#! another')
    expect((await probe()).version).toBe('5.3.2')
  })

  test('a folder is as large as its files, and absent is not empty', async () => {
    await mkdir(join(folder, 'a', 'b'), { recursive: true })
    await writeFile(join(folder, 'one'), '12345')
    await writeFile(join(folder, 'a', 'b', 'two'), '123')
    const { signal } = new AbortController()
    const folders = { whole: folder, file: join(folder, 'a', 'b', 'two'), none: join(folder, 'nowhere') }
    const measured: unknown[] = []
    for await (const one of folderSizes(folders, signal)) measured.push(one)
    expect(measured).toEqual([
      ['whole', { bytes: 8, files: 2 }],
      ['file', null],
      ['none', null],
    ])
    await expect(folderSizes(folders, AbortSignal.abort(new Error('stopped'))).next()).rejects.toThrow('stopped')
  })
})
