import { mkdir } from 'node:fs/promises'
import { DISTRIBUTIONS } from '../../core/distributions.ts'
import { cached } from '../../lib/cached.ts'
import { isoNow } from '../../lib/clock.ts'
import { createBackground } from './background.ts'
import type { HealthDeps } from './deps.ts'
import { probeFolder, publicReason, space, within, type DiskProbe, type Probe } from './probes.ts'
import { readCounts, type Counts } from './store.ts'

type Status = 'healthy' | 'degraded' | 'unhealthy'
type CountProbe = Probe & { readonly count?: number }
interface Critical {
  readonly manifests: DiskProbe
  readonly pool: DiskProbe
  readonly auth_db: CountProbe
  readonly manifest_db: CountProbe
}

/** What `GET /health` answers; the shape of the groups is the specification's. */
export interface HealthReport {
  readonly status: Status
  readonly timestamp: string
  readonly version: string
  readonly uptime_seconds: number
  readonly checks: {
    readonly critical: Critical
    readonly non_critical: Readonly<Record<string, Probe>>
    readonly info: Readonly<Record<string, unknown>>
  }
}

export interface ReadyReport {
  readonly ready: boolean
  readonly status: 'ok' | 'not_ready'
  readonly timestamp: string
  readonly checks: Critical
  readonly failing?: readonly string[]
}

export interface Health {
  /** Makes the folders that must be there, probes everything once, and goes on in the background. */
  start(): Promise<void>
  stop(): Promise<void>
  report(): Promise<HealthReport>
  ready(): Promise<ReadyReport>
}

/** The database and the two folders are asked on call, so that a dead one shows at once; at most once a second. */
const CRITICAL_MS = 1_000
const FORMATS = [...new Set(DISTRIBUTIONS.map(distribution => distribution.format))]
const packagesIn = (counts: Counts): number => Object.values(counts.formats).reduce((sum, n) => sum + n, 0)
const mb = (bytes: number): number => Math.round(bytes / 104_857.6) / 10

/**
 * A call reads what the background found, asks the database and the two folders, starts no process and walks no folder.
 */
export function createHealth(deps: HealthDeps): Health {
  const { clock, db, layout } = deps
  const startedAt = clock.now().getTime()
  const background = createBackground(deps)
  let asking: Promise<Counts> | undefined

  /** Never two questions at once: a database that hangs must not fill the connection pool with probes. */
  function ask(): Promise<Counts> {
    asking ??= readCounts(db).finally(() => {
      asking = undefined
    })
    return asking
  }

  const look = cached({
    clock,
    ms: CRITICAL_MS,
    read: async (): Promise<{ readonly critical: Critical; readonly counts: Counts | undefined }> => {
      const [manifests, pool, database] = await Promise.all([
        within(CRITICAL_MS, () => probeFolder(layout.manifests)),
        within(CRITICAL_MS, () => probeFolder(layout.pool)),
        within(CRITICAL_MS, async () => ({ ok: true, counts: await ask() })),
      ])
      const counts = 'counts' in database ? database.counts : undefined
      const count = (n: number | undefined): CountProbe =>
        n === undefined
          ? { ok: false, error: `the database does not answer: ${'error' in database ? database.error : ''}` }
          : { ok: true, count: n }
      return {
        counts,
        critical: {
          manifests: { path: layout.manifests, ...manifests },
          pool: { path: layout.pool, ...pool },
          auth_db: count(counts?.accounts),
          manifest_db: count(counts && packagesIn(counts)),
        },
      }
    },
  })

  function scheduler(): Probe {
    const { started, leader, jobs } = deps.scheduler()
    if (!leader) return { ok: true, jobs: [], note: 'this replica is passive: the leader runs the jobs' } as Probe
    if (!started) return { ok: false, error: 'the scheduler did not start', jobs: [] } as Probe
    return { ok: true, jobs: jobs.map(job => ({ ...job, paused: job.next_run === null })) } as Probe
  }

  function warnings(): string[] {
    const { probes, stuck, blind } = background.seen()
    const said = [...(deps.warnings?.() ?? [])]
    const then =
      deps.onUnavailable() === 'hold' ? 'Uploads are held for review.' : 'Uploads are published with a warning.'
    if (probes['clamav']?.ok === false) said.push(`The antivirus engine does not answer. ${then}`)
    if (blind !== undefined) said.push(`${blind} ${then}`)
    if (stuck.length > 0) said.push(`Not yet delivered: ${stuck.slice(0, 5).join(', ')}.`)
    return said
  }

  async function info(counts: Counts | undefined): Promise<Record<string, unknown>> {
    const { sizes } = background.seen()
    const disk = await space(layout.root).catch((error: unknown) => ({ error: publicReason(error) }))
    const { leader, started } = deps.scheduler()
    const { id, shared } = deps.instance
    const trouble = deps.instance.trouble?.()
    return {
      packages: {
        ok: counts !== undefined,
        total_manifests: counts === undefined ? null : packagesIn(counts),
        pool_files: sizes['pool']?.files ?? 0,
        pool_size_mb: mb(sizes['pool']?.bytes ?? 0),
        by_format: Object.fromEntries(FORMATS.map(format => [format, counts?.formats[format] ?? 0])),
      },
      storage: {
        ok: 'free_gb' in disk,
        ...('free_gb' in disk ? { free_gb: disk.free_gb, total_gb: disk.total_gb, used_pct: disk.used_pct } : disk),
        dirs: Object.fromEntries(
          Object.entries(deps.dirs).map(([name, path]) => [
            name,
            { path, size_mb: sizes[name] ? mb(sizes[name].bytes) : null },
          ]),
        ),
      },
      license: { ok: true, ...deps.license() },
      setup: { ok: counts !== undefined, setup_done: (counts?.admins ?? 0) > 0 },
      ha: {
        ok: true,
        is_leader: leader,
        instance_id: id,
        scheduler_active: leader && started,
        job_state_backend: { scan: shared, install: shared, mirror: shared, sync: shared, sse: shared, logs: shared },
      },
      cache_backend: {
        ok: trouble === undefined,
        backend: shared === 'redis' ? 'redis' : 'memory',
        ...(trouble === undefined ? {} : { error: trouble }),
      },
      warnings: warnings(),
    }
  }

  return {
    start: async () => {
      for (const folder of [layout.manifests, layout.pool, layout.audit]) await mkdir(folder, { recursive: true })
      await background.start()
    },
    stop: () => background.stop(),
    report: async () => {
      const { critical, counts } = await look()
      const checks = {
        critical,
        non_critical: { ...background.seen().probes, scheduler: scheduler() },
        info: await info(counts),
      }
      const failed = Object.values(critical).some((probe: Probe) => !probe.ok)
      const weak = Object.values(checks.non_critical).some(probe => !probe.ok)
      return {
        status: failed ? 'unhealthy' : weak ? 'degraded' : 'healthy',
        timestamp: isoNow(clock),
        version: deps.version,
        uptime_seconds: Math.max(0, Math.floor((clock.now().getTime() - startedAt) / 1000)),
        checks,
      }
    },
    ready: async () => {
      const { critical } = await look()
      const failing = Object.entries(critical)
        .filter(([, probe]: [string, Probe]) => !probe.ok)
        .map(([name]) => name)
      return {
        ready: failing.length === 0,
        status: failing.length === 0 ? 'ok' : 'not_ready',
        timestamp: isoNow(clock),
        checks: critical,
        ...(failing.length === 0 ? {} : { failing }),
      }
    },
  }
}
