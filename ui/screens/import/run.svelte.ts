import { call, open } from '../../api.ts'
import { currentSession } from '../../session.svelte.ts'
import { readEvents } from '../../sse.ts'
import { toast } from '../../toasts.svelte.ts'
import { progressOf, type Job } from '../jobs/words.ts'
import { groupOf, type Basket } from './basket.svelte.ts'

/** What became of each package, as the job tells it at its end. */
export interface ImportResult {
  readonly group: string
  readonly distribution: string
  readonly counts: Readonly<Record<string, number>>
  /** `out_of_space`: the disk had no room for the rest. */
  readonly stopped?: 'time' | 'disk' | 'out_of_space'
  readonly packages: readonly {
    readonly name: string
    readonly version: string
    readonly arch: string
    readonly status: string
    readonly is_root: boolean
    readonly why: string | null
  }[]
  readonly unresolved: readonly string[]
}

/** The import that was begun last in this window; it goes on when the screen is left. */
export interface ImportRun {
  readonly owner: string | undefined
  readonly names: readonly string[]
  readonly group: string
  readonly jobId: string | undefined
  /** Undefined once it is over. */
  readonly doing: string | undefined
  readonly job: Job | undefined
  readonly result: ImportResult | undefined
  /** Why it did not begin, or why nobody knows how it goes. */
  readonly problem: unknown
}

let run = $state.raw<ImportRun>()

export function currentRun(): ImportRun | undefined {
  return run?.owner === currentSession().me?.username ? run : undefined
}

export function forgetRun(): void {
  run = undefined
}

const KIND = 'import'
const BEGUN = { jobId: undefined, doing: 'begins', job: undefined, result: undefined, problem: undefined }

/** The job of this group that is open, or was asked for last. */
async function findJob(group: string): Promise<Job | undefined> {
  const { items } = await call('GET /jobs', { query: { kind: KIND, per_page: 20 } })
  return (
    items.find(({ target, finished_at: end }) => target === group && end === null) ??
    items.find(one => one.target === group)
  )
}

async function follow(jobId: string, change: (to: Partial<ImportRun>) => void): Promise<Job> {
  const body = await open('GET /jobs/{id}/events', { params: { id: jobId } })
  for await (const { event, data } of readEvents(body)) {
    if (event === 'log') continue
    const job = JSON.parse(data) as Job // our own server's shape
    if (job.finished_at !== null) break
    change({ job, doing: progressOf(job) })
  }
  return call('GET /jobs/{id}', { params: { id: jobId } })
}

/** Shows a run from now on; `change` does nothing once another one took its place. */
function show(mine: Omit<ImportRun, 'owner'>): (to: Partial<ImportRun>) => void {
  const owner = currentSession().me?.username
  run = { ...mine, owner }
  return to => {
    if (run !== undefined && run.owner === owner && run.group === mine.group) run = { ...run, ...to }
  }
}

async function end(jobId: string, group: string, change: (to: Partial<ImportRun>) => void): Promise<void> {
  const job = await follow(jobId, change)
  const result = job.status === 'done' ? (job.result as ImportResult) : undefined // its kind says so
  change({ job, doing: undefined, result })
  tell(job, result, group)
}

/**
 * Imports what is in a basket, as a job, and follows it.
 * @returns once the job has begun, so that the basket may be emptied
 * @throws ApiProblem where it is refused
 */
export async function startImport(basket: Basket, ended: () => void): Promise<void> {
  const { wishes, codename, arch, recommends, base } = basket
  const group = groupOf(basket)
  const body = await open('POST /import/batch', {
    body: {
      packages: [...wishes],
      distribution: codename,
      group,
      recommends,
      ...(arch === undefined ? {} : { arch }),
      ...(base === undefined ? {} : { base }),
    },
  })
  void body.cancel().catch(() => undefined) // the job goes on; its own events tell more
  const change = show({ ...BEGUN, names: wishes.map(({ name }) => name), group })
  void (async () => {
    const found = await findJob(group)
    if (found === undefined) throw new Error('the job is not listed')
    change({ jobId: found.job_id, job: found })
    await end(found.job_id, group, change)
  })()
    .catch((problem: unknown) => change({ doing: undefined, problem }))
    .finally(ended)
}

/** Shows an import that was begun elsewhere: in another window, or by somebody else. */
export async function showImport(jobId: string): Promise<void> {
  if (currentRun()?.jobId === jobId) return
  const job = await call('GET /jobs/{id}', { params: { id: jobId } })
  if (job.kind !== KIND) return
  const { groups } = await call('GET /import/groups')
  const names = groups.find(({ name }) => name === job.target)?.asked ?? [job.target]
  const isOver = job.finished_at !== null
  const change = show({
    ...BEGUN,
    names,
    group: job.target,
    jobId,
    job,
    doing: isOver ? undefined : progressOf(job),
    result: isOver && job.status === 'done' ? (job.result as ImportResult) : undefined, // its kind says so
  })
  if (!isOver) void end(jobId, job.target, change).catch((problem: unknown) => change({ doing: undefined, problem }))
}

function tell(job: Job, result: ImportResult | undefined, group: string): void {
  if (result === undefined)
    return toast(
      job.status === 'cancelled' ? 'info' : 'bad',
      `The import ${group} is ${job.status === 'cancelled' ? 'cancelled' : 'ended early'}`,
      job.error?.message ?? '',
    )
  const roots = result.packages.filter(({ is_root: isRoot }) => isRoot)
  const served = roots.filter(({ status }) => ['added', 'already'].includes(status)).length
  toast(
    served === roots.length && result.unresolved.length === 0 ? 'good' : 'info',
    `The import ${group} is over`,
    served === roots.length
      ? 'All that was asked for is served.'
      : `${served} of ${roots.length} that were asked for are served.`,
  )
}
