import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { readJoined, readRecipe } from '../files/recipes.ts'
import type { ListedFile } from '../formats/tree.ts'
import { sha256Of } from '../lib/digest-file.ts'
import { isFile } from './shared-files.ts'
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

/**
 * True when every file that the live root names is there with its digest: a power cut can leave names without their
 * bytes.
 */
export async function isLiveTreeIntact(
  layout: Pick<Layout, 'generation' | 'shards'>,
  codename: Codename,
  { n, files }: GenerationState,
): Promise<boolean> {
  for (const file of files)
    if ((await listedDigest(layout, layout.generation(codename, n), file)) !== file.sha256) return false
  return true
}
