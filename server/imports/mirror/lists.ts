import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Source } from '../source.ts'
import type { MirrorRule } from './rules.ts'
import type { MirrorList } from './wanted.ts'

/** The lists of a source: for each distribution and architecture that it is for here. Retired ones take nothing. */
export function listsOf(
  source: Source,
  { distributions }: MirrorRule,
  repositories: Pick<Repositories, 'seenBy'>,
): MirrorList[] {
  const seen = repositories.seenBy(ALL_SEEING)
  return source.codenames.flatMap(codename => {
    const found = seen.find(codename)
    if (found?.state !== 'active' || found.format !== source.format) return []
    if (distributions.length > 0 && !distributions.includes(codename)) return []
    const machines = found.archs.filter(arch => source.archs.length === 0 || source.archs.includes(arch))
    return machines.map((arch, n) => ({
      codename: found.codename,
      format: found.format,
      arch,
      archs: n === 0 ? [arch, ...found.neutral] : [arch],
    }))
  })
}

export const keyOf = ({ codename, arch }: MirrorList): string => `${codename} ${arch}`
