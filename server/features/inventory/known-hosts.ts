import type { Queryable } from '../../db/db.ts'
import type { KnownHostView } from './views.ts'

interface Row extends Omit<KnownHostView, 'trusted_at' | 'offered_at'> {
  readonly trusted_at: Date
  readonly offered_at: Date | null
}

/** The host key that a machine is trusted by. */
export async function findKnownHost(db: Queryable, clientId: number): Promise<KnownHostView | undefined> {
  const row = await db.first<Row>(
    `select hostname, key_type, fingerprint, trusted_at, trusted_by, offered_key_type, offered_fingerprint, offered_at
    from inventory_known_host where client_id = $1`,
    [clientId],
  )
  return row && { ...row, trusted_at: row.trusted_at.toISOString(), offered_at: row.offered_at?.toISOString() ?? null }
}

/** Trusts the key that was offered. @returns false when it was another one */
export async function trustOffered(
  db: Queryable,
  clientId: number,
  { fingerprint, by, at }: { readonly fingerprint: string; readonly by: string; readonly at: Date },
): Promise<boolean> {
  const rows = await db.query(
    `update inventory_known_host set key_type = offered_key_type, fingerprint = offered_fingerprint, trusted_at = $3, trusted_by = $4,
      offered_key_type = null, offered_fingerprint = null, offered_at = null
    where client_id = $1 and offered_fingerprint = $2 returning client_id`,
    [clientId, fingerprint, at, by],
  )
  return rows.length > 0
}

/** Forgets the key: the next one seen is trusted. */
export async function forgetKnownHost(db: Queryable, clientId: number): Promise<void> {
  await db.query('delete from inventory_known_host where client_id = $1', [clientId])
}
