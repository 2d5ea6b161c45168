import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Layout } from '../../files/layout.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { listScanners } from '../../vulndb/match/ecosystems.ts'
import type { Database } from '../../vulndb/store/database.ts'
import { ownDistributions } from './contract.ts'
import { ownDistributionHandlers, type OwnDistributionDeps } from './handlers.ts'

/** Distributions that an admin adds, changes, retires and removes. */
export function composeOwnDistributions({
  layout,
  database,
  ...deps
}: Omit<OwnDistributionDeps, 'removeTrees' | 'lock' | 'scanners'> & {
  readonly layout: Layout
  readonly database: Database
}): Feature {
  return {
    routes: bind(ownDistributions, ownDistributionHandlers, {
      ...deps,
      lock: createKeyedLock(),
      scanners: async () => {
        const loaded = (await database.open().catch(() => undefined))?.meta.ecosystems ?? {}
        return listScanners(Object.keys(loaded))
      },
      removeTrees: async ({ codename }) => {
        await rm(layout.live(codename), { force: true })
        for (const folder of [layout.publishedFolder(codename), join(layout.trees, codename)])
          await rm(folder, { recursive: true, force: true })
      },
    }),
  }
}
