import type { Reply } from '../../wire.ts'

export type RuleSet = Reply<'GET /inventory/compliance/rules'>
const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const
const OTHERS = ['update_days', 'seen_within_days'] as const
export type DayName = (typeof SEVERITIES)[number] | (typeof OTHERS)[number]

const print = (n: number | null): string => (n === null ? '' : String(n))

/** The days of each rule as fields hold them; empty where it is not asked. */
export const printDays = (rules: RuleSet): Record<DayName, string> => ({
  critical: print(rules.finding_days.critical),
  high: print(rules.finding_days.high),
  medium: print(rules.finding_days.medium),
  low: print(rules.finding_days.low),
  update_days: print(rules.update_days),
  seen_within_days: print(rules.seen_within_days),
})

/** Null for an empty field; undefined for what is no number of days. */
export function daysOf(name: DayName, text: string): number | null | undefined {
  if (text.trim() === '') return null
  const days = /^\d{1,4}$/.test(text.trim()) ? Number(text) : -1
  return days >= (name === 'seen_within_days' ? 1 : 0) && days <= 3_650 ? days : undefined
}

/** Undefined while a field holds no number of days. */
export function rulesFrom(
  days: Readonly<Record<DayName, string>>,
  { release, restart }: { readonly release: boolean; readonly restart: boolean },
): RuleSet | undefined {
  const read = (name: DayName): number | null | undefined => daysOf(name, days[name])
  const [critical, high, medium, low] = SEVERITIES.map(read)
  const [update, seen] = OTHERS.map(read)
  if ([critical, high, medium, low, update, seen].includes(undefined)) return undefined
  return {
    finding_days: { critical: critical ?? null, high: high ?? null, medium: medium ?? null, low: low ?? null },
    update_days: update ?? null,
    seen_within_days: seen ?? null,
    supported_release: release,
    no_reboot_pending: restart,
  }
}
