import { countStates } from '../catalog/queries/counts.ts'
import {
  countByWorst,
  countExceptions,
  sumByDistribution,
  sumFindings,
  sumWaiting,
  type FindingSums,
} from '../catalog/queries/posture.ts'
import { SEVERITIES, severityOfRank, type Severity } from '../core/findings.ts'
import { STATES, type State } from '../core/manifest.ts'
import { slaDays, type SlaDays } from '../core/review.ts'
import type { Queryable } from '../db/db.ts'
import type { SettingsValue } from '../settings/schema.ts'
import type { Viewer } from '../core/viewer.ts'

type Counts<Name extends string> = Readonly<Record<Name, number>>

/** The state of the repository. Accepted findings do not count. */
export interface Posture {
  readonly generated_at: string
  readonly total_packages: number
  readonly by_status: Counts<State>
  /**
   * Served and waiting packages by their worst finding; `none` was looked at and has no finding that counts. No engine
   * answered for those in `not_looked`, and nothing is known against them.
   */
  readonly by_severity: Counts<Severity | 'none' | 'not_looked'>
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
    readonly not_looked: number
  }[]
  readonly sla_days: SlaDays
  readonly last_scanned_at: string | null
}

const record = <Name extends string>(
  names: readonly Name[],
  rows: readonly { readonly name: string | null; readonly n: number }[],
): Record<Name, number> =>
  Object.fromEntries(names.map(name => [name, rows.find(row => row.name === name)?.n ?? 0])) as Record<Name, number>

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
export async function readPosture(
  db: Queryable,
  viewer: Viewer,
  { policy, now }: { readonly policy: SettingsValue['cve_policy']; readonly now: Date },
): Promise<Posture> {
  const days = slaDays(policy)
  const [byStatus, severities, findings, exceptions, distributions, sums] = await Promise.all([
    countStates(db, viewer),
    countByWorst(db, viewer),
    sumFindings(db, viewer),
    countExceptions(db, viewer, now),
    sumByDistribution(db, viewer),
    sumWaiting(db, viewer, { days, now }),
  ])
  return {
    generated_at: now.toISOString(),
    total_packages: STATES.reduce((total, state) => total + byStatus[state], 0),
    by_status: byStatus,
    by_severity: record([...SEVERITIES, 'none', 'not_looked'] as const, severities),
    findings: findingCounts(findings),
    review: {
      waiting: sums.waiting,
      overdue: sums.overdue,
      due_within_7_days: sums.soon,
      unassigned: sums.unassigned,
      oldest_held_at: sums.oldest?.toISOString() ?? null,
    },
    exceptions: { standing: exceptions.standing, ending_within_30_days: exceptions.ending },
    by_distribution: distributions.map(({ rank, ...row }) => ({ ...row, worst: severityOfRank(rank) ?? null })),
    sla_days: days,
    last_scanned_at: sums.scanned?.toISOString() ?? null,
  }
}
