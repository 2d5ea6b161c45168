import { findDeclared } from '../catalog/queries/declared-licences.ts'
import type { InheritedLicence } from '../core/licences/policy.ts'
import type { Queryable } from '../db/db.ts'
import type { Heir } from '../formats/format.ts'
import type { Subject } from './subject.ts'

/** More than any chain of parents has that people write. */
export const MOST_PARENTS = 10

/**
 * What those say of its licence that a package inherits from, nearest first, where it says none: as far as they are
 * known to its registry. Nothing is fetched here. Undefined where it inherits from nobody, or none of them says one.
 */
export async function inheritedLicence(
  db: Queryable,
  { format, distribution }: Pick<Subject, 'format' | 'distribution'>,
  facts: unknown,
): Promise<InheritedLicence | undefined> {
  let parent = format.licenceHeir?.of(facts).parent
  const seen = new Set<string>()
  while (parent !== undefined) {
    const from = `${parent.name} ${parent.version}`
    if (seen.has(from)) return { unread: from, why: 'circle' }
    if (seen.size >= MOST_PARENTS) return { unread: from, why: 'deep' }
    seen.add(from)
    const row = await findDeclared(db, { format: format.id, codename: distribution.codename, ...parent, arch: 'any' })
    if (row === undefined) return { unread: from, why: 'elsewhere' }
    const heir: Heir | undefined =
      row.document === null
        ? { ...format.licenceHeir?.of(row.facts), ...(row.license === null ? {} : { license: row.license }) }
        : format.licenceHeir?.read(row.document)
    if (heir === undefined) return { unread: from, why: 'broken' }
    if (heir.license !== undefined) return { declared: heir.license, from }
    parent = heir.parent
  }
  return undefined
}
