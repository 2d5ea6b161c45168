import { phrase } from '../../show.ts'
import { STEPS } from '../../words.ts'

/** What a step of the gate made of a package, as sentences say it. */
export const RESULTS: Readonly<Record<string, string>> = {
  passed: phrase('passed'),
  warned: phrase('warned'),
  held: phrase('held'),
  refused: phrase('refused'),
  unavailable: 'could not look',
  skipped: phrase('skipped'),
}

/** How packages came in: what a step made of them, and since when. */
export interface Came {
  readonly gate?: string
  readonly since?: string
  readonly origin?: 'uploaded' | 'imported'
}

/** Reads the address, which may be typed by hand: what makes no sense is left out. */
export function cameOf({ gate = '', since = '', origin = '' }: Readonly<Record<string, string>>): Came {
  const [step, result = ''] = gate.split(':')
  const isGate = STEPS.some(({ id }) => id === step && id !== 'publish') && result in RESULTS
  return {
    ...(isGate ? { gate } : {}),
    ...(origin === 'uploaded' || origin === 'imported' ? { origin } : {}),
    ...(Number.isNaN(Date.parse(since)) ? {} : { since: new Date(since).toISOString() }),
  }
}
