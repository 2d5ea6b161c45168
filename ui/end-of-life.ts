import { day, plural } from './show.ts'

const DAY_MS = 86_400_000
/** An end that is nearer than this is said. */
const SOON_DAYS = 180

export interface EndOfLife {
  readonly isPast: boolean
  readonly word: string
}

/**
 * What there is to say of the last day of free security updates; undefined while it is far away, or not known.
 * @param last  `YYYY-MM-DD`, which is a day with updates still
 */
export function endOfLife(last: string | null, now = new Date()): EndOfLife | undefined {
  if (last === null) return undefined
  const left = Math.ceil((Date.parse(last) + DAY_MS - now.getTime()) / DAY_MS) - 1
  if (left < 0) return { isPast: true, word: `Ended ${day(last, now)}` }
  if (left > SOON_DAYS) return undefined
  return { isPast: false, word: left === 0 ? 'Ends today' : `Ends in ${plural(left, 'day')}` }
}
