import { readFile } from 'node:fs/promises'
import type { Layout } from '../../server/files/layout.ts'
import { readJoined, readRecipe } from '../../server/files/recipes.ts'

/** What clients get for a file of a tree: its bytes, or an index joined from pieces. @throws ENOENT */
export async function readServed(layout: Pick<Layout, 'shards'>, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const recipe = await readRecipe(path)
    if (recipe === undefined) throw error
    const chunks: Buffer[] = []
    for await (const bytes of readJoined(layout, recipe)) chunks.push(bytes)
    return Buffer.concat(chunks)
  }
}
