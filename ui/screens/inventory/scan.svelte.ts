import { call, open } from '../../api.ts'
import { readEvents } from '../../sse.ts'
import { endOf, progressOf, type Job } from '../jobs/words.ts'

/** A machine that is being asked now, as its job tells. */
export interface Scan {
  /** What the job is at, in words; undefined while none runs. */
  readonly doing: string | undefined
  /** Why the last one began here failed. */
  readonly problem: unknown
  /** The error of a job that ended badly, in its own words. */
  readonly failed: string | undefined
  start(): Promise<void>
}

/**
 * Asks a machine and follows the job; one that runs already, also for somebody else, is taken up. Call it while a
 * component is set up.
 * @param ended  called when the job is over, however it ended
 */
export function createScan(id: string, ended: () => void): Scan {
  let doing = $state<string>()
  let problem = $state.raw<unknown>()
  let failed = $state<string>()
  const stop = new AbortController()

  async function follow(jobId: string): Promise<void> {
    let last: Job | undefined
    doing = 'is asked'
    try {
      const body = await open('GET /jobs/{id}/events', { signal: stop.signal, params: { id: jobId } })
      for await (const { event, data } of readEvents(body)) {
        const told = JSON.parse(data) as unknown // our own server's shapes
        if (event === 'log') doing = (told as { readonly message: string }).message
        else {
          last = told as Job
          if (last.finished_at !== null) break
          doing = progressOf(last)
        }
      }
      failed = last?.status === 'error' ? endOf(last) : undefined
    } catch (error) {
      if (!stop.signal.aborted) problem = error
    }
    doing = undefined
    if (!stop.signal.aborted) ended()
  }

  $effect(() => {
    void (async () => {
      const { running, job_id: jobId } = await call('GET /inventory/clients/{id}/scan/status', {
        params: { id },
        signal: stop.signal,
      })
      if (running && jobId !== null && doing === undefined) await follow(jobId)
    })().catch(() => undefined) // the drawer says what it could not read
    return () => stop.abort()
  })

  return {
    get doing() {
      return doing
    },
    get problem() {
      return problem
    },
    get failed() {
      return failed
    },
    async start() {
      if (doing !== undefined) return
      problem = undefined
      failed = undefined
      doing = 'waits for its turn'
      try {
        const { job_id: jobId } = await call('POST /inventory/clients/{id}/scan', { params: { id } })
        await follow(jobId)
      } catch (error) {
        doing = undefined
        problem = error
      }
    },
  }
}
