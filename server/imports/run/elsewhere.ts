import type { FormatId } from '../../core/identity.ts'
import type { Alternatives, Offered } from '../../core/relation.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Format } from '../../formats/format.ts'
import { meets } from '../../pipeline/machines.ts'
import type { Candidate } from '../resolve/closure.ts'
import type { CatalogueOf } from './plan.ts'

/**
 * What the sources of a distribution list of a need that is not met here. `unknown` while not all of those that are
 * switched on have been synchronised: what nobody has looked at is not missing there.
 */
export type Elsewhere = 'listed' | 'unlisted' | 'unknown'

/** Looks needs up for a machine of one architecture, in their order. */
export type FindElsewhere = (
  of: { readonly codename: string; readonly arch: string },
  needs: readonly Alternatives[],
) => Promise<readonly Elsewhere[]>

export interface ElsewhereDeps {
  readonly catalogue: Pick<CatalogueOf, 'rowsOf' | 'heldFor'>
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly formatOf: (id: FormatId) => Pick<Format, 'satisfies' | 'multiArch'>
}

/** Everything that a package of the catalogue offers. */
function offersOf({ name, version, arch, relations }: Candidate): Offered[] {
  const { multi_arch: multiArch, provides = [], files = [] } = relations
  const reach = multiArch === 'same' ? undefined : multiArch
  return [{ name, version }, ...provides, ...files.map(path => ({ name: path }))].map(one => ({ arch, reach, ...one }))
}

/** Asks the catalogue of the distribution's own sources. */
export function createFindElsewhere({ catalogue, repositories, formatOf }: ElsewhereDeps): FindElsewhere {
  return async ({ codename, arch }, needs) => {
    if (needs.length === 0) return []
    if ((await catalogue.heldFor(codename)) !== 'all') return needs.map(() => 'unknown')
    const distribution = repositories.seenBy(ALL_SEEING).get(codename)
    const { format } = distribution
    const rowsOf = await catalogue.rowsOf({ codename: distribution.codename, format, arch })
    const names = [...new Set(needs.flat().map(({ name }) => name))]
    const offers = (await rowsOf(names)).flatMap(offersOf)
    const isMet = meets(formatOf(format), distribution, arch)
    return needs.map(need =>
      need.some(relation => offers.some(offer => isMet(offer, relation))) ? 'listed' : 'unlisted',
    )
  }
}
