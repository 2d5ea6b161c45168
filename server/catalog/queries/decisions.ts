import type { Named } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Paging } from '../page.ts'
import { conditions, containing, pageClause, params, seenBy } from './sql.ts'

export interface DecisionFilter {
  readonly q?: string | undefined
  readonly cve?: string | undefined
  readonly package?: string | undefined
  readonly decidedBy?: string | undefined
  readonly action?: string | undefined
  readonly from?: Date | undefined
  /** Acceptances that hold now: not ended, not taken back or replaced, and their package exists. */
  readonly standing?: boolean | undefined
  /** Those that end, until then. */
  readonly endsUntil?: Date | undefined
  /** Whose package is assigned to this user, or with null to nobody. */
  readonly assignedTo?: string | null | undefined
}

/** One recorded decision and its subject. */
export interface DecidedRow extends Named {
  /** To whom the package is assigned now. */
  readonly assigned_to: string | null
  readonly cve: string
  readonly decision: string
  readonly action: 'approve' | 'reject'
  readonly justification: string
  readonly by: string
  readonly decided_at: Date
  readonly expires_at: Date | null
  readonly due_at: Date | null
}

const SAME_PACKAGE = ['format', 'codename', 'name', 'version', 'arch']
  .map(column => `other.${column} = d.${column}`)
  .join(' and ')

const ASSIGNEE = `(select other.assignee from package other where ${SAME_PACKAGE})`

/**
 * Acceptances that hold at `now`, as `acceptanceOf` in core/review.ts reads them. The package must know the decision:
 * one of the same name that was uploaded after a deletion does not.
 */
const standingSql = (now: string): string => `d.action = 'approve' and (d.expires_at is null or d.expires_at > ${now})
  and exists (select 1 from package other where ${SAME_PACKAGE} and case when d.cve = ''
    then other.manifest->'decision'->>'action' = 'approve' and (other.manifest->'decision'->>'at')::timestamptz = d.decided_at
      and (other.state = 'published' or exists (select 1 from finding f where f.package_id = other.id and f.accepted))
    else jsonb_path_exists(other.manifest, '$.review.history[*] ? (@.cve == $cve && @.at == $at)',
      jsonb_build_object('cve', d.cve, 'at', to_char(d.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) end)
  and (d.cve = '' or not exists (select 1 from decision other where ${SAME_PACKAGE} and other.decided_at > d.decided_at and (
    (other.action = 'reject' and other.cve in ('', d.cve))
    or (other.action = 'approve' and other.cve = d.cve and (other.expires_at is null or other.expires_at > ${now})))))`

/** A page of all decisions ever made, newest first, also about packages that were deleted. */
export async function listDecided(
  db: Queryable,
  viewer: Viewer,
  { filter, paging, now }: { readonly filter: DecisionFilter; readonly paging: Paging; readonly now: Date },
): Promise<{ readonly rows: readonly DecidedRow[]; readonly total: number }> {
  const is = conditions()
  is.seenBy(viewer, 'd.codename')
  is.when(
    filter.q === undefined || filter.q.trim() === '' ? undefined : containing(filter.q.trim().toLowerCase()),
    place => `lower(d.name || ' ' || d.cve || ' ' || d.decided_by || ' ' || d.justification) like ${place}`,
  )
  is.when(filter.cve?.toUpperCase(), place => `upper(d.cve) = ${place}`)
  is.when(filter.package, place => `d.name = ${place}`)
  is.when(filter.decidedBy, place => `d.decided_by = ${place}`)
  is.when(filter.action, place => `d.action = ${place}`)
  is.when(filter.from, place => `d.decided_at >= ${place}`)
  is.when(filter.endsUntil, place => `d.expires_at <= ${place}`)
  is.when(filter.standing === true ? now : undefined, standingSql)
  if (filter.assignedTo !== undefined)
    is.when([filter.assignedTo], place => `${ASSIGNEE} is not distinct from (${place}::text[])[1]`)
  const from = `from decision d ${is.where()}`
  const counted = db.first<{ total: number }>(`select count(*) as total ${from}`, [...is.values])
  const asked = db.query<DecidedRow>(
    `select ${ASSIGNEE} as assigned_to, d.format, d.codename as distribution, d.name, d.version, d.arch, d.cve, d.decision, d.action, d.justification, d.decided_by as by,
    d.decided_at, d.expires_at, d.due_at ${from} order by d.decided_at desc, d.id desc ${pageClause(paging, is.add)}`,
    is.values,
  )
  const [total, rows] = await Promise.all([counted, asked])
  return { rows, total: total?.total ?? 0 }
}

/**
 * How many packages and vulnerabilities were last decided on with which word, where that holds at `now` and the package
 * exists; and how many decisions were ever made.
 */
export async function countDecided(
  db: Queryable,
  viewer: Viewer,
  now: Date,
): Promise<{ readonly total: number; readonly inForce: Readonly<Record<string, number>> }> {
  const { values, add } = params(now)
  const seen = seenBy(viewer, add, 'd.codename')
  const rows = await db.query<{ decision: string | null; n: number }>(
    `
    select d.decision, count(*) as n from (
      select distinct on (format, codename, name, version, arch, cve) * from decision
      order by format, codename, name, version, arch, cve, decided_at desc, id desc) as d
    where ${seen} and (d.expires_at is null or d.expires_at > $1) and exists (select 1 from package other where ${SAME_PACKAGE})
    group by d.decision
    union all select null, count(*) from decision d where ${seen}`,
    values,
  )
  return {
    total: rows.find(({ decision }) => decision === null)?.n ?? 0,
    inForce: Object.fromEntries(rows.flatMap(({ decision, n }) => (decision === null ? [] : [[decision, n]]))),
  }
}
