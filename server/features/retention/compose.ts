import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { retention } from './contract.ts'
import { retentionHandlers, type RetentionRouteDeps } from './handlers.ts'
import { cleanAll } from './retention.ts'

/** How many versions stay: the rules, and their nightly run. */
export function composeRetention({ db, catalog, audit, clock, repositories }: RetentionRouteDeps): Feature {
  return {
    routes: bind(retention, retentionHandlers, { db, catalog, audit, clock, repositories }),
    jobs: [
      {
        id: 'version-retention',
        name: 'Remove versions that the retention rules leave behind',
        when: () => '0 2 * * *',
        daily: true,
        run: async () => {
          await cleanAll({ db, catalog, repositories: repositories.seenBy(ALL_SEEING) }, { by: 'system' })
        },
      },
    ],
  }
}
