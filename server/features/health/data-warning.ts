import type { EngineStatus } from '../../scanners/scanner.ts'
import { NO_DATA } from '../../vulndb/match/coverage.ts'

const DAY_MS = 86_400_000

/**
 * Why none of the engines can look for vulnerabilities, in one sentence; undefined when one can. `GET
 * /security/engines` shows what they know about each distribution.
 * @param maxAgeDays  older data count as none
 */
export function dataWarning(
  engines: readonly EngineStatus[],
  { maxAgeDays, now }: { readonly maxAgeDays: number; readonly now: Date },
): string | undefined {
  const ready = engines.filter(({ ok }) => ok)
  if (ready.length === 0)
    return engines.length === 0 || engines.some(({ error }) => error === NO_DATA)
      ? NO_DATA
      : 'No vulnerability engine answers.'
  const days = Math.min(
    ...ready.map(({ data_at }) =>
      data_at === undefined ? 0 : Math.floor((now.getTime() - Date.parse(data_at)) / DAY_MS),
    ),
  )
  return days <= maxAgeDays
    ? undefined
    : `The vulnerability data are ${days} days old, more than the ${maxAgeDays} that validation.vuln_data_max_age_days allows.`
}
