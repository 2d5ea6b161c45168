/**
 * How numbers, sizes and times are written. English, whatever the browser speaks, because the sentences around them
 * are.
 */
const NUMBER = new Intl.NumberFormat('en-US')
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const DAY_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const FULL = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'medium' })

export function count(n: number): string {
  return NUMBER.format(n)
}

/** `1 package`, `2 packages`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** Decimal units, as package managers show them. */
export function bytes(n: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let value = n
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : Math.round(value * 10) / 10} ${units[unit]}`
}

/** Short and relative to today: `14:32`, `Wed`, `21 Aug`, `21 Aug 2025`. */
export function when(iso: string, now = new Date()): string {
  const date = new Date(iso)
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime()
  const age = midnight - date.getTime()
  if (age <= 0) return CLOCK.format(date)
  if (age < 6 * 86_400_000) return WEEKDAY.format(date)
  return day(iso, now)
}

/** `21 Aug`, `21 Aug 2025`: for what has a day and no hour. */
export function day(iso: string, now = new Date()): string {
  const date = new Date(iso)
  return date.getFullYear() === now.getFullYear() ? DAY.format(date) : DAY_YEAR.format(date)
}

/** `2026-11-21`, the day where the reader is, as a date field wants it. */
export function localDay(date: Date): string {
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`
}

/** The absolute form that every short time carries along. */
export function fullTime(iso: string): string {
  return FULL.format(new Date(iso))
}

export function clock(date: Date): string {
  return CLOCK.format(date)
}

/** `7C1F 22B8 90AD …`, so that two people can compare it. */
export function fingerprint(hex: string): string {
  return hex.toUpperCase().replace(/(.{4})(?=.)/g, '$1 ')
}

/** Two letters for the round mark beside a name. */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter(Boolean)
  return ((words[0]?.[0] ?? '?') + (words.length > 1 ? (words.at(-1)?.[0] ?? '') : (words[0]?.[1] ?? ''))).toUpperCase()
}
