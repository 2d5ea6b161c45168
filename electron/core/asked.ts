import type { JobView } from '../../server/features/jobs/contract.ts'
import type { ReviewItem } from '../../server/review/queue.ts'
import type { Happening } from './notices.ts'

/** Reads a route as JSON in the name of who is signed in; undefined where nobody is, or where it is refused. */
export type Reader = (path: string) => Promise<unknown>

/** How many packages wait for review. */
export async function readWaiting(read: Reader): Promise<number | undefined> {
  const body = (await read('/security/packages-posture')) as { review?: { waiting?: unknown } } | undefined
  const waiting = body?.review?.waiting
  return typeof waiting === 'number' && Number.isSafeInteger(waiting) ? waiting : undefined
}

/** What people hear of when a job ended, by its kind; undefined while it runs, and for all others. */
export async function readJob(read: Reader, id: string): Promise<Omit<Happening, 'appliance'> | undefined> {
  const job = (await read(`/jobs/${encodeURIComponent(id)}`)) as Partial<JobView> | undefined
  if (job?.status !== 'done' && job?.status !== 'error') return undefined
  const isBad = job.status === 'error'
  const subject = String(job.target || job.label || job.kind)
  if (job.kind === 'backup' && isBad) return { kind: 'backup', subject: String(job.error?.message ?? subject), isBad }
  return job.kind === 'import.sync' ? { kind: 'sync', subject, isBad } : undefined
}

const DAY_MS = 86_400_000

/** Packages whose deadline ends within a day, and has not ended yet. */
export async function readDeadlines(
  read: Reader,
  now: Date,
): Promise<{ readonly key: string; readonly subject: string }[]> {
  const body = (await read('/security/review-queue?sort=sla&per_page=200')) as
    { packages?: { items?: readonly Partial<ReviewItem>[] } } | undefined
  return (body?.packages?.items ?? []).flatMap(item => {
    const due = Date.parse(item.sla?.due_at ?? '')
    const left = due - now.getTime()
    if (!(left > 0 && left <= DAY_MS)) return []
    const what = `${item.name} ${item.version}`
    return [{ key: `${item.distribution} ${item.arch} ${what} ${due}`, subject: what }]
  })
}
