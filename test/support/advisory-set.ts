import { compareVersions as apk } from '../../server/formats/apk/version.ts'
import { compareVersions as deb } from '../../server/formats/deb/version.ts'
import { compareVersions as rpm } from '../../server/formats/rpm/version.ts'
import type { Finding } from '../../server/core/findings.ts'
import type { CveRating, Entry, Skipped } from '../../server/vulndb/advisory.ts'
import { spellName } from '../../server/vulndb/match/ecosystems.ts'
import { readOsvRecord } from '../../server/vulndb/read/osv.ts'
import { matchPackage, sayRows, sourceOf } from '../../server/vulndb/match/match.ts'
import type { Matched, PackageQuery } from '../../server/vulndb/match/matching-rules.ts'
import { createOrders } from '../../server/vulndb/versions/orders.ts'

const compare = { deb, rpm, apk }
/** The orders as the service has them. */
export const orders = createOrders({ compare: (format, a, b) => compare[format](a, b) })

/**
 * Collects what importers read, and asks about it as the tables would: by the names of the package and of its source.
 */
export function feed() {
  const entries: Entry[] = []
  const skipped: Skipped[] = []
  const vectors = new Map<string, readonly string[]>()
  const rated = new Map<string, Omit<CveRating, 'vectors'>>()
  const sink = {
    add: (entry: Entry) => {
      entries.push(entry)
    },
    skip: (why: Skipped) => {
      skipped.push(why)
    },
    vector: (cve: string, list: readonly string[]) => {
      vectors.set(cve, list)
    },
    rate: (cve: string, rating: Omit<CveRating, 'vectors'>) => {
      rated.set(cve, { ...rated.get(cve), ...rating })
    },
  }
  const context = { source: 'osv/test', orders, sink }
  const asked = (query: PackageQuery) => {
    const spelled = { ...query, name: spellName(query.ecosystem, query.name) }
    const names = [spelled.name, sourceOf(spelled).name]
    const rows = entries
      .filter(({ ecosystem, row }) => ecosystem === query.ecosystem && names.includes(row.name))
      .map(({ advisory, row }) => ({ ...row, advisory }))
    return [spelled, rows, orders] as const
  }
  const match = (query: PackageQuery): Matched => matchPackage(...asked(query))
  return {
    entries,
    skipped,
    vectors,
    rated,
    match,
    /** What every record about a package says. */
    say: (query: PackageQuery) => sayRows(...asked(query)),
    context,
    osv: (...records: object[]) => {
      for (const one of records) readOsvRecord(one, context)
    },
    ids: (ecosystem: string, name: string, version: string, more: Partial<PackageQuery> = {}) =>
      match({ ecosystem, name, version, ...more })
        .findings.map(({ id }) => id)
        .sort(),
    /** `CVE-2026-1 high 2-1`, the last being the fix or `-`. */
    lines: (query: PackageQuery) =>
      match(query)
        .findings.map(({ id, severity, fixed_in: fix = '-' }: Finding) => `${id} ${severity} ${fix}`)
        .sort(),
  }
}

/** One entry of an OSV record's `affected`. */
export const affected = (ecosystem: string, name: string, events: readonly object[], more: object = {}): object => ({
  package: { ecosystem, name },
  ranges: [{ type: 'ECOSYSTEM', events }],
  ...more,
})
/** An OSV record. */
export const record = (id: string, list: readonly object[], more: object = {}): object => ({
  schema_version: '1.7.3',
  id,
  modified: '2026-01-01T00:00:00Z',
  affected: list,
  ...more,
})
/** Affected from the first version to this one. */
export const fixed = (version: string): object[] => [{ introduced: '0' }, { fixed: version }]
/** A text as a feed's stream. */
export async function* bytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
