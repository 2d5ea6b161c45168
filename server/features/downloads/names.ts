import { relative } from 'node:path'
import { filesAt } from '../../catalog/queries/file-paths.ts'
import type { Codename } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import type { Format } from '../../formats/format.ts'
import { decoded, type NamedFile } from './named-file.ts'
import { moves, nameFetched, readRegistryPath } from './registry-names.ts'

export interface NamesDeps {
  readonly layout: Pick<Layout, 'live' | 'generation' | 'byHash' | 'publishedFolder' | 'aptPool' | 'apkKeys'>
  readonly repositories: Pick<Repositories, 'find'>
  /** Those whose trees are looked in. */
  readonly formats: readonly Pick<Format, 'id' | 'site'>[]
}

/** Where a path may lie among the packages of a distribution. */
interface Placed {
  readonly path: string
  readonly codename: string
  readonly within: readonly string[]
}

function placeOf(path: string, { layout, repositories, formats }: NamesDeps): Placed | undefined {
  for (const { id, site } of formats) {
    if (site === undefined || !path.startsWith(site.root)) continue
    let codename: Codename | undefined
    const found = site.place(decoded(path.slice(site.root.length)), {
      layout,
      tree: segment => {
        const distribution = repositories.find(segment ?? '')
        if (distribution?.format !== id) return undefined
        codename = distribution.codename
        return { distribution, n: undefined, folder: layout.live(codename) }
      },
    })
    if (found === undefined || codename === undefined) continue
    const folder = layout.publishedFolder(codename)
    return { path, codename, within: found.paths.map(one => relative(folder, one)) }
  }
  return undefined
}

/** What the file's name says, where no package is known under it: one that was deleted, for example. */
function guess(path: string, formats: NamesDeps['formats']): Omit<NamedFile, 'path' | 'codename'> {
  const file = (decoded(path).at(-1) ?? '').slice(0, 400)
  for (const { id, site } of formats) {
    const named = site?.nameIn?.(file)
    if (named !== undefined) return { format: id, ...named }
  }
  return { format: /\.(\w+)$/.exec(file)?.[1] ?? '', name: file, version: '', arch: '' }
}

async function nameInTrees(db: Queryable, paths: readonly string[], deps: NamesDeps): Promise<readonly NamedFile[]> {
  const placed = new Map(paths.map(path => [path, placeOf(path, deps)]))
  const byCodename = Map.groupBy(
    [...placed.values()].filter(one => one !== undefined),
    ({ codename }) => codename,
  )
  const known = new Map<string, Omit<NamedFile, 'path' | 'codename'>>()
  for (const [codename, ones] of byCodename)
    for (const { path, ...named } of await filesAt(
      db,
      ALL_SEEING,
      codename,
      ones.flatMap(({ within }) => within),
    ))
      known.set(`${codename} ${path}`, named)
  return paths.map(path => {
    const at = placed.get(path)
    const found = at?.within.map(one => known.get(`${at.codename} ${one}`)).find(one => one !== undefined)
    return { path, codename: at?.codename, ...(found ?? guess(path, deps.formats)) }
  })
}

/** Names the packages behind paths: by the catalogue, else by what the file is called. Not in their order. */
export async function nameFiles(
  db: Queryable,
  paths: readonly string[],
  deps: NamesDeps,
): Promise<readonly NamedFile[]> {
  const read = paths.map(path => ({ path, inRegistry: readRegistryPath(path, deps.repositories) }))
  const inRegistries = read.flatMap(({ inRegistry }) => inRegistry ?? [])
  const inTrees = read.flatMap(({ path, inRegistry }) => (inRegistry === undefined ? [path] : []))
  return [
    ...(inTrees.length === 0 ? [] : await nameInTrees(db, inTrees, deps)),
    ...(await nameFetched(db, inRegistries)),
  ]
}

/** Whether a path is looked up anew each time. */
export function isMoving(path: string, { repositories }: Pick<NamesDeps, 'repositories'>): boolean {
  const inRegistry = readRegistryPath(path, repositories)
  return inRegistry !== undefined && moves(inRegistry)
}
