import { countDay, isCounted, listCountedDays, pruneDays } from '../catalog/queries/posture-days.ts'
import type { Severity } from '../core/findings.ts'
import type { SeenRepositories } from '../core/repository.ts'
import type { Db, Queryable } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import { DAY_MS, dayOf, lastDays } from '../lib/days.ts'

/** Two years. */
export const HISTORY_DAYS = 731

/** One day; every number is null where nothing was counted on it. */
export interface FindingDay {
  readonly date: string
  readonly open: Readonly<Record<Severity, number>> | null
  readonly appeared: number | null
  readonly gone: number | null
  readonly packages: number | null
  readonly not_looked: number | null
}

export interface HistoryDeps {
  readonly db: Db
  readonly clock: Clock
  /** Distributions; those of people who see all of them. */
  readonly repositories: Pick<SeenRepositories, 'all'>
}

/**
 * Counts today, in UTC, and forgets days of more than two years ago. It may run as often as one likes.
 * @param ifMissing  does nothing on a day that was counted
 */
export async function recordDay({ db, clock, repositories }: HistoryDeps, ifMissing = false): Promise<void> {
  const now = clock.now()
  const day = dayOf(now.getTime())
  const codenames = repositories.all().map(one => one.codename)
  await db.tx(async tx => {
    // two processes that begin to lead one after the other
    await tx.query('lock table posture_day in share row exclusive mode')
    if (ifMissing && (await isCounted(tx, day))) return
    await countDay(tx, { day, now, codenames })
    await pruneDays(tx, { before: dayOf(now.getTime() - HISTORY_DAYS * DAY_MS), codenames })
  })
}

/** Each of the last days, today included, summed over these distributions. */
export async function readFindingDays(
  db: Queryable,
  { days, now, codenames }: { readonly days: number; readonly now: Date; readonly codenames: readonly string[] },
): Promise<FindingDay[]> {
  const dates = lastDays(now, days)
  const counted = new Map(
    (await listCountedDays(db, { since: dates[0] ?? dayOf(now), codenames })).map(one => [one.date, one] as const),
  )
  const none = { open: null, appeared: null, gone: null, packages: null, not_looked: null }
  return dates.map(date => counted.get(date) ?? { date, ...none })
}
