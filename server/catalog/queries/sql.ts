import type { Paging } from '../page.ts'
import type { SlaDays } from '../../core/review.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'

/** Adds a parameter and returns its place in the statement: `$3`. */
export type AddParam = (value: unknown) => string

/**
 * Collects parameters as they are used, so that a condition stands beside its value. `first` have their places already.
 */
export function params(...first: readonly unknown[]): { readonly values: unknown[]; readonly add: AddParam } {
  const values = [...first]
  return { values, add: value => `$${values.push(value)}` }
}

/** True for what the viewer may see. @param codename  the column that says where a row belongs: `p.codename` */
export function seenBy(viewer: Viewer, add: AddParam, codename: string): string {
  return seesAll(viewer) ? 'true' : `${codename} <> all(${add(viewer.hidden)}::text[])`
}

/**
 * The order in which packages `p` speak for their name: what is served, what is installed before its source, the newest
 * version.
 */
export const SERVED_FIRST = `(p.state = 'published') desc, (p.kind = 'source'), p.sort_key desc, p.codename, p.arch, p.id`

/** The column of the package `p` that speaks for its name. */
const spoken = (column: string): string => `(array_agg(p.${column} order by ${SERVED_FIRST}))[1]`
/** The column of the newest package `p` that is not served. */
const held = (column: string): string =>
  `(array_agg(p.${column} order by p.sort_key desc, p.codename, p.arch) filter (where p.state <> 'published'))[1]`

/** What names say of themselves by those of their packages `p` that fulfil `where`: a row for each format and name. */
export function describedBy(where: string): string {
  return `
    select format, name, summary, versions, latest, state, case when held_key > latest_key then held end as newer,
      case when held_key > latest_key then held_state end as newer_state, updated_at
    from (
      select p.format, p.name, ${spoken('summary')} as summary, count(distinct p.version)::int as versions, ${spoken('version')} as latest,
        ${spoken('state')} as state, ${spoken('sort_key')} as latest_key, ${held('version')} as held, ${held('state')} as held_state,
        ${held('sort_key')} as held_key, max(p.changed_at) as updated_at
      from package p where ${where} group by p.format, p.name) as summed`
}

/**
 * The names that the viewer may see with what a search looks at: without names whose packages are all hidden; of a name
 * with some hidden packages only the others count.
 */
export function artifactsSeenBy(viewer: Viewer, add: AddParam): string {
  if (seesAll(viewer)) return 'artifact'
  const hidden = `any(${add(viewer.hidden)}::text[])`
  return `(
    select whole.format, whole.name, whole.haystack from artifact whole
    where not exists (select 1 from package p where p.name = whole.name and p.format = whole.format and p.codename = ${hidden})
    union all
    select p.format, p.name,
      lower((p.name || ' ' || (array_agg(p.summary order by ${SERVED_FIRST}))[1]) collate "default") collate "C"
    from (select distinct h.format, h.name from package h where h.codename = ${hidden}) touched
    join package p on p.name = touched.name and p.format = touched.format and not p.codename = ${hidden}
    group by p.format, p.name)`
}

/** Conditions and their parameters, collected where each is known. */
export interface Conditions {
  readonly values: unknown[]
  readonly add: AddParam
  /** Leaves out what the viewer may not see. */
  seenBy(viewer: Viewer, codename: string): void
  /** Adds a condition when there is a value; `sql` gets its place. */
  when(value: unknown, sql: (place: string) => string): void
  /** `where …`, or nothing. */
  where(): string
}

/** Collects the conditions of a query. `fixed` always holds; the others when their value is given. */
export function conditions(...fixed: readonly string[]): Conditions {
  const { values, add } = params()
  const all = [...fixed]
  return {
    values,
    add,
    seenBy: (viewer, codename) => {
      if (!seesAll(viewer)) all.push(seenBy(viewer, add, codename))
    },
    when: (value, sql) => {
      if (value !== undefined) all.push(sql(add(value)))
    },
    where: () => (all.length === 0 ? '' : `where ${all.join(' and ')}`),
  }
}

export const pageClause = ({ page, perPage }: Paging, add: AddParam): string =>
  `limit ${add(perPage)} offset ${add((page - 1) * perPage)}`

/** The deadline of a waiting package `p`: null where the worst of its findings has none. */
export function dueSql(days: SlaDays, add: AddParam): string {
  const cases = Object.entries(days).map(([severity, n]) => `when '${severity}' then ${add(n)}::int`)
  return `(p.held_at + make_interval(days => case p.open_worst ${cases.join(' ')} end))`
}

/** A LIKE pattern that finds `text` literally. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The orders of a list: name → columns, in the most useful direction. */
export type Orders = Readonly<Record<string, readonly (readonly [column: string, way: 'asc' | 'desc'])[]>>

/** The order `name`, or reversed with `-name`. Rows without a value come last either way. */
export function orderOf(orders: Orders, sort: string): string {
  const isReversed = sort.startsWith('-')
  return (orders[sort.replace(/^-/, '')] ?? [])
    .map(([column, way]) => `${column} ${(way === 'asc') === isReversed ? 'desc' : 'asc'} nulls last`)
    .join(', ')
}

/** Every word that `orderOf` accepts. */
export const orderNames = (orders: Orders): readonly string[] => Object.keys(orders).flatMap(name => [name, `-${name}`])
