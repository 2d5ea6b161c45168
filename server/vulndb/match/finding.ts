import { worse, type Evidence, type Finding, type Severity } from '../../core/findings.ts'
import { cveOf } from '../advisory.ts'
import type { StoredRow } from '../store/shards.ts'
import type { Orders, VersionOrder } from '../versions/orders.ts'
import type { Family } from './ecosystems.ts'
import type { ClassOf, Reading } from './matching-rules.ts'
import { evidenceOf } from './evidence.ts'
import { isWithin } from './ranges.ts'
import { bestScore, ratingOf } from './severity.ts'

const ENGINE = 'osv'

/** The version to compare with a row: the source's for rows that name sources. */
export const versionFor = (row: StoredRow, reading: Reading): string =>
  row.by === 'binary' ? reading.query.version : reading.kind.sourceVersion(row, reading)

/** The distribution's rating first, then the scores, then none. */
function severityOf(
  id: string,
  rows: readonly StoredRow[],
  { kind }: Pick<Family, 'kind'>,
): Pick<Finding, 'severity' | 'severity_source' | 'cvss'> {
  const cvss = bestScore([...new Set(rows.flatMap(({ advisory }) => advisory.vectors ?? []))])
  const words = rows
    .map(({ ratings, severity, advisory }) => ratings?.[id] ?? severity ?? advisory.severity)
    .filter(word => word !== undefined)
  const word = words.reduce<Severity | undefined>(
    (sofar, next) => (sofar === undefined ? next : worse(sofar, next)),
    undefined,
  )
  const own = kind === 'distribution' ? 'distribution' : 'advisory'
  return {
    ...(word !== undefined
      ? { severity: word, severity_source: own }
      : cvss === undefined
        ? { severity: 'unknown' }
        : { severity: ratingOf(cvss), severity_source: 'cvss' }),
    ...(cvss === undefined ? {} : { cvss }),
  }
}

const MOST_LISTED = 8
const MOST_EVIDENCE = 3

/** The fixes that end the ranges in which a version lies. */
function endsOf(row: StoredRow, reading: Reading, order: VersionOrder): readonly string[] {
  const version = versionFor(row, reading)
  return row.spans
    .filter(span => order.reads(version) && span.closed !== true && isWithin(version, [span], order))
    .map(({ to }) => to)
    .filter(to => to !== undefined)
}

/** The lowest version that has all the fixes; undefined when one of them has none. */
function fixOf(affected: readonly StoredRow[], reading: Reading, orders: Orders): string | undefined {
  const orderOf = (row: StoredRow | undefined): VersionOrder =>
    row?.order === undefined ? reading.order : orders[row.order]
  const first = orderOf(affected[0])
  const ends = [...new Set(affected.flatMap(row => endsOf(row, reading, orderOf(row))))]
    .filter(to => first.isVersion(to))
    .sort((a, b) => first.compare(a, b))
  return ends.find(to =>
    affected.every(
      row =>
        orderOf(row).isVersion(to) && !isWithin(to, row.spans, orderOf(row)) && row.versions?.includes(to) !== true,
    ),
  )
}

/** The fix of each set of rows, computed once: hundreds of CVEs of one kernel update share theirs. */
export function fixesOf(
  rows: readonly StoredRow[],
  reading: Reading,
  orders: Orders,
): (affected: readonly StoredRow[]) => string | undefined {
  const places = new Map(rows.map((row, at) => [row, at]))
  const known = new Map<string, string | undefined>()
  return affected => {
    const key = affected.map(row => places.get(row)).join()
    if (!known.has(key)) known.set(key, fixOf(affected, reading, orders))
    return known.get(key)
  }
}

/** What each row says of the package's version, worked out once: an update names hundreds of CVEs. */
export function proofsOf(reading: Reading, orders: Orders): (row: StoredRow) => Evidence {
  const known = new Map<StoredRow, Evidence>()
  return row => {
    const proof =
      known.get(row) ??
      evidenceOf(row, versionFor(row, reading), row.order === undefined ? reading.order : orders[row.order])
    known.set(row, proof)
    return proof
  }
}

/** What the findings of one package have in common. */
interface Telling {
  readonly fixFor: (affected: readonly StoredRow[]) => string | undefined
  readonly classOf: ClassOf
  readonly proofOf: (row: StoredRow) => Evidence
}

/** Builds of one update say the same. */
const distinct = (all: readonly Evidence[]): readonly Evidence[] => [
  ...new Map(all.map(one => [`${one.record} ${one.says}`, one])).values(),
]

/** One vulnerability of the package, by the rows that say so. */
export function findingOf(
  id: string,
  affected: readonly StoredRow[],
  reading: Reading,
  { fixFor, classOf, proofOf }: Telling,
): Finding {
  const { query, source } = reading
  const advisories = [...new Set(affected.map(({ advisory }) => advisory))]
  const names = [...new Set(advisories.map(advisory => advisory.id))].filter(name => name !== id && cveOf(name) !== id)
  const aliases = [...new Set(advisories.flatMap(advisory => classOf(advisory.id)))].filter(name => name !== id)
  const references = [...new Set(advisories.flatMap(advisory => advisory.references ?? []))].slice(0, MOST_LISTED)
  const summary = advisories.map(advisory => advisory.summary).find(text => text !== undefined)
  const fix = fixFor(affected)
  const vendor = affected.map(({ said }) => said).find(said => said !== undefined)
  const isMalicious = [id, ...advisories.map(advisory => advisory.id)].some(name => name.startsWith('MAL-'))
  const bySource = affected.every(({ by }) => by === 'source')
  return {
    id,
    package: query.name,
    ...severityOf(id, affected, reading.family),
    detected_by: [ENGINE],
    matched: { ecosystem: query.ecosystem, ...(bySource ? source : { name: query.name, version: query.version }) },
    evidence: distinct(affected.map(proofOf)).slice(0, MOST_EVIDENCE),
    ...(aliases.length === 0 ? {} : { aliases: aliases.slice(0, MOST_LISTED) }),
    ...(fix === undefined ? {} : { fixed_in: fix }),
    ...(summary === undefined ? {} : { summary }),
    ...(names.length === 0 ? {} : { advisories: names.slice(0, MOST_LISTED) }),
    ...(references.length === 0 ? {} : { references }),
    ...(vendor === undefined ? {} : { vendor_says: vendor }),
    ...(isMalicious ? { malicious: true } : {}),
  }
}
