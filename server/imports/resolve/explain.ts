import { certainNeeds, isRich, printNeed, relationsIn, type Need } from '../../formats/relations.ts'
import type { Candidate, Clash, Root, Universe, Unresolved } from './closure.ts'
import { bound, label, type Rules } from './rules.ts'
import type { Search, SearchSetup } from './search.ts'

/** Why a root cannot be there. */
export interface Explained {
  readonly unresolved: readonly Unresolved[]
  readonly conflicts: readonly Clash[]
}

/** The versions of what a need names, where there are any that do not meet it. */
function wrongVersions(need: Need, universe: Universe, rules: Rules, arch: string): string | undefined {
  for (const relation of isRich(need) ? certainNeeds(need).flat() : need) {
    const named = universe.named(relation.name)
    const here = named.filter(one => rules.fits(one, arch))
    const versions = [...new Set(here.map(({ version }) => version))].slice(0, 3).join(', ')
    if (here.length > 0 && relation.op !== undefined)
      return `${relation.name} is there in version ${versions}, and ${bound(relation)} is needed.`
    const other = named[0]
    if (here.length === 0 && other !== undefined) return `${relation.name} is there for ${other.arch} only.`
  }
  return undefined
}

/** A file may be in a package whose index does not list it. */
const nobodyHas = (need: Need): string =>
  relationsIn(need).every(({ name }) => name.startsWith('/'))
    ? 'No enabled source lists this file. Indexes list those in bin folders and /etc alone, so a package may have it.'
    : 'No enabled source has a package that meets it.'

/**
 * Installs as much of a root as there is, and says of every need that is left why. For a root that `mark` refused.
 * @param search an unused one, which has the packages afterwards
 */
export function explain(root: Candidate, search: Search, setup: SearchSetup): Explained {
  const { universe, choices, rules, arch, recommends } = setup
  const { chosen } = search
  const unresolved: Unresolved[] = []
  const conflicts: Clash[] = []

  const report = (by: Candidate, need: Need): void => {
    const options = certainNeeds(need).flatMap(one => choices.of(one))
    const clash = options.map(one => chosen.clash(one)).find(one => one !== undefined)
    if (clash !== undefined) conflicts.push(clash)
    const reason =
      clash === undefined
        ? (wrongVersions(need, universe, rules, arch) ?? nobodyHas(need))
        : `${clash.excluded_by} excludes ${clash.package} (${clash.relation}), and both are needed.`
    unresolved.push({ needed_by: label(by), group: printNeed(need), reason })
  }

  const waiting = [root]
  const clash = chosen.clash(root)
  if (clash !== undefined) conflicts.push(clash)
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    const by = one
    if (chosen.has(by)) continue
    chosen.add(by)
    for (const { need, weak } of rules.wants(by, recommends)) {
      if (chosen.meets(need) || search.meet(need) || weak === true) continue
      // one that could stand beside the others may say more of why it cannot be there
      const next = certainNeeds(need)
        .flatMap(alternatives => choices.of(alternatives))
        .find(option => chosen.clash(option) === undefined)
      if (next === undefined) report(by, need)
      else waiting.push(next)
    }
  }
  if (unresolved.length > 0 || conflicts.length > 0) return { unresolved, conflicts }
  const broken = chosen.broken()
  const group = broken === undefined ? label(root) : `${broken.excluded.field}: ${printNeed(broken.excluded.need)}`
  const reason = 'Each of its needs can be met, and no way was found to meet them all together.'
  return { unresolved: [{ needed_by: label(broken?.by ?? root), group, reason }], conflicts }
}

/** What is said of a root that no source has. */
export const unknownRoot = ({ name, version }: Root, universe: Universe): Unresolved => {
  const versions = universe.named(name).map(one => one.version)
  const reason =
    versions.length === 0
      ? 'No enabled source has a package of this name.'
      : `It is there in version ${[...new Set(versions)].slice(0, 3).join(', ')}, not for this architecture and version.`
  return { needed_by: name, group: version === undefined ? name : `${name} (= ${version})`, reason }
}
