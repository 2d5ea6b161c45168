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
/** Keys of a JSON row of the statements below. */
const COLUMNS =
  'package text, version text, arch text, cve text, severity text, rank smallint, cvss real, fixed_in text, update_state text, kev boolean, epss real, epss_percentile real'

/** A row as it is to be, without its first sight. */
interface FindingRow {
  readonly package: string
  readonly version: string
  readonly arch: string
  readonly cve: string
  readonly severity: Severity
  readonly rank: number
  readonly cvss: number | null
  readonly fixed_in: string | null
  readonly update_state: string | null
  readonly kev: boolean
  readonly epss: number | null
  readonly epss_percentile: number | null
}

const rowOf = ({ installed, finding, updateState }: KeptFinding): FindingRow => ({
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
type Place = Pick<FindingRow, 'package' | 'version' | 'arch' | 'cve'>
const placeOf = ({ package: name, version, arch, cve }: Place): string => [name, version, arch, cve].join('\t')
/** What a row says beside its place. */
const saidBy = ({ severity, cvss, fixed_in, update_state, kev, epss, epss_percentile }: FindingRow): string =>
  JSON.stringify([severity, cvss, fixed_in, update_state, kev, epss, epss_percentile])

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

type Stored = FindingRow & { readonly first_seen: Date }

/** New rows get the first sight of their vulnerability in the package, where another version of it had it before. */
async function insertFindings(
  tx: Tx,
  clientId: number,
  { rows, before, now }: { rows: readonly FindingRow[]; before: readonly Stored[]; now: Date },
): Promise<void> {
  if (rows.length === 0) return
  const seen = new Map<string, Date>()
  for (const { package: name, cve, first_seen: at } of before) {
    const known = seen.get(`${name}\t${cve}`)
    if (known === undefined || at < known) seen.set(`${name}\t${cve}`, at)
  }
  await tx.query(
    `insert into inventory_finding (client_id, package, version, arch, cve, severity, rank, cvss, fixed_in, update_state, kev, epss, epss_percentile, first_seen)
    select $1, given.* from jsonb_to_recordset($2::jsonb) as given (${COLUMNS}, first_seen timestamptz)`,
    [
      clientId,
      JSON.stringify(rows.map(row => ({ ...row, first_seen: seen.get(`${row.package}\t${row.cve}`) ?? now }))),
    ],
  )
}

async function updateFindings(tx: Tx, clientId: number, rows: readonly FindingRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    `update inventory_finding f set severity = given.severity, rank = given.rank, cvss = given.cvss, fixed_in = given.fixed_in,
      update_state = given.update_state, kev = given.kev, epss = given.epss, epss_percentile = given.epss_percentile
    from jsonb_to_recordset($2::jsonb) as given (${COLUMNS})
    where f.client_id = $1 and f.package = given.package and f.version = given.version and f.arch = given.arch and f.cve = given.cve`,
    [clientId, JSON.stringify(rows)],
  )
}

async function deleteFindings(tx: Tx, clientId: number, rows: readonly Place[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    `delete from inventory_finding f
    using unnest($2::text[], $3::text[], $4::text[], $5::text[]) as gone (package, version, arch, cve)
    where f.client_id = $1 and f.package = gone.package and f.version = gone.version and f.arch = gone.arch and f.cve = gone.cve`,
    [
      clientId,
      rows.map(row => row.package),
      rows.map(({ version }) => version),
      rows.map(({ arch }) => arch),
      rows.map(({ cve }) => cve),
    ],
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
  const before = await tx.query<Stored>(
    `select package, version, arch, cve, severity, rank, cvss, fixed_in, update_state, kev, epss, epss_percentile, first_seen
    from inventory_finding where client_id = $1`,
    [clientId],
  )
  const had = new Map(before.map(row => [placeOf(row), row]))
  const wanted = new Map(kept.map(one => [placeOf(rowOf(one)), one]))
  const added = [...wanted].filter(([place]) => !had.has(place)).map(([, one]) => one)
  const changed = [...wanted].flatMap(([place, one]) => {
    const known = had.get(place)
    return known === undefined || saidBy(known) === saidBy(rowOf(one)) ? [] : [one]
  })
  if (added.length + changed.length > 0) await writeWords(tx, [...added, ...changed])
  await insertFindings(tx, clientId, { rows: added.map(rowOf), before, now })
  await updateFindings(tx, clientId, changed.map(rowOf))
  await deleteFindings(
    tx,
    clientId,
    before.filter(row => !wanted.has(placeOf(row))),
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
