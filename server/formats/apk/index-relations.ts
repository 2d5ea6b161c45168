import { withoutEmpty, type Relations } from '../relations.ts'
import { parseDepends, parseProvides } from './relation.ts'

const words = (text: string | undefined): readonly string[] => (text ?? '').split(' ').filter(word => word !== '')

/** What an entry of APKINDEX says of other packages, by the letters of its fields. @throws Malformed */
export function relationsOf(fields: ReadonlyMap<string, string>): Relations {
  const reacts = parseDepends(words(fields.get('i')), 'i')
  const priority = fields.get('k') ?? ''
  return withoutEmpty({
    ...parseDepends(words(fields.get('D')), 'D'),
    provides: parseProvides(words(fields.get('p'))),
    install_if: reacts.depends.flat(),
    install_unless: reacts.conflicts.flat(),
    provider_priority: /^\d{1,5}$/.test(priority) && Number(priority) > 0 ? Number(priority) : undefined,
  })
}
