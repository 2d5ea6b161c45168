import { href } from '../../routes.svelte.ts'
import { bytes, count, parted, plural, when } from '../../show.ts'
import type { HealthReport } from '../../wire.ts'
import { number, text, whole, type Check, type Facts } from '../../words-health.ts'
import { clocks } from './clocks.ts'

type Row = Omit<Check, 'group'>

const BACKUPS = { label: 'Backups', to: href('backups') }
const OLD_BACKUP_MS = 8 * 86_400_000
const SOON_DAYS = 30

const part = (report: HealthReport, name: string): Facts | undefined => {
  const { [name]: value } = report.checks.info
  return typeof value === 'object' && value !== null ? (value as Facts) : undefined
}

const MAKE = { job: 'backup', label: 'Make one now' }

/** The last backup and the last proof; without an answer both are unknown. */
function backups(facts: Facts | undefined, now: Date): Row[] {
  const [last, proved] = [text(facts?.last_backup), text(facts?.last_proved_restore)]
  const backup = { id: 'backup', name: 'Backup', way: BACKUPS }
  const proof = { id: 'proof', name: 'Proved restore', way: BACKUPS }
  if (facts === undefined)
    return [
      { ...backup, state: 'unknown', say: 'The report does not say.' },
      { ...proof, state: 'unknown', say: 'The report does not say.' },
    ]
  if (last === undefined)
    return [
      {
        ...backup,
        state: 'warn',
        say: 'There is none.',
        effect: 'What is lost with this disk cannot be brought back.',
        remedy: 'Make one, and set when they are made by themselves.',
        run: MAKE,
      },
      { ...proof, state: 'off', say: 'There is nothing to prove yet.' },
    ]
  const isOld = now.getTime() - Date.parse(last) > OLD_BACKUP_MS
  return [
    {
      ...backup,
      state: isOld ? 'warn' : 'ok',
      say: `${when(last, now)}, ${plural(number(facts.count) ?? 1, ['# backup', '# backups'])} in all`,
      ...(isOld
        ? {
            effect: 'What came in since then is lost with this disk.',
            remedy: 'It is more than a week old. Make one, and look at the log of the nightly job.',
            run: MAKE,
          }
        : {}),
    },
    proved === undefined
      ? {
          ...proof,
          state: 'warn',
          say: 'Never.',
          effect: 'Nobody knows whether the backups can be restored.',
          remedy: 'A backup counts once it has been restored. Prove the newest one: nothing here changes.',
          run: { job: 'backup-drill', label: 'Prove now' },
        }
      : { ...proof, state: 'ok', say: when(proved, now) },
  ]
}

const LOOK = 'Look at it, then try it.'

/** Each target with how it answered the last time, and what speaks against it. */
function targets(facts: Facts | undefined): Row[] {
  const all = Array.isArray(facts?.['targets']) ? (facts['targets'] as readonly Facts[]) : []
  return all.map(one => {
    const [trouble, warning, tried] = [text(one.trouble), text(one.warning), text(one.tried_at)]
    const row = {
      id: `target-${text(one.place) ?? ''}`,
      name: 'Backup target',
      more: text(one.address) ?? '',
      way: BACKUPS,
    }
    if (trouble !== undefined) return { ...row, state: 'bad', say: trouble, remedy: LOOK }
    if (warning !== undefined) {
      const [say, remedy] = parted(warning)
      return { ...row, state: 'warn', say, remedy: remedy === '' ? LOOK : remedy }
    }
    return tried === undefined
      ? { ...row, state: 'off', say: 'Not tried yet.' }
      : { ...row, state: 'ok', say: `It worked ${when(tried)}` }
  })
}

/** When the disk is full, as far as its past tells. */
function forecast(report: HealthReport): Row {
  const row = {
    id: 'forecast',
    name: 'Disk',
    way: { label: 'What nobody fetches', to: href('downloads', { view: 'never' }) },
  }
  const facts = part(report, 'forecast')
  if (facts === undefined)
    return { ...row, way: undefined, state: 'unknown', say: 'The report does not say when it is full.' }
  const [days, perDay] = [number(facts.days_until_full), number(facts.bytes_per_day)]
  const stops = number(facts.days_until_uploads_stop)
  const pace = perDay === undefined ? undefined : perDay > 0 ? `${bytes(perDay)} more a day` : 'it does not grow'
  if (days === undefined)
    return perDay !== undefined
      ? { ...row, state: 'ok', say: whole(text(facts.why) ?? 'Not within ten years'), more: pace }
      : { ...row, state: 'unknown', say: whole(text(facts.why) ?? 'When it is full cannot be told yet') }
  const nearest = Math.min(days, stops ?? days)
  return {
    ...row,
    state: nearest <= SOON_DAYS ? 'warn' : 'ok',
    say: days === 0 ? 'Full now' : `Full in about ${inWords(days)}`,
    more: [stops === undefined ? '' : `uploads stop ${stops === 0 ? 'now' : `in about ${inWords(stops)}`}`, pace ?? '']
      .filter(Boolean)
      .join('; '),
    ...(nearest <= SOON_DAYS
      ? { remedy: 'Delete packages and backups that nobody needs, or make the disk larger.' }
      : {}),
  }
}

/** `12 days`, `5 weeks`, `15 months`, `3 years`. */
export function inWords(days: number): string {
  if (days < 21) return plural(days, ['# day', '# days'])
  if (days < 90) return plural(Math.round(days / 7), ['# week', '# weeks'])
  return days < 730
    ? plural(Math.round(days / 30.4), ['# month', '# months'])
    : plural(Math.round(days / 365), ['# year', '# years'])
}

function reserve(report: HealthReport): Row {
  const row = { id: 'reserve', name: 'Reserve file' }
  const facts = part(report, 'reserve')
  if (facts === undefined) return { ...row, state: 'unknown', say: 'The report does not say.' }
  const [state, kept, wanted] = [text(facts.state), number(facts.kept_mb), number(facts.wanted_mb)]
  const [at, by] = [text(facts.given_back_at), text(facts.given_back_by)]
  const more = at === undefined ? undefined : `given back ${when(at)}${by === undefined ? '' : ` by ${by}`}`
  if (state === 'kept') return { ...row, state: 'ok', say: `${count(kept ?? 0)} MB kept for a full disk`, more }
  if (state === 'none')
    return {
      ...row,
      state: 'off',
      say: 'None is kept',
      way: { label: 'Settings', to: href('settings', { section: 'disk' }) },
    }
  const level = (report.checks.non_critical.disk as Facts | undefined)?.level
  // a new service makes it within the hour: nobody has to do anything
  const isComing = at === undefined && level === 'fine'
  return {
    ...row,
    state: isComing ? 'off' : 'warn',
    say: whole(text(facts.why) ?? `${count(wanted ?? 0)} MB are wanted and not there`),
    more,
    remedy: 'It is made again by itself when there is room.',
  }
}

function edition(report: HealthReport): Row {
  const facts = part(report, 'license')
  const row = {
    id: 'license',
    name: 'Edition',
    way: { label: 'Licence', to: href('settings', { section: 'license' }) },
  }
  const name = text(facts?.edition)
  if (facts === undefined || name === undefined) return { ...row, state: 'unknown', say: 'The report does not say.' }
  const [to, until, warning] = [text(facts.issued_to), text(facts.expires_at), text(facts.warning)]
  return {
    ...row,
    state: warning === undefined ? 'ok' : 'warn',
    say: `${name.charAt(0).toUpperCase()}${name.slice(1)}${to === undefined ? '' : `, ${to}`}`,
    more: until === undefined ? undefined : `until ${when(until)}`,
    remedy: warning,
  }
}

/** The processes of the installation, and the memory that they share. */
function together(report: HealthReport): Row[] {
  const ha = part(report, 'ha')
  const cache = part(report, 'cache_backend')
  const others = Array.isArray(ha?.replicas)
    ? (ha.replicas as readonly { readonly id: string; readonly host: string; readonly alive: boolean }[])
    : undefined
  const gone = others?.filter(({ alive }) => !alive) ?? []
  const rows: Row[] = [
    {
      id: 'replicas',
      name: 'Processes',
      ...(ha === undefined
        ? { state: 'unknown', say: 'The report does not say.' }
        : gone.length > 0
          ? {
              state: 'warn',
              say: `${gone.map(({ host }) => host).join(', ')} ${gone.length === 1 ? 'is' : 'are'} not heard of`,
              remedy: 'Start it again there, or leave it: the others go on.',
            }
          : {
              state: 'ok',
              say: others === undefined ? 'This one alone' : plural(others.length, ['# process', '# processes']),
              more: ha.is_leader === true ? 'this one leads' : 'another one leads',
            }),
    },
  ]
  if (cache?.backend === 'redis')
    rows.push({
      id: 'cache_backend',
      name: 'Redis',
      state: cache.ok === true ? 'ok' : 'warn',
      say: cache.ok === true ? 'Answers' : whole(text(cache.error) ?? 'it does not answer'),
      remedy: text(cache.remedy),
    })
  return rows
}

/** The group that decides nothing. @param now  when the report came */
export const goodToKnow = (report: HealthReport, now = new Date()): Check[] =>
  [
    ...backups(part(report, 'backups'), now),
    ...targets(part(report, 'backups')),
    forecast(report),
    reserve(report),
    ...together(report),
    clocks(report, now),
    edition(report),
  ].map(row => ({ ...row, group: 'info' as const }))

/** How long something runs, in its largest unit. */
export function upFor(seconds: number): string {
  if (seconds < 90) return plural(seconds, ['# second', '# seconds'])
  if (seconds < 5400) return plural(Math.round(seconds / 60), ['# minute', '# minutes'])
  return seconds < 172_800
    ? plural(Math.round(seconds / 3600), ['# hour', '# hours'])
    : plural(Math.round(seconds / 86_400), ['# day', '# days'])
}
