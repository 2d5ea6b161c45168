import { pageOf, type Page, type Paging } from '../catalog/page.ts'
import type { Decision, Manifest } from '../core/manifest.ts'
import type { Queryable } from '../db/db.ts'
import { conditions, containing, pageClause } from '../catalog/queries/sql.ts'

/** A decision as answers show it, in both forms of the specification. */
export interface DecisionView {
  readonly decision: string
  readonly action: 'approve' | 'reject'
  readonly justification: string
  readonly comment: string
  readonly cve: string | null
  readonly decided_by: string
  readonly decided_at: string
  readonly expires_at: string | null
  readonly expired: boolean
  /** When it had to be decided, as the policy was then. */
  readonly due_at: string | null
}

export function decisionView(
  { decision, action, justification, cve, by, at, expires_at, due_at }: Decision,
  now: string,
): DecisionView {
  return {
    decision,
    action,
    justification,
    comment: justification,
    cve: cve ?? null,
    decided_by: by,
    decided_at: at,
    expires_at: expires_at ?? null,
    expired: expires_at !== undefined && expires_at <= now,
    due_at: due_at ?? null,
  }
}

/** Every decision on a package, newest first. */
export function historyOf(
  { review, decision }: Pick<Manifest, 'review' | 'decision'>,
  now: string,
): readonly DecisionView[] {
  return [...(review?.history ?? (decision === undefined ? [] : [decision]))]
    .reverse()
    .map(one => decisionView(one, now))
}

/** A decision with what it was about; the package may be gone since. */
export interface DecisionRow extends DecisionView {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
}

export interface DecisionFilter {
  readonly q?: string | undefined
  readonly cve?: string | undefined
  readonly package?: string | undefined
  readonly decidedBy?: string | undefined
  readonly action?: string | undefined
  readonly from?: Date | undefined
  /** Acceptances that hold now: not ended, not taken back or replaced, and of a package that is there. */
  readonly standing?: boolean | undefined
}

interface Row {
  readonly format: string
  readonly distribution: string
  readonly name: string
  readonly version: string
  readonly arch: string
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

/**
 * Acceptances that hold at `now`, as `acceptanceOf` in core/review.ts reads them. The package has to know the decision:
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

/** A page of everything that was ever decided, newest first. */
export async function listDecisions(
  db: Queryable,
  filter: DecisionFilter,
  paging: Paging,
  now: Date,
): Promise<Page<DecisionRow>> {
  const is = conditions()
  is.when(
    filter.q === undefined || filter.q.trim() === '' ? undefined : containing(filter.q.trim().toLowerCase()),
    place => `lower(d.name || ' ' || d.cve || ' ' || d.decided_by || ' ' || d.justification) like ${place}`,
  )
  is.when(filter.cve?.toUpperCase(), place => `upper(d.cve) = ${place}`)
  is.when(filter.package, place => `d.name = ${place}`)
  is.when(filter.decidedBy, place => `d.decided_by = ${place}`)
  is.when(filter.action, place => `d.action = ${place}`)
  is.when(filter.from, place => `d.decided_at >= ${place}`)
  is.when(filter.standing === true ? now : undefined, standingSql)
  const from = `from decision d ${is.where()}`
  const counted = db.first<{ total: number }>(`select count(*) as total ${from}`, [...is.values])
  const rows = db.query<Row>(
    `select d.format, d.codename as distribution, d.name, d.version, d.arch, d.cve, d.decision, d.action, d.justification, d.decided_by as by,
    d.decided_at, d.expires_at, d.due_at ${from} order by d.decided_at desc, d.id desc ${pageClause(paging, is.add)}`,
    is.values,
  )
  const [total, items] = await Promise.all([counted, rows])
  const at = now.toISOString()
  return pageOf(
    items.map(({ format, distribution, name, version, arch, cve, by, decided_at, expires_at, due_at, ...said }) => ({
      name,
      version,
      arch,
      distribution,
      format,
      ...decisionView(
        {
          ...said,
          by,
          at: decided_at.toISOString(),
          ...(cve === '' ? {} : { cve }),
          ...(expires_at === null ? {} : { expires_at: expires_at.toISOString() }),
          ...(due_at === null ? {} : { due_at: due_at.toISOString() }),
        },
        at,
      ),
    })),
    total?.total ?? 0,
    paging,
  )
}
