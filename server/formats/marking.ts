import type { Iso } from '../core/identity.ts'
import type { Mark, MarkBringer, MarkKind, SaidMark } from '../core/mark.ts'

/** A mark as it is set: why, by whom and when. */
export interface MarkSet {
  readonly reason: string
  readonly by: string
  readonly at: Iso
}

/** How a format marks a version that stays served as one that people should leave. */
export interface Marking<Facts> {
  /** The word of its clients. */
  readonly kind: MarkKind
  /** The mark of a version; undefined where it has none. */
  read(facts: Facts): SaidMark | undefined
  /** The facts with this mark, or without one; the same ones where nothing changes, nor whose word it is. */
  set(facts: Facts, mark: MarkSet | undefined): Facts
  /**
   * The facts with what another installation says of it. A mark that a person set here stays.
   * @returns the same facts where nothing changes; undefined where a person here said something else
   */
  carry(facts: Facts, mark: Mark, from: MarkBringer): Facts | undefined
}
