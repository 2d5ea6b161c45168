import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Distribution } from '../core/repository.ts'
import type { Rendered, Shard } from '../formats/shards.ts'
import type { ShardCache } from './shard-cache.ts'
import type { PoolFile } from './store.ts'

/** @throws Error when the piece is gone, or holds anything but what its digest names */
async function readText(cache: ShardCache, { digest }: Shard): Promise<Buffer> {
  const bytes = await readFile(cache.path(digest, ''))
  if (createHash('sha256').update(bytes).digest('hex') !== digest)
    throw new Error(`the piece ${digest} of an index is damaged`)
  return bytes
}

/**
 * The rendered entries of one piece.
 * @param of.files  the packages in it, in the same order
 * @throws Error when the piece is not there whole, or has another number of entries
 */
export async function readPiece(
  cache: ShardCache,
  shard: Shard,
  { files, neutral }: Pick<Distribution, 'neutral'> & { readonly files: readonly PoolFile[] },
): Promise<Rendered[]> {
  const [{ lengths }, bytes] = await Promise.all([cache.get(shard.digest), readText(cache, shard)])
  if (lengths.length !== files.length)
    throw new Error(`the piece ${shard.digest} has ${lengths.length} entries for ${files.length} packages`)
  let at = 0
  return files.map(({ name, arch }, n) => ({
    name,
    text: bytes.subarray(at, (at += lengths[n] ?? 0)).toString('utf8'),
    isNeutral: neutral.includes(arch),
  }))
}

/** Packages and their entries in each of the indexes that are cut at the same names. */
export interface Entries {
  readonly files: readonly PoolFile[]
  readonly rendered: ReadonlyMap<string, readonly Rendered[]>
}

/**
 * The entries of these pieces but for some names, as they were rendered.
 * @param of.pieces  those of each index, by its id; the cards of the first one name the packages
 * @returns undefined when one of the pieces is not there whole: they are a cache
 */
export async function readEntriesBut(
  cache: ShardCache,
  names: ReadonlySet<string>,
  {
    pieces,
    neutral,
  }: Pick<Distribution, 'neutral'> & { readonly pieces: readonly (readonly [id: string, shards: readonly Shard[]])[] },
): Promise<Entries | undefined> {
  try {
    const cards = await Promise.all((pieces[0]?.[1] ?? []).map(({ digest }) => cache.get(digest)))
    const rendered = new Map<string, readonly Rendered[]>()
    for (const [id, shards] of pieces) {
      const texts = await Promise.all(
        shards.map((shard, n) => readPiece(cache, shard, { files: cards[n]?.files ?? [], neutral })),
      )
      rendered.set(
        id,
        texts.flat().filter(({ name }) => !names.has(name)),
      )
    }
    return { files: cards.flatMap(({ files }) => files).filter(({ name }) => !names.has(name)), rendered }
  } catch {
    return undefined // what is wrong with them does not matter: the database knows what was in them
  }
}
