import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { WorkKind } from '../../core/work.ts'
import { dailyBy } from '../../settings/daily.ts'
import type { Settings } from '../../settings/store.ts'
import type { Worker } from '../../work/worker.ts'
import { catalogue } from './contract.ts'
import { catalogueHandlers, type CatalogueRouteDeps } from './handlers.ts'
import { SYNC, syncWork, type SyncWorkDeps } from './work.ts'

export interface CatalogueNeeds extends SyncWorkDeps, Pick<CatalogueRouteDeps, 'clock'> {
  readonly settings: Pick<Settings, 'now'>
  readonly worker: Pick<Worker, 'ask' | 'cancel' | 'onMoved' | 'ended'>
  /** When the clock starts a job next. */
  readonly nextRun: (id: string) => string | null
}

const JOB = 'sync'

/** The upstream catalogue: its routes, its jobs, and the one of the night. */
export function composeCatalogue({ settings, nextRun, ...needs }: CatalogueNeeds): Feature {
  const { worker } = needs
  return {
    routes: bind(catalogue, catalogueHandlers, {
      ...needs,
      schedule: () => ({ ...settings.now().sync, nextRun: nextRun(JOB) }),
    }),
    work: [syncWork(needs) as WorkKind],
    jobs: [
      {
        id: JOB,
        name: 'Synchronise import sources',
        ...dailyBy(settings, 'sync'),
        daily: true,
        work: { kind: SYNC, request: { target: 'daily' } },
        run: () =>
          worker.ask({ kind: SYNC, target: 'daily', request: { target: 'daily' }, codenames: 'all', by: 'system' }),
      },
    ],
  }
}
