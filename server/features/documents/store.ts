import { fail } from '../../core/errors.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import type { StoredDocument } from '../../files/documents.ts'

/** Saves a document, replacing the one with the same key. */
export async function saveDocument(tx: Queryable, one: StoredDocument): Promise<void> {
  await tx.query(
    `insert into document (codename, kind, component, arch, name, sha256, size, entries, by, at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    on conflict (codename, kind, component, arch, name)
    do update set sha256 = excluded.sha256, size = excluded.size, entries = excluded.entries, by = excluded.by, at = excluded.at`,
    [
      one.codename,
      one.kind,
      one.component,
      one.arch,
      one.name,
      one.sha256,
      one.size,
      one.entries,
      one.by,
      new Date(one.at),
    ],
  )
}

/** Every language in a dozen components; all documents of Debian's main have 300 MB. */
const MOST = { documents: 1000, mb: 2048 }

/** Keeps the disk bounded. @throws documents_full */
export async function needRoom(tx: Tx, codename: string): Promise<void> {
  const all = await tx.first<{ readonly documents: string; readonly bytes: string }>(
    'select count(*) as documents, coalesce(sum(size), 0) as bytes from document where codename = $1',
    [codename],
  )
  if (Number(all?.documents) > MOST.documents || Number(all?.bytes) > MOST.mb * 2 ** 20)
    fail('documents_full', { codename, documents: MOST.documents, mb: MOST.mb })
}

/** @returns false where there is none */
export async function deleteDocument(
  tx: Tx,
  { codename, kind, component, arch, name }: Pick<StoredDocument, 'codename' | 'kind' | 'component' | 'arch' | 'name'>,
): Promise<boolean> {
  const rows = await tx.query(
    `delete from document where codename = $1 and kind = $2 and component = $3 and arch = $4 and name = $5 returning kind`,
    [codename, kind, component, arch, name],
  )
  return rows.length > 0
}

/** The codenames whose files on disk do not follow their rows yet. */
export async function listOwed(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ key: string }>(`select distinct key from outbox where key like 'document:%'`)
  return rows.map(({ key }) => key.slice('document:'.length))
}
