import type { FormatId, Iso } from '../../core/identity.ts'
import type { RemoteFile } from '../../core/remote-file.ts'
import type { Db, Queryable } from '../../db/db.ts'
import type { RemoteKey } from './remote-versions.ts'

/** What registries that read through keep of what another installation carried here: as if an upstream had said it. */

/** Names of `remote_name` that came so, and of which no upstream said anything since: they are served at any age. */
export const IS_CARRIED = `about ? 'carried_at'`

export interface CarriedEntry {
  readonly format: FormatId
  readonly version: string
  readonly arch: string
  readonly sort_key: string
  readonly published_at: Iso | undefined
  readonly file: RemoteFile | undefined
  readonly facts: Readonly<Record<string, unknown>>
  readonly full_document: string | undefined
  readonly short_document: string | undefined
}

/**
 * Lets a version be one of a name whose index was never asked for. It is listed while its package is here; what an
 * upstream said of it stays.
 */
export async function addCarried(
  db: Pick<Db, 'tx'>,
  { codename, name }: RemoteKey,
  entry: CarriedEntry,
  { now, revision }: { readonly now: Date; readonly revision: string },
): Promise<void> {
  const { version, arch, sort_key, published_at = null, file, facts, full_document, short_document } = entry
  await db.tx(async tx => {
    await tx.query(
      `insert into remote_version (codename, name, version, arch, sort_key, published_at, seen_at, file, facts,
        full_document, short_document, is_listed)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, false)
      on conflict (codename, name, version, arch) do update set file = coalesce(remote_version.file, excluded.file),
        full_document = coalesce(remote_version.full_document, excluded.full_document),
        short_document = coalesce(remote_version.short_document, excluded.short_document)`,
      [
        ...[codename, name, version, arch, sort_key, published_at, now],
        file === undefined ? null : JSON.stringify(file),
        JSON.stringify(facts),
        full_document ?? null,
        short_document ?? null,
      ],
    )
    await nameCarried(tx, { codename, name }, { now, revision })
  })
}

/** What documents about the name show follows from something else now. */
const nameCarried = (
  db: Queryable,
  { codename, name }: RemoteKey,
  { now, revision }: { readonly now: Date; readonly revision: string },
): Promise<unknown> =>
  db.query(
    `insert into remote_name as n (codename, name, is_missing, validators, about, revision, checked_at, tried_at)
    values ($1, $2, false, '{}', jsonb_build_object('carried_at', $4::timestamptz), $3, $4, $4)
    on conflict (codename, name) do update set revision = excluded.revision, is_missing = false, validators = '{}',
      about = case when n.is_missing then n.about || excluded.about else n.about end`,
    [codename, name, revision, now],
  )

/**
 * Sets what is said of a version. @param keys  the facts that a mark may set; those that it does not are taken away
 * @returns false where it said so already, or where there is none
 */
export async function setCarriedFacts(
  db: Pick<Db, 'tx'>,
  { codename, name, version, arch }: RemoteKey & { readonly version: string; readonly arch: string },
  facts: Readonly<Record<string, unknown>>,
  { now, revision }: { readonly now: Date; readonly revision: string },
): Promise<boolean> {
  return db.tx(async tx => {
    const changed = await tx.query(
      `update remote_version set facts = facts - 'deprecated' - 'yanked' || $5::jsonb
      where codename = $1 and name = $2 and version = $3 and arch = $4
        and facts is distinct from (facts - 'deprecated' - 'yanked' || $5::jsonb) returning 1 as one`,
      [codename, name, version, arch, JSON.stringify(facts)],
    )
    if (changed.length > 0) await nameCarried(tx, { codename, name }, { now, revision })
    return changed.length > 0
  })
}

/** Who said last what the tags of a name are. */
export interface CarriedName {
  readonly is_carried: boolean
  readonly checked_at: Date
  /** What the tag names; null: nothing. */
  readonly version: string | null
}

export const findCarriedName = (
  db: Queryable,
  { codename, name }: RemoteKey,
  tag: string,
): Promise<CarriedName | undefined> =>
  db.first<CarriedName>(
    `select ${IS_CARRIED} as is_carried, checked_at, about->'tags'->>$3 as version from remote_name
    where codename = $1 and name = $2`,
    [codename, name, tag],
  )

/** Lets a tag of an index name another version. */
export const setCarriedTag = (
  db: Queryable,
  { codename, name }: RemoteKey,
  { tag, version, revision }: { readonly tag: string; readonly version: string; readonly revision: string },
): Promise<unknown> =>
  db.query(
    `update remote_name set revision = $5,
      about = about || jsonb_build_object('tags', coalesce(about->'tags', '{}') || jsonb_build_object($3::text, $4::text))
    where codename = $1 and name = $2`,
    [codename, name, tag, version, revision],
  )
