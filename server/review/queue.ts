import type { IndexedManifest } from '../catalog/search.ts'
import { pageOf, type Paging } from '../catalog/page.ts'
import { cveStatus, findingView } from '../catalog/view.ts'
import { SEVERITIES, type Severity } from '../core/findings.ts'
import type { State } from '../core/manifest.ts'
import { acceptanceOf, heldSince, type SlaDays } from '../core/review.ts'
import type { Queryable } from '../db/db.ts'
import { conditions, containing, dueSql, orderNames, orderOf, pageClause, type Orders } from '../catalog/queries/sql.ts'

/** Where a waiting package stands against its deadline. */
export interface Sla {
  readonly due_at: string | null
  /** Whole days that are left; negative once it is missed, null without a deadline. */
  readonly days_remaining: number | null
  readonly breached: boolean
}

export function slaView(dueAt: Date | string | null | undefined, now: Date): Sla {
  if (dueAt === null || dueAt === undefined) return { due_at: null, days_remaining: null, breached: false }
  const due = new Date(dueAt)
  const left = due.getTime() - now.getTime()
  return {
    due_at: due.toISOString(),
    days_remaining: left >= 0 ? Math.floor(left / 86_400_000) : Math.ceil(left / 86_400_000),
    breached: left <= 0,
  }
}

/** One package as the review lists show it. */
export interface ReviewItem {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
  readonly status: State
  readonly cve_status: string
  /** The worst of what counts: what was accepted does not. */
  readonly severity: Severity | null
  readonly findings: number
  readonly open_findings: number
  readonly counts: Readonly<Record<Severity, number>>
  readonly epss: number | null
  readonly kev: boolean
  readonly fixable: number
  /** The worst ten, accepted ones last. */
  readonly cves: readonly (ReturnType<typeof findingView> & { readonly accepted: boolean })[]
  /** Why it is held: what the steps of the gate said, and what was said since. */
  readonly reasons: readonly string[]
  readonly held_at: string | null
  readonly sla: Sla
  readonly assigned_to: string | null
  readonly uploaded_by: string
  readonly source: string
  readonly summary: string
  readonly sha256: string
  readonly size: number
  readonly created_at: string
  /** Sent back as `seen_at` with a decision, it makes sure that nothing has changed since. */
  readonly updated_at: string
}

const TOP = 10

interface Row {
  readonly manifest: IndexedManifest
  readonly due_at: Date | null
  readonly size: number
}

function reviewItem({ manifest, due_at }: Pick<Row, 'manifest' | 'due_at'>, now: Date): ReviewItem {
  const { ref, findings, reports, review } = manifest
  const at = now.toISOString()
  const marked = findings.map(finding => ({
    ...findingView(finding),
    accepted: acceptanceOf(manifest, finding, at) !== undefined,
  }))
  const open = marked.filter(({ accepted }) => !accepted)
  const scores = open.flatMap(({ epss }) => epss ?? [])
  const said = reports.filter(
    ({ outcome, step, findings: found }) =>
      outcome === 'failed' || outcome === 'unavailable' || (step === 'vulnerabilities' && (found ?? []).length > 0),
  )
  return {
    name: ref.name,
    package: ref.name,
    version: ref.version,
    arch: ref.arch,
    distribution: ref.codename,
    format: ref.format,
    status: manifest.state,
    cve_status: cveStatus(manifest.state),
    severity: SEVERITIES_BY_RANK.find(severity => open.some(one => one.severity === severity)) ?? null,
    findings: findings.length,
    open_findings: open.length,
    counts: Object.fromEntries(
      SEVERITIES.map(severity => [severity, open.filter(one => one.severity === severity).length]),
    ) as Record<Severity, number>,
    epss: scores.length === 0 ? null : Math.max(...scores),
    kev: open.some(({ kev }) => kev === true),
    fixable: open.filter(({ fixed_version }) => fixed_version !== null).length,
    cves: [...open, ...marked.filter(({ accepted }) => accepted)].slice(0, TOP),
    reasons: [...(review?.held_for === undefined ? [] : [review.held_for]), ...said.map(report => report.said)],
    held_at: heldSince(manifest) ?? null,
    sla: slaView(due_at, now),
    assigned_to: review?.assigned_to ?? null,
    uploaded_by: manifest.by,
    source: manifest.from,
    summary: manifest.about.summary,
    sha256: manifest.files[0].blob.sha256,
    size: manifest.files[0].blob.size,
    created_at: manifest.at,
    updated_at: manifest.changed_at,
  }
}

// `unknown` ranks between medium and low, see core/findings.ts
const SEVERITIES_BY_RANK: readonly Severity[] = ['critical', 'high', 'medium', 'unknown', 'low', 'negligible']

export interface ReviewFilter {
  readonly states: readonly State[]
  readonly distribution?: string | undefined
  readonly format?: string | undefined
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

export interface ReviewPage {
  readonly packages: readonly ReviewItem[]
  readonly total: number
  readonly page: number
  readonly per_page: number
  readonly pages: number
}

/**
 * A page of packages as a reviewer looks at them, cut and sorted by the database.
 * @param days  the deadlines of the settings as they are now: a change of them moves every deadline
 */
export async function listReviews(
  db: Queryable,
  filter: ReviewFilter,
  {
    paging,
    sort,
    days,
    now,
  }: { readonly paging: Paging; readonly sort: string; readonly days: SlaDays; readonly now: Date },
): Promise<ReviewPage> {
  const is = conditions()
  is.when(filter.states, place => `p.state = any(${place}::text[])`)
  is.when(filter.distribution, place => `p.codename = ${place}`)
  is.when(filter.format, place => `p.format = ${place}`)
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
  const from = `from package p ${is.where()}`
  // every place of the page query but the last two is also one of the count: the deadline is named so that none is left
  // over
  const counted = db.first<{ total: number }>(`select count(*) as total, count(${due}) as with_deadline ${from}`, [
    ...is.values,
  ])
  const rows = db.query<Row>(
    `
    select p.manifest, page.due_at from (
      select id, due_at, row_number() over () as n from (
        select p.id, ${due} as due_at ${from} order by ${orderOf(ORDERS, sort)}, p.id ${pageClause(paging, is.add)}
      ) as found
    ) as page join package p using (id) order by page.n`,
    is.values,
  )
  const [total, items] = await Promise.all([counted, rows])
  const { items: _, ...numbers } = pageOf([], total?.total ?? 0, paging)
  return { packages: items.map(row => reviewItem(row, now)), ...numbers }
}
