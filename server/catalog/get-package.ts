import { fail } from '../core/errors.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'
import type { IndexedManifest } from './queries/search.ts'
import { findPackage } from './queries/served.ts'
import { isKnown, type VersionPlace } from './queries/versions.ts'

/**
 * One package of a name and version: the published one, unless the place names another.
 * @throws package_not_found, version_not_found
 */
export async function getPackage(db: Queryable, viewer: Viewer, which: VersionPlace): Promise<IndexedManifest> {
  const manifest = await findPackage(db, viewer, which)
  if (manifest !== undefined) return manifest
  return fail((await isKnown(db, viewer, which.name)) ? 'version_not_found' : 'package_not_found', {
    name: which.name,
    version: which.version,
  })
}
