import type { Severity } from '../../core/findings.ts'
import type { PackageRef } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { reviewConditions, type ReviewAsk, type ReviewFilter } from './reviews.ts'
import { conditions, dueSql, type Conditions } from './sql.ts'

/** How a version stands beside what clients have of its name in that distribution. */
export type Beside = 'new' | 'newer' | 'older'

/** The steps of the gate that scan a package. */
export const SCANS = ['antivirus', 'vulnerabilities'] as const
export type Scan = (typeof SCANS)[number]

/** A package as somebody sees it who decides on many. */
export interface Selected extends PackageRef {
  readonly state: State
  readonly uploaded_by: string
  /** When it was changed last, as the manifest has it: the version of what was seen. */
  readonly seen_at: string
  /** The worst finding that counts. */
  readonly severity: Severity | null
  readonly kev: boolean
  readonly malicious: boolean
  readonly due_at: Date | null
  readonly overdue: boolean
  readonly beside: Beside
  /** The scans that did not see all of it: what they did not find says nothing. */
  readonly not_scanned: readonly Scan[]
}

const columnsOf = (due: string, now: string): string => `
  p.format, p.codename, p.name, p.version, p.arch, p.state, p.uploaded_by, p.manifest->>'changed_at' as seen_at,
  p.open_worst as severity, p.open_kev as kev, ${due} as due_at, coalesce(${due} <= ${now}, false) as overdue,
  exists (select 1 from finding f where f.package_id = p.id and not f.accepted and f.cve like 'MAL-%') as malicious,
  array(select scan from unnest('{${SCANS.join()}}'::text[]) as scan where not exists (
    select 1 from jsonb_array_elements(p.manifest->'reports') as report
    where report->>'step' = scan and report->>'outcome' not in ('unavailable', 'skipped'))) as not_scanned,
  case when served.sort_key is null then 'new' when served.sort_key < p.sort_key then 'newer' else 'older' end as beside`

const SERVED = `left join lateral (
    select s.sort_key from package s
    where s.codename = p.codename and s.name = p.name and s.format = p.format and s.arch = p.arch and s.kind = p.kind
      and s.state = 'published'
    order by s.sort_key desc limit 1) as served on true`

// by distribution, so that each can be published once all of its packages are decided on
const selectFrom = (is: Conditions, due: string, now: Date): string => {
  const at = is.add(now)
  return `select ${columnsOf(due, `${at}::timestamptz`)} from package p ${SERVED} ${is.where()} order by p.codename, p.id`
}

/** Every package that a list of reviews has, on all of its pages. @param most  how many are read at most */
export function selectReviewed(
  db: Queryable,
  viewer: Viewer,
  { filter, most, ...ask }: Pick<ReviewAsk, 'days' | 'now'> & { readonly filter: ReviewFilter; readonly most: number },
): Promise<Selected[]> {
  const { is, due } = reviewConditions(viewer, filter, ask)
  const sql = selectFrom(is, due, ask.now)
  return db.query(`${sql} limit ${is.add(most)}`, is.values)
}

/** These packages, in whatever state they are, without those that are not there. */
export function selectNamed(
  db: Queryable,
  viewer: Viewer,
  { named, days, now }: Pick<ReviewAsk, 'days' | 'now'> & { readonly named: readonly Omit<PackageRef, 'format'>[] },
): Promise<Selected[]> {
  const is = conditions()
  is.seenBy(viewer, 'p.codename')
  const names = is.add(named.map(({ name }) => name))
  const versions = is.add(named.map(({ version }) => version))
  const archs = is.add(named.map(({ arch }) => arch))
  is.when(
    named.map(({ codename }) => codename),
    place =>
      `(p.codename, p.name, p.version, p.arch) in (select * from unnest(${place}::text[], ${names}::text[], ${versions}::text[], ${archs}::text[]))`,
  )
  const due = dueSql(days, is.add)
  return db.query(selectFrom(is, due, now), is.values)
}

/** A package of a kept selection: what it is and what was seen of it. */
export interface Kept extends PackageRef {
  readonly seen_at: string
  readonly state: State
  readonly by: string
  /** Why it must be ticked by itself before it may be published; empty where it need not. */
  readonly perils: readonly string[]
}

/** Packages that somebody looked at to decide on all of them. */
export interface KeptSelection {
  readonly made_by: string
  readonly made_at: Date
  readonly decision: string
  readonly begins_at: Date | null
  readonly packages: readonly Kept[]
}

export async function keepSelection(
  db: Queryable,
  one: Omit<KeptSelection, 'begins_at'> & { readonly id: string },
): Promise<void> {
  await db.query(
    'insert into review_selection (id, made_by, made_at, decision, packages) values ($1, $2, $3, $4, $5::jsonb)',
    [one.id, one.made_by, one.made_at, one.decision, JSON.stringify(one.packages)],
  )
}

export const findSelection = (db: Queryable, id: string): Promise<KeptSelection | undefined> =>
  db.first('select made_by, made_at, decision, begins_at, packages from review_selection where id = $1', [id])

/** Says when the decision begins. @returns false when that was said before: a selection is decided on once */
export async function beginSelection(db: Queryable, id: string, beginsAt: Date): Promise<boolean> {
  const rows = await db.query(
    'update review_selection set begins_at = $2 where id = $1 and begins_at is null returning id',
    [id, beginsAt],
  )
  return rows.length > 0
}

/** Removes selections from before, except those that an open job works on. */
export async function removeSelections(db: Queryable, before: Date): Promise<void> {
  await db.query(
    `delete from review_selection s where made_at < $1
      and not exists (select 1 from job where state in ('queued', 'running') and request->>'selection' = s.id)`,
    [before],
  )
}
