import type { Alternatives } from '../../core/relation.ts'
import { withoutEmpty, type Relations } from '../relations.ts'
import { valueOf, type Paragraph } from './paragraph.ts'
import { parseConflicts, parseProvides, parseRelations } from './relation.ts'

const MULTI_ARCH = ['same', 'foreign', 'allowed'] as const
const isYes = (word: string): true | undefined => (/^yes$/i.test(word) ? true : undefined)

/** What an entry of `Packages` says of other packages. @throws Malformed for relations that dpkg would not read */
export function relationsOf(paragraph: Paragraph): Relations {
  const value = (key: string): string => valueOf(paragraph, key)
  const needs = (key: string, field: string): Alternatives[] => parseRelations(value(key), field)
  return withoutEmpty({
    depends: needs('depends', 'Depends'),
    pre_depends: needs('pre-depends', 'Pre-Depends'),
    recommends: needs('recommends', 'Recommends'),
    conflicts: parseConflicts(value('conflicts'), 'Conflicts'),
    breaks: parseConflicts(value('breaks'), 'Breaks'),
    provides: parseProvides(value('provides')),
    priority: value('priority').toLowerCase() || undefined,
    essential: isYes(value('essential')),
    important: isYes(value('important')) ?? isYes(value('protected')),
    multi_arch: MULTI_ARCH.find(word => word === value('multi-arch')),
  })
}
