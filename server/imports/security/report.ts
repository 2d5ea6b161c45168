import { maySee, type Viewer } from '../../core/viewer.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { MirrorEnd } from '../mirror/report.ts'
import type { SyncState } from '../source.ts'
import type { Standing, Update } from './updates.ts'

/** `failed`: the run itself could not go on. A distribution that is frozen ends no run. */
export const RUN_ENDS = ['complete', 'packages', 'time', 'disk', 'cancelled', 'failed'] as const
export type RunEnd = Exclude<MirrorEnd, 'frozen'> | 'failed'

export const RUN_RESULTS = ['success', 'partial', 'error'] as const
export type RunResult = (typeof RUN_RESULTS)[number]

/** One package of a report. */
export interface Entry {
  readonly name: string
  readonly version: string
  readonly arch: string
  /** The newest older version that is published here; null: it is new here, as a dependency. */
  readonly here: string | null
  /** The source package: those of one come together. */
  readonly source: string
  readonly source_id: string | null
  readonly standing: Standing
  readonly why: string | null
  /** It comes because an update needs it. */
  readonly is_dependency: boolean
}

/** What a run came to in one distribution. The lists have the first 500. */
export interface ReportPart {
  readonly codename: string
  readonly frozen: boolean
  readonly came_count: number
  readonly held_count: number
  readonly missing_count: number
  readonly came: readonly Entry[]
  readonly held: readonly Entry[]
  readonly missing: readonly Entry[]
}

/** A run on record. Times are ISO 8601. */
export interface SecurityReport {
  readonly job_id: string
  readonly by: string
  readonly started_at: string
  readonly ended_at: string
  readonly end: RunEnd
  readonly result: RunResult
  readonly bytes: number
  /** Why it could not go on. */
  readonly error: string | null
  /** Another state than `ok`: the older list of the source was used. */
  readonly synchronised: readonly {
    readonly source_id: string
    readonly label: string
    readonly codenames: readonly string[]
    readonly state: SyncState
    readonly said: string | null
  }[]
  readonly parts: readonly ReportPart[]
}

const MOST = 500
/** So many runs are kept. */
const KEPT = 100

const HELD: ReadonlySet<Standing> = new Set(['pending_review', 'blocked'])
/** What people decided, or built themselves: nothing is wrong with the run. */
const CHOSEN: ReadonlySet<Standing> = new Set(['own_build', 'excluded', 'removed', 'frozen'])

export const entryOf = ({ name, version, arch, here, unit, sourceKey, standing, why }: Update): Entry => ({
  ...{ name, version, arch, here, standing },
  source: unit.slice(0, unit.lastIndexOf(' ')),
  source_id: sourceKey,
  why: why ?? null,
  is_dependency: false,
})

/** Puts the entries of a distribution under what became of them. */
export function partOf(codename: string, frozen: boolean, entries: readonly Entry[]): ReportPart {
  const came = entries.filter(({ standing }) => standing === 'published')
  const held = entries.filter(({ standing }) => HELD.has(standing))
  const missing = entries.filter(({ standing }) => standing !== 'published' && !HELD.has(standing))
  return {
    ...{ codename, frozen },
    came_count: came.length,
    held_count: held.length,
    missing_count: missing.length,
    came: came.slice(0, MOST),
    held: held.slice(0, MOST),
    missing: missing.slice(0, MOST),
  }
}

/** `success`: whatever can come is published, but for what people decided otherwise. */
export function resultOf({
  end,
  synchronised,
  parts,
}: Pick<SecurityReport, 'end' | 'synchronised' | 'parts'>): RunResult {
  const failed = synchronised.filter(({ state }) => state !== 'ok').length
  if (end === 'failed' || (failed > 0 && failed === synchronised.length)) return 'error'
  const lacks = parts.some(one => one.held_count > 0 || one.missing.some(({ standing }) => !CHOSEN.has(standing)))
  return end === 'complete' && failed === 0 && !lacks ? 'success' : 'partial'
}

const ENDS: Readonly<Record<RunEnd, string>> = {
  complete: '',
  packages: 'The next run goes on: this one brought as many packages as it may.',
  time: 'The next run goes on: the time was over.',
  disk: 'The next run goes on: less room would be free on the disk than mirror.min_free_disk_gb and disk.min_free_disk_gb say. Make room, or lower them.',
  cancelled: 'It was cancelled; the next run goes on.',
  failed: 'It could not go on.',
}

const sum = (parts: readonly ReportPart[], of: (part: ReportPart) => number): number =>
  parts.reduce((total, part) => total + of(part), 0)

/** The numbers of the parts together, and the whole in a few sentences. */
export function summaryOf({
  parts,
  end,
  synchronised,
  error,
}: Pick<SecurityReport, 'parts' | 'end' | 'synchronised' | 'error'>) {
  const came = sum(parts, one => one.came_count)
  const held = sum(parts, one => one.held_count)
  const missing = sum(parts, one => one.missing_count)
  const failed = synchronised.filter(({ state }) => state !== 'ok')
  const where = parts.map(({ codename }) => codename).join(', ') || 'no distribution'
  const unsynchronised = failed.map(({ source_id: id }) => id).join(', ')
  return {
    came_count: came,
    held_count: held,
    missing_count: missing,
    distributions: parts.map(({ codename }) => codename),
    message:
      parts.length === 0 && end !== 'failed'
        ? 'Nothing is published that a source has security updates for.'
        : [
            `Security updates for ${where}: ${came} published, ${held} held, ${missing} missing.`,
            ENDS[end],
            error ?? '',
            failed.length === 0 ? '' : `Older lists were used of ${unsynchronised}, which could not be synchronised.`,
          ]
            .filter(Boolean)
            .join(' '),
  }
}

/** A report without what is of distributions that somebody may not see. Undefined where nothing is left. */
export function reportFor(report: SecurityReport, viewer: Viewer): SecurityReport | undefined {
  const parts = report.parts.filter(({ codename }) => maySee(viewer, codename))
  if (parts.length === 0 && report.parts.length > 0) return undefined
  const synchronised = report.synchronised
    .map(one => ({ ...one, codenames: one.codenames.filter(codename => maySee(viewer, codename)) }))
    .filter(({ codenames }) => codenames.length > 0)
  const isWhole = parts.length === report.parts.length
  const seen = { ...report, parts, synchronised, ...(isWhole ? {} : { error: null }) }
  return isWhole ? seen : { ...seen, result: resultOf(seen) }
}

/** Keeps the report of a run, and the newest runs alone. @returns false where it is kept already */
export async function saveSecurityReport(tx: Tx, report: SecurityReport): Promise<boolean> {
  const rows = await tx.query(
    `insert into security_report (job_id, ended_at, report) values ($1, $2, $3) on conflict do nothing
    returning 1 as one`,
    [report.job_id, report.ended_at, JSON.stringify(report)],
  )
  await tx.query(
    `delete from security_report where job_id in (
      select job_id from security_report order by ended_at desc, job_id offset ${KEPT})`,
  )
  return rows.length > 0
}

/** The newest runs. */
export async function listSecurityReports(db: Queryable, limit = KEPT): Promise<SecurityReport[]> {
  const rows = await db.query<{ report: SecurityReport }>(
    'select report from security_report order by ended_at desc, job_id limit $1',
    [limit],
  )
  return rows.map(({ report }) => report)
}

export async function findSecurityReport(db: Queryable, jobId: string): Promise<SecurityReport | undefined> {
  const row = await db.first<{ report: SecurityReport }>('select report from security_report where job_id = $1', [
    jobId,
  ])
  return row?.report
}
