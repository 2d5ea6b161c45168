import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Layout } from '../../files/layout.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import { feedsWork, importWork, type EngineWorkDeps } from './work.ts'
import type { Importer } from '../../vulndb/store/importer.ts'
import { engines } from './contract.ts'
import type { EngineDeps } from './deps.ts'
import { engineHandlers } from './handlers.ts'

export interface EngineNeeds extends Omit<EngineDeps, 'security' | 'database' | 'importer' | 'jobs'> {
  readonly layout: Pick<Layout, 'security'>
  readonly vulndb: Pick<EngineDeps, 'database'> & Pick<EngineWorkDeps, 'feeds'> & { readonly importer: Importer }
  readonly audit: EngineWorkDeps['audit']
  readonly worker: Jobs
}

/** The engines and their data. */
export function composeEngines({
  layout,
  vulndb,
  scanners,
  repositories,
  spool,
  settings,
  audit,
  clock,
  worker,
  mediaFolder,
}: EngineNeeds): Feature {
  const { database, importer, feeds } = vulndb
  const working = { importer, feeds, audit }
  return {
    work: [importWork(working), feedsWork(working)] as WorkKind[],
    routes: bind(engines, engineHandlers, {
      scanners,
      repositories,
      database,
      importer,
      jobs: worker,
      spool,
      settings,
      clock,
      security: layout.security,
      mediaFolder,
    }),
  }
}
