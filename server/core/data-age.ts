const DAY_MS = 86_400_000

/** The age of data in whole days. @param at  ISO 8601 */
export const daysOld = (at: string, now: Date): number => Math.floor((now.getTime() - Date.parse(at)) / DAY_MS)

/** Whether data are stale: their age in whole days is more than `validation.vuln_data_max_age_days`. */
export const isTooOld = (
  at: string,
  { now, maxAgeDays }: { readonly now: Date; readonly maxAgeDays: number },
): boolean => daysOld(at, now) > maxAgeDays
