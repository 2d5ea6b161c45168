import type { Viewer } from '../../core/viewer.ts'
import type { Audit } from '../../record/audit.ts'
import type { DayTally } from '../../record/audit-tally.ts'

/** What happened on one day, by the audit log. */
export interface ActivityDay {
  readonly date: string
  /** Packages that came in: published, or held for review. */
  readonly imports: number
  /** Packages that were refused or put in quarantine as they came. */
  readonly failures: number
  readonly decisions: number
  /** Known packages that were scanned again; an upload's own scan counts as the upload. */
  readonly cve_scans: number
}

const DAY_MS = 86_400_000
const ARRIVALS = ['UPLOAD', 'IMPORT']

const dayOf = (date: string, entries: readonly DayTally[]): ActivityDay => {
  const sum = (is: (one: DayTally) => boolean): number => entries.filter(is).reduce((n, one) => n + one.n, 0)
  const isArrival = ({ action }: DayTally): boolean => ARRIVALS.includes(action)
  return {
    date,
    imports: sum(one => isArrival(one) && one.result !== 'FAILURE'),
    failures: sum(one => isArrival(one) && one.result === 'FAILURE'),
    decisions: sum(({ action }) => action === 'SECURITY_DECISION'),
    cve_scans: sum(({ action }) => action === 'RESCAN'),
  }
}

/** The last `days` days in UTC, today included, oldest first; days on which nothing happened are zeros. */
export async function listActivity(
  audit: Pick<Audit, 'tally'>,
  viewer: Viewer,
  { days, now }: { readonly days: number; readonly now: Date },
): Promise<readonly ActivityDay[]> {
  const dates = Array.from({ length: days }, (_, n) =>
    new Date(now.getTime() - (days - 1 - n) * DAY_MS).toISOString().slice(0, 10),
  )
  const entries = Map.groupBy(await audit.tally(viewer, dates[0] ?? ''), one => one.day)
  return dates.map(date => dayOf(date, entries.get(date) ?? []))
}

/** What the statistics show of a day. */
export const activityOf = ({
  date,
  imports,
  failures,
}: ActivityDay): Pick<ActivityDay, 'date' | 'imports' | 'failures'> => ({ date, imports, failures })
