import type { Blob, Codename } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'
import type { Repository } from '../../catalog/queries/oci.ts'

/** An upload that is under way: its bytes lie in a file of this name. */
export interface UploadRow extends Repository {
  readonly id: string
  readonly startedBy: string
  /** So many bytes of the file count; what is behind them came with a request that broke off. */
  readonly size: number
  /** The digests of these bytes, where one request brought them all. */
  readonly blob: Blob | undefined
}

interface Row {
  readonly id: string
  readonly codename: Codename
  readonly name: string
  readonly started_by: string
  readonly size: number
  readonly digests: Blob | null
}

/** Begins one. */
export async function insertUpload(
  db: Queryable,
  { id, codename, name, startedBy }: UploadRow,
  at: Date,
): Promise<void> {
  await db.query(
    'insert into registry_upload (id, codename, name, started_by, size, touched_at) values ($1, $2, $3, $4, 0, $5)',
    [id, codename, name, startedBy, at],
  )
}

/** Undefined where there is none of this repository. */
export async function findUpload(
  db: Queryable,
  { codename, name, id }: Repository & { readonly id: string },
): Promise<UploadRow | undefined> {
  const row = await db.first<Row>(
    'select id, codename, name, started_by, size, digests from registry_upload where id = $1 and codename = $2 and name = $3',
    [id, codename, name],
  )
  return row && { id, codename, name, startedBy: row.started_by, size: row.size, blob: row.digests ?? undefined }
}

/** Notes how far it is. */
export async function updateUpload(
  db: Queryable,
  { id, size, blob }: Pick<UploadRow, 'id' | 'size' | 'blob'>,
  at: Date,
): Promise<void> {
  await db.query('update registry_upload set size = $2, digests = $3, touched_at = $4 where id = $1', [
    id,
    size,
    blob === undefined ? null : JSON.stringify(blob),
    at,
  ])
}

/** Ends it. */
export async function deleteUpload(db: Queryable, id: string): Promise<void> {
  await db.query('delete from registry_upload where id = $1', [id])
}

/** Ends those that nobody went on with since `before`. */
export async function deleteOldUploads(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from registry_upload where touched_at < $1', [before])
}

/** The ids of all. */
export async function listUploads(db: Queryable): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ id: string }>('select id from registry_upload')
  return new Set(rows.map(({ id }) => id))
}
