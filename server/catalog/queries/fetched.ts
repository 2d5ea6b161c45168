import type { Codename, FormatId } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'

/** A version that clients asked a registry for. */
export interface AskedVersion {
  readonly codename: Codename
  readonly name: string
  readonly version: string
  /** Undefined: of whatever architecture. */
  readonly arch?: string | undefined
  /** One of its files; undefined: its only one. */
  readonly file?: string | undefined
}

/** A version that is here, by the place of the question in the list. */
export interface FoundVersion {
  readonly at: number
  readonly version: string
  readonly arch: string
  /** Whether the file is the main one of the version. */
  readonly isMain: boolean
}

/** The versions that these addresses name, in any state; the one whose main file it is comes first. */
export function findAsked(db: Queryable, format: FormatId, asked: readonly AskedVersion[]): Promise<FoundVersion[]> {
  const column = (key: keyof AskedVersion): (string | null)[] => asked.map(one => one[key] ?? null)
  return db.query<FoundVersion>(
    `select (w.at - 1)::int as at, p.version, p.arch, coalesce(f.n = 0, true) as "isMain"
    from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
      with ordinality as w (codename, name, version, arch, file, at)
    join package p on p.format = $1 and p.codename = w.codename and p.name = w.name and p.version = w.version
      and (w.arch is null or p.arch = w.arch)
    left join package_file f on f.package_id = p.id and f.path = w.file
    where w.file is null or f.n is not null
    order by w.at, "isMain" desc, p.arch`,
    [format, column('codename'), column('name'), column('version'), column('arch'), column('file')],
  )
}

/** What stands for a version: a tag, or a digest by another algorithm. */
export interface AskedReference {
  readonly codename: Codename
  readonly name: string
  readonly reference: string
}

/** The versions that references name now; of a tag that is read through, the one that clients got by it last. */
export function findReferences(
  db: Queryable,
  format: FormatId,
  asked: readonly AskedReference[],
): Promise<{ readonly at: number; readonly version: string }[]> {
  return db.query(
    `with w as (select * from unnest($2::text[], $3::text[], $4::text[]) with ordinality as w (codename, name, reference, at))
    select (w.at - 1)::int as at, t.version from w
      join tag t on t.format = $1 and t.codename = w.codename and t.name = w.name and t.tag = w.reference
    union all
    select (w.at - 1)::int, r.served->>0 from w
      join oci_remote_tag r on r.codename = w.codename and r.name = w.name and r.tag = w.reference and r.served <> '[]'
    union all
    select (w.at - 1)::int, p.version from w
      join package p on p.format = $1 and p.codename = w.codename and p.name = w.name
      join package_file f on f.package_id = p.id and f.n = 0 and 'sha512:' || f.sha512 = w.reference`,
    [
      format,
      asked.map(({ codename }) => codename),
      asked.map(({ name }) => name),
      asked.map(({ reference }) => reference),
    ],
  )
}
