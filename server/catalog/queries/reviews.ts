import type { State } from '../../core/manifest.ts'
import type { SlaDays } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Paging } from '../page.ts'
import type { IndexedManifest } from './search.ts'
import { conditions, containing, dueSql, orderNames, orderOf, pageClause, type Conditions, type Orders } from './sql.ts'

export interface ReviewFilter {
  readonly states: readonly State[]
  readonly distribution?: string | undefined
  readonly format?: string | undefined
  readonly arch?: string | undefined
  /** Packages with a finding of this severity. */
  readonly severity?: string | undefined
  readonly kev?: boolean | undefined
  readonly fixable?: boolean | undefined
  readonly overdue?: boolean | undefined
  /** A user name, or `none`. */
  readonly assignedTo?: string | undefined
  readonly q?: string | undefined
  /** Leaves out packages without any finding. */
  readonly withFindings?: boolean
}

const ORDERS = {
  sla: [
    ['due_at', 'asc'],
    ['p.open_rank', 'desc'],
    ['p.held_at', 'asc'],
  ],
  severity: [
    ['p.open_rank', 'desc'],
    ['p.open_epss', 'desc'],
    ['due_at', 'asc'],
  ],
  kev: [
    ['p.open_kev', 'desc'],
    ['p.open_epss', 'desc'],
    ['p.open_rank', 'desc'],
  ],
  epss: [
    ['p.open_epss', 'desc'],
    ['p.open_rank', 'desc'],
  ],
  age: [['coalesce(p.held_at, p.created_at)', 'asc']],
  name: [
    ['p.name', 'asc'],
    ['p.sort_key', 'desc'],
  ],
} satisfies Orders
export const REVIEW_ORDERS = orderNames(ORDERS)

/** The page, order and deadlines of a list of reviews. */
export interface ReviewAsk {
  readonly paging: Paging
  readonly sort: string
  /** The deadlines of the current settings: changing them moves every deadline. */
  readonly days: SlaDays
  readonly now: Date
}

/** A package in a review list; the deadline is null where it has none. */
export interface ReviewRow {
  readonly manifest: IndexedManifest
  readonly due_at: Date | null
}

/** What narrows a list of reviews, and the deadline of its packages `p` in SQL. */
export function reviewConditions(
  viewer: Viewer,
  filter: ReviewFilter,
  { days, now }: Pick<ReviewAsk, 'days' | 'now'>,
): { readonly is: Conditions; readonly due: string } {
  const is = conditions()
  is.seenBy(viewer, 'p.codename')
  is.when(filter.states, place => `p.state = any(${place}::text[])`)
  is.when(filter.distribution, place => `p.codename = ${place}`)
  is.when(filter.format, place => `p.format = ${place}`)
  is.when(filter.arch, place => `p.arch = ${place}`)
  is.when(
    filter.severity,
    place => `exists (select 1 from finding f where f.package_id = p.id and f.severity = ${place})`,
  )
  is.when(filter.kev, place => `p.open_kev = ${place}`)
  is.when(
    filter.fixable,
    place =>
      `exists (select 1 from finding f where f.package_id = p.id and not f.accepted and f.fixed_in is not null) = ${place}`,
  )
  is.when(filter.assignedTo, place => `coalesce(p.assignee, 'none') = ${place}`)
  is.when(
    filter.q === undefined || filter.q.trim() === '' ? undefined : containing(filter.q.trim().toLowerCase()),
    place =>
      `(lower(p.name) like ${place} or exists (select 1 from finding f where f.package_id = p.id and lower(f.cve) like ${place}))`,
  )
  is.when(filter.withFindings === true ? 0 : undefined, place => `p.findings > ${place}`)
  const due = dueSql(days, is.add)
  is.when(
    filter.overdue === undefined ? undefined : now,
    place => `(coalesce(${due} <= ${place}, false)) = ${String(filter.overdue)}`,
  )
  return { is, due }
}

/** A page of packages for reviewers; the database sorts and cuts it. */
export async function listReviewed(
  db: Queryable,
  viewer: Viewer,
  { filter, paging, sort, days, now }: ReviewAsk & { readonly filter: ReviewFilter },
): Promise<{ readonly rows: readonly ReviewRow[]; readonly total: number }> {
  const { is, due } = reviewConditions(viewer, filter, { days, now })
  const from = `from package p ${is.where()}`
  // the count needs all but the last two parameters of the page query: the deadline is named so that none is unused
  const counted = db.first<{ total: number }>(`select count(*) as total, count(${due}) as with_deadline ${from}`, [
    ...is.values,
  ])
  const asked = db.query<ReviewRow>(
    `
    select p.manifest, page.due_at from (
      select id, due_at, row_number() over () as n from (
        select p.id, ${due} as due_at ${from} order by ${orderOf(ORDERS, sort)}, p.id ${pageClause(paging, is.add)}
      ) as found
    ) as page join package p using (id) order by page.n`,
    is.values,
  )
  const [total, rows] = await Promise.all([counted, asked])
  return { rows, total: total?.total ?? 0 }
}
