/** What somebody may see of the packages here. Every query on packages takes one; there is no default. */
export interface Viewer {
  /** Codenames of distributions that are hidden from them: what lies there is in no row, no count and no search. */
  readonly hidden: readonly string[]
}

/** Sees everything: for work that is done for nobody in particular, as by jobs, the publisher and the gate. */
export const ALL_SEEING: Viewer = { hidden: [] }

/** Whether nothing is hidden from somebody, so that they may share what was worked out for others like them. */
export const seesAll = ({ hidden }: Viewer): boolean => hidden.length === 0

/** Whether somebody may see this distribution. */
export const maySee = ({ hidden }: Viewer, codename: string): boolean => !hidden.includes(codename)
