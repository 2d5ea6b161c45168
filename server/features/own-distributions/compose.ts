import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { FILES_LONGEST_MS } from '../../db/outbox.ts'
import { createLayout, type Layout } from '../../files/layout.ts'
import { getFormat, siteOf } from '../../formats/index.ts'
import { listScanners } from '../../vulndb/match/ecosystems.ts'
import type { Database } from '../../vulndb/store/database.ts'
import { ownDistributions } from './contract.ts'
import { settleDefinition, type OwnDistributionDeps } from './changes.ts'
import { ownDistributionHandlers } from './handlers.ts'

/** Distributions that an admin adds, changes, retires and removes. */
export function composeOwnDistributions({
  layout: { root },
  database,
  ...needs
}: Omit<OwnDistributionDeps, 'removeTrees' | 'scanners'> & {
  readonly layout: Layout
  readonly database: Database
}): Feature {
  const deps: OwnDistributionDeps = {
    ...needs,
    scanners: async () => {
      const loaded = (await database.open().catch(() => undefined))?.meta.ecosystems ?? {}
      return listScanners(Object.keys(loaded))
    },
    removeTrees: async ({ codename, format }) => {
      // a registry has none
      if (getFormat(format).site === undefined) return
      // the paths of one that is known no more
      const layout = createLayout(root, () => siteOf(getFormat(format)).folder)
      await rm(layout.live(codename), { force: true })
      for (const folder of [layout.publishedFolder(codename), join(layout.trees, codename)])
        await rm(folder, { recursive: true, force: true })
    },
  }
  return {
    routes: bind(ownDistributions, ownDistributionHandlers, deps),
    debts: {
      distribution: { longestMs: FILES_LONGEST_MS, deliver: ([owed = '']) => settleDefinition(deps, owed) },
    },
  }
}
