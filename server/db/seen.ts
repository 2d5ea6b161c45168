import { hiddenNow } from '../lib/caller.ts'
import type { Db, Queryable } from './db.ts'

/**
 * Tables as the caller may see them, each under its own name: a common table expression stands before the table of that
 * name (PostgreSQL, 7.8.1: a query of WITH sees those before it, and not itself). `package` comes first, and all others
 * are made from what it shows; `artifact` is made anew, since its row tells of all versions.
 */
const SHADOWS: readonly (readonly [table: string, sql: string])[] = [
  ['package', 'select * from package where codename <> all(@hidden)'],
  [
    'artifact',
    `
    select format, name, (array_agg(summary order by sort_key desc))[1] as summary, count(distinct version)::int as versions,
           (array_agg(version order by sort_key desc))[1] as latest, max(changed_at) as updated_at,
           lower(name || ' ' || (array_agg(summary order by sort_key desc))[1]) as haystack
    from package group by format, name`,
  ],
  ['package_file', 'select f.* from package_file f join package p on p.id = f.package_id'],
  ['package_offer', 'select o.* from package_offer o join package p on p.id = o.package_id'],
  ['finding', 'select f.* from finding f join package p on p.id = f.package_id'],
  ['sla_breach', 'select b.* from sla_breach b join package p on p.id = b.package_id'],
  ...['decision', 'generation', 'distribution', 'retention', 'pin'].map(
    table => [table, `select * from ${table} where codename <> all(@hidden)`] as const,
  ),
]

const READS = /^\s*(with|select)\b/i

/** Puts the shadows before a statement that reads; the codenames become its last parameter. Exported for its test. */
export function shadowed(
  sql: string,
  params: readonly unknown[],
  hidden: readonly string[],
): readonly [string, readonly unknown[]] {
  const [, word] = READS.exec(sql) ?? []
  if (word === undefined) throw new Error('Only what reads may be asked of the database as a caller sees it.')
  const place = `$${params.length + 1}::text[]`
  if (/^\s*with\s+recursive\b/i.test(sql)) throw new Error('A recursive query would see its own shadow.')
  const asked = SHADOWS.filter(([table]) => new RegExp(`\\b(?:from|join)\\s+${table}\\b`, 'i').test(sql))
  if (asked.length === 0) return [sql, params]
  const used = SHADOWS.filter(shadow => shadow[0] === 'package' || asked.includes(shadow))
  const shadows = used
    .map(([table, text]) => `${table} as not materialized (${text.replaceAll('@hidden', place)})`)
    .join(', ')
  const rest = word.toLowerCase() === 'select' ? ` ${sql}` : `, ${sql.replace(READS, '')}`
  return [`with ${shadows}${rest}`, [...params, hidden]]
}

/**
 * The database as the caller of this request may see it: packages of distributions that are hidden from them are in no
 * row, no count and no search. Given to features that read; what a feature changes goes through the catalogue, which
 * knows no callers.
 */
export function createSeenDb(db: Db): Db {
  const asked = (sql: string, params: readonly unknown[] = []): readonly [string, readonly unknown[]] => {
    const hidden = hiddenNow()
    return hidden.length === 0 || !READS.test(sql) ? [sql, params] : shadowed(sql, params, hidden)
  }
  const query: Queryable['query'] = (sql, params) => db.query(...asked(sql, params))
  const first: Queryable['first'] = (sql, params) => db.first(...asked(sql, params))
  return { ...db, query, first }
}
