import type { StoredRow } from '../store/shards.ts'
import type { Judged, Kind } from './matching-rules.ts'

/*
 * What all distributions have in common: their advisories list CVEs, name sources, and the distribution's own table
 * outranks the others.
 */

/** `DSA-5678` for `DSA-5678-2`: joins an update and its repair. */
const announcementOf = (id: string): string => id.replace(/-\d+$/, '')

/** In each group that `keyOf` makes, the rows of the highest rank. */
function ofHighestRank(judged: readonly Judged[], keyOf: (row: StoredRow) => string): readonly Judged[] {
  const ranks = new Map<string, number>()
  for (const { row } of judged) ranks.set(keyOf(row), Math.max(row.advisory.rank, ranks.get(keyOf(row)) ?? 0))
  return judged.filter(({ row }) => row.advisory.rank === ranks.get(keyOf(row)))
}

/**
 * The rows that decide about one CVE: those of the highest rank in each group that `keyOf` makes, without repairs whose
 * original update is among them.
 */
export function decidingBy(keyOf: (row: StoredRow) => string): Kind['deciding'] {
  return judged => {
    const best = ofHighestRank(judged, keyOf)
    return best.filter(
      ({ row: { advisory } }) =>
        advisory.regression !== true ||
        !best.some(
          ({ row: other }) =>
            other.advisory.regression !== true && announcementOf(other.advisory.id) === announcementOf(advisory.id),
        ),
    )
  }
}

/** A distribution without rules of its own. */
export const distribution: Kind = {
  sourceOf: own => own,
  sourceVersion: (_, { source }) => source.version,
  concerns: () => true,
  spansOf: ({ spans }) => spans,
  otherReading: () => undefined,
  settle: judged => judged,
  deciding: decidingBy(() => ''),
  classesOf: () => id => [id],
}
