import { href } from '../../routes.svelte.ts'
import { fullTime } from '../../show.ts'
import { needsCare, worded } from '../../words-health.ts'
import type { ApiToken, HealthReport, ReviewItem } from '../../wire.ts'
import { placeOf } from '../../screens/jobs/place.ts'
import type { Job } from '../../screens/jobs/words.ts'

/** Something that somebody should know. */
export interface Message {
  /** Differs as soon as it says something new. */
  readonly id: string
  readonly icon: string
  readonly tone: string
  readonly title: string
  readonly say: string
  /** When it came about; undefined for what holds now. */
  readonly at?: string | undefined
  readonly to: string
  readonly action: string
}

const DAY_MS = 86_400_000
/** Jobs are told for so long after they ended, and tokens so long before they end. */
const WEEK_MS = 7 * DAY_MS

/** What waits for a decision and is overdue, due within a day, or given to this person. */
export function ofQueue(items: readonly ReviewItem[], me: string, now: Date): readonly Message[] {
  return items
    .filter(({ sla: { due_at: due }, assigned_to: who }) => {
      const isSoon = due !== null && Date.parse(due) - now.getTime() < DAY_MS
      return who === me || (isSoon && who === null)
    })
    .map(item => {
      const {
        name,
        version,
        distribution,
        arch,
        sla: { due_at: due },
      } = item
      const isOver = due !== null && Date.parse(due) < now.getTime()
      return {
        id: `review ${name} ${version} ${distribution} ${arch} ${isOver ? 'over' : 'due'}`,
        icon: isOver ? 'alarm' : 'review',
        tone: isOver ? 'danger-c' : 'review-c',
        title: `${name} ${version} waits for a decision`,
        say:
          due === null
            ? `Held in ${distribution}.`
            : isOver
              ? `Held in ${distribution}. Overdue since ${fullTime(due)}.`
              : `Held in ${distribution}. Due ${fullTime(due)}.`,
        to: href('review', { pick: name, version, in: distribution, arch }),
        action: 'Review',
      }
    })
}

/** Checks of the health report that somebody has to do something about. */
export function ofHealth(report: HealthReport | undefined): readonly Message[] {
  if (report === undefined) return []
  return worded(report)
    .filter(needsCare)
    .map(({ id, name, state, say, remedy = '', way }) => ({
      id: `health ${id} ${state}`,
      icon: state === 'bad' ? 'fail' : 'warn',
      tone: state === 'bad' ? 'danger-c' : 'warn-c',
      title: `${name} needs attention`,
      say: `${say} ${remedy}`.trim(),
      to: way?.to ?? href('health'),
      action: way?.label ?? 'Open health',
    }))
}

/** This person's jobs that ended, except those they cancelled themselves, and everybody's that failed. */
export function ofJobs(jobs: readonly Job[], me: string, now: Date): readonly Message[] {
  return jobs
    .filter(
      ({ asked_by: who, cancelled_by: by, status, finished_at: at }) =>
        at !== null &&
        now.getTime() - Date.parse(at) < WEEK_MS &&
        (status === 'cancelled' ? who === me && by !== me : who === me || status === 'error'),
    )
    .map(job => ({
      id: `job ${job.job_id} ${job.status}`,
      icon: { error: 'fail', cancelled: 'minus' }[job.status as string] ?? 'pass',
      tone: job.status === 'error' ? 'danger-c' : 'dim',
      title:
        {
          error: `Failed: ${job.label}`,
          cancelled: `Cancelled: ${job.label}`,
        }[job.status as string] ?? `Done: ${job.label}`,
      say: job.error?.message ?? job.target,
      at: job.finished_at ?? undefined,
      to: placeOf(job),
      action: 'Open the job',
    }))
}

/** API tokens that end within a week. */
export function ofTokens(tokens: readonly ApiToken[], now: Date): readonly Message[] {
  return tokens.flatMap(({ id, name, expires_at: end }) => {
    const rest = end === null ? Infinity : Date.parse(end) - now.getTime()
    if (end === null || rest < 0 || rest > WEEK_MS) return []
    return {
      id: `token ${id} ${end}`,
      icon: 'key',
      tone: 'warn-c',
      title: `The token ${name} ends`,
      say: `It ends ${fullTime(end)}. What uses it is refused from then on.`,
      to: href('users', { tab: 'tokens' }),
      action: 'Open tokens',
    }
  })
}

/** Machines that are not asked any more, since their SSH host key is another one. */
export function ofMachines(changed: number): readonly Message[] {
  if (changed === 0) return []
  return [
    {
      id: `host keys ${changed}`,
      icon: 'shieldx',
      tone: 'danger-c',
      title: 'The SSH host key of a machine has changed',
      say: `They are not asked until an admin has compared the keys: ${changed}.`,
      to: href('inventory', { status: 'key_changed' }),
      action: 'Compare the keys',
    },
  ]
}
