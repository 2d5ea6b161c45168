import type { Paging } from '../search.ts'
import type { SlaDays } from '../../core/review.ts'

/** Conditions and their parameters, gathered where each is known. */
export interface Conditions {
  readonly values: unknown[]
  /** Gives a value its place: `$3`. */
  add(value: unknown): string
  /** Adds a condition where there is a value; `sql` is given its place. */
  when(value: unknown, sql: (place: string) => string): void
  /** `where …`, or nothing. */
  where(): string
}

/** Collects what a query asks for. `fixed` always holds; the rest where its value is given. */
export function conditions(...fixed: readonly string[]): Conditions {
  const values: unknown[] = []
  const all = [...fixed]
  const add = (value: unknown): string => `$${values.push(value)}`
  return {
    values,
    add,
    when: (value, sql) => {
      if (value !== undefined) all.push(sql(add(value)))
    },
    where: () => (all.length === 0 ? '' : `where ${all.join(' and ')}`),
  }
}

export const pageClause = ({ page, perPage }: Paging, add: Conditions['add']): string =>
  `limit ${add(perPage)} offset ${add((page - 1) * perPage)}`

/** When a waiting package `p` must be decided: null where the worst of its findings has no deadline. */
export function dueSql(days: SlaDays, add: Conditions['add']): string {
  const cases = Object.entries(days).map(([severity, n]) => `when '${severity}' then ${add(n)}::int`)
  return `(p.held_at + make_interval(days => case p.open_worst ${cases.join(' ')} end))`
}

/** A LIKE pattern that finds `text` as it is written. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** What a list can be sorted by: name → columns with the way that is most useful. */
export type Orders = Readonly<Record<string, readonly (readonly [column: string, way: 'asc' | 'desc'])[]>>

/** The order `name`, or with `-name` the other way round; what has no value comes last either way. */
export function orderOf(orders: Orders, sort: string): string {
  const isReversed = sort.startsWith('-')
  return (orders[sort.replace(/^-/, '')] ?? [])
    .map(([column, way]) => `${column} ${(way === 'asc') === isReversed ? 'desc' : 'asc'} nulls last`)
    .join(', ')
}

/** Every word that `orderOf` understands. */
export const orderNames = (orders: Orders): readonly string[] => Object.keys(orders).flatMap(name => [name, `-${name}`])
