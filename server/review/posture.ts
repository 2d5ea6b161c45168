import { SEVERITIES, type Severity } from '../core/findings.ts'
import { STATES, type State } from '../core/manifest.ts'
import { slaDays, type SlaDays } from '../core/review.ts'
import type { Queryable } from '../db/db.ts'
import type { SettingsValue } from '../settings/schema.ts'
import { conditions, dueSql } from '../catalog/queries/sql.ts'

type Counts<Name extends string> = Readonly<Record<Name, number>>

/** Where the repository stands. Packages are counted by what counts in them: accepted findings do not. */
export interface Posture {
  readonly generated_at: string
  readonly total_packages: number
  readonly by_status: Counts<State>
  /** Served and waiting packages by their worst finding; `none` has no finding that counts. */
  readonly by_severity: Counts<Severity | 'none'>
  /** Findings in served and waiting packages. */
  readonly findings: Counts<Severity | 'total' | 'open' | 'accepted' | 'kev' | 'fixable'>
  readonly review: {
    readonly waiting: number
    readonly overdue: number
    readonly due_within_7_days: number
    readonly unassigned: number
    readonly oldest_held_at: string | null
  }
  readonly exceptions: { readonly standing: number; readonly ending_within_30_days: number }
  readonly by_distribution: readonly {
    readonly distribution: string
    readonly packages: number
    readonly with_findings: number
    readonly waiting: number
    readonly worst: Severity | null
    readonly kev: number
  }[]
  readonly sla_days: SlaDays
  readonly last_scanned_at: string | null
}

interface Sums {
  readonly waiting: number
  readonly overdue: number
  readonly soon: number
  readonly unassigned: number
  readonly oldest: Date | null
  readonly scanned: Date | null
}

const record = <Name extends string>(
  names: readonly Name[],
  rows: readonly { readonly name: string | null; readonly n: number }[],
): Record<Name, number> =>
  Object.fromEntries(names.map(name => [name, rows.find(row => row.name === name)?.n ?? 0])) as Record<Name, number>

const LIVE = `p.state in ('published', 'pending_review')`
const SEVERITY_OF_RANK: readonly (Severity | null)[] = [
  null,
  'negligible',
  'low',
  'unknown',
  'medium',
  'high',
  'critical',
]

// An upload is looked up as it comes in. Only the newest are asked: of those, one has an answer unless no engine had
// data for a long time.
const SCANNED_AT_ADMISSION = `(select max(newest.created_at) from (select created_at, manifest from package order by changed_at desc limit 200) as newest
  where jsonb_path_exists(newest.manifest, '$.reports[*] ? (@.step == "vulnerabilities" && @.outcome != "unavailable" && @.outcome != "skipped")'))`

async function readSums(db: Queryable, days: SlaDays, now: Date): Promise<Sums> {
  const is = conditions()
  const due = dueSql(days, is.add)
  const at = is.add(now)
  const row = await db.first<Sums>(
    `
    select count(*) as waiting, count(*) filter (where ${due} <= ${at}) as overdue,
      count(*) filter (where ${due} > ${at} and ${due} <= ${at}::timestamptz + interval '7 days') as soon,
      count(*) filter (where p.assignee is null) as unassigned, min(p.held_at) as oldest,
      greatest((select max(scanned_at) from package), ${SCANNED_AT_ADMISSION}) as scanned
    from package p where p.state = 'pending_review'`,
    is.values,
  )
  return row ?? { waiting: 0, overdue: 0, soon: 0, unassigned: 0, oldest: null, scanned: null }
}

interface FindingSums {
  readonly severity: Severity
  readonly n: number
  readonly open: number
  readonly kev: number
  readonly fixable: number
}

function findingCounts(rows: readonly FindingSums[]): Posture['findings'] {
  const sum = (read: (row: FindingSums) => number): number => rows.reduce((total, row) => total + read(row), 0)
  const total = sum(({ n }) => n),
    open = sum(row => row.open)
  return {
    ...record(
      SEVERITIES,
      rows.map(({ severity, n }) => ({ name: severity, n })),
    ),
    total,
    open,
    accepted: total - open,
    kev: sum(({ kev }) => kev),
    fixable: sum(({ fixable }) => fixable),
  }
}

/** Counts in the database; six statements, however many packages there are. */
export async function readPosture(db: Queryable, policy: SettingsValue['cve_policy'], now: Date): Promise<Posture> {
  const days = slaDays(policy)
  const [states, severities, findings, exceptions, distributions, sums] = await Promise.all([
    db.query<{ name: string; n: number }>('select state as name, count(*) as n from package group by state'),
    db.query<{ name: string; n: number }>(
      `select coalesce(p.open_worst, 'none') as name, count(*) as n from package p where ${LIVE} group by 1`,
    ),
    db.query<FindingSums>(`select f.severity, count(*) as n, count(*) filter (where not f.accepted) as open,
      count(*) filter (where f.kev and not f.accepted) as kev, count(*) filter (where f.fixed_in is not null and not f.accepted) as fixable
      from finding f join package p on p.id = f.package_id where ${LIVE} group by f.severity`),
    db.first<{ standing: number; ending: number }>(
      `select count(*) as standing, count(*) filter (where accepted_until <= $1::timestamptz + interval '30 days') as ending
      from finding where accepted and (accepted_until is null or accepted_until > $1)`,
      [now],
    ),
    db.query<{
      distribution: string
      packages: number
      with_findings: number
      waiting: number
      rank: number
      kev: number
    }>(`
      select p.codename as distribution, count(*) as packages, count(*) filter (where p.open_count > 0) as with_findings,
        count(*) filter (where p.state = 'pending_review') as waiting, max(p.open_rank) as rank, count(*) filter (where p.open_kev) as kev
      from package p where ${LIVE} group by p.codename order by p.codename`),
    readSums(db, days, now),
  ])
  const byStatus = record(STATES, states)
  return {
    generated_at: now.toISOString(),
    total_packages: STATES.reduce((total, state) => total + byStatus[state], 0),
    by_status: byStatus,
    by_severity: record([...SEVERITIES, 'none'] as const, severities),
    findings: findingCounts(findings),
    review: {
      waiting: sums.waiting,
      overdue: sums.overdue,
      due_within_7_days: sums.soon,
      unassigned: sums.unassigned,
      oldest_held_at: sums.oldest?.toISOString() ?? null,
    },
    exceptions: { standing: exceptions?.standing ?? 0, ending_within_30_days: exceptions?.ending ?? 0 },
    by_distribution: distributions.map(({ rank, ...row }) => ({ ...row, worst: SEVERITY_OF_RANK[rank] ?? null })),
    sla_days: days,
    last_scanned_at: sums.scanned?.toISOString() ?? null,
  }
}
