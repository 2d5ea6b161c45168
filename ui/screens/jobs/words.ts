import type { Reply } from '../../wire.ts'
import { bytes, count, plural } from '../../show.ts'

export type Job = Reply<'GET /jobs'>['items'][number]

/** How a job stands, as State shows it. */
export const STANDING: Record<Job['status'], { readonly word: string; readonly icon: string; readonly tone: string }> =
  {
    queued: { word: 'Waiting', icon: 'wait', tone: 'dim' },
    running: { word: 'Running', icon: 'run', tone: 'accent-c' },
    done: { word: 'Done', icon: 'pass', tone: 'covered' },
    error: { word: 'Failed', icon: 'fail', tone: 'broken' },
    cancelled: { word: 'Cancelled', icon: 'minus', tone: 'dim' },
  }

/** From 0 to 1; undefined while nobody knows how much there is. */
export function shareOf({ done_count: done, total, bytes: moved, total_bytes: of }: Job): number | undefined {
  if (of !== null && of > 0) return Math.min(1, moved / of)
  return total === null || total === 0 ? undefined : Math.min(1, done / total)
}

/** `212 of 341 MB, 8.4 MB/s` */
export function progressOf(job: Job): string {
  if (job.status === 'queued') return 'waits for its turn'
  const rate = job.bytes_per_second
  if (job.total_bytes !== null)
    return `${bytes(job.bytes)} of ${bytes(job.total_bytes)}${rate === null || rate === 0 ? '' : `, ${bytes(rate)}/s`}`
  if (job.total !== null) return `${count(job.done_count)} of ${count(job.total)}`
  return job.done_count === 0 ? 'has begun' : `${count(job.done_count)} done`
}

/** `15 s left`, `12 min left` */
export function restOf({ remaining_seconds: rest }: Job): string {
  return rest === null ? '' : `${spanOf(rest)} left`
}

/** A length of time in its largest unit: `48 s`, `11 min`, `2 h`. */
export function spanOf(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

/** How long an ended job took; empty for one that never began. */
export function tookOf({ started_at: from, finished_at: to }: Job): string {
  return from === null || to === null ? '' : spanOf(Math.max(0, (Date.parse(to) - Date.parse(from)) / 1_000))
}

/** What came of it, in a line. */
export function endOf(job: Job): string {
  if (job.error !== null) return job.error.message
  if (job.cancelled_by !== null) return `by ${job.cancelled_by}`
  return job.done_count > 0 ? plural(job.done_count, ['# item', '# items']) : ''
}
