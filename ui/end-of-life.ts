import { day, plural } from './show.ts'

const DAY_MS = 86_400_000
/** Ends nearer than this are shown. */
const SOON_DAYS = 180

export interface EndOfLife {
  readonly isPast: boolean
  readonly word: string
}

/**
 * The note about the last day of free security updates; undefined while it is far away or not known.
 * @param last `YYYY-MM-DD`, a day that still has updates
 */
export function endOfLife(last: string | null, now = new Date()): EndOfLife | undefined {
  if (last === null) return undefined
  const left = Math.ceil((Date.parse(last) + DAY_MS - now.getTime()) / DAY_MS) - 1
  if (left < 0) return { isPast: true, word: `Ended ${day(last, now)}` }
  if (left > SOON_DAYS) return undefined
  return { isPast: false, word: left === 0 ? 'Ends today' : `Ends in ${plural(left, ['# day', '# days'])}` }
}
