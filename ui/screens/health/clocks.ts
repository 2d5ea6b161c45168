import { count, plural } from '../../show.ts'
import type { HealthReport } from '../../wire.ts'
import { number, whole, type Check } from '../../words-health.ts'

/** Codes of second factors change every 30 seconds: from half of that on they may be refused. */
const CLOCKS_APART_MS = 15_000
/** How far the clocks of database and browser are from the server's. */
export function clocks(report: HealthReport, now: Date): Omit<Check, 'group'> {
  const row = { id: 'clock', name: 'Clock' }
  const { clock: facts } = report.checks.info
  const browser = now.getTime() - Date.parse(report.timestamp)
  const database = number(facts?.database_ahead_ms)
  const far = Math.abs(browser) > CLOCKS_APART_MS
  const more =
    facts === undefined
      ? 'the report does not say how it stands to the database'
      : database === undefined
        ? 'the database did not say its time'
        : `${apart(database)} from the database`
  if (!far && (database === undefined || facts?.ok === true))
    return {
      ...row,
      state: database === undefined ? 'unknown' : 'ok',
      say: `${apart(browser)} from this computer`,
      more,
    }
  return {
    ...row,
    state: 'warn',
    say: whole(far ? `${apart(browser)} from this computer` : more),
    more: far ? more : undefined,
    effect: far
      ? 'Times look wrong here. Where it is the server that is wrong, codes of second factors may be refused.'
      : 'Times of the log and of decisions may stand in a wrong order.',
    remedy: 'Let both machines take their time from the same time server (NTP); timedatectl says whether they do.',
  }
}
/** `0.4 s`, `3 minutes`. */
const apart = (ms: number): string =>
  Math.abs(ms) < 90_000
    ? `${count(Math.round(Math.abs(ms) / 100) / 10)} s`
    : plural(Math.round(Math.abs(ms) / 60_000), ['# minute', '# minutes'])
