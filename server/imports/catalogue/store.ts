import type { FormatId } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'
import type { UpstreamRoot } from '../../formats/upstream.ts'
import type { SyncState } from '../source.ts'
import type { Tried } from './outcome.ts'

/** What the catalogue holds of a source. */
export interface Held {
  readonly sha256: string
  readonly scope: string
  readonly packages: number
  readonly asked: readonly string[]
  readonly left_out: boolean
  readonly dropped: Buffer
}

export const findHeld = (db: Queryable, sourceId: number): Promise<Held | undefined> =>
  db.first('select sha256, scope, packages, asked, left_out, dropped from import_held where source_id = $1', [sourceId])

export const findTried = async (db: Queryable, sourceId: number): Promise<Tried> =>
  (await db.first<Tried>('select failures, missing_since from import_root where source_id = $1', [sourceId])) ?? {
    failures: 0,
    missing_since: null,
  }

/** The entries that the catalogue holds of a source: ids, and as many digests of 20 bytes in the same order. */
export async function listEntries(
  db: Queryable,
  sourceId: number,
): Promise<{ readonly ids: readonly number[]; readonly digests: Buffer }> {
  const row = await db.first<{ ids: number[] | null; digests: Buffer | null }>(
    `select array_agg(id order by id) as ids, string_agg(digest, ''::bytea order by id) as digests
    from import_package where source_id = $1`,
    [sourceId],
  )
  return { ids: row?.ids ?? [], digests: row?.digests ?? Buffer.alloc(0) }
}

/** Names that packages of a format ask for, of the kinds that are kept only where somebody asks. */
export async function listAsked(db: Queryable, format: FormatId): Promise<readonly string[]> {
  const rows = await db.query<{ name: string }>(
    `select distinct unnest(h.asked) as name from import_held h join import_source s on s.id = h.source_id
    where s.format = $1`,
    [format],
  )
  return rows.map(({ name }) => name)
}

/** So many ids belong to one read. */
export const MOST_PACKAGES = 2 ** 22

/** The first of a range of ids that no other read has. */
export async function takeIds(db: Queryable): Promise<number> {
  const row = await db.first<{ n: number }>(`select nextval('import_batch') as n`)
  return (row?.n ?? 0) * MOST_PACKAGES
}

/** How a try ended. */
export interface Attempt {
  readonly sourceId: number
  readonly state: SyncState
  readonly said: string | null
  readonly missing: boolean
  readonly bytes: number
  readonly mirror: string | undefined
  readonly now: Date
}

/** Records a try that did not come to its end, unless the source was removed. What the catalogue holds stays. */
export const recordTrouble = (
  db: Queryable,
  { sourceId, state, said, missing, bytes, mirror, now }: Attempt,
): Promise<unknown> =>
  db.query(
    `insert into import_root as r (source_id, state, said, tried_at, failures, missing_since, bytes, mirror)
    select id, $2, $3, $4::timestamptz, 1, case when $5 then $4::timestamptz end, $6::bigint, $7
    from import_source where id = $1 for key share
    on conflict (source_id) do update set state = $2, said = $3, tried_at = $4, failures = r.failures + 1,
      missing_since = case when $5 then coalesce(r.missing_since, $4) end, bytes = $6, mirror = coalesce($7, r.mirror)`,
    [sourceId, state, said, now, missing, bytes, mirror ?? null],
  )

/** Records that the source is as the catalogue has it. */
export const recordUnchanged = (
  db: Queryable,
  { sourceId, bytes, mirror, now }: Pick<Attempt, 'sourceId' | 'bytes' | 'mirror' | 'now'>,
): Promise<unknown> =>
  db.query(
    `update import_root set state = 'ok', said = null, tried_at = $2, synced_at = $2, failures = 0,
      missing_since = null, added = 0, removed = 0, bytes = $3, mirror = coalesce($4, mirror)
    where source_id = $1`,
    [sourceId, now, bytes, mirror ?? null],
  )

/** What a source is now. */
export interface Synced extends Pick<Attempt, 'sourceId' | 'bytes' | 'mirror' | 'now'> {
  readonly roots: readonly UpstreamRoot[]
  readonly sha256: string
  readonly packages: number
  readonly added: number
  readonly removed: number
}

/** Records what the catalogue was read from. */
export function recordSynced(db: Queryable, synced: Synced): Promise<unknown> {
  const { sourceId, roots, sha256, packages, added, removed, bytes, mirror, now } = synced
  const times = roots.flatMap(({ at }) => (at === undefined ? [] : [at]))
  const ends = roots.flatMap(({ validUntil }) => (validUntil === undefined ? [] : [validUntil]))
  const latest = (dates: readonly Date[]): Date | null =>
    dates.length === 0 ? null : new Date(Math.max(...dates.map(date => date.getTime())))
  const [first] = roots
  return db.query(
    `insert into import_root as r (source_id, state, sha256, at, valid_until, origin, codename, signed_by, packages,
      added, removed, bytes, mirror, tried_at, synced_at)
    values ($1, 'ok', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
    on conflict (source_id) do update set state = 'ok', said = null, sha256 = $2, at = $3, valid_until = $4, origin = $5,
      codename = $6, signed_by = $7, packages = $8, added = $9, removed = $10, bytes = $11,
      mirror = coalesce($12, r.mirror), tried_at = $13, synced_at = $13, failures = 0, missing_since = null`,
    [
      sourceId,
      sha256,
      latest(times),
      latest(ends),
      first?.origin ?? null,
      first?.codename ?? first?.suite ?? null,
      [...new Set(roots.flatMap(({ signedBy }) => signedBy))],
      packages,
      added,
      removed,
      bytes,
      mirror ?? null,
      now,
    ],
  )
}
