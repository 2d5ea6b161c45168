import { join } from 'node:path'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { schemaVersion } from '../../db/migrate.ts'
import { support } from './contract.ts'
import { supportHandlers, type SupportDeps } from './handlers.ts'

/** The bundle for whoever helps. */
export function composeSupport(needs: Omit<SupportDeps, 'schemaVersion' | 'errorLog'>): Feature {
  return {
    routes: bind(support, supportHandlers, {
      ...needs,
      schemaVersion: () => schemaVersion(needs.db),
      errorLog: join(needs.logFolder, 'error.log'),
    }),
  }
}
