/** A line of the table that `npm run bench import` prints. */
export interface Row {
  readonly what: string
  readonly here: string
  readonly beside?: string
  /** False where a target was missed; absent where there is none. */
  readonly isWithin?: boolean
}

/** What was not measured, and why: counted, never as a success. */
export interface NotRun {
  readonly what: string
  readonly why: string
}

export type Measured = readonly (Row | NotRun)[]

export const isRun = (one: Row | NotRun): one is Row => 'here' in one
