import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import type { Finding, Severity } from '../../core/findings.ts'
import { worst } from '../../core/findings.ts'
import type { State } from '../../core/manifest.ts'
import { decide, hardestAction, type Action, type CvePolicy } from '../../core/policy.ts'
import type { Report } from '../../core/report.ts'
import type { Queryable } from '../../db/db.ts'

/** A package that another policy would move. */
export interface Move {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
  readonly from: State
  readonly to: State
  /** The worst of its findings that count, and what the policy says to all of them. */
  readonly severity: Severity | null
  readonly action: Action
  readonly cves: readonly string[]
}

export interface Preview extends Page<Move> {
  /** Packages whose findings were looked at. */
  readonly checked: number
  readonly by_move: { readonly to_review: number; readonly to_published: number }
}

interface Row {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly format: string
  readonly state: State
  /** What is different among its findings that count, as far as a policy looks: see `profileSql`. */
  readonly profiles: readonly number[] | null
}
/** What a waiting package waits for beside findings. */
interface Waiting {
  readonly approved: boolean
  readonly reports: readonly Pick<Report, 'step' | 'outcome'>[]
}

const BATCH = 5_000
const SHOWN_CVES = 10
const SEVERITY_OF_RANK: readonly Severity[] = [
  'negligible',
  'negligible',
  'low',
  'unknown',
  'medium',
  'high',
  'critical',
]

/**
 * A finding in a number, without its name: rank, known exploitation, a fix, and whether its probability reaches the
 * threshold.
 */
const profileSql = (threshold: string): string =>
  `f.rank * 8 + f.kev::int * 4 + (f.fixed_in is not null)::int * 2 + coalesce(f.epss >= ${threshold}::real, false)::int`

function findingOf(profile: number, threshold: number): Finding {
  return {
    id: '',
    package: '',
    detected_by: [],
    severity: SEVERITY_OF_RANK[profile >> 3] ?? 'unknown',
    kev: (profile & 4) !== 0,
    ...((profile & 2) === 0 ? {} : { fixed_in: '' }),
    ...((profile & 1) === 0 ? {} : { epss: threshold }),
  }
}

/**
 * Served and waiting packages in the order of their ids: those with findings that count, and waiting ones whatever they
 * wait for.
 */
function readBatch(db: Queryable, after: number, threshold: number): Promise<Row[]> {
  return db.query<Row>(
    `
    with batch as (
      select p.id, p.name, p.version, p.arch, p.codename as distribution, p.format, p.state from package p
      where p.id > $1 and (p.state = 'pending_review' or (p.state = 'published' and p.open_count > 0)) order by p.id limit ${BATCH}
    ), profile as (
      select f.package_id, array_agg(distinct ${profileSql('$2')}) as profiles from finding f
      where f.package_id > $1 and f.package_id <= (select max(id) from batch) and not f.accepted group by f.package_id
    )
    select batch.*, profile.profiles from batch left join profile on profile.package_id = batch.id order by batch.id`,
    [after, threshold],
  )
}

async function readWaiting(db: Queryable, rows: readonly Row[]): Promise<ReadonlyMap<number, Waiting>> {
  const ids = rows.filter(({ state }) => state === 'pending_review').map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const waiting = await db.query<Waiting & { readonly id: number }>(
    `
    select id, coalesce(manifest->'decision'->>'action' = 'approve', false) as approved, jsonb_path_query_array(manifest, '$.reports[*]') as reports
    from package where id = any($1::bigint[])`,
    [ids],
  )
  return new Map(waiting.map(row => [row.id, row]))
}

/** As `reconsider` in core/review.ts, from rows instead of manifests. */
function stateUnder(policy: CvePolicy, findings: readonly Finding[], waiting: Waiting | undefined): State {
  const reports = waiting === undefined || waiting.approved ? [] : waiting.reports
  const isBlind = reports.some(({ step, outcome }) => step === 'vulnerabilities' && outcome === 'unavailable')
  const others = reports
    .filter(({ step }) => step !== 'vulnerabilities')
    .map(({ step, outcome }): Report => ({ step, outcome, verdict: '', said: '' }))
  return decide(
    [...others, { step: 'vulnerabilities', outcome: isBlind ? 'unavailable' : 'ok', verdict: '', said: '', findings }],
    policy,
    'retro',
  ).state
}

/** The names of what counts in the packages of one page, the worst first. */
async function readCves(db: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await db.query<{ id: number; cves: string[] }>(
    `
    select package_id as id, array_agg(cve order by rank desc, cve) as cves from finding where package_id = any($1::bigint[]) and not accepted group by package_id`,
    [ids],
  )
  return new Map(rows.map(({ id, cves }) => [id, [...new Set(cves)].slice(0, SHOWN_CVES)]))
}

/**
 * Which packages a policy that is not saved would move when each is scanned again; saving it moves none, and the
 * nightly look only holds what has new ids. Nothing is changed. What is in quarantine or rejected stays there under any
 * policy, until somebody decides.
 * @param signal  ends the walk when the caller is gone
 */
export async function previewPolicy(
  db: Queryable,
  policy: CvePolicy,
  paging: Paging,
  signal: AbortSignal,
): Promise<Preview> {
  const threshold = policy.epss_threshold ?? 1
  const first = (paging.page - 1) * paging.perPage
  const shown: (Omit<Move, 'cves'> & { readonly id: number })[] = []
  const moves = { to_review: 0, to_published: 0 }
  let checked = 0
  for (
    let rows = await readBatch(db, 0, threshold);
    rows.length > 0;
    rows = await readBatch(db, rows.at(-1)?.id ?? 0, threshold)
  ) {
    signal.throwIfAborted()
    const waiting = await readWaiting(db, rows)
    for (const { profiles, id, state, ...name } of rows) {
      checked++
      const findings = (profiles ?? []).map(profile => findingOf(profile, threshold))
      const to = stateUnder(policy, findings, waiting.get(id))
      if (to === state) continue
      const n = moves.to_review + moves.to_published
      moves[to === 'published' ? 'to_published' : 'to_review']++
      if (n < first || shown.length >= paging.perPage) continue
      shown.push({
        id,
        ...name,
        from: state,
        to,
        severity: worst(findings) ?? null,
        action: hardestAction(findings, policy),
      })
    }
  }
  const cves = await readCves(
    db,
    shown.map(({ id }) => id),
  )
  const items = shown.map(({ id, ...move }): Move => ({ ...move, cves: cves.get(id) ?? [] }))
  return { ...pageOf(items, moves.to_review + moves.to_published, paging), checked, by_move: moves }
}
