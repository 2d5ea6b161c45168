import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Layout } from '../../files/layout.ts'
import { engines } from './contract.ts'
import type { EngineDeps } from './deps.ts'
import { engineHandlers } from './handlers.ts'

export interface EngineNeeds extends Omit<EngineDeps, 'security' | 'database' | 'importer' | 'feeds'> {
  readonly layout: Pick<Layout, 'security'>
  readonly vulndb: Pick<EngineDeps, 'database' | 'importer' | 'feeds'>
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
}: EngineNeeds): Feature {
  const { database, importer, feeds } = vulndb
  return {
    routes: bind(engines, engineHandlers, {
      scanners,
      repositories,
      database,
      importer,
      feeds,
      spool,
      settings,
      audit,
      clock,
      security: layout.security,
    }),
  }
}
