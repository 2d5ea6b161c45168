import type { Alternatives, Relation } from '../../core/relation.ts'
import type { Candidate, Root, Universe } from './closure.ts'
import { offers, type Rules } from './rules.ts'

/** Which packages could meet a need, the client's first choice first. */
export interface Choices {
  of(alternatives: Alternatives): readonly Candidate[]
  /** The package that a root asks for; several where only others provide its name. */
  root(root: Root): readonly Candidate[]
}

/**
 * What is published comes first, so that as little as possible is imported; then the newest of each name, alternative
 * by alternative; then older versions, which a client takes that sees no newer one.
 */
export function createChoices(of: {
  readonly universe: Universe
  readonly published: Universe
  readonly rules: Rules
  readonly arch: string
}): Choices {
  const { universe, published, rules, arch } = of
  const known = new WeakMap<Alternatives, readonly Candidate[]>()
  const newest = new Map<string, Candidate | undefined>()
  const fits = (one: Candidate): boolean => rules.fits(one, arch)

  const newestOf = (name: string): Candidate | undefined => {
    if (!newest.has(name)) newest.set(name, universe.named(name).find(fits))
    return newest.get(name)
  }
  const isReplaced = (one: Candidate, found: readonly Candidate[]): boolean =>
    found.some(other => other !== one && rules.isReplacedBy?.(one, other) === true)
  const meeting = (from: Universe, need: Relation): Candidate[] => {
    const found = from.offering(need.name).filter(one => fits(one) && offers(one, need, rules, arch))
    if (found.length < 2) return found
    const replaced = new Set(found.filter(one => isReplaced(one, found)))
    const last = (one: Candidate): number => Number(replaced.has(one))
    return found.sort((a, b) => last(a) - last(b) || rules.prefer(a, b, need))
  }
  /** The newest of each name that the client would look at. */
  const foremost = (found: readonly Candidate[]): Candidate[] => {
    const seen = new Set<string>()
    return found.filter(one =>
      rules.atOnce === true ? seen.size < seen.add(one.name).size : newestOf(one.name) === one,
    )
  }
  const find = (alternatives: Alternatives): readonly Candidate[] => {
    const all = alternatives.flatMap(need => meeting(universe, need))
    if (rules.atOnce === true && alternatives.length > 1)
      all.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    return [...new Set([...alternatives.flatMap(need => meeting(published, need)), ...foremost(all), ...all])]
  }
  const list = (alternatives: Alternatives): readonly Candidate[] => {
    const found = known.get(alternatives) ?? find(alternatives)
    known.set(alternatives, found)
    return found
  }
  return {
    of: list,
    root({ name, version }) {
      const isAsked = (one: Candidate): boolean =>
        fits(one) && (version === undefined || rules.compareVersions(one.version, version) === 0)
      // of equal versions what is published comes first
      const asked = [...published.named(name), ...universe.named(name)]
        .filter(isAsked)
        .sort((a, b) => rules.compareVersions(b.version, a.version))
      const [best] = asked
      if (best !== undefined && version === undefined) {
        // what replaces a package comes in its place where it also provides its name
        const replacing = list([{ name }]).filter(other => rules.isReplacedBy?.(best, other) === true)
        if (replacing.length > 0) return replacing
        // libsolv goes back to an older version where the newest cannot be installed, apt does not
        return rules.atOnce === true ? [...new Set(asked)] : [best]
      }
      if (best !== undefined) return [best]
      return version === undefined ? list([{ name }]) : []
    },
  }
}
