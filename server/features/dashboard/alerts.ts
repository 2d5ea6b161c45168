import type { WaitingSums } from '../../catalog/queries/posture.ts'
import { antivirusSilent } from '../../core/policy.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import type { Clamav } from './clamav.ts'

/** Something that somebody has to look at. */
export interface Alert {
  readonly kind: 'overdue' | 'waiting' | 'not_looked' | 'antivirus'
  readonly level: 'error' | 'warning' | 'info'
  /** How many packages it is about; null where it is about an engine. */
  readonly count: number | null
  readonly message: string
}

const packages = (n: number, one: string, many: string): string =>
  `${n} ${n === 1 ? `package ${one}` : `packages ${many}`}`

/** The alerts, the most urgent first; none when nothing is to be done. */
export function alertsOf({
  waiting: { waiting, overdue },
  notLooked,
  clamav,
  validation,
}: {
  readonly waiting: Pick<WaitingSums, 'waiting' | 'overdue'>
  readonly notLooked: number
  readonly clamav: Pick<Clamav, 'available' | 'enabled' | 'set_up'>
  readonly validation: SettingsValue['validation']
}): readonly Alert[] {
  const about = (kind: Alert['kind'], level: Alert['level'], count: number, message: string): Alert[] =>
    count === 0 ? [] : [{ kind, level, count, message }]
  return [
    ...about(
      'overdue',
      'error',
      overdue,
      `${packages(overdue, 'waits', 'wait')} for a decision longer than the policy allows.`,
    ),
    ...(clamav.enabled && !clamav.available
      ? [
          {
            kind: 'antivirus',
            level: 'warning',
            count: null,
            message: antivirusSilent(validation, clamav.set_up),
          } as const,
        ]
      : []),
    ...about(
      'not_looked',
      'warning',
      notLooked,
      `${packages(notLooked, 'that is', 'that are')} served or waiting ${notLooked === 1 ? 'was' : 'were'} not scanned in full: no engine with current data answered, or files inside were not opened.`,
    ),
    ...about('waiting', 'info', waiting, `${packages(waiting, 'waits', 'wait')} for a decision.`),
  ]
}
