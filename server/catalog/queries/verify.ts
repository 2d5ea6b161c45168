import type { PackageRef } from '../../core/identity.ts'
import type { Manifest, PackageKind } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { params, seenBy } from './sql.ts'

/** A version as the database has it; `blobs` are the SHA-256 of its files, the first one's first. */
export interface VerifiedRow extends PackageRef {
  readonly component: string | null
  readonly state: Manifest['state']
  readonly changed_at: Date
  readonly source: string
  readonly kind: PackageKind
  readonly blobs: readonly string[]
  /** The names of its files after the first one. */
  readonly others: readonly string[]
}

/** Every version, in the order of ids. */
export function listVersions(db: Queryable, viewer: Viewer): Promise<VerifiedRow[]> {
  const { values, add } = params()
  return db.query<VerifiedRow>(
    `
      select format, codename, name, version, arch, kind, component, state, changed_at, source,
        array(select sha256 from package_file where package_id = id order by n) as blobs,
        array(select path from package_file where package_id = id and n > 0 order by n) as others
      from package where ${seenBy(viewer, add, 'codename')} order by id`,
    values,
  )
}
