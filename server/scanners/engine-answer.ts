import { outOfSupport } from '../core/ends-of-life.ts'
import type { Distribution } from '../core/repository.ts'
import type { Engine } from './external.ts'
import { EngineUnavailable, type DistributionCoverage } from './scanner.ts'

/**
 * What an engine's answer about a distribution is worth.
 * @param known  what the engine has about it; undefined where it has nothing
 */
export async function engineCoverage(
  { id, installed, isStale, now: clock }: Pick<Engine, 'id' | 'installed' | 'isStale' | 'now'>,
  distribution: Pick<Distribution, 'endOfLife' | 'scanner' | 'label'> & { readonly kind?: string },
  known: { readonly partial?: string } | undefined,
): Promise<DistributionCoverage> {
  const { label } = distribution
  if (distribution.kind === 'registry')
    return { coverage: 'not_covered', said: `${id} is not asked about packages of registries.` }
  if (known === undefined) return { coverage: 'not_covered', said: `${id} has no data for ${label}.` }
  const now = await installed()
  if (now === undefined) return { coverage: 'no_data', said: `${id} is not installed.` }
  if ('missing' in now.data) return { coverage: 'no_data', said: `${id}: ${now.data.missing}` }
  const { at: data_at } = now.data
  if (isStale(now.data))
    return {
      coverage: 'stale',
      data_at,
      said: `The data of ${id} are stale: they are of ${data_at.slice(0, 10)}.`,
    }
  const ended = outOfSupport(distribution, clock())
  if (ended !== undefined)
    return { coverage: 'partial', data_at, said: `${id} ${now.version} covers ${label} in part. ${ended}` }
  return known.partial === undefined
    ? { coverage: 'covered', data_at, said: `${id} ${now.version} covers ${label}.` }
    : { coverage: 'partial', data_at, said: `${id} ${now.version} covers ${label} in part: ${known.partial}.` }
}

/** Parses an engine's answer. @throws EngineUnavailable where `parse` throws */
export function readAnswer<T>(id: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : ''
    throw new EngineUnavailable(id, `its answer cannot be read: ${why}`, error)
  }
}
