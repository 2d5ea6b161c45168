import { bind } from '../../core/contract.ts'
import type { Feature, Part } from '../../core/feature.ts'
import type { Clock } from '../../lib/clock.ts'
import { removeOrphans } from './clean.ts'
import { logs } from './contract.ts'
import { logHandlers } from './handlers.ts'
import { createSources, type SourcesDeps } from './sources.ts'

/** The logs. */
export function composeLogs(needs: SourcesDeps): Feature {
  return { routes: bind(logs, logHandlers, { sources: createSources(needs) }) }
}

/** Removes the files of machines that are gone; apart from the routes, which the scheduler does not wait for. */
export const logCleaning = ({ logFolder, clock }: { readonly logFolder: string; readonly clock: Clock }): Part => ({
  jobs: [
    {
      id: 'log-cleaning',
      name: 'Remove log files of machines that are gone',
      when: () => '50 2 * * *',
      daily: true,
      run: () => removeOrphans(logFolder, clock.now()),
    },
  ],
})
