import { covers, type Role } from '../../../core/access.ts'
import type { Queryable, Tx } from '../../../db/db.ts'

export interface ApiToken {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly created_by: string
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
  /** Codenames it is limited to; null means all. */
  readonly distributions: readonly string[] | null
  readonly upload_only: boolean
  /** Null: the settings say. */
  readonly uploads_per_minute: number | null
  /** The user who made it and that user's state; null where the user was deleted. */
  readonly creator: string | null
  readonly creator_role: Role | null
  /** False while that user is deactivated: what it made rests with it. */
  readonly creator_active: boolean | null
}

const TOKEN_COLUMNS = `id, name, role, created_by, created_at, expires_at, last_used_at, distributions, upload_only, uploads_per_minute, creator,
  (select account.role from account where account.username = api_token.creator) as creator_role,
  (select account.active from account where account.username = api_token.creator) as creator_active`

/**
 * The role of the token now, never above that of its maker. Where that user was deleted, no role limits it; an admin
 * revokes it or leaves it.
 */
export function roleToday({ role, creator_role: creator }: Pick<ApiToken, 'role' | 'creator_role'>): Role {
  if (creator === null || covers(creator, role)) return role
  return covers(role, creator) ? creator : 'reader'
}

export interface NewToken {
  readonly name: string
  readonly role: Role
  readonly hash: string
  readonly by: string
  readonly creator: string | undefined
  readonly expiresAt: Date | undefined
  readonly distributions: readonly string[] | undefined
  readonly uploadOnly: boolean
  readonly uploadsPerMinute: number | undefined
}

/** Keeps a new token; of the token itself only its hash. */
export async function insertToken(
  tx: Tx,
  { name, role, hash, by, creator, expiresAt, distributions, uploadOnly, uploadsPerMinute }: NewToken,
): Promise<ApiToken> {
  const row = await tx.first<ApiToken>(
    `
    insert into api_token (name, role, hash, created_by, creator, expires_at, distributions, upload_only, uploads_per_minute)
    values ($1, $2, $3, $4, (select username from account where username = $5), $6, $7, $8, $9) returning ${TOKEN_COLUMNS}`,
    [
      name,
      role,
      hash,
      by,
      creator ?? null,
      expiresAt ?? null,
      distributions ?? null,
      uploadOnly,
      uploadsPerMinute ?? null,
    ],
  )
  if (row === undefined) throw new Error('an insert gave no row back')
  return row
}

/** The user on whose behalf a token acts: the one who made it. */
export async function creatorOfToken(db: Queryable, id: string): Promise<string | undefined> {
  return (
    (await db.first<{ creator: string | null }>('select creator from api_token where id = $1', [id]))?.creator ??
    undefined
  )
}

/** By the hash of what was sent. */
export function findToken(db: Queryable, hash: string): Promise<ApiToken | undefined> {
  return db.first<ApiToken>(`select ${TOKEN_COLUMNS} from api_token where hash = $1`, [hash])
}

/** @param id  a uuid */
export function findTokenById(db: Queryable, id: string): Promise<ApiToken | undefined> {
  return db.first<ApiToken>(`select ${TOKEN_COLUMNS} from api_token where id = $1`, [id])
}

/** The tokens somebody made, locked until the transaction ends. */
export function listTokensOf(db: Queryable, creator: string): Promise<ApiToken[]> {
  return db.query<ApiToken>(`select ${TOKEN_COLUMNS} from api_token where creator = $1 order by id for update`, [
    creator,
  ])
}

/** Sets the role of a token whose maker may do less than before. */
export async function lowerToken(tx: Tx, id: string, role: Role): Promise<void> {
  await tx.query('update api_token set role = $2 where id = $1', [id, role])
}

/** Every token, the newest first. */
export function listTokens(db: Queryable): Promise<ApiToken[]> {
  return db.query<ApiToken>(`select ${TOKEN_COLUMNS} from api_token order by created_at desc, id`)
}

/**
 * Revokes a token, and writes down that it ended, so that no restore brings it back. @returns what it was, undefined
 * where there is none
 */
export async function deleteToken(tx: Tx, id: string): Promise<ApiToken | undefined> {
  const gone = await tx.first<ApiToken>(`delete from api_token where id = $1 returning ${TOKEN_COLUMNS}`, [id])
  if (gone !== undefined)
    await tx.query(
      `insert into ended_token (id, until) values ($1, coalesce($2::timestamptz, 'infinity')) on conflict do nothing`,
      [id, gone.expires_at],
    )
  return gone
}

/** At most once a minute per token: a busy build server must not write a row per request. */
export async function noteTokenUse(db: Queryable, id: string, at: Date): Promise<void> {
  await db.query(
    `update api_token set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')`,
    [id, at],
  )
}
