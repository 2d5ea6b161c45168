import type { EngineStatus } from '../../scanners/scanner.ts'

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
  if (ready.length === 0) return 'No vulnerability data are loaded.'
  const days = Math.min(
    ...ready.map(({ data_at }) =>
      data_at === undefined ? 0 : Math.floor((now.getTime() - Date.parse(data_at)) / DAY_MS),
    ),
  )
  return days <= maxAgeDays
    ? undefined
    : `The vulnerability data are ${days} days old, more than the ${maxAgeDays} that validation.vuln_data_max_age_days allows.`
}
