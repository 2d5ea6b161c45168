import type { Iso, PackageName } from '../../core/identity.ts'
import type { Manifest, State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

const OF = 'format = $1 and codename = $2 and name = $3'
const OLDEST_FIRST = 'order by sort_key, version collate "C", arch'

/** The first file of a version, as pages about its name show it. */
export interface FileRow<Facts> {
  readonly version: string
  readonly arch: string
  readonly state: State
  readonly path: string
  readonly sha256: string
  readonly md5: string
  /** In bytes. */
  readonly size: number
  /** Those that were asked for, and that it has. */
  readonly facts: Facts
  readonly at: Iso
  readonly review: Manifest['review'] | null
  readonly decision: Manifest['decision'] | null
  /** Why it is not served is read from this; null where it is. */
  readonly held: Pick<Manifest, 'ref' | 'state' | 'reports' | 'findings' | 'review' | 'decision'> | null
  /** Paths of files beside the first. */
  readonly beside: readonly string[]
}

/**
 * The files of a name in any state, oldest version first by the order of the format, then by architecture.
 * @param facts  the names of the facts that are read
 */
export function listFiles<Facts>(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name, facts }: PackageName & { readonly facts: readonly (keyof Facts & string)[] },
): Promise<FileRow<Facts>[]> {
  const { values, add } = params(format, codename, name, [...facts])
  return db.repeat<FileRow<Facts>>(
    `
    select version, arch, state, first ->> 'path' as path, first #>> '{blob,sha256}' as sha256,
      first #>> '{blob,md5}' as md5, (first #>> '{blob,size}')::bigint as size,
      (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(facts) where key = any($4::text[])) as facts,
      manifest ->> 'at' as at, manifest -> 'review' as review, manifest -> 'decision' as decision,
      case when state <> 'published' then manifest - 'files' - 'about' end as held,
      array(select one ->> 'path' from jsonb_array_elements(manifest -> 'files') with ordinality as f(one, n) where n > 1)
        as beside
    from package, lateral (select manifest #> '{files,0}' as first) as of
    where ${OF} and ${seenBy(viewer, add, 'codename')} ${OLDEST_FIRST}`,
    values,
  )
}

/** A version that is not served, by its first file. */
export interface HeldFile {
  readonly version: string
  readonly path: string
}

/** The versions of a name that are not served, in the same order. */
export function listHeldFiles(
  db: Queryable,
  viewer: Viewer,
  { format, codename, name }: PackageName,
): Promise<HeldFile[]> {
  const { values, add } = params(format, codename, name)
  return db.repeat<HeldFile>(
    `
    select version, manifest #>> '{files,0,path}' as path from package
    where ${OF} and state <> 'published' and ${seenBy(viewer, add, 'codename')} ${OLDEST_FIRST}`,
    values,
  )
}
