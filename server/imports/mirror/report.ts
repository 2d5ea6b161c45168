import type { Tx, Queryable } from '../../db/db.ts'
import type { ImportResult } from '../run/import-work.ts'
import type { SyncState } from '../source.ts'

/** Why a run ended: all that is wanted is here, or the bound that it came to. */
export const MIRROR_ENDS = ['complete', 'packages', 'time', 'disk', 'frozen', 'cancelled'] as const
export type MirrorEnd = (typeof MIRROR_ENDS)[number]

/** What became of the packages of a run. */
export interface Tally {
  readonly added: number
  readonly pending: number
  readonly blocked: number
  /** Here already. */
  readonly skipped: number
  /** Failed, or with other bytes upstream than here. */
  readonly errors: number
  /** Those that are not served, with the reason: the first 50. */
  readonly troubles: readonly Trouble[]
  /** Needs that nothing meets: the first 50, in sentences. */
  readonly missing: readonly string[]
}

export interface Trouble {
  readonly distribution: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly status: string
  readonly why: string | null
}

export const NOTHING: Tally = { added: 0, pending: 0, blocked: 0, skipped: 0, errors: 0, troubles: [], missing: [] }
const MOST = 50
const SERVED = new Set(['added', 'already', 'waiting'])

export const doneIn = ({ added, pending, blocked, skipped, errors }: Tally): number =>
  added + pending + blocked + skipped + errors

/** Adds what an import brought. */
export function countIn(tally: Tally, { distribution, packages }: ImportResult, missing: readonly string[]): Tally {
  const count = (...states: string[]): number => packages.filter(({ status }) => states.includes(status)).length
  const troubles = packages
    .filter(({ status }) => !SERVED.has(status))
    .map(({ name, version, arch, status, why }) => ({ distribution, name, version, arch, status, why }))
  return {
    added: tally.added + count('added'),
    pending: tally.pending + count('pending_review'),
    blocked: tally.blocked + count('blocked'),
    skipped: tally.skipped + count('already'),
    errors: tally.errors + count('failed', 'upstream_changed'),
    troubles: [...tally.troubles, ...troubles].slice(0, MOST),
    missing: [...new Set([...tally.missing, ...missing])].slice(0, MOST),
  }
}

/** Adds packages that could not even be asked for. */
export const countFailed = (tally: Tally, troubles: readonly Trouble[]): Tally => ({
  ...tally,
  errors: tally.errors + troubles.length,
  troubles: [...tally.troubles, ...troubles].slice(0, MOST),
})

/** The end of a run on record. Times are ISO 8601. */
export interface MirrorReport extends Tally {
  readonly source_id: string
  readonly label: string
  readonly job_id: string
  readonly by: string
  readonly started_at: string
  readonly ended_at: string
  readonly end: MirrorEnd
  readonly message: string
  /** How the source was synchronised first; another state than `ok`: its older list was used. */
  readonly synchronised: { readonly state: SyncState; readonly said: string | null }
  readonly distributions: readonly string[]
  /** Left alone, because somebody froze them. */
  readonly frozen: readonly string[]
  readonly bytes: number
  /** Wanted, and left for the next runs, as far as this one looked. */
  readonly remaining: number
  /** Came from the source, is published, and is listed there no longer; the first 100. Nothing is removed. */
  readonly gone_count: number
  readonly gone: readonly Omit<Trouble, 'status' | 'why'>[]
  /** Published here with other bytes than it lists under the same version; the first 100. Nothing is replaced. */
  readonly changed_count: number
  readonly changed: readonly Trouble[]
}

const ENDS: Readonly<Record<MirrorEnd, string>> = {
  complete: 'All that is wanted of it is here.',
  packages: 'It goes on with the next run: this one brought as many packages as it may.',
  time: 'It goes on with the next run: the time was over.',
  disk: 'It goes on with the next run: less room would be free on the disk than mirror.min_free_disk_gb and disk.min_free_disk_gb say. Make room, or lower them.',
  frozen: 'Nothing was added: every distribution that it goes to is frozen.',
  cancelled: 'It was cancelled; the next run goes on.',
}

/** The whole in a few sentences. */
export function sayReport(
  label: string,
  end: MirrorEnd,
  tally: Tally,
  { gone: goneCount, changed: changedCount }: { readonly gone: number; readonly changed: number },
): string {
  const { added, pending, blocked, skipped, errors } = tally
  // whole sentences: the console has each of them in its own language
  return [
    `${label}: ${added} published, ${pending} held for review, ${blocked} blocked, ${skipped} here already, ${errors} failed.`,
    ENDS[end],
    ...(goneCount === 0 ? [] : [`Of what it lists no longer, ${goneCount} stay here.`]),
    ...(changedCount === 0 ? [] : [`Other bytes there than here: ${changedCount}. What is here stays.`]),
  ].join(' ')
}

/** Keeps the report of a run in the place of the one before. @returns false where it is kept already */
export async function saveReport(tx: Tx, sourceId: number, report: MirrorReport): Promise<boolean> {
  const rows = await tx.query(
    `insert into mirror_report (source_id, job_id, ended_at, report) values ($1, $2, $3, $4)
    on conflict (source_id) do update set job_id = $2, ended_at = $3, report = $4
      where mirror_report.job_id <> excluded.job_id returning 1 as one`,
    [sourceId, report.job_id, report.ended_at, JSON.stringify(report)],
  )
  return rows.length > 0
}

/** The last report of each source, by its id. */
export async function listReports(db: Queryable): Promise<ReadonlyMap<number, MirrorReport>> {
  const rows = await db.query<{ source_id: number; report: MirrorReport }>(
    'select source_id, report from mirror_report',
  )
  return new Map(rows.map(({ source_id: id, report }) => [id, report]))
}
