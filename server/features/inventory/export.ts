import { Readable } from 'node:stream'
import { SEVERITIES } from '../../core/findings.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { checksOf, type CheckDeps, type ClientRow } from '../../inventory/client-row.ts'
import { countChecks } from '../../inventory/compliance.ts'
import { isoOrNull } from '../../lib/clock.ts'
import { listClients } from './clients.ts'
import { printRow, type Cell } from '../../lib/csv.ts'
import { listCves, listPackages } from './lists.ts'
import type { ExportKind } from './row-parts.ts'

type ExportRow = Readonly<Record<string, Cell>>

const PER_PAGE = 1_000

function clientRow(row: ClientRow, checks: CheckDeps): ExportRow {
  const { pass, fail, unknown } = countChecks(checksOf(row, checks))
  const counts = SEVERITIES.map(severity => [`findings_${severity}`, row.findings?.[severity] ?? null] as const)
  return {
    id: row.id,
    hostname: row.hostname,
    ip: row.ip,
    label: row.label,
    enabled: row.enabled,
    connection_type: row.connection_type,
    distro_pretty: row.distro_pretty,
    distribution: row.distribution,
    kernel: row.kernel,
    arch: row.arch,
    reboot: row.reboot,
    packages: row.packages,
    last_seen: isoOrNull(row.last_seen),
    last_scan_status: row.last_scan_status,
    last_error: row.last_error,
    behind: row.behind,
    coverage: row.coverage,
    ...Object.fromEntries(counts),
    compliance_pass: pass,
    compliance_fail: fail,
    compliance_unknown: unknown,
  }
}

/** The rows of an export, a page at a time. */
async function* rowsOf(
  db: Queryable,
  viewer: Viewer,
  {
    what,
    clientId,
    checks,
  }: { readonly what: ExportKind; readonly clientId: number | undefined; readonly checks: CheckDeps },
): AsyncGenerator<ExportRow> {
  const { rows: machines } = await listClients(db, viewer, {
    filter: clientId === undefined ? {} : { client_id: clientId },
  })
  for (const machine of machines) {
    const { id: client_id, hostname } = machine
    if (what === 'clients') yield clientRow(machine, checks)
    if (what === 'compliance') for (const one of checksOf(machine, checks)) yield { client_id, hostname, ...one }
    if (what === 'packages')
      for (let page = 1, pages = 1; page <= pages; page++) {
        const found = await listPackages(db, { clientId: client_id, q: undefined, paging: { page, perPage: PER_PAGE } })
        pages = found.pages
        for (const one of found.items) yield { client_id, hostname, ...one }
      }
    if (what === 'findings')
      for (let page = 1, pages = 1; page <= pages; page++) {
        const found = await listCves(db, viewer, { client_id }, { page, perPage: PER_PAGE })
        pages = found.pages
        for (const { urls, ...one } of found.items) yield { ...one, urls: urls.join(' ') }
      }
  }
}

/** The titles of each table, also of an empty one. */
const TITLES: Readonly<Record<ExportKind, readonly string[]>> = {
  clients: [
    ...[
      'id',
      'hostname',
      'ip',
      'label',
      'enabled',
      'connection_type',
      'distro_pretty',
      'distribution',
      'kernel',
      'arch',
    ],
    ...['reboot', 'packages', 'last_seen', 'last_scan_status', 'last_error', 'behind', 'coverage'],
    ...SEVERITIES.map(severity => `findings_${severity}`),
    ...['compliance_pass', 'compliance_fail', 'compliance_unknown'],
  ],
  packages: ['client_id', 'hostname', 'name', 'version', 'arch', 'source', 'source_version', 'since', 'scanned_at'],
  findings: [
    ...[
      'client_id',
      'hostname',
      'pkg_name',
      'pkg_version',
      'arch',
      'cve_id',
      'severity',
      'cvss',
      'description',
      'fix_state',
    ],
    ...['fix_version', 'update_state', 'in_kev', 'epss', 'epss_percentile', 'first_seen', 'scanned_at', 'urls'],
  ],
  compliance: ['client_id', 'hostname', 'check_id', 'category', 'level', 'title', 'status', 'detail', 'remediation'],
}

async function* csvOf(rows: AsyncIterable<ExportRow>, titles: readonly string[]): AsyncGenerator<string> {
  yield printRow(titles)
  for await (const row of rows) yield printRow(titles.map(title => row[title] ?? null))
}

async function* jsonOf(rows: AsyncIterable<ExportRow>, titles: readonly string[]): AsyncGenerator<string> {
  yield '['
  let before = '\n'
  for await (const row of rows) {
    yield `${before}${JSON.stringify(Object.fromEntries(titles.map(title => [title, row[title] ?? null])))}`
    before = ',\n'
  }
  yield '\n]\n'
}

/** A table as a stream; never more of it in memory than a page. */
export function exportTable(
  db: Queryable,
  viewer: Viewer,
  asked: {
    readonly what: ExportKind
    readonly clientId: number | undefined
    readonly checks: CheckDeps
    readonly format: 'csv' | 'json'
  },
): Readable {
  const rows = rowsOf(db, viewer, asked)
  const titles = TITLES[asked.what]
  return Readable.from(asked.format === 'csv' ? csvOf(rows, titles) : jsonOf(rows, titles))
}
