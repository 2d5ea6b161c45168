import type { Blob } from '../../core/identity.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** A published package, and an entry of the catalogue under its version that may name other bytes. */
export interface ListedOtherwise {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly source_id: number
  readonly source_key: string
  readonly component: string | null
  readonly path: string
  readonly size: number
  /** Of the entry. */
  readonly sha256: string | null
  readonly sha512: string | null
  readonly control: string | null
  /** Of the file here, and of that file as it came, where it carries this repository's signature now. */
  readonly blob: Blob
  readonly received: Blob | null
  /** Where the entry names its control member alone. */
  readonly facts: unknown
}

/**
 * What is published in a distribution and listed by sources under the same version, by name, but for what one of them
 * lists with the SHA-256 that is served here.
 */
export function listListedOtherwise(
  db: Queryable,
  viewer: Viewer,
  {
    codename,
    format,
    sources,
    names,
  }: {
    readonly codename: string
    readonly format: string
    readonly sources: readonly number[]
    readonly names: readonly string[] | undefined
  },
): Promise<ListedOtherwise[]> {
  const { values, add } = params(codename, format, sources, names ?? null)
  return db.query<ListedOtherwise>(
    `
    select p.name, p.version, p.arch, i.source_id, s.key as source_key, i.component, i.path, i.size, encode(i.sha256, 'hex') as sha256,
      encode(i.sha512, 'hex') as sha512, encode(i.control, 'hex') as control, p.manifest->'files'->0->'blob' as blob,
      p.manifest->'files'->0->'signed'->'received' as received, case when i.control is not null then p.facts end as facts
    from package p join import_package i on i.name = p.name and i.version = p.version and i.arch = p.arch
    join import_source s on s.id = i.source_id
    where p.codename = $1 and p.format = $2 and p.state = 'published' and coalesce(p.kind, 'binary') = 'binary'
      and i.source_id = any($3::int[]) and not i.hidden and ($4::text[] is null or p.name = any($4))
      and ${seenBy(viewer, add, 'p.codename')} and (i.sha256 is null or encode(i.sha256, 'hex') <> p.sha256)
      and not exists (select 1 from import_package o where o.name = p.name and o.version = p.version and o.arch = p.arch
        and o.source_id = any($3::int[]) and encode(o.sha256, 'hex') = p.sha256)
    order by p.name, p.version, p.arch, array_position($3::int[], i.source_id), i.id`,
    values,
  )
}
