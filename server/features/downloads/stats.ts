import { params, seenBy, type AddParam } from '../../catalog/queries/sql.ts'
import { listUnfetched } from '../../catalog/queries/file-paths.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { CLIENTS, KINDS, type ClientType, type RequestKind } from './access-log.ts'
import { FORMATS } from '../../formats/index.ts'
import { networkOf } from './store.ts'
import type { DownloadStats, RecentDownload } from './contract.ts'

const MOST = 50
const FORMAT_IDS = FORMATS.map(({ id }) => id)
const OF_TREES = FORMATS.filter(({ site }) => site !== undefined).map(({ id }) => id)

interface Scope {
  readonly viewer: Viewer
  /** The first day that counts, in UTC. */
  readonly since: string
  /** How many rows a list has at most. */
  readonly most?: number | undefined
}

/** Downloads that the viewer may know of; those of no distribution alone may be of a hidden one. */
const seen = ({ viewer, since }: Scope, add: AddParam): string =>
  `c.day >= ${add(since)}::date and ${seesAll(viewer) ? 'true' : `f.codename is not null and ${seenBy(viewer, add, 'f.codename')}`}`
const FROM = 'from download_count c join download_file f on f.id = c.file_id'
const SUMS = 'sum(c.downloads)::bigint as downloads, sum(c.bytes)::bigint as bytes'

interface Sums {
  readonly downloads: number
  readonly bytes: number
}

/** Sums of one column's values, the most downloads first. */
function by<Row extends object>(
  db: Queryable,
  scope: Scope,
  {
    columns,
    group,
    more = '',
    order = 'downloads desc, 1',
    most = scope.most ?? MOST,
  }: {
    readonly columns: string
    readonly group: string
    readonly more?: string
    readonly order?: string
    readonly most?: number
  },
): Promise<(Row & Sums)[]> {
  const { values, add } = params()
  return db.query<Row & Sums>(
    `select ${columns}, ${SUMS}${more} ${FROM} where ${seen(scope, add)} group by ${group} order by ${order} limit ${add(most)}`,
    values,
  )
}

async function readTotals(db: Queryable, scope: Scope): Promise<Sums & { packages: number; clients: number }> {
  const { values, add } = params()
  const row = await db.first<Sums & { packages: number; clients: number }>(
    `select coalesce(sum(c.downloads), 0)::bigint as downloads, coalesce(sum(c.bytes), 0)::bigint as bytes,
      count(distinct (f.format, f.name))::int as packages, count(distinct c.address)::int as clients
    ${FROM} where ${seen(scope, add)}`,
    values,
  )
  return row ?? { downloads: 0, bytes: 0, packages: 0, clients: 0 }
}

async function readRequests(db: Queryable, { viewer, since }: Scope): Promise<Record<RequestKind, number>> {
  const { values, add } = params(since)
  const rows = await db.query<{ kind: RequestKind; n: number }>(
    `select kind, sum(requests)::bigint as n from download_other o
    where day >= $1::date and ${seesAll(viewer) ? 'true' : `(o.codename <> '' and ${seenBy(viewer, add, 'o.codename')})`} group by kind`,
    values,
  )
  const counts = Object.fromEntries(KINDS.map(kind => [kind, 0])) as Record<RequestKind, number>
  for (const { kind, n } of rows) counts[kind] = n
  return counts
}

interface RecentRow {
  readonly at: Date
  readonly path: string
  readonly codename: string | null
  readonly format: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly address: string
  readonly client: ClientType
  readonly bytes: number
  readonly status: number
  readonly user_agent: string
}

/** @param isWhole  whether whole addresses are shown; otherwise networks */
async function readRecent(db: Queryable, scope: Scope, isWhole: boolean): Promise<readonly RecentDownload[]> {
  const { values, add } = params(scope.since)
  const rows = await db.query<RecentRow>(
    `select r.at, f.path, f.codename, f.format, f.name, f.version, f.arch,
      ${isWhole ? 'abbrev(r.address)' : `abbrev(${networkOf('r.address')})`} as address,
      r.client, r.bytes, r.status, r.user_agent
    from download_recent r join download_file f on f.id = r.file_id
    where r.at >= $1::date and ${seesAll(scope.viewer) ? 'true' : `f.codename is not null and ${seenBy(scope.viewer, add, 'f.codename')}`}
    order by r.at desc, r.id desc limit ${add(MOST)}`,
    values,
  )
  return rows.map(({ at, path, codename, format, address, client, ...row }) => ({
    ...row,
    ip: address,
    date: at.toISOString().slice(0, 10),
    hour: at.getUTCHours(),
    at: at.toISOString(),
    filename: path.split('/').at(-1) ?? '',
    distribution: codename,
    pkg_format: format,
    client_type: client,
    path,
  }))
}

/** The first day of which any request was counted; null before it. */
async function readFirstDay(db: Queryable): Promise<string | null> {
  const row = await db.first<{ day: string | null }>(
    `select to_char(least((select min(day) from download_count),
      (select min(day) from download_other)), 'YYYY-MM-DD') as day`,
  )
  return row?.day ?? null
}

const countsOf = <Key extends string>(
  keys: readonly Key[],
  rows: readonly { readonly key: string; readonly downloads: number }[],
): Record<Key, number> =>
  Object.fromEntries(keys.map(key => [key, rows.find(row => row.key === key)?.downloads ?? 0])) as Record<Key, number>

const DAY = `to_char(c.day, 'YYYY-MM-DD')`

/** The statistics of what a viewer may see. */
export async function readStats(
  db: Queryable,
  scope: Scope,
  { isWhole, isAvailable }: { readonly isWhole: boolean; readonly isAvailable: boolean },
): Promise<DownloadStats> {
  const [
    totals,
    perDay,
    perPackage,
    formats,
    clients,
    distributions,
    versions,
    networks,
    requests,
    recent,
    never,
    first,
  ] = await Promise.all([
    readTotals(db, scope),
    by<{ date: string }>(db, scope, { columns: `${DAY} as date`, group: 'c.day', order: 'date', most: 400 }),
    by<{ name: string; versions: string[]; clients: number; formats: string[] }>(db, scope, {
      columns: 'f.name',
      group: 'f.name',
      more: ', array_agg(distinct f.version) as versions, count(distinct c.address)::int as clients, array_agg(distinct f.format) as formats',
    }),
    by<{ key: string }>(db, scope, { columns: 'f.format as key', group: 'f.format' }),
    by<{ key: string }>(db, scope, { columns: 'c.client as key', group: 'c.client' }),
    by<{ codename: string | null; format: string }>(db, scope, {
      columns: 'f.codename, min(f.format) as format',
      group: 'f.codename',
      most: 1_000,
    }),
    by<{ name: string; version: string; codename: string | null; format: string; clients: number }>(db, scope, {
      columns: 'f.name, f.version, f.codename, f.format',
      group: 'f.name, f.version, f.codename, f.format',
      more: ', count(distinct c.address)::int as clients',
    }),
    by<{ network: string }>(db, scope, { columns: `abbrev(${networkOf('c.address')}) as network`, group: '1' }),
    readRequests(db, scope),
    readRecent(db, scope, isWhole),
    listUnfetched(db, scope.viewer, { since: scope.since, most: scope.most ?? MOST, trees: OF_TREES }),
    readFirstDay(db),
  ])
  const peak = perDay.reduce<(typeof perDay)[number] | undefined>(
    (most, day) => (most === undefined || day.downloads > most.downloads ? day : most),
    undefined,
  )
  return {
    summary: {
      total_downloads: totals.downloads,
      unique_packages: totals.packages,
      unique_clients: totals.clients,
      total_bytes: totals.bytes,
      per_format: countsOf(FORMAT_IDS, formats),
      per_client_type: countsOf(CLIENTS, clients),
      avg_per_day: perDay.length === 0 ? 0 : Math.round(totals.downloads / perDay.length),
      peak_day: peak ?? null,
      log_available: isAvailable,
    },
    per_package: perPackage.map(({ formats: all, ...row }) => ({
      ...row,
      format: all.length === 1 ? (all[0] ?? 'mixed') : 'mixed',
    })),
    per_day: perDay,
    counted_since: first,
    recent,
    per_distribution: distributions.map(({ codename, ...row }) => ({ distribution: codename, ...row })),
    per_version: versions.map(({ codename, ...row }) => ({ distribution: codename, ...row })),
    per_network: networks,
    requests: { ...requests, download: totals.downloads },
    never_fetched: {
      total: never.total,
      bytes: never.bytes,
      items: never.items.map(({ codename, served_since, ...item }) => ({
        ...item,
        distribution: codename,
        served_since: served_since.toISOString(),
      })),
    },
    since: scope.since,
  }
}
