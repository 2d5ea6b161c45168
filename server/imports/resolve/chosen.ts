import type { Relation } from '../../core/relation.ts'
import { isRich, printNeed, relationsIn, type Need, type Operand } from '../../formats/relations.ts'
import type { Candidate, Clash } from './closure.ts'
import { label, offeredNames, offers, type Excluded, type Rules } from './rules.ts'

/** What a package excludes. */
export interface Exclusion {
  readonly by: Candidate
  readonly excluded: Excluded
}

/** Packages that are to be installed together. What was added last can be taken back. */
export interface Chosen {
  readonly length: number
  readonly list: readonly Candidate[]
  has(candidate: Candidate): boolean
  /** The package of this name. */
  named(name: string): Candidate | undefined
  /** What meets a relation. */
  meeting(need: Relation): Candidate | undefined
  /** Whether a need is met. A condition that does not hold asks for nothing. */
  meets(need: Need | Operand): boolean
  /** Why this package cannot come beside the others, as far as that is certain already. */
  clash(candidate: Candidate): Clash | undefined
  /** An exclusion that hangs on a condition, and that holds. */
  broken(): Exclusion | undefined
  add(candidate: Candidate): void
  /** Takes back everything after the first `length`. */
  cut(length: number): void
}

/** Whether ONE package meets all operands of `with`, or the first and not the second of `without`. */
export function meetsAlone(one: Candidate, need: Operand, alone: (one: Candidate, need: Relation) => boolean): boolean {
  if (!isRich(need)) return alone(one, need)
  const [first, second] = need.of
  const meets = (part: Operand | undefined): boolean => part !== undefined && meetsAlone(one, part, alone)
  switch (need.rich) {
    case 'or':
      return need.of.some(meets)
    case 'without':
      return meets(first) && !meets(second)
    default:
      return need.of.every(meets)
  }
}

/** Whether more packages can make it hold no longer. */
export const isConditional = (need: Need | Operand): boolean =>
  isRich(need) && (need.rich === 'if' || need.rich === 'unless' || need.of.some(isConditional))

/** @param rules of the format @param arch of the machine */
export function createChosen(rules: Rules, arch: string): Chosen {
  const list: Candidate[] = []
  const names = new Map<string, Candidate[]>()
  const offered = new Map<string, Candidate[]>()
  const excluded = new Map<string, Exclusion[]>()
  const rich: Exclusion[] = []

  const push = <T>(to: Map<string, T[]>, key: string, one: T): void => {
    const old = to.get(key)
    if (old === undefined) to.set(key, [one])
    else old.push(one)
  }
  const alone = (one: Candidate, need: Relation): boolean => offers(one, need, rules, arch)
  const meeting = (need: Relation): Candidate | undefined => offered.get(need.name)?.find(one => alone(one, need))

  const meets = (need: Need | Operand): boolean => {
    if (!isRich(need))
      return 'name' in need ? meeting(need) !== undefined : need.some(one => meeting(one) !== undefined)
    const [first, second, third] = need.of
    const holds = (part: Operand | undefined): boolean => part === undefined || meets(part)
    switch (need.rich) {
      case 'and':
        return need.of.every(meets)
      case 'or':
        return need.of.some(meets)
      case 'if':
        return holds(second) ? holds(first) : holds(third)
      case 'unless':
        // to libsolv it wants the second to be away
        return holds(second) ? third !== undefined && meets(third) : holds(first)
      default:
        return candidatesFor(first).some(one => meetsAlone(one, need, alone))
    }
  }
  const candidatesFor = (part: Operand | undefined): Candidate[] =>
    part === undefined ? [] : relationsIn(part).flatMap(one => offered.get(one.name) ?? [])

  /** Whether what `by` excludes is there. No package excludes itself, only what stands beside it. */
  const isThere = (need: Need | Operand, by: Candidate): boolean => {
    if (!isRich(need))
      return ('name' in need ? [need] : need).some(one =>
        offered.get(one.name)?.some(other => other !== by && alone(other, one)),
      )
    const [first, second] = need.of
    switch (need.rich) {
      case 'and':
        return need.of.every(meets) && need.of.some(part => isThere(part, by))
      case 'or':
        return need.of.some(part => isThere(part, by))
      case 'with':
      case 'without':
        return candidatesFor(first).some(one => one !== by && meetsAlone(one, need, alone))
      case 'unless':
        return first !== undefined && second !== undefined && need.of.length === 2 && !meets(second)
          ? isThere(first, by)
          : meets(need)
      default:
        return meets(need)
    }
  }

  /** Whether the package is one that the relation excludes. */
  const isMeant = (one: Candidate, { byName }: Excluded, need: Relation): boolean =>
    byName === true
      ? one.name === need.name && rules.satisfies({ name: one.name, version: one.version }, need)
      : alone(one, need)
  const clashOf = (one: Candidate, by: Candidate, excluding: Excluded): Clash => ({
    package: label(one),
    excluded_by: label(by),
    relation: `${excluding.field}: ${printNeed(excluding.need)}`,
  })

  /** A chosen package that this one excludes. */
  const excludes = (candidate: Candidate): Clash | undefined => {
    for (const one of rules.excludes(candidate)) {
      if (isRich(one.need)) continue
      for (const need of one.need) {
        const hit = offered.get(need.name)?.find(other => other !== candidate && isMeant(other, one, need))
        if (hit !== undefined) return clashOf(hit, candidate, one)
      }
    }
    return undefined
  }
  /** A chosen package that excludes this one. */
  const isExcluded = (candidate: Candidate): Clash | undefined => {
    for (const name of offeredNames(candidate)) {
      for (const { by, excluded: one } of excluded.get(name) ?? []) {
        if (by === candidate || isRich(one.need)) continue
        if (one.need.some(need => need.name === name && isMeant(candidate, one, need)))
          return clashOf(candidate, by, one)
      }
    }
    return undefined
  }
  /** An expression, of a chosen package or of this one, that would hold with it. */
  const isExcludedTogether = (candidate: Candidate): Clash | undefined => {
    const own = rules.excludes(candidate).filter(({ need }) => isRich(need))
    const all = [...rich, ...own.map(one => ({ by: candidate, excluded: one }))].filter(
      ({ excluded: { need } }) => !isConditional(need),
    )
    if (all.length === 0) return undefined
    put(candidate)
    const broken = all.find(({ by, excluded: { need } }) => isThere(need, by))
    cut(list.length - 1)
    return broken === undefined ? undefined : clashOf(candidate, broken.by, broken.excluded)
  }

  const put = (candidate: Candidate): void => {
    list.push(candidate)
    push(names, candidate.name, candidate)
    for (const name of new Set(offeredNames(candidate))) push(offered, name, candidate)
    for (const one of rules.excludes(candidate)) {
      const exclusion = { by: candidate, excluded: one }
      if (isRich(one.need)) rich.push(exclusion)
      else for (const { name } of one.need) push(excluded, name, exclusion)
    }
  }
  const cut = (length: number): void => {
    while (list.length > length) {
      const last = list.pop()
      if (last === undefined) return
      names.get(last.name)?.pop()
      for (const name of new Set(offeredNames(last))) offered.get(name)?.pop()
      for (const one of rules.excludes(last)) {
        if (isRich(one.need)) rich.pop()
        else for (const { name } of one.need) excluded.get(name)?.pop()
      }
    }
  }

  return {
    get length() {
      return list.length
    },
    list,
    has: candidate => names.get(candidate.name)?.includes(candidate) ?? false,
    named: name => names.get(name)?.at(-1),
    meeting,
    meets,
    clash(candidate) {
      const other = names.get(candidate.name)?.at(-1)
      if (other !== undefined && other !== candidate)
        return { package: label(candidate), excluded_by: label(other), relation: 'one version of a package at a time' }
      return excludes(candidate) ?? isExcluded(candidate) ?? isExcludedTogether(candidate)
    },
    broken: () => rich.find(({ by, excluded: { need } }) => isConditional(need) && isThere(need, by)),
    add: put,
    cut,
  }
}
