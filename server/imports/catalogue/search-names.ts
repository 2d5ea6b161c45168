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
  /** What a name of this tier has, and one of an earlier tier has not: it is not found twice. */
  readonly where: string
  readonly fromLetters: number
  readonly toLetters?: number
}

// $1 the query in lower case, $2 the same for LIKE, $3 sources, $4 format, $5 limit
const BEGINS = `lower(name) like $2 || '%'`
const INSIDE = `lower(name) like '%' || $2 || '%'`
// a beginning of one letter has a third of all names: those of up to twelve have indexes of their own
const TIERS: readonly Tier[] = [
  // of the names that begin so, the shortest is the name itself
  { where: `${BEGINS} and length(name) <= 12`, fromLetters: 0, toLetters: 12 },
  { where: `${BEGINS} and length(name) > 12`, fromLetters: 0 },
  { where: `${INSIDE} and not ${BEGINS} and length(name) <= 12`, fromLetters: LETTERS, toLetters: 11 },
  { where: `${INSIDE} and not ${BEGINS} and length(name) > 12`, fromLetters: LETTERS },
  {
    where: `to_tsvector('english', summary) @@ plainto_tsquery('english', $1) and not ${INSIDE}`,
    fromLetters: LETTERS,
  },
]

/** One statement for all tiers; one is not looked at where those before it fill the page. */
function statementFor(letters: number): string {
  const tiers = TIERS.filter(({ fromLetters, toLetters = Infinity }) => letters >= fromLetters && letters <= toLetters)
  const before = (n: number): string =>
    tiers
      .slice(0, n)
      .map((_, at) => `(select count(*) from tier_${at})`)
      .join(' + ') || '0'
  const parts = tiers.map(
    ({ where }, n) => `tier_${n} as (
      select id, format, name, summary from import_name
      where ${before(n)} < $5 and ${where}
        and ($3::int[] is null or sources && $3) and ($4::text is null or format = $4)
      order by length(name), name, format limit $5)`,
  )
  const all = tiers.map((_, n) => `select ${n} as tier, * from tier_${n}`)
  return `with ${parts.join(', ')}
    select id, format, name, summary from (${all.join(' union all ')}) found where $1::text is not null
    order by tier, length(name), name, format limit $5`
}

/**
 * Names by how well they fit: the name itself, its beginning, its middle, words of the summary; short before long. The
 * filters stand inside each tier, so that they never empty a page that is cut off before.
 */
export function searchNames(
  db: Queryable,
  { q, sources, isAll, format, limit }: NameQuery,
): Promise<readonly FoundName[]> {
  const text = q.toLowerCase()
  return db.query<FoundName>(statementFor([...text].length), [
    text,
    escapeLike(text),
    isAll ? null : sources,
    format ?? null,
    limit,
  ])
}
