import { getPackage } from '../../catalog/get-package.ts'
import { pagingOf } from '../../catalog/page.ts'
import type { IndexedManifest } from '../../catalog/queries/search.ts'
import type { ContentsOf } from '../../contents/contents.ts'
import type { FileLists } from '../../contents/file-lists.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { isKept } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { compare } from './between.ts'
import type { comparison } from './contract.ts'
import { compareFiles } from './files.ts'
import { compareSnapshots } from './snapshots.ts'
import type { Known } from './unknown.ts'

export interface ComparisonDeps {
  readonly db: Queryable
  readonly contents: Pick<ContentsOf, 'of' | 'known'>
  readonly fileLists: FileLists
}

interface Two {
  readonly name: string
  readonly version: string
  readonly distribution?: string | undefined
  readonly arch?: string | undefined
  readonly with: string
  readonly with_distribution?: string | undefined
  readonly with_arch?: string | undefined
}

/** The two versions, the one before first. @throws package_not_found, version_not_found */
async function getTwo(
  db: Queryable,
  viewer: Viewer,
  two: Two,
): Promise<readonly [before: IndexedManifest, after: IndexedManifest]> {
  const after = await getPackage(db, viewer, two)
  const before = await getPackage(db, viewer, {
    name: two.name,
    version: two.with,
    // the same version is compared across distributions, another one in the same
    distribution: two.with_distribution ?? (two.with === two.version ? undefined : two.distribution),
    arch: two.with_arch ?? two.arch,
  })
  return [before, after]
}

export const comparisonHandlers: Handlers<typeof comparison, ComparisonDeps> = {
  'GET /artifacts/{name}/versions/compare': async ({ db }, { params, query: { v1, v2, ...where }, viewer }) => {
    // in turn, so that of two missing versions it is always the first that is named
    const one = await getPackage(db, viewer, { ...where, ...params, version: v1 })
    return compareSnapshots(one, await getPackage(db, viewer, { ...where, ...params, version: v2 }))
  },
  'GET /artifacts/{name}/{version}/compare': async ({ db, contents }, { params, query, viewer, raw }) => {
    const read = async (manifest: IndexedManifest): Promise<Known> => ({
      manifest,
      contents: await (isKept(manifest.state) ? contents.of(manifest, raw.signal) : contents.known(manifest)),
    })
    const [before, after] = await getTwo(db, viewer, { ...query, ...params })
    return compare(await read(before), await read(after))
  },
  'GET /artifacts/{name}/{version}/compare/files': async ({ db, fileLists }, { params, query, viewer, raw }) => {
    const two = await getTwo(db, viewer, { ...query, ...params })
    const away = two.find(({ state }) => !isKept(state))
    if (away !== undefined)
      fail('files_not_at_hand', { name: away.ref.name, version: away.ref.version, state: away.state })
    const [before, after] = two
    return compareFiles(await fileLists.of(before, raw.signal), await fileLists.of(after, raw.signal), {
      filter: query,
      paging: pagingOf(query),
    })
  },
}
