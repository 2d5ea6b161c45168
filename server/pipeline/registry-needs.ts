import type { PackageIdentity } from '../core/identity.ts'
import { printAlternatives, type Alternatives } from '../core/relation.ts'
import type { Format } from '../formats/format.ts'

/** A dependency with the version that a client would take. */
export interface Chosen {
  readonly name: string
  readonly version: string
  /** The needs that it meets, for people. */
  readonly need: string
  /** False: it is named exactly, and comes from elsewhere. */
  readonly isServed: boolean
}

/** What the needs of a package come to in its registry. */
export interface ResolvedNeeds {
  readonly chosen: readonly Chosen[]
  /** Needs that are not served here, as text; of those in `chosen` the version is known all the same. */
  readonly elsewhere: readonly string[]
  /** How many of those no exact version is known of. */
  readonly unknown: number
}

type Rules = Pick<Format, 'satisfies' | 'compareVersions' | 'complain' | 'isPreRelease'>

const isAbout = (need: Alternatives, name: string): boolean => need.every(one => one.name === name)

/** The version that a need names exactly, if it does: one that the format takes for a version, not for a range. */
function exactOf(needs: readonly Alternatives[], { complain }: Rules, own: PackageIdentity): string | undefined {
  for (const [relation, ...others] of needs) {
    if (relation?.op !== '=' || relation.version === undefined || others.length > 0) continue
    if (complain({ ...own, name: relation.name, version: relation.version }) === undefined) return relation.version
  }
  return undefined
}

/** The newest of the versions that a client takes: pre-releases only where nothing else fits. */
function newest(versions: readonly string[], { compareVersions, isPreRelease }: Rules): string | undefined {
  const releases = versions.filter(version => isPreRelease?.(version) !== true)
  return (releases.length > 0 ? releases : versions).toSorted(compareVersions).at(-1)
}

/**
 * The version of each dependency that a client would take now: the newest that is served here and fits all needs for
 * its name, else the one that is named exactly. Pure.
 * @param served  the versions of each name that the registry serves
 */
export function resolveNeeds(
  needs: readonly Alternatives[],
  served: ReadonlyMap<string, readonly string[]>,
  { format, own }: { readonly format: Rules; readonly own: PackageIdentity },
): ResolvedNeeds {
  const choose = (name: string): Chosen | undefined => {
    const concerned = needs.filter(need => isAbout(need, name))
    // one of several names is enough for the others
    const wanted = concerned.length > 0 ? concerned : needs.filter(need => need.some(one => one.name === name))
    const fits = (version: string): boolean =>
      wanted.every(need => need.some(relation => format.satisfies({ name, version, arch: own.arch }, relation)))
    const need = [...new Set(wanted.map(printAlternatives))].join(', ')
    const found = newest((served.get(name) ?? []).filter(fits), format)
    if (found !== undefined) return { name, version: found, need, isServed: true }
    const exact = exactOf(wanted, format, own)
    return exact === undefined || !fits(exact) ? undefined : { name, version: exact, need, isServed: false }
  }
  const names = [...new Set(needs.flat().map(({ name }) => name))].filter(name => name !== own.name)
  const chosen = new Map(names.map(name => [name, choose(name)]))
  const isHere = (need: Alternatives): boolean =>
    need.some(({ name }) => name === own.name || chosen.get(name)?.isServed === true)
  const elsewhere = needs.filter(need => !isHere(need))
  return {
    chosen: [...chosen.values()].filter(one => one !== undefined),
    elsewhere: [...new Set(elsewhere.map(printAlternatives))],
    unknown: elsewhere.filter(need => need.every(({ name }) => chosen.get(name) === undefined)).length,
  }
}
