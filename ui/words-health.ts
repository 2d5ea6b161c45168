import type { HealthReport } from './wire.ts'

/** One check of the health report as a person reads it. */
export interface Check {
  readonly id: string
  readonly group: 'critical' | 'non_critical'
  readonly name: string
  readonly ok: boolean
  readonly say: string
}

const NAMES: Readonly<Record<string, string>> = {
  manifests: 'Manifests',
  pool: 'Pool',
  auth_db: 'Accounts database',
  manifest_db: 'Package database',
  audit: 'Audit log',
  clamav: 'Antivirus',
  reprepro: 'reprepro',
  gpg: 'Signing key',
  scheduler: 'Scheduler',
  alembic: 'Database schema',
  migrations: 'Database schema',
  outbox: 'Publication',
}
const REMEDIES: Readonly<Record<string, string>> = {
  clamav: 'What comes in meanwhile is not looked at for malware.',
  gpg: 'An admin makes one under Distributions.',
  manifests: 'Check that the disk is mounted, writable and not full.',
  pool: 'Check that the disk is mounted, writable and not full.',
  audit: 'Check that the disk is mounted, writable and not full.',
}

function fact(probe: Readonly<Record<string, unknown>>): string {
  if (typeof probe.note === 'string') return probe.note
  if (typeof probe.free_gb === 'number') return `${probe.free_gb} GB of ${String(probe.total_gb)} GB free`
  if (typeof probe.count === 'number') return `${new Intl.NumberFormat('en-US').format(probe.count)} entries`
  if (typeof probe.version === 'string') return probe.version
  if (typeof probe.fingerprint === 'string') return probe.fingerprint
  if (Array.isArray(probe.jobs)) return `${probe.jobs.length} ${probe.jobs.length === 1 ? 'job' : 'jobs'}`
  return 'Answers'
}

/**
 * What an operator is to know although no check fails: uploads that are not looked at, a key beside its secrets. Whole
 * sentences.
 */
export function warningsOf(report: HealthReport): readonly string[] {
  // the group is open: each fact has a shape of its own
  const { warnings } = report.checks.info as { readonly warnings?: readonly string[] }
  return warnings ?? []
}

/** A sentence, from words that may begin small. */
const whole = (said: string): string =>
  `${said.charAt(0).toUpperCase()}${said.slice(1)}${said.endsWith('.') ? '' : '.'}`

/** The checks of the first two groups, in the report's order. */
export function worded(report: HealthReport): Check[] {
  return (['critical', 'non_critical'] as const).flatMap(group =>
    Object.entries(report.checks[group]).map(([id, value]): Check => {
      // every probe is an object with `ok` and facts of its own
      const probe = value as unknown as Readonly<Record<string, unknown>>
      const ok = probe.ok === true
      const error = typeof probe.error === 'string' ? whole(probe.error) : 'It does not answer.'
      const why = probe.missing === true ? 'There is none yet.' : error
      return { id, group, name: NAMES[id] ?? id, ok, say: ok ? fact(probe) : `${why} ${REMEDIES[id] ?? ''}`.trim() }
    }),
  )
}
