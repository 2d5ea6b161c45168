import type { Distribution } from '../core/repository.ts'
import type { IndexPlan } from '../formats/tree.ts'
import { pieceOf, type Shard } from '../formats/shards.ts'
import type { Pieces } from './indexes.ts'
import { entriesOf } from './piece-entries.ts'
import type { ShardCache } from './shard-cache.ts'
import type { PoolFile } from './store.ts'

/**
 * Takes packages out of the pieces of one architecture without asking the database: an earlier generation stays as it
 * was, except for packages that must not be served any more.
 * @param isOut true for packages to remove
 */
export async function withdraw(
  cache: ShardCache,
  {
    plans,
    pieces,
    neutral,
  }: Pick<Distribution, 'neutral'> & { readonly plans: readonly IndexPlan[]; readonly pieces: Pieces },
  isOut: (file: PoolFile) => boolean,
): Promise<Pieces> {
  const result: Record<string, Shard[]> = Object.fromEntries(plans.map(one => [one.id, []]))
  const first = pieces[plans[0]?.id ?? ''] ?? []
  for (const [n, { digest }] of first.entries()) {
    const { files } = await cache.get(digest)
    const stays = files.map(file => !isOut(file))
    for (const [index, one] of plans.entries()) {
      const shard = pieces[one.id]?.[n]
      if (shard === undefined) throw new Error(`the index ${one.id} has no piece ${n}`)
      if (stays.every(Boolean)) {
        result[one.id]?.push(shard)
        continue
      }
      const [bytes = Buffer.alloc(0)] = await cache.texts([shard])
      const texts = (await entriesOf(cache, shard, { bytes, files })).filter((_, at) => stays[at])
      const kept = files.filter((_, at) => stays[at])
      if (kept.length === 0) continue
      const piece = pieceOf(
        texts.map((text, at) => ({ text, isNeutral: neutral.includes(kept[at]?.arch ?? '') })),
        shard.from,
      )
      await cache.keep(piece, { kinds: one.kinds, files: index === 0 ? kept : [] })
      result[one.id]?.push(piece.shard)
    }
  }
  return result
}
