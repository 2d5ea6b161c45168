import { endOf } from '../core/ends-of-life.ts'
import { SEVERITIES, type Severity } from '../core/findings.ts'
import type { Repositories } from '../core/repository.ts'
import { checkMachine, type Check, type Judged, type Rules } from './compliance.ts'

/** How many findings there are of each severity. */
export type SeverityCounts = Readonly<Record<Severity, number>>

/** A row of `inventory_client`. */
export interface ClientRow {
  readonly id: number
  readonly hostname: string
  readonly ip: string
  readonly label: string
  readonly enabled: boolean
  readonly connection_type: 'ssh' | 'agent'
  readonly ssh_user: string
  readonly ssh_port: number
  readonly ssh_password: string | null
  readonly agent_version: string | null
  readonly agent_last_seen: Date | null
  readonly pkg_type: 'auto' | 'deb' | 'rpm' | 'apk'
  readonly wanted_distribution: string | null
  readonly distro_id: string | null
  readonly distro_version: string | null
  readonly distro_codename: string | null
  readonly distro_pretty: string | null
  readonly grype_distro: string | null
  readonly distribution: string | null
  readonly format: 'deb' | 'rpm' | 'apk' | null
  readonly kernel: string | null
  readonly arch: string | null
  readonly booted_at: Date | null
  readonly reboot: 'needed' | 'no' | 'unknown'
  readonly reboot_said: string
  readonly packages: number | null
  readonly packages_sha256: string | null
  readonly last_seen: Date | null
  readonly last_scan: Date | null
  readonly last_scan_status: 'never' | 'ok' | 'error'
  readonly last_error: string | null
  readonly last_error_code: string | null
  readonly judged_at: Date | null
  readonly judged_by: string | null
  readonly behind: number | null
  readonly findings: SeverityCounts | null
  /** First sights, ISO 8601. */
  readonly oldest: Readonly<Partial<Record<Severity, string>>> | null
  readonly worst: number
  readonly oldest_update: Date | null
  readonly closes: SeverityCounts | null
  readonly coverage: string
  readonly coverage_said: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** All zero. */
export const noFindings = (): Record<Severity, number> =>
  Object.fromEntries(SEVERITIES.map(severity => [severity, 0])) as Record<Severity, number>

/** What the rules look at, of a machine as it is kept. */
function judgedOf(row: ClientRow, repositories: Pick<Repositories, 'find'>): Judged {
  const distribution = row.distribution === null ? undefined : repositories.find(row.distribution)
  const { oldest } = row
  return {
    system: row.distro_pretty,
    endOfLife: endOf({
      ...(distribution?.endOfLife === undefined ? {} : { endOfLife: distribution.endOfLife }),
      scanner: row.grype_distro ?? undefined,
    }),
    reboot: row.reboot,
    rebootSaid: row.reboot_said,
    lastSeen: row.last_seen,
    oldest: oldest === null ? null : Object.fromEntries(Object.entries(oldest).map(([key, at]) => [key, new Date(at)])),
    coverageSaid: row.coverage_said,
    oldestUpdate: row.behind === null ? null : (row.oldest_update ?? undefined),
  }
}

export interface CheckDeps {
  readonly repositories: Pick<Repositories, 'find'>
  readonly rules: Rules
  readonly now: Date
}

/** What the rules say of a machine now. */
export function checksOf(row: ClientRow, { repositories, rules, now }: CheckDeps): readonly Check[] {
  return checkMachine(judgedOf(row, repositories), rules, now)
}
