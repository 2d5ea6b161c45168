/** The facts about a .deb, beside its blob, that its index entry contains. */
export interface DebFacts {
  /**
   * The control paragraph as an index carries it: its fields in their order, `Description` whole, continuation lines
   * kept, no trailing newline; without Filename, Size and digests, which the tree adds.
   */
  readonly control: string
  /** The files that a .dsc names, in its order; only for source packages. */
  readonly parts?: readonly string[]
}

/**
 * Debug symbols are in a component of their own, as Debian does with its installer's packages. Only clients that name
 * it (`main main/debug`) load its index.
 */
export const debugOf = (component: string): string => `${component}/debug`
