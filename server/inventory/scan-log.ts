import type { Queryable } from '../db/db.ts'
import type { Change } from './changes.ts'

/** So many changes of one scan are kept by name; the counts are of all. */
const MOST_CHANGES = 200
const MOST_LETTERS = 600

/** One time a machine was asked, or told of itself. */
export interface ScanEntry {
  readonly clientId: number
  readonly at: Date
  readonly connection: 'ssh' | 'agent'
  readonly by: string
  readonly durationMs: number
  readonly failed?: { readonly code: string; readonly message: string }
  readonly packages?: number
  readonly counts?: { readonly added: number; readonly removed: number; readonly changed: number }
  readonly changes?: readonly Change[]
}

export async function logScan(db: Queryable, entry: ScanEntry): Promise<void> {
  const { clientId, at, connection, by, durationMs, failed, packages, counts, changes = [] } = entry
  await db.query(
    `insert into inventory_scan (client_id, at, connection_type, asked_by, status, error_code, error, duration_ms, packages, added, removed, changed, changes)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::jsonb)`,
    [
      clientId,
      at,
      connection,
      by,
      failed === undefined ? 'ok' : 'error',
      failed?.code ?? null,
      failed?.message.slice(0, MOST_LETTERS) ?? null,
      Math.round(durationMs),
      packages ?? null,
      counts?.added ?? 0,
      counts?.removed ?? 0,
      counts?.changed ?? 0,
      JSON.stringify(changes.slice(0, MOST_CHANGES)),
    ],
  )
}

/** A machine could not be asked, or its report could not be taken. What was known before stays. */
export async function logFailure(
  db: Queryable,
  entry: ScanEntry & { readonly failed: { readonly code: string; readonly message: string } },
): Promise<void> {
  await db.query(
    `update inventory_client set last_scan = $2, last_scan_status = 'error', last_error_code = $3, last_error = $4 where id = $1`,
    [entry.clientId, entry.at, entry.failed.code, entry.failed.message.slice(0, MOST_LETTERS)],
  )
  await logScan(db, entry)
}

/** Removes entries from before a moment, so many at once. @returns whether there may be more */
export async function forgetScans(db: Queryable, before: Date, most = 10_000): Promise<boolean> {
  const rows = await db.query(
    'delete from inventory_scan where id in (select id from inventory_scan where at < $1 limit $2) returning id',
    [before, most],
  )
  return rows.length === most
}
