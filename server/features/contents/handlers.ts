import { pagingOf } from '../../catalog/page.ts'
import { findPackage } from '../../catalog/queries/served.ts'
import type { IndexedManifest } from '../../catalog/queries/search.ts'
import { isKnown, type VersionPlace } from '../../catalog/queries/versions.ts'
import type { ContentsOf } from '../../contents/contents.ts'
import { contentsNow } from '../../contents/now.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { listComponents, listUnopened } from './contents.ts'
import type { contents } from './contract.ts'

export interface ContentsRoutesDeps {
  readonly db: Queryable
  readonly contents: Pick<ContentsOf, 'of' | 'known'>
}

/** @throws package_not_found, version_not_found */
async function getPackage(db: Queryable, viewer: Viewer, which: VersionPlace): Promise<IndexedManifest> {
  const manifest = await findPackage(db, viewer, which)
  if (manifest !== undefined) return manifest
  return fail((await isKnown(db, viewer, which.name)) ? 'version_not_found' : 'package_not_found', {
    name: which.name,
    version: which.version,
  })
}

export const contentsHandlers: Handlers<typeof contents, ContentsRoutesDeps> = {
  'GET /artifacts/{name}/{version}/components': async (deps, { params, query, viewer }) => {
    const { distribution, arch, ...filter } = query
    const manifest = await getPackage(deps.db, viewer, { ...params, distribution, arch })
    return listComponents(await contentsNow(deps.contents, manifest), manifest.findings, {
      filter,
      paging: pagingOf(query),
    })
  },
  'GET /artifacts/{name}/{version}/unopened': async (deps, { params, query, viewer }) => {
    const { distribution, arch, q } = query
    const manifest = await getPackage(deps.db, viewer, { ...params, distribution, arch })
    return listUnopened(await contentsNow(deps.contents, manifest), { q, paging: pagingOf(query) })
  },
}
