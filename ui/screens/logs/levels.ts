import { DATES } from '../../show.ts'

/** The levels of a line, weakest first, as the list shows them. */
export const LEVELS = {
  DEBUG: { word: 'Debug', icon: 'bug', tone: 'faint' },
  INFO: { word: 'Info', icon: 'info', tone: 'dim' },
  WARNING: { word: 'Warning', icon: 'warn', tone: 'stale' },
  ERROR: { word: 'Error', icon: 'fail', tone: 'broken' },
} as const
export type Level = keyof typeof LEVELS

export const isLevel = (word: string | undefined): word is Level => word !== undefined && Object.hasOwn(LEVELS, word)

const TIME = new Intl.DateTimeFormat(DATES, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})

/** `14:31:32.118`, where the reader is. */
export const timeOf = (ts: number | null): string => (ts === null ? '–' : TIME.format(new Date(ts * 1000)))
