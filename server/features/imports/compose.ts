import { MAKE_ROOM } from '../../core/disk.ts'
import { bind } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Feature } from '../../core/feature.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Layout } from '../../files/layout.ts'
import type { Spool } from '../../files/spool.ts'
import { getFormat } from '../../formats/index.ts'
import { findResolver } from '../../imports/resolve/resolvers.ts'
import { createCatalogueOf, type CatalogueDeps } from '../../imports/run/catalogue-of.ts'
import { createFindElsewhere, type FindElsewhere } from '../../imports/run/elsewhere.ts'
import { createImportMissing, type ImportMissing } from '../../imports/run/import-missing.ts'
import { importWork, type ImportDeps } from '../../imports/run/import-work.ts'
import { createForecast } from '../../imports/run/forecast.ts'
import { createLookUp } from '../../imports/run/look-up.ts'
import { createPlanner, type PlannerDeps } from '../../imports/run/plan.ts'
import { sweepDownloads } from '../../imports/reach/download.ts'
import type { FetchPackage } from '../../imports/trust/fetch-package.ts'
import type { Clock } from '../../lib/clock.ts'
import { space } from '../../lib/disk-space.ts'
import type { Matcher } from '../../scanners/matcher.ts'
import { imports } from './contract.ts'
import type { ImportRouteDeps } from './deps.ts'
import { importHandlers } from './handlers.ts'

export interface ImportNeeds
  extends
    Omit<ImportRouteDeps, 'planner' | 'lookUp' | 'forecast' | 'formatOf'>,
    Pick<ImportDeps, 'gate'>,
    Pick<CatalogueDeps, 'listSources'> {
  readonly settings: ImportDeps['settings'] & PlannerDeps['settings']
  readonly spool: Pick<Spool, 'receive'>
  readonly layout: Layout
  readonly outbox: Pick<Outbox, 'owe' | 'nudge' | 'settled'>
  readonly fetchPackage: FetchPackage
  readonly clock: Clock
  readonly matcher: Matcher
}

const MB = 1024 ** 2
/** How long an import waits for its publication; it stays owed. */
const SERVED_WITHIN_MS = 60_000

/** What others use of imports. */
export interface ImportsFeature extends Feature, Pick<ImportRouteDeps, 'planner'> {
  readonly findElsewhere: FindElsewhere
  readonly importMissing: ImportMissing
}

/** Imports: packages of other repositories with what they need, groups of them. */
export function composeImports(needs: ImportNeeds): ImportsFeature {
  const { db, layout, outbox, fetchPackage, settings, clock } = needs
  const catalogue = createCatalogueOf(needs)
  const planner = createPlanner({ ...needs, catalogue, formatOf: getFormat, resolverOf: findResolver })
  const lookUp = createLookUp({ db, catalogue, formatOf: getFormat })
  const forecast = createForecast(needs)
  /** A file lies twice while it goes through the gate. */
  async function needRoom(bytes: number): Promise<void> {
    const { freeBytes } = await space(layout.root)
    const { min_free_disk_gb: leastGb } = settings.now().disk
    const free = freeBytes - leastGb * 1024 ** 3
    if (free < 2 * bytes)
      fail('import_no_room', {
        needs_mb: Math.ceil((2 * bytes) / MB),
        free_mb: Math.max(0, Math.floor(free / MB)),
        least_gb: leastGb,
        remedy: MAKE_ROOM,
      })
  }
  const work = importWork({
    ...needs,
    formatOf: getFormat,
    plan: planner.plan,
    download: (source, { path, size, digests, controlSha1 }, { signal }) =>
      fetchPackage(source, { path, size, digests, controlSha1 }, { folder: layout.imports, signal }),
    needRoom,
    async boundOf({ until, free_gb: leastGb }, bytes) {
      if (until !== undefined && clock.now().toISOString() >= until) return 'time'
      const { freeBytes } = await space(layout.root)
      const fits = (gb: number): boolean => freeBytes >= gb * 1024 ** 3 + 2 * bytes
      if (leastGb !== undefined && !fits(leastGb)) return 'disk'
      return fits(settings.now().disk.min_free_disk_gb) ? undefined : 'out_of_space'
    },
    async publish(codename, signal) {
      const key = `publish:${codename}`
      const ask = await outbox.owe(db, key)
      outbox.nudge()
      if (signal.aborted) return
      const isStopped = new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      await Promise.race([outbox.settled(key, ask, SERVED_WITHIN_MS), isStopped])
    },
  })
  return {
    planner,
    importMissing: createImportMissing({ ...needs, jobs: needs.worker, catalogue }),
    findElsewhere: createFindElsewhere({ ...needs, catalogue, formatOf: getFormat }),
    work: [work] as WorkKind[],
    routes: bind(imports, importHandlers, { ...needs, planner, lookUp, forecast, formatOf: getFormat }),
    // halves of files that no job asked for any longer
    jobs: [
      {
        id: 'import-files',
        name: 'Remove half files of imports that nobody goes on with',
        when: () => '40 * * * *',
        run: () => sweepDownloads(layout.imports, clock.now()),
      },
    ],
  }
}
