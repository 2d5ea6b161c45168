import { multiArch } from '../../formats/deb/multi-arch.ts'
import { satisfies } from '../../formats/deb/relation.ts'
import { compareVersions } from '../../formats/deb/version.ts'
import type { Need } from '../../formats/relations.ts'
import type { Candidate, Resolver } from './closure.ts'
import type { Excluded, Rules, Wanted } from './rules.ts'
import { solve } from './solve.ts'

const PRIORITIES = ['required', 'important', 'standard', 'optional', 'extra']

function priorityOf({ relations: { priority } }: Candidate): number {
  const at = PRIORITIES.indexOf(priority ?? '')
  return at === -1 ? PRIORITIES.length : at
}

const first = (a: boolean, b: boolean): number => Number(b) - Number(a)

const fieldOf = (needs: readonly Need[] | undefined, field: string): Wanted[] =>
  needs?.map(need => ({ field, need })) ?? []

/** As apt 2.6 goes about it; its internal order of packages, which breaks ties, is replaced by their names. */
const RULES: Rules = {
  fits: ({ arch }, machine) => arch === machine || arch === 'all',
  compareVersions,
  satisfies,
  counts({ arch, relations }, need, machine) {
    if (need.arch === undefined) return true
    const reach = relations.multi_arch === 'same' ? undefined : relations.multi_arch
    return multiArch.counts({ arch: arch === 'all' ? machine : arch, reach }, need, machine)
  },
  // apt keeps them in this order
  wants: ({ relations: { depends, pre_depends, recommends } }, withRecommends) => [
    ...fieldOf(pre_depends, 'Pre-Depends'),
    ...fieldOf(depends, 'Depends'),
    ...(withRecommends ? fieldOf(recommends, 'Recommends').map((one): Wanted => ({ ...one, weak: true })) : []),
  ],
  excludes: ({ relations: { conflicts, breaks } }): readonly Excluded[] => [
    ...fieldOf(conflicts, 'Conflicts'),
    ...fieldOf(breaks, 'Breaks'),
  ],
  prefer: (a, b, { name }) =>
    first(a.name === name, b.name === name) ||
    first(a.relations.essential === true, b.relations.essential === true) ||
    first(a.relations.important === true, b.relations.important === true) ||
    priorityOf(a) - priorityOf(b),
}

/** Debian packages. `minbase` is what debootstrap calls so: Essential, required, and apt. */
export const debResolver: Resolver = {
  base: { names: ['apt'], essential: true, priorities: ['required'] },
  resolve: (universe, question) => solve(universe, question, RULES),
}
