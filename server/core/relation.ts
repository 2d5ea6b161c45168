/** How a relation compares versions. `<` and `>` are strict. */
export type RelationOp = '<' | '<=' | '=' | '>=' | '>'

/** Whether the order of two versions (<0, 0 or >0) satisfies `op`. */
export function holds(order: number, op: RelationOp): boolean {
  switch (op) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '=':
      return order === 0
    case '>=':
      return order >= 0
    case '>':
      return order > 0
  }
}

/** One need: a name, perhaps with an architecture qualifier and a version bound. */
export interface Relation {
  readonly name: string
  readonly arch?: string
  readonly op?: RelationOp
  readonly version?: string
}

/** Alternatives, any of which satisfies the need: `a | b (>= 2)`. */
export type Alternatives = readonly Relation[]

/** What a package offers: its own name and version, and its virtual names. */
export interface Provided {
  readonly name: string
  /** Absent for an unversioned virtual package, which satisfies only unversioned needs. */
  readonly version?: string
  readonly arch?: string
}

/** How a package counts on machines of other architectures: Debian's `Multi-Arch`. */
export type Reach = 'foreign' | 'allowed'

/** A name on offer, with the architecture of the package that has it. */
export interface Offered extends Provided {
  readonly arch: string
  readonly reach?: Reach | undefined
}

/** `libc6 (>= 2.36)`, for people. */
function printRelation(relation: Relation): string {
  const name = relation.arch === undefined ? relation.name : `${relation.name}:${relation.arch}`
  const { op, version = '' } = relation
  if (op === undefined) return name
  // a range of a language says its own operators
  return /^[<>=~^!*[(]/.test(version) ? `${name} (${version})` : `${name} (${op} ${version})`
}

/** `a (>= 1) | b`, for people. */
export function printAlternatives(alternatives: Alternatives): string {
  return alternatives.map(printRelation).join(' | ')
}
