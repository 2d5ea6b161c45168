import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Log } from '../../lib/log.ts'
import { recordDay } from '../../review/posture-history.ts'
import { vulnerabilities } from './contract.ts'
import { vulnerabilityHandlers, type VulnerabilityDeps } from './handlers.ts'

/** Known vulnerabilities, and how many were open on each day. */
export function composeVulnerabilities(deps: VulnerabilityDeps & { readonly log: Pick<Log, 'warn'> }): Feature {
  const record = (ifMissing: boolean): Promise<void> =>
    recordDay({ ...deps, repositories: deps.repositories.seenBy(ALL_SEEING) }, ifMissing)
  return {
    routes: bind(vulnerabilities, vulnerabilityHandlers, deps),
    jobs: [
      {
        id: 'posture-history',
        name: 'Count the open findings of the day',
        // days are in UTC; after the looks of the night in most of Europe, before those in America
        when: () => '10 6 * * *',
        zone: () => 'UTC',
        daily: true,
        run: () => record(false),
      },
    ],
    lead: () =>
      void record(true).catch((error: unknown) => deps.log.warn({ err: error }, 'open findings were not counted')),
  }
}
