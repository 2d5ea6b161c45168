import type { Distribution } from '../core/repository.ts'
import type { Shard } from '../formats/shards.ts'
import type { Pieces } from './indexes.ts'
import type { TreePart } from './tree-parts.ts'
import type { ShardCache } from './shard-cache.ts'

type Parts = readonly Pick<TreePart, 'component' | 'kind' | 'plans'>[]

/** The index of a part whose cards hold the paths of the packages. */
const firstOf = ({ plans }: Parts[number]): string => plans[0]?.id ?? ''
const sum = (shards: readonly Shard[], of: 'entries' | 'neutral'): number =>
  shards.reduce((total, shard) => total + (shard[of] ?? 0), 0)

/**
 * How many packages the pieces name. A neutral package is in the index of each architecture, and is one package.
 * @param pieces  as `withNeutral` gave them
 */
export function countPackages(parts: Parts, pieces: Pieces): number {
  let packages = 0
  for (const group of Map.groupBy(parts, ({ component, kind }) => `${component}/${kind}`).values()) {
    const indexes = group.map(part => pieces[firstOf(part)] ?? [])
    const neutral = indexes.map(shards => sum(shards, 'neutral'))
    packages += indexes.reduce((total, shards, n) => total + sum(shards, 'entries') - (neutral[n] ?? 0), 0)
    packages += Math.max(...neutral)
  }
  return packages
}

/** Pieces that release 0.1 recorded do not say how many neutral packages they name: counts them from their cards. */
export async function withNeutral(
  cache: Pick<ShardCache, 'find'>,
  { parts, neutral }: Pick<Distribution, 'neutral'> & { readonly parts: Parts },
  pieces: Pieces,
): Promise<Pieces> {
  const count = async (shard: Shard): Promise<Shard> => {
    const card = shard.neutral === undefined ? await cache.find(shard.digest) : undefined
    return card === undefined
      ? shard
      : { ...shard, neutral: card.files.filter(({ arch }) => neutral.includes(arch)).length }
  }
  const counted = parts.map(async part => {
    const shards = pieces[firstOf(part)]
    return shards === undefined ? [] : [[firstOf(part), await Promise.all(shards.map(count))]]
  })
  return { ...pieces, ...(Object.fromEntries((await Promise.all(counted)).flat()) as Pieces) }
}
