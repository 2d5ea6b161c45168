import { rankOf, type Finding, type Severity } from '../core/findings.ts'
import type { Tx } from '../db/db.ts'
import type { Installed } from './package-lists.ts'
import type { Update, UpdateState } from './updates.ts'

/** A finding of one installed package, as it is kept. */
export interface KeptFinding {
  readonly installed: Installed
  readonly finding: Finding
  readonly updateState: UpdateState | undefined
}

const MOST_URLS = 5
const MOST_LETTERS = 1_000
/** Keys of a JSON row of the statement below. */
const COLUMNS =
  'package text, version text, arch text, cve text, severity text, rank smallint, cvss real, fixed_in text, update_state text, kev boolean, epss real, epss_percentile real'

const rowOf = ({ installed, finding, updateState }: KeptFinding) => ({
  package: installed.name,
  version: installed.version,
  arch: installed.arch,
  cve: finding.id,
  severity: finding.severity,
  rank: rankOf(finding.severity),
  cvss: finding.cvss?.score ?? null,
  fixed_in: finding.fixed_in ?? null,
  update_state: updateState ?? null,
  kev: finding.kev === true,
  epss: finding.epss ?? null,
  epss_percentile: finding.epss_percentile ?? null,
})

/** The words about vulnerabilities, once for all machines. In one order: two machines never wait for each other. */
async function writeWords(tx: Tx, kept: readonly KeptFinding[]): Promise<void> {
  const words = new Map(kept.map(({ finding }) => [finding.id, finding]))
  const rows = [...words.values()]
    .map(({ id, summary = '', references = [] }) => ({
      cve: id,
      summary: summary.slice(0, MOST_LETTERS),
      urls: references.slice(0, MOST_URLS),
    }))
    .sort((a, b) => (a.cve < b.cve ? -1 : 1))
  await tx.query(
    `insert into inventory_cve (cve, summary, urls)
    select cve, summary, array(select jsonb_array_elements_text(urls)) from jsonb_to_recordset($1::jsonb) as given (cve text, summary text, urls jsonb)
    on conflict (cve) do update set summary = excluded.summary, urls = excluded.urls
    where (inventory_cve.summary, inventory_cve.urls) is distinct from (excluded.summary, excluded.urls)`,
    [JSON.stringify(rows)],
  )
}

/**
 * Replaces the findings of a machine; rows that stay as they were are not written. A vulnerability of a package keeps
 * its first sight, also across versions of the package.
 * @returns the first sight of the oldest one of each severity
 */
export async function replaceFindings(
  tx: Tx,
  clientId: number,
  kept: readonly KeptFinding[],
  now: Date,
): Promise<Readonly<Partial<Record<Severity, string>>>> {
  await writeWords(tx, kept)
  const rows = JSON.stringify(kept.map(rowOf))
  await tx.query(
    `insert into inventory_finding (client_id, package, version, arch, cve, severity, rank, cvss, fixed_in, update_state, kev, epss, epss_percentile, first_seen)
    select $1, given.*, coalesce((select min(first_seen) from inventory_finding f where f.client_id = $1 and f.package = given.package and f.cve = given.cve), $3)
    from jsonb_to_recordset($2::jsonb) as given (${COLUMNS})
    on conflict (client_id, package, version, arch, cve) do update set severity = excluded.severity, rank = excluded.rank,
      cvss = excluded.cvss, fixed_in = excluded.fixed_in, update_state = excluded.update_state, kev = excluded.kev,
      epss = excluded.epss, epss_percentile = excluded.epss_percentile
    where (inventory_finding.severity, inventory_finding.cvss, inventory_finding.fixed_in, inventory_finding.update_state,
      inventory_finding.kev, inventory_finding.epss, inventory_finding.epss_percentile)
      is distinct from (excluded.severity, excluded.cvss, excluded.fixed_in, excluded.update_state, excluded.kev, excluded.epss, excluded.epss_percentile)`,
    [clientId, rows, now],
  )
  await tx.query(
    `delete from inventory_finding f where f.client_id = $1 and not exists (
      select 1 from jsonb_to_recordset($2::jsonb) as given (package text, version text, arch text, cve text)
      where given.package = f.package and given.version = f.version and given.arch = f.arch and given.cve = f.cve)`,
    [clientId, rows],
  )
  const oldest = await tx.query<{ severity: Severity; at: Date }>(
    'select severity, min(first_seen) as at from inventory_finding where client_id = $1 group by severity',
    [clientId],
  )
  return Object.fromEntries(oldest.map(({ severity, at }) => [severity, at.toISOString()]))
}

/** Replaces the updates of a machine. One that waits keeps its first sight, also when the version moves on. */
export async function replaceUpdates(tx: Tx, clientId: number, updates: readonly Update[], now: Date): Promise<void> {
  const rows = JSON.stringify(updates)
  await tx.query(
    `delete from inventory_update u where u.client_id = $1 and not exists (
      select 1 from jsonb_to_recordset($2::jsonb) as given (name text, arch text) where given.name = u.name and given.arch = u.arch)`,
    [clientId, rows],
  )
  await tx.query(
    `insert into inventory_update (client_id, name, arch, installed, available, state, closes, since)
    select $1, given.*, $3 from jsonb_to_recordset($2::jsonb) as given (name text, arch text, installed text, available text, state text, closes jsonb)
    on conflict (client_id, name, arch) do update set installed = excluded.installed, available = excluded.available,
      state = excluded.state, closes = excluded.closes,
      since = case when inventory_update.state = excluded.state then inventory_update.since else excluded.since end
    where (inventory_update.installed, inventory_update.available, inventory_update.state, inventory_update.closes)
      is distinct from (excluded.installed, excluded.available, excluded.state, excluded.closes)`,
    [clientId, rows, now],
  )
}
