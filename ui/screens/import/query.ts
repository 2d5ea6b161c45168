import type { Query } from '../../routes.svelte.ts'
import type { DistributionCard } from '../../wire.ts'
import type { Hit, Source } from './words.ts'

/** `for=*` in the address: all distributions. */
export const EVERY = '*'
/** So many names at first, and after “Show more”. */
export const SHOWN = 50
export const MOST = 100

/** Distributions here that some source has packages for, those that are set up alone. */
export function targetsOf(sources: readonly Source[], cards: readonly DistributionCard[]): readonly DistributionCard[] {
  const named = new Set(sources.flatMap(({ codenames }) => codenames))
  return cards.filter(({ codename, initialized, retired }) => initialized && !retired && named.has(codename))
}

/** For which distribution is looked; undefined for all. Without a word of the address: one that is in step already. */
export function targetOf(
  { for: asked }: Query,
  sources: readonly Source[],
  targets: readonly DistributionCard[],
): string | undefined {
  if (asked === EVERY) return undefined
  const known = targets.map(({ codename }) => codename)
  if (asked !== undefined && known.includes(asked)) return asked
  const isHeld = (codename: string): boolean =>
    sources.some(({ codenames, pkg_count: n }) => n > 0 && codenames.includes(codename))
  return known.find(isHeld) ?? known[0]
}

/** What the search asks for; undefined while there is nothing to look for. */
export function searchQuery({ q, source, format, more }: Query, target: string | undefined) {
  if (!q) return undefined
  return {
    q: q.slice(0, 200),
    limit: more === undefined ? SHOWN : MOST,
    ...(target === undefined ? {} : { distro: target }),
    ...(source ? { source_id: source } : {}),
    ...(target === undefined && format ? { format } : {}),
  }
}

/** A line of the results: a name in its newest version, or one of its versions. */
export interface Line {
  readonly hit: Hit
  readonly version: string
  readonly arch: string
  readonly source: string
  readonly size: number
  readonly security: boolean
  /** The stream of a module that it is of. */
  readonly module: string | null
  /** Older than the first line of its name. */
  readonly isOlder: boolean
}

export function linesOf(hits: readonly Hit[], isNewestOnly: boolean): readonly Line[] {
  return hits.flatMap(hit => {
    const versions = hit.versions.map(({ version, arch, source_id: source, size, security, module }) => ({
      ...{ hit, version, arch, source, size, security, module },
      isOlder: version !== hit.version,
    }))
    return isNewestOnly || versions.length === 0
      ? [
          {
            hit,
            version: hit.version,
            arch: hit.arch,
            source: hit.source_id,
            size: hit.size,
            security: hit.security,
            module: null,
            isOlder: false,
          },
        ]
      : versions
  })
}

/** The distribution that a line would be imported for; undefined where several could be meant. */
export function codenameOf(
  { source: key }: Pick<Line, 'source'>,
  sources: readonly Source[],
  {
    target,
    basket,
    targets,
  }: {
    readonly target: string | undefined
    readonly basket: string | undefined
    readonly targets: readonly DistributionCard[]
  },
): string | undefined {
  const known = targets.map(({ codename }) => codename)
  const fitting = (sources.find(one => one.source_id === key)?.codenames ?? []).filter(one => known.includes(one))
  if (target !== undefined && fitting.includes(target)) return target
  if (basket !== undefined && fitting.includes(basket)) return basket
  return fitting.length === 1 ? fitting[0] : undefined
}
