import type { FormatId } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'

/** A name that a search has found. */
export interface FoundName {
  readonly id: number
  readonly format: FormatId
  readonly name: string
  readonly summary: string
}

export interface NameQuery {
  readonly q: string
  /** The sources to look in; a name that none of them has is not found. */
  readonly sources: readonly number[]
  /** Whether those are all that the catalogue knows: then nobody need look. */
  readonly isAll: boolean
  readonly format: FormatId | undefined
  readonly limit: number
}

/** From so many letters on the middle of a name and the summary are searched, too. */
const LETTERS = 3

/** A text as LIKE takes it: without wildcards. */
export const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, sign => `\\${sign}`)

interface Tier {
  /** What a name of this tier has, and what one of an earlier tier has: it is not found twice. */
  readonly where: string
  readonly fromLetters: number
}

// $1 the query in lower case, $2 the same for LIKE, $3 sources, $4 format, $5 limit
const TIERS: readonly Tier[] = [
  // of the names that begin so, the shortest is the name itself
  { where: `lower(name) like $2 || '%'`, fromLetters: 0 },
  { where: `lower(name) like '%' || $2 || '%' and lower(name) not like $2 || '%'`, fromLetters: LETTERS },
  {
    where: `to_tsvector('english', summary) @@ plainto_tsquery('english', $1) and lower(name) not like '%' || $2 || '%'`,
    fromLetters: LETTERS,
  },
]

/**
 * Names by how well they fit: the name itself, its beginning, its middle, words of the summary; short before long.
 * The filters stand inside each tier, so that they never empty a page that is cut off before.
 */
export async function searchNames(
  db: Queryable,
  { q, sources, isAll, format, limit }: NameQuery,
): Promise<readonly FoundName[]> {
  const text = q.toLowerCase()
  const found: FoundName[] = []
  for (const { where, fromLetters } of TIERS) {
    if (found.length >= limit || [...text].length < fromLetters) break
    found.push(
      ...(await db.query<FoundName>(
        `select id, format, name, summary from import_name
        where ${where} and ($3::int[] is null or sources && $3) and ($4::text is null or format = $4)
          and $1::text is not null and $2::text is not null
        order by length(name), name, format limit $5`,
        [text, escapeLike(text), isAll ? null : sources, format ?? null, limit - found.length],
      )),
    )
  }
  return found
}
