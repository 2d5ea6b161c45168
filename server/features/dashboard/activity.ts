import type { Viewer } from '../../core/viewer.ts'
import { lastDays } from '../../lib/days.ts'
import type { Audit } from '../../record/audit.ts'
import { ARRIVALS } from '../../record/audit-entry.ts'
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

const dayOf = (date: string, entries: readonly DayTally[]): ActivityDay => {
  const sum = (is: (one: DayTally) => boolean): number => entries.filter(is).reduce((n, one) => n + one.n, 0)
  const isArrival = ({ action }: DayTally): boolean => ARRIVALS.some(one => one === action)
  return {
    date,
    imports: sum(one => isArrival(one) && one.result !== 'FAILURE'),
    failures: sum(one => isArrival(one) && one.result === 'FAILURE'),
    decisions: sum(({ action }) => action === 'SECURITY_DECISION'),
    cve_scans: sum(({ action }) => action === 'RESCAN'),
  }
}

/** What happened by day, and since when it was written down. */
export interface Activity {
  /** The last days in UTC, today included, oldest first. */
  readonly days: readonly ActivityDay[]
  /** Of days before this one nothing is known: their zeros are none. */
  readonly since: string
}

/** The last `days` days; days on which nothing happened are zeros. */
export async function listActivity(
  audit: Pick<Audit, 'tally' | 'firstDay'>,
  viewer: Viewer,
  { days, now }: { readonly days: number; readonly now: Date },
): Promise<Activity> {
  const dates = lastDays(now, days)
  const [tally, first] = await Promise.all([audit.tally(viewer, dates[0] ?? ''), audit.firstDay()])
  const entries = Map.groupBy(tally, one => one.day)
  return { days: dates.map(date => dayOf(date, entries.get(date) ?? [])), since: first ?? dates.at(-1) ?? '' }
}

/** What the statistics show of a day. */
export const activityOf = ({
  date,
  imports,
  failures,
}: ActivityDay): Pick<ActivityDay, 'date' | 'imports' | 'failures'> => ({ date, imports, failures })
