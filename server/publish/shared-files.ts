import { basename, dirname, join, relative } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { recipePath } from '../files/recipes.ts'
import type { ListedFile } from '../formats/tree.ts'
import type { FileStep } from '../lib/file-steps.ts'

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
export function share(
  layout: Places,
  codename: Codename,
  { root, file }: { readonly root: string; readonly file: ListedFile },
): FileStep[] {
  const links = sharedPaths(file).map((path): FileStep => ({
    do: 'link',
    from: join(root, file.path),
    to: join(layout.byHash(codename), path),
  }))
  return [...(isFile(file) ? links : []), ...pointToShared(layout, codename, { root, files: [file] })]
}

/**
 * Links the recipe of an index under the digests of its files, for when those are gone. It replaces an older one: the
 * same bytes may be cut into other pieces now.
 */
export function shareRecipe(
  layout: Places,
  codename: Codename,
  { recipe, files }: { readonly recipe: string; readonly files: readonly ListedFile[] },
): FileStep[] {
  return files
    .flatMap(sharedPaths)
    .map(path => ({ do: 'link', from: recipe, to: recipePath(join(layout.byHash(codename), path)), isNew: true }))
}

/** Has the folders of these files name the shared one. The files of the live generation are in it already. */
export function pointToShared(
  layout: Places,
  codename: Codename,
  { root, files }: { readonly root: string; readonly files: readonly ListedFile[] },
): FileStep[] {
  return [...new Set(files.filter(isHashed).map(({ path }) => dirname(path)))].map(at => ({
    do: 'symlink',
    target: relative(join(layout.generation(codename, 0), at), join(layout.byHash(codename), at)),
    path: join(root, at, 'by-hash'),
  }))
}

/** Marks files as replaced: their age counts from now on, and decides when they are removed. */
export function age(
  layout: Pick<Layout, 'byHash'>,
  codename: Codename,
  { files, at }: { readonly files: readonly ListedFile[]; readonly at: Date },
): FileStep[] {
  // the names of one file, or of one recipe, are links
  const paths = files.flatMap(file => sharedPaths(file).slice(0, 1)).map(path => join(layout.byHash(codename), path))
  return paths.flatMap(path => [path, recipePath(path)]).map(path => ({ do: 'touch', path, at }))
}
