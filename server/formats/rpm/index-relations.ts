import { withoutEmpty, type Relations } from '../relations.ts'
import type { PrimaryPackage } from './primary.ts'
import { plainOf, providedOf, wholeNeedsOf } from './relation.ts'

/** What an element of primary.xml says of other packages. @throws Malformed */
export function relationsOf(
  { lists, files }: Pick<PrimaryPackage, 'lists' | 'files'>,
  { name, version }: { readonly name: string; readonly version: string },
): Relations {
  // createrepo_c leaves these out, others do not
  const requires = lists['rpm:requires'].filter(one => !one.name.startsWith('rpmlib('))
  return withoutEmpty({
    depends: wholeNeedsOf(requires),
    recommends: wholeNeedsOf(lists['rpm:recommends']),
    supplements: wholeNeedsOf(lists['rpm:supplements']),
    conflicts: wholeNeedsOf(lists['rpm:conflicts']),
    obsoletes: plainOf(lists['rpm:obsoletes']),
    provides: providedOf(lists['rpm:provides']).filter(one => one.name !== name || one.version !== version),
    files: [...files],
  })
}
