import { SEVERITIES, type Severity } from '../core/findings.ts'

/** What an admin asks of every machine; null or false: not asked. Days count from when it was first seen there. */
export interface Rules {
  readonly finding_days: Readonly<Record<'critical' | 'high' | 'medium' | 'low', number | null>>
  readonly supported_release: boolean
  readonly no_reboot_pending: boolean
  readonly seen_within_days: number | null
  readonly update_days: number | null
}

/** What holds until an admin says otherwise. */
export const DEFAULT_RULES: Rules = {
  finding_days: { critical: 7, high: 30, medium: null, low: null },
  supported_release: true,
  no_reboot_pending: true,
  seen_within_days: 7,
  update_days: null,
}

export type CheckStatus = 'pass' | 'fail' | 'unknown'

/** The answer of one rule about one machine. */
export interface Check {
  readonly check_id: string
  readonly category: 'vulnerabilities' | 'release' | 'restart' | 'report' | 'updates'
  readonly level: 'critical' | 'high' | 'medium' | 'low'
  readonly title: string
  readonly status: CheckStatus
  readonly detail: string
  /** What to do; empty where nothing is. */
  readonly remediation: string
}

/** What the rules look at. */
export interface Judged {
  readonly system: string | null
  /** The last day of free security updates; undefined: nobody has said. */
  readonly endOfLife: string | undefined
  readonly reboot: 'needed' | 'no' | 'unknown'
  readonly rebootSaid: string
  readonly lastSeen: Date | null
  /** Since when the oldest open finding of each severity is there; null: nothing is known of findings. */
  readonly oldest: Readonly<Partial<Record<Severity, Date>>> | null
  readonly coverageSaid: string
  /** Since when the oldest update waits; undefined: none waits; null: not known. */
  readonly oldestUpdate: Date | undefined | null
}

const DAY_MS = 86_400_000
const daysSince = (then: Date, now: Date): number => Math.floor((now.getTime() - then.getTime()) / DAY_MS)
const inDays = (n: number): string => `${n} day${n === 1 ? '' : 's'}`
type Answer = Pick<Check, 'status' | 'detail' | 'remediation'>
const passed = (detail: string): Answer => ({ status: 'pass', detail, remediation: '' })

/** Of a severity without a word, nobody knows whether it is harmless: it counts as medium. */
const countedAs = (severity: Severity): Severity => (severity === 'unknown' ? 'medium' : severity)

function findings(severity: Severity, days: number, { oldest, coverageSaid }: Judged, now: Date): Answer {
  if (oldest === null)
    return {
      status: 'unknown',
      detail: coverageSaid,
      remediation: 'Load vulnerability data for its system on the page Engines.',
    }
  const since = SEVERITIES.filter(one => countedAs(one) === severity)
    .flatMap(one => oldest[one] ?? [])
    .sort((a, b) => a.getTime() - b.getTime())[0]
  if (since === undefined) return passed(`No finding is ${severity}.`)
  const age = daysSince(since, now)
  return age <= days
    ? passed(`The oldest is there since ${inDays(age)}.`)
    : {
        status: 'fail',
        detail: `A ${severity} finding is there since ${inDays(age)}; ${inDays(days)} are allowed.`,
        remediation: 'Install the updates that close it, or take the package off the machine.',
      }
}

function release({ system, endOfLife }: Judged, now: Date): Answer {
  if (system === null)
    return { status: 'unknown', detail: 'Its system is not known yet.', remediation: 'Ask the machine once.' }
  if (endOfLife === undefined)
    return {
      status: 'unknown',
      detail: `Nobody has said how long ${system} is supported.`,
      remediation: 'An admin sets the end of life of its distribution on the page Distributions.',
    }
  return now.getTime() < Date.parse(endOfLife) + DAY_MS
    ? passed(`${system} has security updates until ${endOfLife}.`)
    : {
        status: 'fail',
        detail: `${system} has had no free security updates since ${endOfLife}.`,
        remediation: 'Move the machine to a release that is supported.',
      }
}

function reboot({ reboot: state, rebootSaid }: Judged): Answer {
  if (state === 'no') return passed('It does not wait for a restart.')
  return state === 'needed'
    ? { status: 'fail', detail: rebootSaid, remediation: 'Restart the machine.' }
    : {
        status: 'unknown',
        detail: rebootSaid,
        remediation:
          'On Debian and Ubuntu, unattended-upgrades or update-notifier-common tells it; on RPM systems needs-restarting of dnf-utils.',
      }
}

function seen(days: number, { lastSeen }: Judged, now: Date): Answer {
  const remediation = 'Look whether it is on, and why the last scan or report failed.'
  if (lastSeen === null) return { status: 'fail', detail: 'It has never told its packages.', remediation }
  const age = daysSince(lastSeen, now)
  return age <= days
    ? passed(`It told its packages ${age === 0 ? 'less than a day' : inDays(age)} ago.`)
    : {
        status: 'fail',
        detail: `It told its packages ${inDays(age)} ago; ${inDays(days)} are allowed.`,
        remediation,
      }
}

function updates(days: number, { oldestUpdate }: Judged, now: Date): Answer {
  if (oldestUpdate === null)
    return {
      status: 'unknown',
      detail: 'No distribution here is for its system, so nobody knows what is newer.',
      remediation: 'An admin adds a distribution for its system, or names one for the machine.',
    }
  if (oldestUpdate === undefined) return passed('No update that is served here waits.')
  const age = daysSince(oldestUpdate, now)
  return age <= days
    ? passed(`The oldest update waits since ${inDays(age)}.`)
    : {
        status: 'fail',
        detail: `An update waits since ${inDays(age)}; ${inDays(days)} are allowed.`,
        remediation: 'Install the updates.',
      }
}

/** Judges one machine by the rules that are asked, in a fixed order. Pure. */
export function checkMachine(machine: Judged, rules: Rules, now: Date): readonly Check[] {
  const aged = (['critical', 'high', 'medium', 'low'] as const).flatMap((severity): Check[] => {
    const days = rules.finding_days[severity]
    if (days === null) return []
    return [
      {
        check_id: `finding-${severity}`,
        category: 'vulnerabilities',
        level: severity,
        title: `No ${severity} finding is older than ${inDays(days)}`,
        ...findings(severity, days, machine, now),
      },
    ]
  })
  const { supported_release, no_reboot_pending, seen_within_days: seenDays, update_days: updateDays } = rules
  const more: readonly (Check | false)[] = [
    supported_release && {
      check_id: 'supported-release',
      category: 'release',
      level: 'high',
      title: 'Its release has security updates',
      ...release(machine, now),
    },
    no_reboot_pending && {
      check_id: 'no-reboot-pending',
      category: 'restart',
      level: 'medium',
      title: 'No restart is pending',
      ...reboot(machine),
    },
    seenDays !== null && {
      check_id: 'seen',
      category: 'report',
      level: 'medium',
      title: `It told its packages within ${inDays(seenDays)}`,
      ...seen(seenDays, machine, now),
    },
    updateDays !== null && {
      check_id: 'updates',
      category: 'updates',
      level: 'medium',
      title: `No update waits longer than ${inDays(updateDays)}`,
      ...updates(updateDays, machine, now),
    },
  ]
  return [...aged, ...more.filter(one => one !== false)]
}

/** How many rules a machine keeps, breaks, and how many nobody can tell of. */
export function countChecks(checks: readonly Check[]): Readonly<Record<CheckStatus, number>> {
  const count = (status: CheckStatus): number => checks.filter(one => one.status === status).length
  return { pass: count('pass'), fail: count('fail'), unknown: count('unknown') }
}
