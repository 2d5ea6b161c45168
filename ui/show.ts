import { language } from './language.ts'

/** How numbers, sizes and times are written, in the language of the sentences around them. */
const NUMBERS = { en: 'en-US', de: 'de-DE' }[language]
export const DATES = { en: 'en-GB', de: 'de-DE' }[language]

const NUMBER = new Intl.NumberFormat(NUMBERS)
const CLOCK = new Intl.DateTimeFormat(DATES, { hour: '2-digit', minute: '2-digit' })
const WEEKDAY = new Intl.DateTimeFormat(DATES, { weekday: 'short' })
const WEEKDAY_CLOCK = new Intl.DateTimeFormat(DATES, { weekday: 'short', hour: '2-digit', minute: '2-digit' })
const DAY = new Intl.DateTimeFormat(DATES, { day: 'numeric', month: 'short' })
const DAY_YEAR = new Intl.DateTimeFormat(DATES, { day: 'numeric', month: 'short', year: 'numeric' })
const FULL = new Intl.DateTimeFormat(DATES, { dateStyle: 'full', timeStyle: 'medium' })

export function count(n: number): string {
  return NUMBER.format(n)
}

/** `0.50`, `9.8`, in German `0,50`: always so many digits after the point. */
export function decimal(n: number, digits: number): string {
  return n.toLocaleString(NUMBERS, { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** The second form for all but one, as English has it; a catalogue brings the rule of its language. */
const ENGLISH = (n: number): number => (n === 1 ? 0 : 1)

/**
 * `1 package`, `2 packages`: `plural(n, ['# package', '# packages'])`. The forms are texts of the catalogue.
 * @param rule  which form a number has; the build fills it in
 */
export function plural(n: number, forms: readonly string[], rule: (n: number) => number = ENGLISH): string {
  return (forms[rule(n)] ?? forms.at(-1) ?? '').replace('#', count(n))
}

/** A text that would not be known as one: `phrase('waits')` is a word to read, `'waits'` a name. */
export const phrase = (said: string): string => said

/** How long something took, from milliseconds: `5.9 s`. */
export function seconds(ms: number): string {
  return ms < 50 ? 'under 0.1 s' : `${decimal(ms / 1000, 1)} s`
}

/** Decimal units, as package managers show them. */
export function bytes(n: number): string {
  if (n < 999.5) return plural(Math.round(n), ['# byte', '# bytes'])
  const units = ['KB', 'MB', 'GB', 'TB']
  let value = n / 1000
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${count(value >= 99.95 ? Math.round(value) : Math.round(value * 10) / 10)} ${units[unit]}`
}

/**
 * Short and relative to today: `14:32`, `Wed`, `21 Aug`, `21 Aug 2025`. What is more than a day ahead has its day, in
 * this week with the hour: `Sun 02:00`.
 */
export function when(iso: string, now = new Date()): string {
  const date = new Date(iso)
  const ahead = date.getTime() - now.getTime()
  if (ahead > 6 * 86_400_000) return day(iso, now)
  if (ahead > 86_400_000) return WEEKDAY_CLOCK.format(date)
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

/** A heading in the middle of a sentence: `in review`, `in Prüfung`. */
export const lower = (word: string): string => word.charAt(0).toLowerCase() + word.slice(1)

/** As `lower`, for what is a noun in German and keeps its capital there: `password`, `Passwort`. */
export const noun = (word: string): string => (language === 'de' ? word : lower(word))

/** Two letters for the round mark beside a name. */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter(Boolean)
  return ((words[0]?.[0] ?? '?') + (words.length > 1 ? (words.at(-1)?.[0] ?? '') : (words[0]?.[1] ?? ''))).toUpperCase()
}

/** The first sentence of a text, and the others; empty where there is only one. */
export function parted(said: string): readonly [first: string, others: string] {
  const at = said.indexOf('. ')
  return at < 0 ? [said, ''] : [said.slice(0, at + 1), said.slice(at + 2)]
}
