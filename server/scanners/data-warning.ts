import { daysOld } from '../core/data-age.ts'
import { NO_DATA } from '../vulndb/match/coverage.ts'
import type { EngineStatus } from './scanner.ts'

const doNotAnswer = (ids: readonly string[]): string =>
  ids.length === 0 ? '' : ids.length === 1 ? `${ids.join('')} does not answer.` : `${ids.join(' and ')} do not answer.`

/**
 * Why uploads are not looked at for vulnerabilities, in whole sentences; undefined when they are. An engine that is
 * installed and does not answer is named, because no other makes up for it. `GET /security/engines` shows what they
 * know about each distribution.
 * @param maxAgeDays  older data count as none
 */
export function dataWarning(
  engines: readonly EngineStatus[],
  limits: { readonly maxAgeDays: number; readonly now: Date },
): string | undefined {
  const silent = engines.filter(({ silence }) => silence === 'no_answer').map(({ id }) => id)
  const said = [doNotAnswer(silent), dataSentence(engines, limits)].filter(one => one !== '').join(' ')
  return said === '' ? undefined : said
}

function dataSentence(
  engines: readonly EngineStatus[],
  { maxAgeDays, now }: { readonly maxAgeDays: number; readonly now: Date },
): string {
  const ready = engines.filter(({ ok }) => ok)
  if (ready.length === 0) {
    if (engines.length === 0 || engines.some(({ error }) => error === NO_DATA)) return NO_DATA
    return engines.some(({ silence }) => silence === 'no_answer') ? '' : 'No vulnerability engine answers.'
  }
  const days = Math.min(...ready.map(({ data_at }) => (data_at === undefined ? 0 : daysOld(data_at, now))))
  return days <= maxAgeDays
    ? ''
    : `The vulnerability data are ${days} days old, more than the ${maxAgeDays} that “Oldest vulnerability data” allows.`
}
