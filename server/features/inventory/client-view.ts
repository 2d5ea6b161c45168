import { checksOf, type CheckDeps, type ClientRow } from '../../inventory/client-row.ts'
import { countChecks } from '../../inventory/compliance.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { ClientView } from './views.ts'

/** A machine as answers show it: without its password and its token. */
export function viewOf(row: ClientRow, deps: CheckDeps): ClientView {
  return {
    id: row.id,
    hostname: row.hostname,
    ip: row.ip,
    label: row.label,
    enabled: row.enabled,
    connection_type: row.connection_type,
    ssh_user: row.ssh_user,
    ssh_port: row.ssh_port,
    ssh_auth: row.ssh_password === null ? 'key' : 'password',
    pkg_type: row.pkg_type,
    distro_id: row.distro_id,
    distro_version: row.distro_version,
    distro_codename: row.distro_codename,
    distro_pretty: row.distro_pretty,
    grype_distro: row.grype_distro,
    distribution: row.distribution,
    kernel: row.kernel,
    arch: row.arch,
    booted_at: isoOrNull(row.booted_at),
    reboot: row.reboot,
    reboot_said: row.reboot_said,
    packages: row.packages,
    last_seen: isoOrNull(row.last_seen),
    last_scan: isoOrNull(row.last_scan),
    last_scan_status: row.last_scan_status,
    last_error: row.last_error,
    last_error_code: row.last_error_code,
    agent_version: row.agent_version,
    agent_last_seen: isoOrNull(row.agent_last_seen),
    behind: row.behind,
    findings: row.findings,
    coverage: row.coverage,
    coverage_said: row.coverage_said,
    judged_at: isoOrNull(row.judged_at),
    compliance: countChecks(checksOf(row, deps)),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}
