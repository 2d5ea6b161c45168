import type { WaitingSums } from '../../catalog/queries/posture.ts'
import { antivirusWarning, type Silence } from '../../core/policy.ts'
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

/** The alerts, the most urgent first; none when nothing is to be done. */
export function alertsOf({
  waiting: { waiting, overdue },
  notLooked,
  clamav,
  silence,
  validation,
}: {
  readonly waiting: Pick<WaitingSums, 'waiting' | 'overdue'>
  readonly notLooked: number
  readonly clamav: Pick<Clamav, 'available' | 'enabled'>
  readonly silence: Silence
  readonly validation: SettingsValue['validation']
}): readonly Alert[] {
  const about = (kind: Alert['kind'], level: Alert['level'], count: number, message: string): Alert[] =>
    count === 0 ? [] : [{ kind, level, count, message }]
  return [
    ...about(
      'overdue',
      'error',
      overdue,
      overdue === 1
        ? '1 package waits for a decision longer than the policy allows.'
        : `${overdue} packages wait for a decision longer than the policy allows.`,
    ),
    ...(clamav.enabled && !clamav.available
      ? [
          {
            kind: 'antivirus',
            level: 'warning',
            count: null,
            message: antivirusWarning(validation, silence),
          } as const,
        ]
      : []),
    ...about(
      'not_looked',
      'warning',
      notLooked,
      notLooked === 1
        ? '1 package that is served or waiting was not scanned in full: no engine with current data answered, or files inside were not opened.'
        : `${notLooked} packages that are served or waiting were not scanned in full: no engine with current data answered, or files inside were not opened.`,
    ),
    ...about(
      'waiting',
      'info',
      waiting,
      waiting === 1 ? '1 package waits for a decision.' : `${waiting} packages wait for a decision.`,
    ),
  ]
}
