import { printAlternatives, type Alternatives, type Provided, type Relation } from '../core/relation.ts'

/** Operators of rpm's rich dependencies. `of` has their operands in order: `(a if b else c)` is `if` of a, b, c. */
export interface Rich {
  readonly rich: 'and' | 'or' | 'with' | 'without' | 'if' | 'unless'
  readonly of: readonly Operand[]
}
export type Operand = Relation | Rich

/** One need: alternatives, any of which meets it, or an expression. */
export type Need = Alternatives | Rich

/** True for an expression, false for alternatives and for a relation. */
export const isRich = (need: Need | Operand): need is Rich => 'rich' in need

/**
 * What a package of an upstream index says of others: JSON, kept as it is in the catalogue. What is empty is left out.
 */
export interface Relations {
  readonly depends?: readonly Need[]
  /** Debian's, whose order counts. */
  readonly pre_depends?: readonly Need[]
  readonly recommends?: readonly Need[]
  /** RPM: it is recommended where this holds. */
  readonly supplements?: readonly Need[]
  readonly conflicts?: readonly Need[]
  readonly breaks?: readonly Need[]
  readonly obsoletes?: readonly Relation[]
  /** Without its own name in its own version. */
  readonly provides?: readonly Provided[]
  /** RPM: absolute paths, those that the index lists. */
  readonly files?: readonly string[]
  /** APK: it comes by itself where all of these are installed. */
  readonly install_if?: readonly Relation[]
  /** APK: and none of these. */
  readonly install_unless?: readonly Relation[]
  /** APK: what a provider without a version must have to be taken by itself; the highest wins. */
  readonly provider_priority?: number
  /** Debian's word, in lower case. */
  readonly priority?: string
  readonly essential?: true
  /** Debian's `Important`, also written `Protected`. */
  readonly important?: true
  readonly multi_arch?: 'same' | 'foreign' | 'allowed'
}

/** Every relation of a need. */
export function relationsIn(need: Need | Operand): readonly Relation[] {
  if (isRich(need)) return need.of.flatMap(relationsIn)
  return 'name' in need ? [need] : need
}

/** `(a (>= 1) if b else c)`, for people. */
export function printNeed(need: Need | Operand): string {
  if (!isRich(need)) return printAlternatives('name' in need ? [need] : need)
  const [first = '', second = '', third] = need.of.map(printNeed)
  return need.rich === 'if' || need.rich === 'unless'
    ? `(${first} ${need.rich} ${second}${third === undefined ? '' : ` else ${third}`})`
    : `(${need.of.map(printNeed).join(` ${need.rich} `)})`
}

/** The most alternatives that `certainNeeds` makes of one expression. */
const MAX_NEEDS = 64

/** Every alternative of one side with every one of the other; none where that would be too many. */
const eitherOf = (needs: readonly (readonly Alternatives[])[]): readonly Alternatives[] =>
  needs.reduce((a, b) => (a.length * b.length > MAX_NEEDS ? [] : a.flatMap(one => b.map(other => [...one, ...other]))))

/**
 * What a need wants in any case, as alternatives that must all be met. Conditions (`if`, `unless`) may be false, so
 * what hangs on one is left out; `without` keeps its first operand. An expression with very many alternatives gives
 * none.
 */
export function certainNeeds(need: Need | Operand): readonly Alternatives[] {
  if (!isRich(need)) return ['name' in need ? [need] : need]
  switch (need.rich) {
    case 'or':
      return eitherOf(need.of.map(certainNeeds))
    case 'without':
      return need.of.slice(0, 1).flatMap(certainNeeds)
    case 'and':
    case 'with':
      return need.of.flatMap(certainNeeds)
    default:
      return []
  }
}

/** What stands before a name under which packages are found that come by themselves where it is installed. */
const REACTS = 'if:'

/** The name to look for packages that react to another: `if:bash`. */
export const reactsTo = (name: string): string => `${REACTS}${name}`

/**
 * Every name beside its own under which a package must be found: what it provides, its files, and `if:<name>` for each
 * name at which it comes by itself. Each once.
 */
export function foundUnder({ provides, files, install_if, supplements }: Relations): readonly string[] {
  const reacts = [...(install_if ?? []), ...(supplements ?? []).flatMap(relationsIn)]
  return [
    ...new Set([
      ...(provides ?? []).map(({ name }) => name),
      ...(files ?? []),
      ...reacts.map(({ name }) => reactsTo(name)),
    ]),
  ]
}

/** Every name that a package asks for, each once. A name that no package asks for need not be kept. */
export function namesAsked(relations: Relations, withRecommends: boolean): readonly string[] {
  const { depends = [], pre_depends = [], recommends = [], conflicts = [] } = relations
  // a package may end a conflict that hangs on its absence
  const needs = [...depends, ...pre_depends, ...(withRecommends ? recommends : []), ...conflicts.filter(isRich)]
  return [...new Set(needs.flatMap(relationsIn).map(({ name }) => name))]
}

/** Leaves out what is empty or undefined. */
export function withoutEmpty<T extends object>(of: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(of).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
