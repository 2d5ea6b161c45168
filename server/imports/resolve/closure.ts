import type { Relations } from '../../formats/relations.ts'

/** A package that could be imported, or is there already, as resolution sees it. */
export interface Candidate {
  /** The row that it came from; equal ids are one package. */
  readonly id: number | string
  readonly name: string
  readonly version: string
  readonly arch: string
  /** Bytes to download. */
  readonly size: number
  /** The source whose index lists it; empty for what is published here. */
  readonly sourceKey: string
  readonly relations: Relations
}

/** Finds packages. What lists several gives them in an order that is always the same. */
export interface Universe {
  /** Every package of this name, newest first; equal versions in the order of their sources. */
  named(name: string): readonly Candidate[]
  /** Every package that offers this name: its own, one it provides, or a file (`foundUnder`), by name. */
  offering(name: string): readonly Candidate[]
}

/** A package that is asked for. */
export interface Root {
  readonly name: string
  /** Exactly this one; the newest when absent. */
  readonly version?: string
}

export interface Question {
  /** Each is resolved for itself, on top of what the ones before it brought: two of them may exclude each other. */
  readonly roots: readonly Root[]
  /** The architecture of the machines. */
  readonly arch: string
  /** What every machine has: the base set, in the versions of the index. */
  readonly base: readonly Candidate[]
  /** What the repository has already; taken before anything is imported. */
  readonly published: readonly Candidate[]
  readonly recommends: boolean
  /** Machines have the upstream's own repositories too: the roots alone are imported, the rest is assumed. */
  readonly onlyRoots?: true
}

/** A need that no package can meet together with the others. */
export interface Unresolved {
  /** `nginx 1.22.1-9`; the name alone for a root that does not exist. */
  readonly needed_by: string
  /** The need as its index writes it: `libc6 (>= 2.36) | musl`. */
  readonly group: string
  /** One sentence. */
  readonly reason: string
}

/** Two packages that exclude each other, and that both are needed. */
export interface Clash {
  /** `nginx-light 1.22.1-9` */
  readonly package: string
  readonly excluded_by: string
  /** `Breaks: libc6 (<< 2.36)` */
  readonly relation: string
}

/** The answer. A need that cannot be met is part of it, no error. */
export interface Closure {
  /** Which package each root is; none where no source has it. A name that others provide is one of those. */
  readonly roots: readonly { readonly asked: Root; readonly package?: Candidate }[]
  /** What must be imported, each after what it depends on; cycles are entered at any place. */
  readonly packages: readonly Candidate[]
  /** Those of the base set and of the published packages that `packages` and the roots need, the latter whole. */
  readonly assumed: readonly Candidate[]
  readonly unresolved: readonly Unresolved[]
  readonly conflicts: readonly Clash[]
  /** True when every root is there with all that it needs: `unresolved` and `conflicts` are empty. */
  readonly satisfied: boolean
}

/** Which packages of an index every machine has: `minbase`. Their closure over an empty base is the base set. */
export interface BaseSet {
  /** By name, those of them that the index lists. */
  readonly names: readonly string[]
  /** All that the index calls `essential`. */
  readonly essential: boolean
  /** All that have one of these priorities. */
  readonly priorities: readonly string[]
}

/** How packages of one format depend on each other. Pure: equal questions over equal packages have equal answers. */
export interface Resolver {
  readonly base: BaseSet
  resolve(universe: Universe, question: Question): Closure
}

/** True for a package that is asked for by a base set. */
export function isInBase({ name, relations }: Candidate, { names, essential, priorities }: BaseSet): boolean {
  const { priority } = relations
  return (
    names.includes(name) ||
    (essential && relations.essential === true) ||
    (priority !== undefined && priorities.includes(priority))
  )
}
