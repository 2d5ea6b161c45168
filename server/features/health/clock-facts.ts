/** How the clock of this process stands to the database's. */
export interface ClockFacts {
  readonly ok: boolean
  /** In milliseconds; negative where the database is behind. null: it did not answer. */
  readonly database_ahead_ms: number | null
}

/** Times of one row come from both clocks: from here on their order may be wrong. */
const APART_MS = 2_000

/**
 * Compares the database's time with that of this process, both in milliseconds of Unix time. The answer is taken as of
 * the middle of the question, so it is right to half of the time that the question took.
 */
export function compareClocks(
  theirs: number,
  { asked, answered }: { readonly asked: number; readonly answered: number },
): ClockFacts {
  const ahead = Math.round(theirs - (asked + answered) / 2)
  return { ok: Math.abs(ahead) <= APART_MS + (answered - asked) / 2, database_ahead_ms: ahead }
}
