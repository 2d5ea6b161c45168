import type { Shard } from '../formats/shards.ts'
import type { ShardCache } from './shard-cache.ts'
import type { PoolFile } from './store.ts'

/**
 * The texts of the entries of a piece.
 * @param of.bytes  its text, as the cache read it
 * @param of.files  the packages in it, in the same order
 * @throws Error when it has another number of entries
 */
export async function entriesOf(
  cache: Pick<ShardCache, 'get'>,
  { digest }: Shard,
  { bytes, files }: { readonly bytes: Buffer; readonly files: readonly PoolFile[] },
): Promise<string[]> {
  const { lengths } = await cache.get(digest)
  if (lengths.length !== files.length)
    throw new Error(`the piece ${digest} has ${lengths.length} entries for ${files.length} packages`)
  let at = 0
  return lengths.map(length => bytes.subarray(at, (at += length)).toString('utf8'))
}

/** So much is held at once: where many packages changed, pages of the database take less. */
const MOST_BYTES = 64 * 2 ** 20

/** A package of some pieces: where its files are, and its text in each index. */
export interface Entry {
  readonly file: PoolFile
  readonly texts: readonly string[]
}

export const printBuilt = ({ name, version, arch }: Pick<PoolFile, 'name' | 'version' | 'arch'>): string =>
  `${name} ${version} ${arch}`

/**
 * The packages of these pieces by `printBuilt`, as they were rendered.
 * @param pieces  those of each index, all cut at the same packages; the cards of the first one name the packages
 * @returns nothing when one of the pieces is not there whole: they are a cache; and when they are too large together
 */
export async function readEntriesOf(
  cache: ShardCache,
  pieces: readonly (readonly Shard[])[],
): Promise<ReadonlyMap<string, Entry>> {
  const all = pieces.flat()
  if (all.reduce((sum, { size }) => sum + size, 0) > MOST_BYTES) return new Map()
  try {
    const cards = await Promise.all((pieces[0] ?? []).map(({ digest }) => cache.get(digest)))
    const bodies = [...(await cache.texts(all))]
    const texts: (readonly string[])[] = []
    for (const shards of pieces) {
      const mine = bodies.splice(0, shards.length)
      const entries = await Promise.all(
        shards.map((shard, n) =>
          entriesOf(cache, shard, { bytes: mine[n] ?? Buffer.alloc(0), files: cards[n]?.files ?? [] }),
        ),
      )
      texts.push(entries.flat())
    }
    const files = cards.flatMap(card => card.files)
    return new Map(files.map((file, n) => [printBuilt(file), { file, texts: texts.map(some => some[n] ?? '') }]))
  } catch {
    return new Map() // what is wrong with them does not matter: the database knows what was in them
  }
}
