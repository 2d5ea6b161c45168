import { antivirusSilent, antivirusWarning, switchedOff, whileUnavailable, type Silence } from '../../core/policy.ts'
import { mkdir } from 'node:fs/promises'
import { countBlobs, countByFormat } from '../../catalog/queries/counts.ts'
import { levelOf, type Forecast, type ReserveFacts } from '../../core/disk.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import { cachedByViewer } from '../../lib/cached.ts'
import { isoNow } from '../../lib/clock.ts'
import { space, type Space } from '../../lib/disk-space.ts'
import type { StartStep } from '../../record/starting.ts'
import { createBackground } from './background.ts'
import type { HealthDeps } from './deps.ts'
import { compareClocks, type ClockFacts } from './clock-facts.ts'
import type { HostFacts } from './host.ts'
import { createInfo, packagesIn, type Counts } from './info.ts'
import type { Reader } from './public-viewer.ts'
import { probeFolder, publicReason, within, type DiskProbe, type Probe } from './probes.ts'
import { withRemedies } from './remedies.ts'
import { countAccounts } from './store.ts'

type Status = 'healthy' | 'degraded' | 'unhealthy'
type CountProbe = Probe & { readonly count?: number }
interface Critical {
  readonly manifests: DiskProbe
  readonly pool: DiskProbe
  readonly auth_db: CountProbe
  readonly manifest_db: CountProbe
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
    /** Facts of the machine and the disk are there for auditors, maintainers and admins alone. */
    readonly info: Readonly<Record<string, unknown>> & {
      readonly host?: HostFacts
      readonly clock?: ClockFacts
      readonly forecast?: Forecast
      readonly reserve?: ReserveFacts
    }
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
  /** Counts and names only what the reader may see. */
  report(reader: Reader): Promise<HealthReport>
  ready(viewer: Viewer): Promise<ReadyReport>
}

/** A call checks the database and the two folders itself, so that a dead one shows at once; at most once a second. */
const CRITICAL_MS = 1_000

/**
 * A call reads what the background found, asks the database and the two folders, starts no process and walks no folder.
 */
export function createHealth(deps: HealthDeps): Health {
  const { clock, db, layout } = deps
  const startedAt = clock.now().getTime()
  const background = createBackground(deps)
  const info = createInfo(deps, background)
  const asking = new Map<string, Promise<Counts>>()

  async function readCounts(viewer: Viewer): Promise<Counts> {
    const asked = clock.now().getTime()
    const people = countAccounts(db).then(({ now, ...found }) => ({
      ...found,
      clock: compareClocks(now, { asked, answered: clock.now().getTime() }),
    }))
    const [accounts, formats, pool] = await Promise.all([
      people,
      countByFormat(db, viewer),
      seesAll(viewer) ? undefined : countBlobs(db, viewer),
    ])
    return { ...accounts, formats, ...(pool === undefined ? {} : { pool }) }
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

  const readDisk = (): Promise<Space | { readonly error: string }> =>
    space(layout.root).catch((error: unknown) => ({ error: publicReason(error) }))

  /** Whether the disk has the room that the settings ask for. */
  function probeDisk(disk: Space | { readonly error: string }): Probe {
    if ('error' in disk) return { ok: false, error: disk.error }
    const limits = deps.diskLimits()
    const level = levelOf(disk, limits)
    const error = {
      fine: undefined,
      filling: `${disk.used_pct} % of the disk are used`,
      stopped: `${disk.free_gb} GB are free; below ${limits.min_free_disk_gb} GB uploads are refused`,
    }[level]
    const { warn_used_pct, min_free_disk_gb } = limits
    const facts = { level, used_pct: disk.used_pct, free_gb: disk.free_gb, warn_used_pct, min_free_disk_gb }
    return error === undefined ? { ok: true, ...facts } : { ok: false, error, ...facts }
  }

  /** A probe that was cut short does not tell why the engine is silent. */
  const silenceOf = ({ silence = 'no_answer' }: Probe & { readonly silence?: Silence }): Silence => silence

  /** What the background found. */
  function probes(): Readonly<Record<string, Probe>> {
    const { probes: found } = background.seen()
    const { clamav } = found
    if (clamav?.ok !== false) return found
    return { ...found, clamav: { ...clamav, effect: antivirusSilent(deps.policy(), silenceOf(clamav)) } }
  }

  function warnings(viewer: Viewer): string[] {
    const {
      probes: { clamav },
      stuck,
      dataWarning,
      catalogueWarning,
    } = background.seen()
    const said = [...(deps.warnings?.(viewer) ?? [])]
    const policy = deps.policy()
    if (policy.clamav_scan === false) said.push(switchedOff('antivirus scan'))
    if (policy.grype_scan === false) said.push(switchedOff('vulnerability scan'))
    if (clamav?.ok === false) said.push(antivirusWarning(policy, silenceOf(clamav)))
    if (dataWarning !== undefined) said.push(`${dataWarning} ${whileUnavailable(policy, true).said}`)
    if (catalogueWarning !== undefined) said.push(catalogueWarning)
    const late = stuck.filter(key => viewer.hidden.every(codename => !key.includes(codename)))
    if (late.length > 0) said.push(`Not yet delivered: ${late.slice(0, 5).join(', ')}.`)
    return said
  }

  return {
    start: async () => {
      for (const folder of [layout.manifests, layout.pool, layout.audit]) await mkdir(folder, { recursive: true })
      await background.start()
    },
    stop: () => background.stop(),
    report: async reader => {
      const [{ critical, counts }, disk] = await Promise.all([look(reader), readDisk()])
      const checks = {
        critical: withRemedies({ ...critical }),
        non_critical: withRemedies({
          ...probes(),
          scheduler: scheduler(),
          disk: probeDisk(disk),
          ...background.seen().machine,
        }),
        info: { ...(await info(reader, { counts, disk })), warnings: warnings(reader) },
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
        checks: withRemedies({ ...critical }),
        ...(failing.length === 0 ? {} : { failing }),
        ...(step === undefined ? {} : { starting: step }),
      }
    },
  }
}
