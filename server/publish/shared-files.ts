import { link, rename, rm, symlink, utimes } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { recipePath } from '../files/recipes.ts'
import type { ListedFile } from '../formats/tree.ts'
import { linkOnce } from '../lib/atomic.ts'

type Places = Pick<Layout, 'generation' | 'byHash'>

/** False for what is only joined from pieces when somebody asks for it. */
export const isFile = ({ recipe }: Pick<ListedFile, 'recipe'>): boolean => recipe !== 'only'
export const hasRecipe = ({ recipe }: Pick<ListedFile, 'recipe'>): boolean => recipe !== undefined

/** True where a file has no digest in its name, so that older roots find it in a folder by digest. */
const isHashed = ({ path, sha256 }: ListedFile): boolean => !basename(path).startsWith(`${sha256}-`)

/** The by-hash path of a file, for clients with an older root. All generations of the distribution share the folder. */
export function sharedPaths(file: ListedFile): readonly string[] {
  const folder = dirname(file.path)
  if (!isHashed(file)) return [file.path]
  const { sha256, sha512 } = file
  return [join(folder, 'SHA256', sha256), ...(sha512 === undefined ? [] : [join(folder, 'SHA512', sha512)])]
}

/** Links a file under its digests in the folder that all generations of the distribution share. */
export async function share(
  layout: Places,
  codename: Codename,
  { root, file }: { readonly root: string; readonly file: ListedFile },
): Promise<void> {
  if (isFile(file))
    for (const path of sharedPaths(file)) await linkOnce(join(root, file.path), join(layout.byHash(codename), path))
  await pointToShared(layout, codename, { root, files: [file] })
}

/** Links in the place of an older link: the same bytes may be cut into other pieces now. */
async function linkOver(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return linkOnce(from, to)
    await rm(`${to}.tmp`, { force: true })
    await link(from, `${to}.tmp`)
    await rename(`${to}.tmp`, to)
  }
}

/** Links the recipe of an index under the digests of its files, for when those are gone. */
export async function shareRecipe(
  layout: Places,
  codename: Codename,
  { recipe, files }: { readonly recipe: string; readonly files: readonly ListedFile[] },
): Promise<void> {
  for (const path of files.flatMap(sharedPaths)) await linkOver(recipe, recipePath(join(layout.byHash(codename), path)))
}

/** Has the folders of these files name the shared one. The files of the live generation are in it already. */
export async function pointToShared(
  layout: Places,
  codename: Codename,
  { root, files }: { readonly root: string; readonly files: readonly ListedFile[] },
): Promise<void> {
  for (const at of new Set(files.filter(isHashed).map(({ path }) => dirname(path)))) {
    const target = relative(join(layout.generation(codename, 0), at), join(layout.byHash(codename), at))
    await symlink(target, join(root, at, 'by-hash')).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Marks files as replaced: their age counts from now on, and decides when they are removed. */
export async function age(
  layout: Pick<Layout, 'byHash'>,
  codename: Codename,
  { files, at }: { readonly files: readonly ListedFile[]; readonly at: Date },
): Promise<void> {
  // the names of one file, or of one recipe, are links
  for (const path of files.flatMap(file => sharedPaths(file).slice(0, 1)))
    for (const one of [join(layout.byHash(codename), path), recipePath(join(layout.byHash(codename), path))])
      await utimes(one, at, at).catch(() => undefined) // pruned already, or not shared
}
