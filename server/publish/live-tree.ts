import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { readJoined, readRecipe } from '../files/recipes.ts'
import type { ListedFile } from '../formats/tree.ts'
import { sha256Of } from '../lib/digest-file.ts'
import { listFiles } from '../lib/list-files.ts'
import { isFile, sharedPaths } from './shared-files.ts'
import type { GenerationState } from './state.ts'

/** SHA-256 of a file, or undefined when it cannot be read. */
export const digestOf = (path: string): Promise<string | undefined> => sha256Of(path).catch(() => undefined)

/** SHA-256 of a file of a tree, also of one that is joined from pieces; undefined when it cannot be read. */
export async function listedDigest(
  layout: Pick<Layout, 'shards'>,
  root: string,
  file: ListedFile,
): Promise<string | undefined> {
  const path = join(root, file.path)
  if (isFile(file)) return digestOf(path)
  const recipe = await readRecipe(path)
  if (recipe === undefined) return undefined
  const hash = createHash('sha256')
  try {
    for await (const bytes of readJoined(layout, recipe)) hash.update(bytes)
  } catch {
    return undefined
  }
  return hash.digest('hex')
}

/** The digest that is in the name of a file by digest: `<sha256>`, or `<sha256>-primary.xml.gz`. */
const digestIn = (path: string): string | undefined => /^([0-9a-f]{64})(?:-|$)/.exec(basename(path))?.[1]

/** The files by digest of all generations that hold anything but what their name says. Reads every one. */
export async function listTorn(layout: Pick<Layout, 'byHash'>, codename: Codename): Promise<readonly string[]> {
  const torn: string[] = []
  for (const path of await listFiles(layout.byHash(codename))) {
    const named = digestIn(path)
    // one that is gone meanwhile has no digest
    const found = named === undefined ? undefined : await digestOf(path)
    if (found !== undefined && found !== named) torn.push(path)
  }
  return torn
}

/** Whether the file by digest is the one of the tree, or has its bytes. One that is not there is no fault. */
async function isSame(path: string, { file, sha256 }: { readonly file: Stats; readonly sha256: string }) {
  const known = await stat(path).catch(() => undefined)
  return known === undefined || known.ino === file.ino || (await digestOf(path)) === sha256
}

/**
 * True when every file that the live root names is there with its digest, also where it lies by its digest: a power cut
 * can leave names without their bytes.
 */
export async function isLiveTreeIntact(
  layout: Pick<Layout, 'generation' | 'shards' | 'byHash'>,
  codename: Codename,
  { n, files }: GenerationState,
): Promise<boolean> {
  const root = layout.generation(codename, n)
  for (const listed of files) {
    if ((await listedDigest(layout, root, listed)) !== listed.sha256) return false
    if (!isFile(listed)) continue
    const file = await stat(join(root, listed.path))
    for (const path of sharedPaths(listed))
      if (!(await isSame(join(layout.byHash(codename), path), { file, sha256: listed.sha256 }))) return false
  }
  return true
}
