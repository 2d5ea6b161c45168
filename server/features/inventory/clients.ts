import { conditions, containing, orderOf, pageClause, params, type Orders } from '../../catalog/queries/sql.ts'
import type { Paging } from '../../catalog/page.ts'
import { fail } from '../../core/errors.ts'
import type { Severity } from '../../core/findings.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { ClientRow } from '../../inventory/client-row.ts'

/** What lists of machines can be narrowed to. */
export interface ClientFilter {
  readonly q?: string
  readonly system?: string
  readonly distribution?: string
  readonly label?: string
  readonly connection_type?: string
  readonly status?: string
  readonly reboot?: string
  readonly severity?: Severity
  readonly behind?: boolean
  readonly not_seen_days?: number
  readonly client_id?: number
}

const ORDERS: Orders = {
  hostname: [['lower(c.hostname)', 'asc']],
  last_seen: [['c.last_seen', 'asc']],
  behind: [['c.behind', 'asc']],
  findings: [
    ['c.worst', 'asc'],
    ["(c.findings->>'critical')::int", 'asc'],
    ["(c.findings->>'high')::int", 'asc'],
    ["(c.findings->>'medium')::int", 'asc'],
  ],
}

/** Leaves out machines of distributions that the viewer may not see. @param codename  the column that names it */
export function hideFrom(viewer: Viewer, { when }: ReturnType<typeof conditions>, codename = 'c.distribution'): void {
  when(
    viewer.hidden.length === 0 ? undefined : viewer.hidden,
    place => `(${codename} is null or ${codename} <> all(${place}::text[]))`,
  )
}

function where(viewer: Viewer, filter: ClientFilter): ReturnType<typeof conditions> {
  const found = conditions()
  hideFrom(viewer, found)
  found.when(filter.client_id, place => `c.id = ${place}`)
  found.when(filter.system, place => `c.distro_pretty = ${place}`)
  found.when(filter.distribution, place => `c.distribution = ${place}`)
  found.when(filter.label, place => `c.label = ${place}`)
  found.when(filter.connection_type, place => `c.connection_type = ${place}`)
  found.when(filter.reboot, place => `c.reboot = ${place}`)
  found.when(filter.behind, place => `(coalesce(c.behind, 0) > 0) = ${place}::boolean`)
  found.when(
    filter.not_seen_days,
    place => `coalesce(c.last_seen < now() - make_interval(days => ${place}::int), true)`,
  )
  found.when(filter.severity, place => `(c.findings->>${place}::text)::int > 0`)
  found.when(
    filter.status === 'key_changed' ? true : undefined,
    place => `(k.offered_at is not null) = ${place}::boolean`,
  )
  found.when(filter.status === 'key_changed' ? undefined : filter.status, place => `c.last_scan_status = ${place}`)
  const q = filter.q?.trim().toLowerCase()
  found.when(q === undefined || q === '' ? undefined : q, place => {
    const like = found.add(containing(q ?? ''))
    const told = `lower(c.hostname || ' ' || c.ip || ' ' || c.label || ' ' || coalesce(c.distro_pretty, ''))`
    return `(${told} like ${like} or c.id in (select client_id from inventory_package where name = ${place}))`
  })
  return found
}

const FROM = 'from inventory_client c left join inventory_known_host k on k.client_id = c.id'

/** Machines that the viewer may see. Without a page, all of them. */
export async function listClients(
  db: Queryable,
  viewer: Viewer,
  {
    filter,
    sort = 'hostname',
    paging,
  }: { readonly filter: ClientFilter; readonly sort?: string; readonly paging?: Paging },
): Promise<{ readonly rows: readonly ClientRow[]; readonly total: number }> {
  const found = where(viewer, filter)
  const total = await db.first<{ n: number }>(`select count(*) as n ${FROM} ${found.where()}`, found.values)
  const page = paging === undefined ? '' : pageClause(paging, found.add)
  const rows = await db.query<ClientRow>(
    `select c.* ${FROM} ${found.where()} order by ${orderOf(ORDERS, sort)}, c.id ${page}`,
    found.values,
  )
  return { rows, total: total?.n ?? 0 }
}

/** One machine. @throws inventory_client_not_found, also for one that the viewer may not see */
export async function getClient(db: Queryable, viewer: Viewer, id: number): Promise<ClientRow> {
  const { rows } = await listClients(db, viewer, { filter: { client_id: id } })
  return rows[0] ?? fail('inventory_client_not_found', { id })
}

/** What an admin says of a machine; what is absent stays. */
export interface ClientChange {
  readonly hostname?: string
  readonly ip?: string
  readonly ssh_user?: string
  readonly ssh_port?: number
  /** Sealed; null: none. */
  readonly ssh_password?: string | null
  readonly pkg_type?: string
  readonly label?: string
  readonly enabled?: boolean
  readonly wanted_distribution?: string | null
  readonly distribution?: string | null
  readonly agent_token_hash?: string
}

const exists = (error: unknown): boolean => (error as { readonly code?: string }).code === '23505'

/** @throws inventory_client_exists */
export async function insertClient(
  db: Queryable,
  connection: 'ssh' | 'agent',
  { hostname, ...change }: ClientChange & { readonly hostname: string },
): Promise<ClientRow> {
  const given = Object.entries({ hostname, connection_type: connection, ...change }).filter(
    ([, one]) => one !== undefined,
  )
  const { values, add } = params()
  const places = given.map(([, value]) => add(value))
  const row = await db
    .first<ClientRow>(
      `insert into inventory_client (${given.map(([name]) => name).join(', ')}) values (${places.join(', ')}) returning *`,
      values,
    )
    .catch((error: unknown) =>
      exists(error)
        ? fail('inventory_client_exists', { hostname, port: change.ssh_port ?? 22 }, error)
        : Promise.reject(error as Error),
    )
  return row ?? fail('inventory_client_not_found', { id: 0 })
}

/** @throws inventory_client_exists, inventory_client_not_found */
export async function updateClient(db: Queryable, id: number, change: ClientChange): Promise<ClientRow> {
  const given = Object.entries(change).filter(([, one]) => one !== undefined)
  const { values, add } = params(id)
  const sets = [...given.map(([name, value]) => `${name} = ${add(value)}`), 'updated_at = clock_timestamp()']
  const row = await db
    .first<ClientRow>(`update inventory_client set ${sets.join(', ')} where id = $1 returning *`, values)
    .catch((error: unknown) =>
      exists(error)
        ? fail(
            'inventory_client_exists',
            { hostname: change.hostname ?? 'of this name', port: change.ssh_port ?? 22 },
            error,
          )
        : Promise.reject(error as Error),
    )
  return row ?? fail('inventory_client_not_found', { id })
}

export async function deleteClient(db: Queryable, id: number): Promise<void> {
  await db.query('delete from inventory_client where id = $1', [id])
}
