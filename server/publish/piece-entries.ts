import type { Distribution } from '../core/repository.ts'
import type { Rendered, Shard } from '../formats/shards.ts'
import type { ShardCache } from './shard-cache.ts'
import type { PoolFile } from './store.ts'

/**
 * The rendered entries of a piece.
 * @param of.bytes  its text, as the cache read it
 * @param of.files  the packages in it, in the same order
 * @throws Error when it has another number of entries
 */
export async function entriesOf(
  cache: Pick<ShardCache, 'get'>,
  { digest }: Shard,
  {
    bytes,
    files,
    neutral,
  }: Pick<Distribution, 'neutral'> & { readonly bytes: Buffer; readonly files: readonly PoolFile[] },
): Promise<Rendered[]> {
  const { lengths } = await cache.get(digest)
  if (lengths.length !== files.length)
    throw new Error(`the piece ${digest} has ${lengths.length} entries for ${files.length} packages`)
  let at = 0
  return files.map(({ name, arch }, n) => ({
    name,
    text: bytes.subarray(at, (at += lengths[n] ?? 0)).toString('utf8'),
    isNeutral: neutral.includes(arch),
  }))
}

/** So much is held at once: where many packages changed, pages of the database take less. */
const MOST_BYTES = 64 * 2 ** 20

/** Packages and their entries in each of the indexes that are cut at the same names. */
export interface Entries {
  readonly files: readonly PoolFile[]
  readonly rendered: ReadonlyMap<string, readonly Rendered[]>
}

/**
 * The entries of these pieces but for some names, as they were rendered.
 * @param of.pieces  those of each index, by its id; the cards of the first one name the packages
 * @returns undefined when one of the pieces is not there whole: they are a cache; and when they are too large together
 */
export async function readEntriesBut(
  cache: ShardCache,
  names: ReadonlySet<string>,
  {
    pieces,
    neutral,
  }: Pick<Distribution, 'neutral'> & { readonly pieces: readonly (readonly [id: string, shards: readonly Shard[]])[] },
): Promise<Entries | undefined> {
  const sizes = pieces.flatMap(([, shards]) => shards.map(({ size }) => size))
  if (sizes.reduce((sum, size) => sum + size, 0) > MOST_BYTES) return undefined
  try {
    const cards = await Promise.all((pieces[0]?.[1] ?? []).map(({ digest }) => cache.get(digest)))
    const texts = [...(await cache.texts(pieces.flatMap(([, shards]) => shards)))]
    const rendered = new Map<string, readonly Rendered[]>()
    for (const [id, shards] of pieces) {
      const mine = texts.splice(0, shards.length)
      const entries = await Promise.all(
        shards.map((shard, n) => {
          const [bytes, files] = [mine[n] ?? Buffer.alloc(0), cards[n]?.files ?? []]
          return entriesOf(cache, shard, { bytes, files, neutral })
        }),
      )
      rendered.set(
        id,
        entries.flat().filter(({ name }) => !names.has(name)),
      )
    }
    return { files: cards.flatMap(({ files }) => files).filter(({ name }) => !names.has(name)), rendered }
  } catch {
    return undefined // what is wrong with them does not matter: the database knows what was in them
  }
}
