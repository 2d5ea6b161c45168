import { plural } from '../../show.ts'
import type { HealthReport } from '../../wire.ts'
import { needsCare, warningsOf, worded, type Check } from '../../words-health.ts'
import { failedJobs } from './failed-jobs.ts'
import { goodToKnow } from './info.ts'

/** One answer of Health, which the dashboard gives, too. */
export interface Verdict {
  readonly checks: readonly Check[]
  /** The group that decides nothing. */
  readonly info: ReturnType<typeof goodToKnow>
  /** Checks and warnings about which something is to be done. */
  readonly todo: number
  readonly word: string
  readonly more: string
  readonly icon: string
  readonly tone: '' | 'bad' | 'good' | 'quiet'
}

/** The antivirus engine's own card has it. */
const isAntivirus = (checks: readonly Check[], warning: string): boolean =>
  /antivirus/i.test(warning) && checks.some(check => check.id === 'clamav' && needsCare(check))

/**
 * Is there something to do? What nobody could look at keeps it from being all good.
 * @param now       when the report came
 * @param schedule  undefined where the person may not read the jobs
 */
export function verdictOf(
  report: HealthReport,
  now: Parameters<typeof goodToKnow>[1],
  schedule: Parameters<typeof failedJobs>[0],
): Verdict {
  const info = goodToKnow(report, now)
  const checks = [...worded(report), ...info, ...failedJobs(schedule)]
  const todo = checks.filter(needsCare).length + warningsOf(report).filter(one => !isAntivirus(checks, one)).length
  const unknown = checks.filter(({ state }) => state === 'unknown').length
  const nothing =
    unknown === 0 ? 'Nothing has to be done.' : `${plural(unknown, ['# fact', '# facts'])} could not be looked at.`
  const things = todo === 1 ? 'one thing' : `${todo} things`
  const all = { checks, info, todo }
  if (report.status === 'unhealthy')
    return {
      ...all,
      word: 'A check fails without which nothing is served',
      icon: 'fail',
      tone: 'bad',
      more: `${things} to do.`,
    }
  if (todo > 0)
    return {
      ...all,
      word: `It works, with ${things} to do`,
      icon: 'warn',
      tone: '',
      more: unknown === 0 ? 'Each one says what, and where.' : nothing,
    }
  return { ...all, word: 'All checks answer', icon: 'check', tone: unknown === 0 ? 'good' : 'quiet', more: nothing }
}
