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

const APART_MS = 1_000

/** Calls on for each job at once, then at most once a second; the last call is never left out. */
function atMostOnce(tell: (job: string) => void): (job: string) => void {
  const waiting = new Map<string, { again: boolean }>()
  return job => {
    const known = waiting.get(job)
    if (known !== undefined) {
      known.again = true
      return
    }
    const mine = { again: false }
    waiting.set(job, mine)
    tell(job)
    setTimeout(() => {
      waiting.delete(job)
      if (mine.again) tell(job)
    }, APART_MS).unref()
  }
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
      worker.onMoved(atMostOnce(job => events.emit({ type: 'job', at: isoNow(clock), data: { job } })))
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
