/** What somebody may see of the packages. Every query on packages takes one; there is no default. */
export interface Viewer {
  /** Codenames of hidden distributions: their packages appear in no row, no count and no search. */
  readonly hidden: readonly string[]
}

/** Sees everything: for work without a caller, such as jobs, the publisher and the gate. */
export const ALL_SEEING: Viewer = { hidden: [] }

/** Whether nothing is hidden from somebody, so that answers can be shared with others like them. */
export const seesAll = ({ hidden }: Viewer): boolean => hidden.length === 0

/** Whether somebody may see this distribution. */
export const maySee = ({ hidden }: Viewer, codename: string): boolean => !hidden.includes(codename)
