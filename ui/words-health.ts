import { href } from './routes.svelte.ts'
import { count, fingerprint, plural, when } from './show.ts'
import type { HealthReport } from './wire.ts'

/** `off`: not in use. `unknown`: nobody could look, which is never shown as good. */
export type CheckState = 'ok' | 'warn' | 'bad' | 'off' | 'unknown'

/** The screen where something is done about it. */
export interface Way {
  readonly label: string
  readonly to: string
}

/** One check of the health report as a person reads it. */
export interface Check {
  readonly id: string
  readonly group: 'critical' | 'non_critical' | 'info'
  readonly name: string
  readonly state: CheckState
  readonly say: string
  readonly more?: string | undefined
  /** What it means for the users. */
  readonly effect?: string | undefined
  /** What to do; absent where nothing is to be done. */
  readonly remedy?: string | undefined
  readonly way?: Way | undefined
  /** A job of the clock that helps, begun from here. */
  readonly run?: { readonly job: string; readonly label: string } | undefined
}

/** Probes have facts of their own beside `ok`: the groups are open. */
export type Facts = Readonly<Record<string, unknown>>

const NAMES: Readonly<Record<string, string>> = {
  manifests: 'Manifests',
  pool: 'Package pool',
  auth_db: 'Accounts database',
  manifest_db: 'Package database',
  audit: 'Audit log',
  disk: 'Room on the disk',
  clamav: 'Antivirus',
  reprepro: 'reprepro',
  gpg: 'Signing key',
  scheduler: 'Jobs by the clock',
  alembic: 'Database schema',
  machine: 'The machine',
  machine_restart: 'Restart of the machine',
  machine_clock: "The machine's clock",
  machine_certificate: 'Certificate',
  machine_services: 'Services of the machine',
  machine_disks: 'Disks of the machine',
  machine_update: 'Last update',
  machine_guard: 'Guard of the machine',
}
const MACHINE_CHECKS = Object.keys(NAMES).filter(id => id.startsWith('machine'))
const WAYS: Readonly<Record<string, Way>> = {
  clamav: { label: 'Engines', to: href('engines') },
  gpg: { label: 'Distributions', to: href('distributions') },
  scheduler: { label: 'Jobs', to: href('jobs') },
  ...Object.fromEntries(MACHINE_CHECKS.map(id => [id, { label: 'Machine', to: href('machine') }])),
  disk: { label: 'What nobody fetches', to: href('downloads', { view: 'never' }) },
}

export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
export const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined
/** A sentence, from words that may begin small. */
export const whole = (said: string): string =>
  `${said.charAt(0).toUpperCase()}${said.slice(1)}${/[.!?]$/.test(said) ? '' : '.'}`
/** `548 GB free of 960`; undefined where the report does not say. */
export function room(probe: Facts): string | undefined {
  const [free, total] = [number(probe.free_gb), number(probe.total_gb)]
  return free === undefined || total === undefined ? undefined : `${shortGb(free)} GB free of ${shortGb(total)}`
}
const shortGb = (gb: number): string => count(gb >= 100 ? Math.round(gb) : Math.round(gb * 10) / 10)

function jobsInWords({ jobs, note }: Facts): Pick<Check, 'say' | 'more'> {
  if (text(note) !== undefined) return { say: whole(String(note)) }
  // the group is open: a job has these members
  const all = Array.isArray(jobs) ? (jobs as readonly { readonly next_run: string | null }[]) : []
  const next = all.flatMap(({ next_run: at }) => at ?? []).sort()[0]
  const paused = all.filter(({ next_run: at }) => at === null).length
  return {
    say: `${plural(all.length - paused, ['# job', '# jobs'])} planned${paused > 0 ? `, ${paused} paused` : ''}`,
    more: next === undefined ? undefined : `next at ${when(next)}`,
  }
}

function antivirusInWords(probe: Facts): Pick<Check, 'say' | 'more'> {
  const [made, version, signatures] = [text(probe.signatures_at), text(probe.version), text(probe.signatures_version)]
  const more = version === undefined ? undefined : /^\d/.test(version) ? `ClamAV ${version}` : version
  return made === undefined
    ? { say: 'It answers, and does not say how old its signatures are', more }
    : { say: `Signatures${signatures === undefined ? '' : ` ${signatures}`} of ${when(made)}`, more }
}

/** From where on the disk is worth a word; a limit of 0 is off. */
function limitsOf(probe: Facts): string | undefined {
  const [warn, least] = [number(probe.warn_used_pct) || undefined, number(probe.min_free_disk_gb) || undefined]
  const said = [
    warn === undefined ? undefined : `warns at ${count(warn)} %`,
    least === undefined ? undefined : `uploads stop below ${count(least)} GB`,
  ].filter(one => one !== undefined)
  return said.length === 0 ? undefined : said.join('; ')
}

/** What a check that is well says. */
function fact(id: string, probe: Facts, packages: Facts): Pick<Check, 'say' | 'more'> {
  if (id === 'scheduler') return jobsInWords(probe)
  if (text(probe.note) !== undefined) return { say: whole(String(probe.note)) }
  if (id === 'clamav') return antivirusInWords(probe)
  if (id === 'gpg')
    return {
      say: fingerprint(text(probe.fingerprint) ?? '')
        .split(' ')
        .slice(-4)
        .join(' '),
    }
  const [entries, free] = [number(probe.count), room(probe)]
  if (id === 'manifests') {
    const read = number(packages.total_manifests)
    return { say: read === undefined ? 'Writable' : plural(read, ['# package', '# packages']), more: free }
  }
  if (id === 'pool') {
    // 0 beside packages: the folder was not measured yet
    const files = number(packages.pool_files) || undefined
    return { say: files === undefined ? 'Writable' : plural(files, ['# file', '# files']), more: free }
  }
  if (id === 'disk') {
    const used = number(probe.used_pct)
    return { say: used === undefined ? 'Enough' : `${count(used)} % used`, more: limitsOf(probe) }
  }
  if (id === 'auth_db' && entries !== undefined) return { say: plural(entries, ['# account', '# accounts']) }
  if (entries !== undefined) return { say: plural(entries, ['# package', '# packages']) }
  return { say: free ?? text(probe.version) ?? 'Answers' }
}

function stateOf(id: string, group: Check['group'], probe: Facts): CheckState {
  if (probe.ok === false) return group === 'critical' ? 'bad' : 'warn'
  if (probe.ok !== true) return 'unknown'
  // what is not there does nothing, and is not good either
  if (probe.version === null && text(probe.note) !== undefined) return 'off'
  return id === 'clamav' && text(probe.signatures_at) === undefined ? 'unknown' : 'ok'
}

/**
 * What an operator is to know although no check fails: uploads that are not looked at, a key beside its secrets. Whole
 * sentences.
 */
export function warningsOf(report: HealthReport): readonly string[] {
  const { warnings } = report.checks.info as { readonly warnings?: readonly string[] }
  return warnings ?? []
}

const WARNING_WAYS: readonly (readonly [RegExp, Way])[] = [
  [/vulnerabilit|EPSS|KEV|antivirus|malware|clamd/i, { label: 'Engines', to: href('engines') }],
  [/licen[cs]e|edition/i, { label: 'Licence', to: href('settings', { section: 'license' }) }],
  [/backup/i, { label: 'Backups', to: href('backups') }],
  [/not yet delivered/i, { label: 'Logs', to: href('logs', { level: 'WARNING' }) }],
]
/** Where something is done about a warning. */
export const wayOf = (warning: string): Way | undefined => WARNING_WAYS.find(([word]) => word.test(warning))?.[1]

/** What it means, without what its cause says already. */
function effectOf(probe: Facts, why: string): string | undefined {
  const said = text(probe.effect)?.replace(why, '').trim()
  return said === '' ? undefined : said
}

/** The checks of the first two groups, in the report's order. */
export function worded(report: HealthReport): Check[] {
  const packages = (report.checks.info.packages ?? {}) as Facts
  return (['critical', 'non_critical'] as const).flatMap(group =>
    Object.entries(report.checks[group]).map(([id, value]): Check => {
      const probe = value as unknown as Facts
      const state = stateOf(id, group, probe)
      const failed = text(probe.error)
      const why = probe.missing === true ? 'There is none yet.' : whole(failed ?? 'It does not answer')
      return {
        id,
        group,
        name: NAMES[id] ?? id,
        state,
        way: WAYS[id],
        ...(probe.ok === true
          ? fact(id, probe, packages)
          : { say: why, more: room(probe), effect: effectOf(probe, why), remedy: text(probe.remedy) }),
      }
    }),
  )
}

/** Whether somebody has to do something about it. */
export const needsCare = ({ state }: Pick<Check, 'state'>): boolean => state === 'warn' || state === 'bad'
