import { antivirusSilent, switchedOff, whileUnavailable } from '../../core/policy.ts'
import { mkdir } from 'node:fs/promises'
import { countBlobs, countByFormat } from '../../catalog/queries/counts.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import { cachedByViewer } from '../../lib/cached.ts'
import { isoNow } from '../../lib/clock.ts'
import type { StartStep } from '../../record/starting.ts'
import { createBackground } from './background.ts'
import type { HealthDeps } from './deps.ts'
import { probeFolder, publicReason, space, within, type DiskProbe, type Probe } from './probes.ts'
import { countAccounts } from './store.ts'

type Status = 'healthy' | 'degraded' | 'unhealthy'
type CountProbe = Probe & { readonly count?: number }
interface Critical {
  readonly manifests: DiskProbe
  readonly pool: DiskProbe
  readonly auth_db: CountProbe
  readonly manifest_db: CountProbe
}

/** The database's part of every report; 10 ms over 100,000 packages. */
interface Counts {
  readonly accounts: number
  readonly admins: number
  /** Packages of each format that has any. */
  readonly formats: Readonly<Record<string, number>>
  /** Files of the pool that the viewer may know about, where that is not all of it. */
  readonly pool?: { readonly blobs: number; readonly bytes: number }
}

/** The answer of `GET /health`; the specification defines its groups. */
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
  /** What the start is doing, until it has ended. */
  readonly starting?: StartStep
}

export interface Health {
  /** Makes the folders that must be there, probes everything once, and goes on in the background. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Counts and names only what the viewer may see. */
  report(viewer: Viewer): Promise<HealthReport>
  ready(viewer: Viewer): Promise<ReadyReport>
}

/** A call checks the database and the two folders itself, so that a dead one shows at once; at most once a second. */
const CRITICAL_MS = 1_000
/** Folders that grow with the packages. */
const OF_PACKAGES: ReadonlySet<string> = new Set(['pool', 'manifests', 'audit'])
const packagesIn = (counts: Counts): number => Object.values(counts.formats).reduce((sum, n) => sum + n, 0)
const mb = (bytes: number): number => Math.round(bytes / 104_857.6) / 10

/**
 * A call reads what the background found, asks the database and the two folders, starts no process and walks no folder.
 */
export function createHealth(deps: HealthDeps): Health {
  const { clock, db, layout } = deps
  const startedAt = clock.now().getTime()
  const background = createBackground(deps)
  const asking = new Map<string, Promise<Counts>>()

  async function readCounts(viewer: Viewer): Promise<Counts> {
    const [people, formats, pool] = await Promise.all([
      countAccounts(db),
      countByFormat(db, viewer),
      seesAll(viewer) ? undefined : countBlobs(db, viewer),
    ])
    return { ...people, formats, ...(pool === undefined ? {} : { pool }) }
  }

  /** Never two probes of a kind at once: a hanging database must not fill the connection pool with them. */
  function ask(viewer: Viewer): Promise<Counts> {
    const key = viewer.hidden.join()
    const mine = asking.get(key) ?? readCounts(viewer).finally(() => asking.delete(key))
    asking.set(key, mine)
    return mine
  }

  const look = cachedByViewer({
    clock,
    ms: CRITICAL_MS,
    read: async (viewer): Promise<{ readonly critical: Critical; readonly counts: Counts | undefined }> => {
      const [manifests, pool, database] = await Promise.all([
        within(CRITICAL_MS, () => probeFolder(layout.manifests)),
        within(CRITICAL_MS, () => probeFolder(layout.pool)),
        within(CRITICAL_MS, async () => ({ ok: true, counts: await ask(viewer) })),
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

  function warnings(viewer: Viewer): string[] {
    const { probes, stuck, dataWarning, catalogueWarning } = background.seen()
    const said = [...(deps.warnings?.(viewer) ?? [])]
    const policy = deps.policy()
    if (policy.clamav_scan === false) said.push(switchedOff('antivirus scan'))
    if (policy.grype_scan === false) said.push(switchedOff('vulnerability scan'))
    // a probe that was cut short does not tell
    const clamav: (Probe & { readonly set_up?: boolean }) | undefined = probes['clamav']
    if (clamav?.ok === false) said.push(antivirusSilent(policy, clamav.set_up !== false))
    if (dataWarning !== undefined) said.push(`${dataWarning} ${whileUnavailable(policy, true).said}`)
    if (catalogueWarning !== undefined) said.push(catalogueWarning)
    const late = stuck.filter(key => viewer.hidden.every(codename => !key.includes(codename)))
    if (late.length > 0) said.push(`Not yet delivered: ${late.slice(0, 5).join(', ')}.`)
    return said
  }

  async function info(viewer: Viewer, counts: Counts | undefined): Promise<Record<string, unknown>> {
    const { sizes } = background.seen()
    const whole = { blobs: sizes['pool']?.files ?? 0, bytes: sizes['pool']?.bytes ?? 0 }
    const pool = seesAll(viewer) ? whole : (counts?.pool ?? { blobs: 0, bytes: 0 })
    const disk = await space(layout.root).catch((error: unknown) => ({ error: publicReason(error) }))
    const { leader, started } = deps.scheduler()
    const { id, shared } = deps.instance
    const trouble = deps.instance.trouble?.()
    // neither decides over health: without an answer they are left out
    const [others, backups] = await Promise.all([
      deps.replicas?.().catch(() => undefined),
      deps.backups?.().catch(() => undefined),
    ])
    return {
      packages: {
        ok: counts !== undefined,
        total_manifests: counts === undefined ? null : packagesIn(counts),
        pool_files: pool.blobs,
        pool_size_mb: mb(pool.bytes),
        by_format: Object.fromEntries(deps.formats.map(format => [format, counts?.formats[format] ?? 0])),
      },
      storage: {
        ok: 'free_gb' in disk,
        ...('free_gb' in disk ? { free_gb: disk.free_gb, total_gb: disk.total_gb, used_pct: disk.used_pct } : disk),
        dirs: Object.fromEntries(
          Object.entries(deps.dirs).map(([name, path]) => [
            name,
            // the size of a folder reveals how much is hidden in it
            {
              path,
              size_mb: sizes[name] && (seesAll(viewer) || !OF_PACKAGES.has(name)) ? mb(sizes[name].bytes) : null,
            },
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
        ...(others === undefined ? {} : { replicas: others }),
        job_state_backend: { scan: shared, install: shared, mirror: shared, sync: shared, sse: shared, logs: shared },
      },
      cache_backend: {
        ok: trouble === undefined,
        backend: shared === 'redis' ? 'redis' : 'memory',
        ...(trouble === undefined ? {} : { error: trouble }),
      },
      ...(backups === undefined ? {} : { backups: { ok: true, ...backups } }),
      warnings: warnings(viewer),
    }
  }

  return {
    start: async () => {
      for (const folder of [layout.manifests, layout.pool, layout.audit]) await mkdir(folder, { recursive: true })
      await background.start()
    },
    stop: () => background.stop(),
    report: async viewer => {
      const { critical, counts } = await look(viewer)
      const checks = {
        critical,
        non_critical: { ...background.seen().probes, scheduler: scheduler() },
        info: await info(viewer, counts),
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
    ready: async viewer => {
      const { critical } = await look(viewer)
      const step = deps.starting.now()
      const failing = Object.entries(critical)
        .filter(([, probe]: [string, Probe]) => !probe.ok)
        .map(([name]) => name)
      if (step !== undefined) failing.push('start')
      return {
        ready: failing.length === 0,
        status: failing.length === 0 ? 'ok' : 'not_ready',
        timestamp: isoNow(clock),
        checks: critical,
        ...(failing.length === 0 ? {} : { failing }),
        ...(step === undefined ? {} : { starting: step }),
      }
    },
  }
}
