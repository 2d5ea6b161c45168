import type { StoredRow } from '../store/shards.ts'
import { decidingBy, distribution } from './distribution.ts'
import type { Judged, Kind } from './matching-rules.ts'
import { isSameStream } from './modules.ts'
import { withoutEpoch } from '../versions/epoch.ts'

/** Special builds with an epoch or release of their own. They are compared only among themselves. */
const FLAVOURS = [/\.ksplice\d*\./, /_fips$|\.fips|fips(?=\.|$)/, /\.cloud$|\.cloud\./]

const flavourOf = (version: string): string => FLAVOURS.map(pattern => (pattern.test(version) ? '1' : '0')).join('')

/**
 * What builds of one version have in common in an update: `2:8.0.1763-16.el8` and `2:8.0.1763-16.el8_5.13`; undefined
 * for other rows.
 */
function buildOf({ advisory, by, spans: [span, ...others] }: StoredRow): string | undefined {
  return span?.to === undefined || span.from !== '0' || span.closed === true || others.length > 0
    ? undefined
    : `${advisory.id}\0${by}\0${span.to.replace(/-[^-]*$/, '')}`
}

/** An update may list several builds of one version, each with the fix: a package at one of them is fixed. */
function acrossBuilds(judged: readonly Judged[]): readonly Judged[] {
  const fixed = new Set(
    judged
      .filter(({ answer }) => answer === 'fine')
      .map(({ row }) => buildOf(row))
      .filter(build => build !== undefined),
  )
  return judged.map(one =>
    one.answer === 'affected' && fixed.has(buildOf(one.row) ?? '') ? { row: one.row, answer: 'fine' } : one,
  )
}

const isVendors = ({ advisory }: StoredRow): boolean => advisory.source.startsWith('csaf/')

/** Of a vendor's statements under one name only the newest document counts, however often it was loaded. */
function newestOfVendor(judged: readonly Judged[]): readonly Judged[] {
  const newest = new Map<string, string>()
  for (const { row } of judged.filter(one => isVendors(one.row))) {
    const { id, modified = '' } = row.advisory
    if (modified > (newest.get(id) ?? '')) newest.set(id, modified)
  }
  return judged.filter(
    ({ row }) => !isVendors(row) || (row.advisory.modified ?? '') === (newest.get(row.advisory.id) ?? ''),
  )
}

/** Where a vendor says "not affected" and nowhere "affected", that decides. */
function byVendor(judged: readonly Judged[]): readonly Judged[] {
  const vendors = judged.filter(({ row }) => isVendors(row))
  const isDenied = vendors.some(({ row }) => row.safe === true) && vendors.every(({ answer }) => answer === 'fine')
  return isDenied ? vendors : judged
}

/**
 * RPM distributions: their updates list builds, with module streams, kernel flavours, and an epoch that the header of
 * their source lacks.
 */
export const rpm: Kind = {
  ...distribution,
  sourceVersion: (_, { source }) => withoutEpoch(source.version),
  concerns(row, { query, source, streams }) {
    const to = row.spans[0]?.to
    if (to !== undefined && flavourOf(to) !== flavourOf(query.version)) return false
    // a package may have a version of its own; the row names the source
    const { version } = row.by === 'source' ? source : query
    return isSameStream({ version, streams }, { modules: row.modules, to })
  },
  spansOf: ({ by, spans }) =>
    by === 'source'
      ? spans.map(({ to, ...span }) => (to === undefined ? span : { ...span, to: withoutEpoch(to) }))
      : spans,
  settle: acrossBuilds,
  // a later update may fix more of the same CVE, so the rank decides only between records of one advisory
  deciding: judged => byVendor(decidingBy(({ advisory }) => advisory.id)(newestOfVendor(judged))),
}
