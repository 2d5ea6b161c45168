import type { Queryable } from '../../db/db.ts'
import { codenamesIn, type BundleManifest, type Receipt, type RefRow } from './manifest.ts'

/** SQL of the other side: who may send, and what came. */

/** Another installation whose bundles are taken. */
export interface Sender {
  readonly id: number
  readonly name: string
  readonly fingerprints: readonly string[]
  readonly key: string | null
  /** What this site is called there; null before the first bundle. */
  readonly site: string | null
  readonly installation: string | null
  /** The highest number that was taken; 0: none. */
  readonly last_number: number
  readonly added_by: string
  readonly added_at: Date
}

const SENDER = 'id, name, fingerprints, key, site, installation, last_number, added_by, added_at'

export const listSenders = (db: Queryable): Promise<Sender[]> =>
  db.query<Sender>(`select ${SENDER} from bundle_sender order by name`)

export const findSender = (db: Queryable, id: number): Promise<Sender | undefined> =>
  db.first<Sender>(`select ${SENDER} from bundle_sender where id = $1`, [id])

/** @returns undefined where there is one of this name */
export const addSender = (
  db: Queryable,
  given: Pick<Sender, 'name' | 'fingerprints' | 'key' | 'site'> & { readonly by: string },
): Promise<Sender | undefined> =>
  db.first<Sender>(
    `insert into bundle_sender (name, fingerprints, key, site, added_by) values ($1, $2, $3, $4, $5)
    on conflict (name) do nothing returning ${SENDER}`,
    [given.name, given.fingerprints, given.key, given.site, given.by],
  )

/** Adds keys to a sender, such as those that it signs with from now on. */
export const pinMore = (
  db: Queryable,
  id: number,
  { fingerprints, key }: Pick<Sender, 'fingerprints' | 'key'>,
): Promise<Sender | undefined> =>
  db.first<Sender>(`update bundle_sender set fingerprints = $2, key = $3 where id = $1 returning ${SENDER}`, [
    id,
    fingerprints,
    key,
  ])

export const removeSender = (db: Queryable, id: number): Promise<Sender | undefined> =>
  db.first<Sender>(`delete from bundle_sender where id = $1 returning ${SENDER}`, [id])

/** What became of data that came along. */
export interface DataOutcome {
  readonly kind: string
  readonly name: string
  readonly outcome: 'loaded' | 'already' | 'older' | 'failed' | 'unknown_kind'
  /** A sentence where it was not loaded. */
  readonly why: string | null
}

/** What became of a tag or a mark of a registry that is not as it was carried, or took the place of another. */
export interface WordOutcome {
  readonly word: 'tag' | 'mark'
  /** Null for a mark. */
  readonly tag: string | null
  readonly ref: RefRow
  readonly outcome: 'done' | 'already' | 'stays' | 'waits' | 'refused'
  /** A sentence. */
  readonly why: string
}

export interface NotPublished {
  readonly ref: RefRow
  readonly outcome: Receipt['bundles'][number]['not_published'][number]['outcome']
  readonly why: string
}

/** How many packages came to what. `upstream_changed`: they are here with other bytes, which stay. */
export type Counts = Readonly<Record<'published' | 'already' | NotPublished['outcome'], number>>
export const NONE: Counts = { published: 0, already: 0, held: 0, refused: 0, upstream_changed: 0, waits: 0 }

/** A bundle that came. */
export interface Taken {
  readonly id: number
  readonly sender_id: number
  readonly sender: string
  readonly number: number
  readonly name: string
  readonly sha256: string
  readonly codenames: readonly string[]
  readonly state: 'running' | 'done' | 'failed'
  readonly why: string | null
  readonly packages: number
  readonly size: number
  readonly counts: Partial<Counts>
  readonly missing: readonly number[]
  readonly not_published: readonly NotPublished[]
  readonly data: readonly DataOutcome[]
  readonly words: readonly WordOutcome[]
  readonly created_at: Date
  readonly job_id: string
  readonly taken_by: string
  readonly started_at: Date
  readonly ended_at: Date | null
}

const TAKEN = `t.id, t.sender_id, s.name as sender, t.number, t.name, t.sha256, t.codenames, t.state, t.why, t.packages, t.size, t.counts,
  t.missing, t.not_published, t.data, t.words, t.created_at, t.job_id, t.taken_by, t.started_at, t.ended_at`

export const listTaken = (db: Queryable, hidden: readonly string[], senderId?: number): Promise<Taken[]> =>
  db.query<Taken>(
    `select ${TAKEN} from bundle_taken t join bundle_sender s on s.id = t.sender_id
    where not t.codenames && $1::text[] and ($2::int is null or t.sender_id = $2)
    order by t.started_at desc, t.id desc limit 500`,
    [hidden, senderId ?? null],
  )

export const findTaken = (
  db: Queryable,
  { senderId, sha256 }: { readonly senderId: number; readonly sha256: string },
): Promise<Taken | undefined> =>
  db.first<Taken>(
    `select ${TAKEN} from bundle_taken t join bundle_sender s on s.id = t.sender_id where t.sender_id = $1 and t.sha256 = $2`,
    [senderId, sha256],
  )

/**
 * Numbers from `from` to `upTo` that neither came nor were made good by a later bundle: one holds what came after the
 * bundle that it builds on, and what its receipt lacks.
 */
export async function listMissing(
  db: Queryable,
  senderId: number,
  { from = 1, upTo }: { readonly from?: number; readonly upTo: number },
): Promise<number[]> {
  const rows = await db.query<{ n: number }>(
    `select n from generate_series($2::int, $3::int) n where not exists (
      select 1 from bundle_taken t where t.sender_id = $1 and t.state = 'done'
        and (n <= t.covers_to or n between t.covers_from and t.number))
    order by n limit 1000`,
    [senderId, from, upTo],
  )
  return rows.map(({ n }) => n)
}

/** Begins to take a bundle, or goes on with it. @returns its id */
export async function beginTaking(
  db: Queryable,
  given: {
    readonly senderId: number
    readonly manifest: BundleManifest
    readonly sha256: string
    readonly size: number
    readonly missing: readonly number[]
    readonly jobId: string
    readonly by: string
  },
): Promise<number> {
  const { senderId, manifest, sha256, size, missing, jobId, by } = given
  const { number, name, packages, created_at, based_on } = manifest
  const row = await db.first<{ id: number }>(
    `insert into bundle_taken (sender_id, number, name, sha256, codenames, state, packages, size, missing, created_at, job_id, taken_by,
      covers_to, covers_from)
    values ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9, $10, $11, $12, $13)
    on conflict (sender_id, sha256) do update set
      state = 'running', why = null, ended_at = null, taken_by = $11,
      missing = case when bundle_taken.job_id = $10 then bundle_taken.missing else $8 end, job_id = $10
    returning id`,
    [
      senderId,
      number,
      name,
      sha256,
      codenamesIn(manifest),
      packages.length,
      size,
      missing,
      created_at,
      jobId,
      by,
      based_on.partial ? 0 : based_on.since,
      based_on.partial ? number : based_on.number + 1,
    ],
  )
  if (row === undefined) throw new Error('a row that was written is gone')
  return row.id
}

/** What became of one package. */
export interface ItemOutcome {
  readonly seq: number
  readonly outcome: keyof Counts
  readonly why: string | null
}

export const readItems = (db: Queryable, takenId: number): Promise<ItemOutcome[]> =>
  db.query<ItemOutcome>('select seq, outcome, why from bundle_item where taken_id = $1 order by seq', [takenId])

export const noteItem = (db: Queryable, takenId: number, { seq, outcome, why }: ItemOutcome): Promise<unknown> =>
  db.query(
    `insert into bundle_item (taken_id, seq, outcome, why) values ($1, $2, $3, $4)
    on conflict (taken_id, seq) do update set outcome = $3, why = $4`,
    [takenId, seq, outcome, why],
  )

/** Forgets what an earlier job came to with packages: they are tried again. */
export const forgetItems = (db: Queryable, takenId: number): Promise<unknown> =>
  db.query('delete from bundle_item where taken_id = $1', [takenId])

export const noteData = (db: Queryable, takenId: number, data: readonly DataOutcome[]): Promise<unknown> =>
  db.query('update bundle_taken set data = $2 where id = $1', [takenId, JSON.stringify(data)])

/** Ends the taking: the row, what the sender is known by, and the items, which the row now sums up. */
export async function endTaking(
  db: Queryable,
  {
    takenId,
    sender,
    manifest,
    counts,
    notPublished,
    words,
    now,
  }: {
    readonly takenId: number
    readonly sender: Pick<Sender, 'id'>
    readonly manifest: BundleManifest
    readonly counts: Counts
    readonly notPublished: readonly NotPublished[]
    readonly words: readonly WordOutcome[]
    readonly now: Date
  },
): Promise<void> {
  await db.query(
    `update bundle_taken set state = 'done', counts = $2, not_published = $3, ended_at = $4, words = $5 where id = $1`,
    [takenId, JSON.stringify(counts), JSON.stringify(notPublished), now, JSON.stringify(words)],
  )
  await db.query(
    `update bundle_sender set last_number = greatest(last_number, $2), site = coalesce(site, $3), installation = $4 where id = $1`,
    [sender.id, manifest.number, manifest.site, manifest.sender.id],
  )
  await forgetItems(db, takenId)
}

export const failTaking = (db: Queryable, takenId: number, why: string, now: Date): Promise<unknown> =>
  db.query(`update bundle_taken set state = 'failed', why = $2, ended_at = $3 where id = $1`, [takenId, why, now])
