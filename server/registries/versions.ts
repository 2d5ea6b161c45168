import {
  listHolders,
  listNamesOf,
  listVersionsOf,
  type NameRow,
  type NamesFilter,
} from '../catalog/queries/registry.ts'
import { readTags } from '../catalog/queries/tags.ts'
import type { PackageName, Sha256 } from '../core/identity.ts'
import { isServed, type Manifest } from '../core/manifest.ts'
import type { Distribution } from '../core/repository.ts'
import type { Tag } from '../core/tag.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'

type Registry = Pick<Distribution, 'codename' | 'format'>

/** Every version of a name in any state, oldest first by the order of the format; `[]` where the name is unknown. */
export const listVersions = (
  db: Queryable,
  viewer: Viewer,
  { codename, format }: Registry,
  name: string,
): Promise<readonly Manifest[]> => listVersionsOf(db, viewer, { codename, format, name })

/** The versions of these that clients get. */
export const servedOf = (versions: readonly Manifest[]): readonly Manifest[] =>
  versions.filter(({ state }) => isServed(state))

/** The names of a registry in the order of their code points, at most `most` behind `after`. */
export const listNames = (
  db: Queryable,
  viewer: Viewer,
  { codename, format }: Registry,
  page: { readonly after?: string; readonly most: number } & Pick<NamesFilter, 'states' | 'q'>,
): Promise<readonly NameRow[]> => listNamesOf(db, viewer, { codename, format, states: page.states, q: page.q }, page)

/** The versions that have a file with this digest, in any state. */
export const findHolders = (
  db: Queryable,
  viewer: Viewer,
  { codename, format }: Registry,
  sha256: Sha256,
): Promise<readonly Manifest[]> => listHolders(db, viewer, { codename, format, sha256 })

/** The tags of a name, in the order of their names. */
export const listTags = (
  db: Queryable,
  viewer: Viewer,
  { codename, format }: Registry,
  name: PackageName['name'],
): Promise<readonly Tag[]> => readTags(db, viewer, { codename, format, name })
