import { Type, type Static } from '@sinclair/typebox'
import { SEVERITIES, type Severity } from '../../core/findings.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import type { CheckStatus } from '../../inventory/compliance.ts'

/** How many findings there are of each severity. */
export type SeverityCounts = Readonly<Record<Severity, number>>

export const CONNECTIONS = ['ssh', 'agent'] as const
export type Connection = (typeof CONNECTIONS)[number]
export const SCAN_STATUSES = ['never', 'ok', 'error'] as const
export const REBOOTS = ['needed', 'no', 'unknown'] as const
export const UPDATE_STATES = ['here', 'in_review', 'not_here'] as const
export const CHECK_STATUSES = ['pass', 'fail', 'unknown'] as const

/** A machine, with what is known of it. Times are ISO 8601; null: not known. */
export interface ClientView {
  readonly id: number
  readonly hostname: string
  /** Where it is asked over SSH, or the address that its last report came from. */
  readonly ip: string
  readonly label: string
  readonly enabled: boolean
  readonly connection_type: Connection
  readonly ssh_user: string
  readonly ssh_port: number
  /** How the service logs in: with its own key, or with a password that it keeps. */
  readonly ssh_auth: 'key' | 'password'
  readonly pkg_type: 'auto' | 'deb' | 'rpm' | 'apk'
  readonly distro_id: string | null
  readonly distro_version: string | null
  readonly distro_codename: string | null
  readonly distro_pretty: string | null
  /** `family:release`, by which vulnerability data name its system. */
  readonly grype_distro: string | null
  /** The distribution here that its updates come from; whoever may not see that one does not see the machine. */
  readonly distribution: string | null
  readonly kernel: string | null
  readonly arch: string | null
  readonly booted_at: string | null
  readonly reboot: (typeof REBOOTS)[number]
  readonly reboot_said: string
  readonly packages: number | null
  /** When it told its packages last. */
  readonly last_seen: string | null
  readonly last_scan: string | null
  readonly last_scan_status: (typeof SCAN_STATUSES)[number]
  readonly last_error: string | null
  readonly last_error_code: string | null
  readonly agent_version: string | null
  readonly agent_last_seen: string | null
  /** Packages that something newer is here for; null while that is not known. */
  readonly behind: number | null
  /** Null while that is not known; `coverage_said` tells why. */
  readonly findings: SeverityCounts | null
  readonly coverage: string
  readonly coverage_said: string
  readonly judged_at: string | null
  readonly compliance: Readonly<Record<CheckStatus, number>>
  readonly created_at: string
  readonly updated_at: string
}

export const Counts = Type.Unsafe<SeverityCounts>(
  Type.Object(Object.fromEntries(SEVERITIES.map(severity => [severity, Type.Integer()]))),
)
export const Checks = Type.Unsafe<Readonly<Record<CheckStatus, number>>>(
  Type.Object(Object.fromEntries(CHECK_STATUSES.map(status => [status, Type.Integer()]))),
)
export const Client = Type.Unsafe<ClientView>(
  Type.Object({
    id: Type.Integer(),
    hostname: Text,
    ip: Text,
    label: Text,
    enabled: Type.Boolean(),
    connection_type: listed(CONNECTIONS),
    ssh_user: Text,
    ssh_port: Type.Integer(),
    ssh_auth: listed(['key', 'password']),
    pkg_type: listed(['auto', 'deb', 'rpm', 'apk']),
    distro_id: OrNull(Text),
    distro_version: OrNull(Text),
    distro_codename: OrNull(Text),
    distro_pretty: OrNull(Text),
    grype_distro: OrNull(Text),
    distribution: OrNull(Text),
    kernel: OrNull(Text),
    arch: OrNull(Text),
    booted_at: OrNull(Time),
    reboot: listed(REBOOTS),
    reboot_said: Text,
    packages: OrNull(Type.Integer()),
    last_seen: OrNull(Time),
    last_scan: OrNull(Time),
    last_scan_status: listed(SCAN_STATUSES),
    last_error: OrNull(Text),
    last_error_code: OrNull(Text),
    agent_version: OrNull(Text),
    agent_last_seen: OrNull(Time),
    behind: OrNull(Type.Integer()),
    findings: OrNull(Counts),
    coverage: Text,
    coverage_said: Text,
    judged_at: OrNull(Time),
    compliance: Checks,
    created_at: Time,
    updated_at: Time,
  }),
)

/** The host key of a machine: the one that is trusted, and another one that was shown since. */
export const KnownHost = Type.Object({
  hostname: Text,
  key_type: Text,
  fingerprint: Text,
  trusted_at: Time,
  trusted_by: Text,
  offered_key_type: OrNull(Text),
  offered_fingerprint: OrNull(Text),
  offered_at: OrNull(Time),
})

/** An installed package. `source` is empty where the list names none. */
export const InstalledPackage = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  source: Text,
  source_version: Text,
  since: Time,
  scanned_at: Time,
})

/** Something newer: `here` is served, `in_review` waits for a decision, `not_here` is only known from advisories. */
export const Update = Type.Object({
  name: Text,
  arch: Text,
  installed: Text,
  available: Text,
  state: listed(UPDATE_STATES),
  closes: Counts,
  since: Time,
})

/** A vulnerability of one package of one machine. */
export const CveRow = Type.Object({
  client_id: Type.Integer(),
  hostname: Text,
  pkg_name: Text,
  pkg_version: Text,
  arch: Text,
  cve_id: Text,
  severity: listed(SEVERITIES),
  cvss: OrNull(Type.Number()),
  description: Text,
  fix_state: listed(['fixed', 'not-fixed']),
  fix_version: OrNull(Text),
  update_state: OrNull(listed(UPDATE_STATES)),
  in_kev: Type.Boolean(),
  epss: OrNull(Type.Number()),
  epss_percentile: OrNull(Type.Number()),
  urls: Type.Array(Text),
  first_seen: Time,
  scanned_at: Time,
})

/** The answer of a rule about one machine. */
export const ComplianceRow = Type.Object({
  client_id: Type.Integer(),
  hostname: Text,
  check_id: Text,
  category: Text,
  level: Text,
  title: Text,
  status: listed(CHECK_STATUSES),
  detail: Text,
  remediation: Text,
  scanned_at: OrNull(Time),
})

/** One time a machine was asked, or told of itself. */
export const ScanRow = Type.Object({
  id: Type.Integer(),
  client_id: Type.Integer(),
  hostname: Text,
  at: Time,
  connection_type: listed(CONNECTIONS),
  asked_by: Text,
  status: listed(['ok', 'error']),
  error_code: OrNull(Text),
  error: OrNull(Text),
  duration_ms: Type.Integer(),
  packages: OrNull(Type.Integer()),
  added: Type.Integer(),
  removed: Type.Integer(),
  changed: Type.Integer(),
  changes: Type.Array(
    Type.Object(
      { name: Text, arch: Text, from: OrNull(Text), to: OrNull(Text) },
      { description: 'The first 200; null where it came or went.' },
    ),
  ),
})

export type KnownHostView = Static<typeof KnownHost>
export type PackageView = Static<typeof InstalledPackage>
export type UpdateView = Static<typeof Update>
export type CveView = Static<typeof CveRow>
export type ComplianceView = Static<typeof ComplianceRow>
export type ScanView = Static<typeof ScanRow>
