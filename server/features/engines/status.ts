import { isTooOld } from '../../core/data-age.ts'
import type { EngineDeps } from './deps.ts'

const HOUR_MS = 3_600_000

function ageOf(at: string | undefined, now: Date): number | null {
  return at === undefined ? null : Math.max(0, Math.floor((now.getTime() - Date.parse(at)) / HOUR_MS))
}
const isFresh = (age: number | null, hours: number): boolean => age !== null && age <= hours
const maxAgeDays = ({ settings }: Pick<EngineDeps, 'settings'>): number =>
  settings.now().validation.vuln_data_max_age_days
const staleHours = ({ settings }: Pick<EngineDeps, 'settings'>): number => maxAgeDays({ settings }) * 24

/** What grype says of itself. */
export async function grypeStatus(deps: Pick<EngineDeps, 'scanners' | 'settings' | 'clock'>) {
  const grype = deps.scanners.vulnerability.find(({ id }) => id === 'grype')
  const isPresent = grype !== undefined && (await grype.isPresent?.()) !== false
  const said = isPresent ? await grype.status() : undefined
  const age = ageOf(said?.data_at, deps.clock.now())
  const threshold = staleHours(deps)
  const isStale =
    said?.data_at !== undefined && isTooOld(said.data_at, { now: deps.clock.now(), maxAgeDays: maxAgeDays(deps) })
  return {
    available: said?.ok === true,
    version: said?.version ?? null,
    built_at: said?.data_at ?? null,
    schema: said?.data_version ?? null,
    status: said === undefined ? 'not_installed' : !said.ok ? 'unavailable' : isStale ? 'stale' : 'valid',
    age_hours: age,
    stale: isStale,
    stale_threshold_hours: threshold,
    error: said === undefined ? 'grype is not installed on this machine.' : (said.error ?? null),
  }
}

/** How old the data on exploitation are. */
export async function feedsStatus(deps: Pick<EngineDeps, 'database' | 'settings' | 'clock'>) {
  const intel = (await deps.database.open().catch(() => undefined))?.meta.intel
  const now = deps.clock.now()
  const hours = staleHours(deps)
  const [kevAge, epssAge] = [ageOf(intel?.kev?.imported_at, now), ageOf(intel?.epss?.date, now)]
  return {
    ttl_hours: hours,
    kev: {
      available: intel?.kev !== undefined,
      fetched_at: intel?.kev?.imported_at ?? null,
      total: intel?.kev?.entries ?? 0,
      catalog_version: intel?.kev?.version ?? null,
      age_hours: kevAge,
      fresh: isFresh(kevAge, hours),
    },
    epss: {
      available: intel?.epss !== undefined,
      updated_at: intel?.epss?.date ?? null,
      count: intel?.epss?.entries ?? 0,
      age_hours: epssAge,
      fresh: isFresh(epssAge, hours),
    },
  }
}
