import { DATES } from '../../show.ts'
import type { Placed } from '../../pages.svelte.ts'
import type { Line } from './lines.ts'

const FULL_DAY = new Intl.DateTimeFormat(DATES, { dateStyle: 'full', timeZone: 'UTC' })

const keyFor = (day: string, before: readonly Day[]): string => `${day} ${before.filter(one => one.day === day).length}`

interface Day {
  readonly day: string
  /** The same while lines come and go at its ends. */
  readonly key: string
  readonly lines: readonly Placed<Line>[]
}

/** Lines under their day in UTC, in the order they have. A day comes twice where the clock was set back. */
export function byDay(items: readonly Placed<Line>[]): readonly Day[] {
  const days: (Day & { readonly lines: Placed<Line>[] })[] = []
  for (const one of items) {
    const day = one.item.timestamp.slice(0, 10)
    if (days.at(-1)?.day !== day) days.push({ day, key: keyFor(day, days), lines: [] })
    days.at(-1)?.lines.push(one)
  }
  return days
}

/** `Today, Friday 20 November 2026`: today and yesterday in UTC, as the lines are. */
export function dayHeading(day: string, now = new Date()): string {
  const full = FULL_DAY.format(new Date(`${day}T00:00:00Z`))
  const ago = (days: number): string => new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10)
  if (day === ago(0)) return `Today, ${full}`
  return day === ago(1) ? `Yesterday, ${full}` : full
}
