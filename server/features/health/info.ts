import { seesAll } from '../../core/viewer.ts'
import type { Space } from '../../lib/disk-space.ts'
import type { ClockFacts } from './clock-facts.ts'
import type { Background } from './background.ts'
import type { HealthDeps } from './deps.ts'
import type { Reader } from './public-viewer.ts'
import { withRemedy } from './remedies.ts'

/** The database's part of every report; 10 ms over 100,000 packages. */
export interface Counts {
  readonly accounts: number
  readonly admins: number
  readonly clock: ClockFacts
  /** Packages of each format that has any. */
  readonly formats: Readonly<Record<string, number>>
  /** Files of the pool that the viewer may know about, where that is not all of it. */
  readonly pool?: { readonly blobs: number; readonly bytes: number }
}

/** What is read for every report. */
export interface Read {
  readonly counts: Counts | undefined
  readonly disk: Space | { readonly error: string }
}

/** Folders that grow with the packages. */
const OF_PACKAGES: ReadonlySet<string> = new Set(['pool', 'manifests', 'audit'])
export const packagesIn = (counts: Counts): number => Object.values(counts.formats).reduce((sum, n) => sum + n, 0)
const mb = (bytes: number): number => Math.round(bytes / 104_857.6) / 10

/** The group that decides nothing. Facts of the machine are for those who may see them. */
export function createInfo(
  deps: HealthDeps,
  background: Pick<Background, 'seen'>,
): (reader: Reader, read: Read) => Promise<Record<string, unknown>> {
  return async (reader, { counts, disk }) => {
    const { sizes, host } = background.seen()
    const whole = { blobs: sizes['pool']?.files ?? 0, bytes: sizes['pool']?.bytes ?? 0 }
    const pool = seesAll(reader) ? whole : (counts?.pool ?? { blobs: 0, bytes: 0 })
    const { leader, started } = deps.scheduler()
    const { id, shared } = deps.instance
    const trouble = deps.instance.trouble?.()
    // neither decides over health: without an answer they are left out
    const [others, backups, watched] = await Promise.all([
      deps.replicas?.().catch(() => undefined),
      deps.backups?.().catch(() => undefined),
      reader.seesMachine === true ? deps.diskWatch?.().catch(() => undefined) : undefined,
    ])
    return {
      packages: withRemedy('packages', {
        ok: counts !== undefined,
        total_manifests: counts === undefined ? null : packagesIn(counts),
        pool_files: pool.blobs,
        pool_size_mb: mb(pool.bytes),
        by_format: Object.fromEntries(deps.formats.map(format => [format, counts?.formats[format] ?? 0])),
      }),
      storage: withRemedy('storage', {
        ok: 'free_gb' in disk,
        ...('free_gb' in disk ? { free_gb: disk.free_gb, total_gb: disk.total_gb, used_pct: disk.used_pct } : disk),
        dirs: Object.fromEntries(
          Object.entries(deps.dirs).map(([name, path]) => [
            name,
            // the size of a folder reveals how much is hidden in it
            {
              path,
              size_mb: sizes[name] && (seesAll(reader) || !OF_PACKAGES.has(name)) ? mb(sizes[name].bytes) : null,
            },
          ]),
        ),
      }),
      license: { ok: true, ...deps.license() },
      setup: withRemedy('setup', { ok: counts !== undefined, setup_done: (counts?.admins ?? 0) > 0 }),
      ha: {
        ok: true,
        is_leader: leader,
        instance_id: id,
        scheduler_active: leader && started,
        ...(others === undefined ? {} : { replicas: others }),
        job_state_backend: { scan: shared, install: shared, mirror: shared, sync: shared, sse: shared, logs: shared },
      },
      cache_backend: withRemedy('cache_backend', {
        ok: trouble === undefined,
        backend: shared === 'redis' ? 'redis' : 'memory',
        ...(trouble === undefined ? {} : { error: trouble }),
      }),
      // where they lie is of the machine
      ...(backups === undefined
        ? {}
        : { backups: { ok: true, ...backups, ...(reader.seesMachine === true ? {} : { targets: [] }) } }),
      ...(watched === undefined ? {} : { forecast: watched.forecast, reserve: watched.reserve }),
      ...(reader.seesMachine === true && host !== undefined ? { host } : {}),
      ...(reader.seesMachine === true ? { clock: counts?.clock ?? { ok: false, database_ahead_ms: null } } : {}),
    }
  }
}
