import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** A binary package that a distribution has, in whatever state. */
export interface Known {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly state: State
  /** The name of its source package. */
  readonly source: string
  /** Where it came from: `upload`, `source:bookworm`. */
  readonly origin: string
}

/** Every binary package of a distribution, by name, the newest version first. */
export function listKnown(
  db: Queryable,
  viewer: Viewer,
  { codename }: { readonly codename: string },
): Promise<Known[]> {
  const { values, add } = params(codename)
  return db.query<Known>(
    `
    select p.name, p.version, p.arch, p.state, p.source, p.origin from package p
    where p.codename = $1 and p.kind = 'binary' and ${seenBy(viewer, add, 'p.codename')}
    order by p.name, p.sort_key desc, p.version collate "C" desc, p.arch`,
    values,
  )
}
