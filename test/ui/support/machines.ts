import type { Page, Route } from 'playwright-core'
import type { ClientView } from '../../../server/features/inventory/views.ts'

/** Minutes ago, in ISO 8601. */
const before = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()
const counts = (critical = 0, high = 0, medium = 0, low = 0) => ({
  critical,
  high,
  medium,
  low,
  negligible: 0,
  unknown: 0,
})
const SYSTEMS = {
  debian: ['debian', '12', 'bookworm', 'Debian GNU/Linux 12 (bookworm)', 'bookworm'],
  noble: ['ubuntu', '24.04', 'noble', 'Ubuntu 24.04', 'noble'],
  alma: ['almalinux', '9', null, 'AlmaLinux 9', 'almalinux9'],
  alpine: ['alpine', '3.20', null, 'Alpine 3.20', null],
} as const

function machine(
  id: number,
  hostname: string,
  ip: string,
  system: keyof typeof SYSTEMS,
  over: Partial<ClientView> = {},
): ClientView {
  const [distro_id, distro_version, distro_codename, distro_pretty, distribution] = SYSTEMS[system]
  return {
    id,
    hostname,
    ip,
    label: 'plant north',
    enabled: true,
    connection_type: 'ssh',
    ssh_user: 'inventory',
    ssh_port: 22,
    ssh_auth: 'key',
    pkg_type: 'auto',
    distro_id,
    distro_version,
    distro_codename,
    distro_pretty,
    grype_distro: `${distro_id}:${distro_version}`,
    distribution,
    kernel: '6.1.0-41-amd64',
    arch: 'amd64',
    booted_at: before(60 * 24 * 30),
    reboot: 'no',
    reboot_said: 'The kernel that runs is the newest one that is installed.',
    packages: 812,
    last_seen: before(180),
    last_scan: before(180),
    last_scan_status: 'ok',
    last_error: null,
    last_error_code: null,
    agent_version: null,
    agent_last_seen: null,
    behind: 0,
    findings: counts(),
    coverage: 'covered',
    coverage_said: 'Debian 12 is covered by the data of today.',
    judged_at: before(180),
    compliance: { pass: 5, fail: 0, unknown: 0 },
    created_at: before(60 * 24 * 90),
    updated_at: before(180),
    ...over,
  }
}

/** A plant: most are well, one waits for an update, one is late, one shows another host key, one was never seen. */
export const MACHINES: readonly ClientView[] = [
  machine(1, 'plc-gw-07', '10.20.3.17', 'debian', {
    behind: 23,
    findings: counts(1, 4, 6),
    reboot: 'needed',
    reboot_said: 'Linux 6.1.0-41 runs, 6.1.0-43 is installed.',
    compliance: { pass: 3, fail: 2, unknown: 0 },
  }),
  machine(2, 'db-north-01', '10.20.3.40', 'debian', { behind: 2, findings: counts(0, 0, 1), last_seen: before(240) }),
  machine(3, 'hmi-12', '10.20.9.112', 'noble', { behind: 11, findings: counts(0, 2, 3), reboot: 'needed' }),
  machine(4, 'build-02', '10.20.7.12', 'alma', { connection_type: 'agent', agent_version: '1' }),
  machine(5, 'edge-south-4', '10.21.2.4', 'alpine', {
    behind: 0,
    findings: null,
    coverage: 'not_covered',
    coverage_said: 'No data here cover alpine 3.20.',
    compliance: { pass: 3, fail: 0, unknown: 2 },
  }),
  machine(6, 'scada-02', '10.20.3.22', 'debian', {
    behind: 64,
    findings: counts(2, 11, 20),
    last_seen: before(26 * 1440),
    last_scan_status: 'error',
    last_error: 'scada-02 did not answer within 60 s. Look whether it hangs, then ask again.',
    last_error_code: 'inventory_timeout',
    reboot: 'unknown',
    compliance: { pass: 1, fail: 4, unknown: 0 },
  }),
  machine(7, 'mail-relay', '10.20.5.25', 'debian', {
    behind: null,
    findings: null,
    coverage: 'unknown',
    coverage_said: 'It was not asked since its key changed.',
    last_scan_status: 'error',
    last_error: 'mail-relay shows another host key. Nothing was sent to it.',
    last_error_code: 'inventory_host_key_changed',
    reboot: 'unknown',
    compliance: { pass: 0, fail: 0, unknown: 5 },
  }),
  machine(8, 'vision-05', '10.20.9.145', 'noble', {
    connection_type: 'agent',
    last_seen: null,
    last_scan: null,
    last_scan_status: 'never',
    behind: null,
    findings: null,
    packages: null,
    coverage: 'unknown',
    coverage_said: 'It has not told its packages yet.',
    distro_pretty: null,
    arch: null,
    distribution: null,
    reboot: 'unknown',
    compliance: { pass: 0, fail: 0, unknown: 5 },
  }),
]

const page = (items: readonly unknown[]) => ({ items, total: items.length, page: 1, per_page: 50, pages: 1 })
const UPDATES = [
  ['openssl', '3.0.17-1~deb12u2', '3.0.18-1~deb12u2', 'here', counts(1, 1)],
  ['linux-image-amd64', '6.1.148-1', '6.1.153-1', 'here', counts(0, 2, 4)],
  ['curl', '7.88.1-10+deb12u8', '7.88.1-10+deb12u14', 'in_review', counts(0, 1, 1)],
  ['nordwerk-agent', '2.7.4', '2.8.0', 'here', counts()],
  ['libxslt1.1', '1.1.35-1', '1.1.35-1+deb12u2', 'not_here', counts(0, 0, 1)],
].map(([name, installed, available, state, closes]) => ({
  name,
  arch: 'amd64',
  installed,
  available,
  state,
  closes,
  since: before(9 * 1440),
}))
const FINDINGS = [
  ['CVE-2025-11187', 'openssl', '3.0.17-1~deb12u2', 'critical', '3.0.18-1~deb12u2', 'here', true],
  ['CVE-2025-39901', 'linux-image-amd64', '6.1.148-1', 'high', '6.1.153-1', 'here', false],
  ['CVE-2025-9086', 'curl', '7.88.1-10+deb12u8', 'high', '7.88.1-10+deb12u14', 'in_review', false],
  ['CVE-2024-55549', 'libxslt1.1', '1.1.35-1', 'medium', null, null, false],
].map(([cve_id, pkg_name, pkg_version, severity, fix_version, update_state, in_kev]) => ({
  client_id: 1,
  hostname: 'plc-gw-07',
  pkg_name,
  pkg_version,
  arch: 'amd64',
  cve_id,
  severity,
  cvss: 9.1,
  description: 'A prepared message overwrites memory and runs code before anybody signed in.',
  fix_state: fix_version === null ? 'not-fixed' : 'fixed',
  fix_version,
  update_state,
  in_kev,
  epss: 0.31,
  epss_percentile: 0.9,
  urls: [],
  first_seen: before(9 * 1440),
  scanned_at: before(180),
}))
const CHECKS = [
  [
    'finding_critical',
    'fail',
    'No critical finding for more than 7 days',
    'A critical finding is there since 9 days; 7 days are allowed.',
    'Install the updates that close it.',
  ],
  ['no_reboot_pending', 'fail', 'No restart is pending', 'Linux 6.1.0-41 runs, 6.1.0-43 is installed.', 'Restart it.'],
  ['finding_high', 'pass', 'No high finding for more than 30 days', 'The oldest is there since 9 days.', ''],
  ['supported_release', 'pass', 'Its release gets security updates', 'Until 10 June 2028.', ''],
  ['seen_within_days', 'pass', 'It was seen within 7 days', 'It was seen today.', ''],
].map(([check_id, status, title, detail, remediation]) => ({
  client_id: 1,
  hostname: 'plc-gw-07',
  check_id,
  category: 'updates',
  level: 'high',
  title,
  status,
  detail,
  remediation,
  scanned_at: before(180),
}))
const HISTORY = [
  { status: 'ok', error: null, error_code: null, added: 1, removed: 0, changed: 2, at: before(180) },
  {
    status: 'error',
    error: 'plc-gw-07 did not answer within 60 s.',
    error_code: 'inventory_timeout',
    added: 0,
    removed: 0,
    changed: 0,
    at: before(1440),
  },
].map((row, n) => ({
  id: 2 - n,
  client_id: 1,
  hostname: 'plc-gw-07',
  connection_type: 'ssh',
  asked_by: 'p.raman',
  duration_ms: 3_100,
  packages: row.status === 'ok' ? 812 : null,
  changes:
    row.status === 'ok' ? [{ name: 'curl', arch: 'amd64', from: '7.88.1-10+deb12u7', to: '7.88.1-10+deb12u8' }] : [],
  ...row,
}))
export const KNOWN_HOST = {
  hostname: 'mail-relay',
  key_type: 'ssh-ed25519',
  fingerprint: 'SHA256:8fQ2LkV1nX0bZs4Tw9Hc3JdRmU7ePaY6tB5qKz2Ns8M',
  trusted_at: '2025-03-03T09:00:00.000Z',
  trusted_by: 'p.raman',
  offered_key_type: 'ssh-ed25519',
  offered_fingerprint: 'SHA256:Rk7w0DcE5vGtNq1MzB8x6LsPhA4yJfU2oV9kTe3Qw1D',
  offered_at: before(500),
}

const summaryOf = (one: ClientView) => ({
  client_id: one.id,
  hostname: one.hostname,
  packages: one.packages,
  updates:
    one.behind === null
      ? null
      : one.behind === 0
        ? { here: 0, in_review: 0, not_here: 0 }
        : { here: 19, in_review: 1, not_here: 3 },
  closes: one.behind === 0 ? counts() : counts(1, 3),
  findings: one.findings,
  coverage: one.coverage,
  coverage_said: one.coverage_said,
  compliance: one.compliance,
  reboot: one.reboot,
  last_seen: one.last_seen,
  command: one.packages === null ? null : 'sudo apt update && sudo apt upgrade',
})
const SUMMARY = {
  clients: 8,
  enabled: 8,
  by_system: [
    { system: 'Debian GNU/Linux 12 (bookworm)', clients: 4 },
    { system: 'Ubuntu 24.04', clients: 1 },
  ],
  by_label: [{ label: 'plant north', clients: 8 }],
  reboot_needed: 2,
  not_seen: 2,
  not_seen_days: 7,
  never_seen: 1,
  failed: 2,
  key_changed: 1,
  behind: 4,
  findings: counts(3, 17, 30),
  with_findings: counts(2, 3, 4),
  findings_unknown: 3,
  closable_critical: 1,
  compliance: { pass: 3, fail: 2, unknown: 3 },
  last_seen: before(180),
}

const answers: readonly (readonly [RegExp, (id: number) => unknown])[] = [
  [/\/clients\/(\d+)\/updates$/, id => page(id === 1 ? UPDATES : [])],
  [/\/clients\/(\d+)\/summary$/, id => summaryOf(MACHINES[id - 1] ?? machine(id, 'x', '', 'debian'))],
  [/\/clients\/(\d+)\/history$/, id => page(id === 1 ? HISTORY : [])],
  [
    /\/clients\/(\d+)\/packages$/,
    id =>
      page(
        id === 1
          ? [
              {
                name: 'curl',
                version: '7.88.1-10+deb12u8',
                arch: 'amd64',
                source: 'curl',
                source_version: '7.88.1-10+deb12u8',
                since: before(1440),
                scanned_at: before(180),
              },
            ]
          : [],
      ),
  ],
  [
    /\/clients\/(\d+)\/scan\/status$/,
    id => ({
      client_id: id,
      running: false,
      job_id: null,
      status: 'ok',
      last_scan: before(180),
      last_error: null,
      last_error_code: null,
    }),
  ],
  [
    /\/clients\/(\d+)$/,
    id => ({
      ...MACHINES[id - 1],
      known_host:
        id === 7
          ? KNOWN_HOST
          : id === 1
            ? { ...KNOWN_HOST, offered_fingerprint: null, offered_at: null, offered_key_type: null }
            : null,
    }),
  ],
  [/\/inventory\/cve$/, () => page(FINDINGS)],
  [/\/inventory\/compliance$/, () => page(CHECKS)],
  [/\/inventory\/clients$/, () => page(MACHINES)],
  [/\/inventory\/summary$/, () => SUMMARY],
]

/** Answers reads of the inventory with a plant, as the server would; everything else reaches the server. */
export const showMachines = (browser: Page): Promise<unknown> =>
  browser.route('**/api/v1/inventory/**', async (route: Route) => {
    const { pathname, searchParams } = new URL(route.request().url())
    const found = answers.map(([path, answer]) => ({ match: path.exec(pathname), answer })).find(({ match }) => match)
    if (route.request().method() !== 'GET' || found === undefined) return route.continue()
    const isOther =
      ['cve', 'compliance'].some(end => pathname.endsWith(`/${end}`)) && searchParams.get('client_id') !== '1'
    return route.fulfill({
      contentType: 'application/json',
      body: JSON.stringify(isOther ? page([]) : found.answer(Number(found.match?.[1]))),
    })
  })
