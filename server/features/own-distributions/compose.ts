import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Layout } from '../../files/layout.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { ownDistributions } from './contract.ts'
import { ownDistributionHandlers, type OwnDistributionDeps } from './handlers.ts'

/** Distributions that an admin adds, changes, retires and removes. */
export function composeOwnDistributions({
  layout,
  ...deps
}: Omit<OwnDistributionDeps, 'removeTrees' | 'lock'> & { readonly layout: Layout }): Feature {
  return {
    routes: bind(ownDistributions, ownDistributionHandlers, {
      ...deps,
      lock: createKeyedLock(),
      removeTrees: async ({ codename }) => {
        await rm(layout.live(codename), { force: true })
        for (const folder of [layout.publishedFolder(codename), join(layout.trees, codename)])
          await rm(folder, { recursive: true, force: true })
      },
    }),
  }
}
