import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Settings } from '../../settings/store.ts'
import type { Events } from '../../record/events.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import { jobs } from './contract.ts'
import { jobHandlers, type JobRouteDeps } from './handlers.ts'
import type { Worker } from '../../work/worker.ts'

export interface JobNeeds extends Omit<JobRouteDeps, 'worker' | 'zone'> {
  readonly worker: Worker
  readonly settings: Pick<Settings, 'now'>
  readonly events: Pick<Events, 'emit'>
  readonly clock: Clock
}

/** What the setting leaves open: the machine's own. */
const machineZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** Jobs and the clock, as people see them. */
export function composeJobs(needs: Omit<JobNeeds, 'kinds'>): Feature {
  const { worker, settings, events, clock } = needs
  const zone = (): string => settings.now().clock.timezone || machineZone()
  return {
    routes: bind(jobs, jobHandlers, { ...needs, kinds: () => worker.kinds(), zone }),
    start: () => {
      worker.onMoved(job => events.emit({ type: 'job', at: isoNow(clock), data: { job } }))
    },
  }
}

/** Removes old jobs; apart from the routes, which need the scheduler that this job is in. */
export const jobCleaning = ({ worker, settings }: Pick<JobNeeds, 'worker' | 'settings'>): Feature => ({
  routes: [],
  jobs: [
    {
      id: 'job-cleaning',
      name: 'Remove jobs that ended long ago',
      when: () => '40 2 * * *',
      run: () => worker.prune(settings.now().clock.job_days),
      daily: true,
    },
  ],
})
