import type { Provided, Relation, RelationOp } from '../../core/relation.ts'
import type { Need } from '../../formats/relations.ts'
import type { Candidate } from './closure.ts'

/** A need of a package, with the field it stands in: `Depends`. */
export interface Wanted {
  readonly field: string
  readonly need: Need
  /** Left out silently where it cannot be met. */
  readonly weak?: true
}

/** What a package excludes, with the field that says so: `Breaks`. */
export interface Excluded {
  readonly field: string
  readonly need: Need
  /** Counts for packages of that name alone, not for those that provide it. */
  readonly byName?: true
}

/** What differs between formats whose closures are searched for with the same algorithm. */
export interface Rules {
  /** Whether machines of this architecture install it. */
  fits(candidate: Candidate, arch: string): boolean
  compareVersions(a: string, b: string): number
  /** Whether name and version on offer meet a relation. */
  satisfies(have: Provided, need: Relation): boolean
  /** Whether the candidate counts for the architecture that a relation names, on a machine of `arch`. */
  counts(candidate: Candidate, need: Relation, arch: string): boolean
  /** In the order in which the client goes through them. */
  wants(candidate: Candidate, recommends: boolean): readonly Wanted[]
  excludes(candidate: Candidate): readonly Excluded[]
  /**
   * True where the client looks at all needs at once, as libsolv does: what is certain comes first, alternatives go by
   * name, older versions that fit are a choice like others, what is recommended comes last.
   */
  readonly atOnce?: true
  /** Whether another package is what clients take in place of this one. */
  isReplacedBy?(candidate: Candidate, other: Candidate): boolean
  /** Which of two packages that meet a relation the client prefers: <0, 0, >0. */
  prefer(a: Candidate, b: Candidate, need: Relation): number
}

/** Whether a package meets one relation, by its name, what it provides or a file. */
export function offers(candidate: Candidate, need: Relation, rules: Rules, arch: string): boolean {
  if (!rules.counts(candidate, need, arch)) return false
  const { name, version, relations } = candidate
  if (name === need.name && rules.satisfies({ name, version }, need)) return true
  return (
    (relations.provides?.some(have => have.name === need.name && rules.satisfies(have, need)) ?? false) ||
    (need.op === undefined && (relations.files?.includes(need.name) ?? false))
  )
}

/** Every name that a package offers: its own, those it provides, its files. Some stand more than once. */
export function* offeredNames({ name, relations }: Candidate): Generator<string> {
  yield name
  for (const provided of relations.provides ?? []) yield provided.name
  yield* relations.files ?? []
}

/** `nginx 1.22.1-9`, for people. */
export const label = ({ name, version }: Candidate): string => `${name} ${version}`

const SIGNS: Readonly<Record<RelationOp, string>> = { '<': '<', '<=': '<=', '=': '=', '>=': '>=', '>': '>' }
/** `>= 1.2`, for people; empty where every version will do. */
export const bound = ({ op, version }: Relation): string => (op === undefined ? '' : `${SIGNS[op]} ${version ?? ''}`)
