import type { Catalog } from '../catalog/catalog.ts'
import { isKnown, listCandidates, type VersionPlace } from '../catalog/queries/versions.ts'
import type { PackageRef } from '../core/identity.ts'
import { fail } from '../core/errors.ts'
import type { Manifest, State } from '../core/manifest.ts'
import type { SeenRepositories } from '../core/repository.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'

type Place = { readonly distribution?: string; readonly arch?: string }
/** The version that path, query and body name together; the first that names a place counts. */
export const versionPlaceOf = (
  params: { readonly name: string; readonly version: string },
  ...places: readonly Place[]
): VersionPlace => ({
  ...params,
  distribution: places.find(place => place.distribution !== undefined)?.distribution,
  arch: places.find(place => place.arch !== undefined)?.arch,
})

/** A package as it was when a request read it. */
export interface Found {
  readonly id: number
  readonly ref: PackageRef
  readonly state: State
  readonly uploadedBy: string
}

// with more of one version than this, a person cannot tell them apart anyway
const MOST = 50

/**
 * Every package that the request means. @param most  how many; undefined means all. @throws package_not_found,
 * version_not_found
 */
export async function findEach(
  db: Queryable,
  viewer: Viewer,
  which: VersionPlace,
  most?: number,
): Promise<readonly Found[]> {
  const { name, version } = which
  const rows = await listCandidates(db, viewer, { ...which, most })
  if (rows.length === 0) {
    return (await isKnown(db, viewer, name))
      ? fail('version_not_found', { name, version })
      : fail('package_not_found', { name })
  }
  return rows.map(({ id, state, uploaded_by: uploadedBy, ...ref }) => ({ id, state, uploadedBy, ref }))
}

/**
 * The one package that the request means: a reviewer acts on one version in one distribution.
 * @param how  what the caller may add to say which
 * @throws package_not_found, version_not_found, ambiguous_version naming where it lies
 */
export async function findOne(
  db: Queryable,
  viewer: Viewer,
  which: VersionPlace,
  how = 'distribution and arch name one',
): Promise<Found> {
  const found = await findEach(db, viewer, which, MOST)
  const [first] = found
  if (first !== undefined && found.length === 1) return first
  return fail('ambiguous_version', {
    name: which.name,
    version: which.version,
    how,
    where: found.map(({ ref }) => `${ref.codename}/${ref.arch}`).join(', '),
    variants: found.map(({ ref, state }) => ({ distribution: ref.codename, arch: ref.arch, status: state })),
  })
}

/** For reading: the published one first, with the others beside it. @throws package_not_found, version_not_found */
async function findAny(
  db: Queryable,
  viewer: Viewer,
  which: VersionPlace,
): Promise<{ readonly found: Found; readonly others: readonly Found[] }> {
  const [found, ...others] = await findEach(db, viewer, which, MOST)
  return found === undefined
    ? fail('version_not_found', { name: which.name, version: which.version })
    : { found, others }
}

export interface VersionDeps {
  readonly db: Queryable
  readonly catalog: Pick<Catalog, 'find'>
  readonly repositories: Pick<SeenRepositories, 'get'>
}

/** The same with its manifest. @throws unknown_distribution, package_not_found, version_not_found */
export async function readVersion(
  { db, catalog, repositories }: VersionDeps,
  viewer: Viewer,
  which: VersionPlace,
): Promise<{ readonly manifest: Manifest; readonly others: readonly Found[] }> {
  if (which.distribution !== undefined) repositories.get(which.distribution)
  const { found, others } = await findAny(db, viewer, which)
  const { name, version } = which
  return { manifest: (await catalog.find(viewer, found.ref)) ?? fail('version_not_found', { name, version }), others }
}
