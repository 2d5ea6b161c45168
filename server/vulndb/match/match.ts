import { worse, type Finding, type Severity } from '../../core/findings.ts'
import { cveOf, isSecurity, type Advisory } from '../advisory.ts'
import { familyOf, type Ecosystem, type Family } from './ecosystems.ts'
import { isSameStream, streamsOf } from './modules.ts'
import type { Orders, VersionOrder } from '../versions/orders.ts'
import { isWithin } from './ranges.ts'
import { bestScore, ratingOf } from './severity.ts'
import type { StoredRow } from '../store/shards.ts'

/** The package to match. Without a source it is its own source. */
export interface PackageQuery {
  readonly ecosystem: Ecosystem
  readonly name: string
  /** With its epoch, as its format writes it. */
  readonly version: string
  readonly source?: { readonly name: string; readonly version: string }
  readonly arch?: string
  /** `name:stream:version:context` of the module it was built in (RPM). */
  readonly module?: string
}

export interface Matched {
  readonly findings: readonly Finding[]
  /** The ecosystem's order cannot read the version, so ranges were of no use. */
  readonly isUnreadable: boolean
}

const ENGINE = 'osv'
const REBUILD = /\+b\d+$/
/** Special builds with an epoch or release of their own. They are compared only among themselves. */
const FLAVOURS = [/\.ksplice\d*\./, /_fips$|\.fips|fips(?=\.|$)/, /\.cloud$|\.cloud\./]

const withoutEpoch = (version: string): string => version.replace(/^\d+:/, '')
const flavourOf = (version: string): string => FLAVOURS.map(pattern => (pattern.test(version) ? '1' : '0')).join('')

/** What the order needs of a query and its rows. */
interface Reading {
  readonly family: Family
  readonly order: VersionOrder
  readonly query: PackageQuery
  readonly source: { readonly name: string; readonly version: string }
  readonly streams: readonly string[]
}

/**
 * The source that advisories name, and its version: without a rebuild's suffix, and never a source that only signs
 * another's build.
 */
export function sourceOf({ ecosystem, name, version, source: own = { name, version } }: PackageQuery): {
  readonly name: string
  readonly version: string
} {
  const family = familyOf(ecosystem)
  const signed = family?.signedSource?.(own.name)
  if (signed !== undefined) return { name: signed, version }
  return family?.marksRebuilds === true ? { ...own, version: own.version.replace(REBUILD, '') } : own
}

/** The version to compare: the source's for rows that name sources. The header of a source RPM has no epoch. */
function versionFor(row: StoredRow, { family, query, source }: Reading): string {
  if (row.by === 'binary') return query.version
  // where the fix is itself a rebuild, the number of the rebuild decides
  const { version } = query.source ?? query
  if (
    version.replace(REBUILD, '') === source.version &&
    row.spans.some(({ from, to = '' }) => REBUILD.test(from) || REBUILD.test(to))
  )
    return version
  return family.listsBuilds === true ? withoutEpoch(source.version) : source.version
}

/** Whether a row concerns this build: name, architecture, module stream and flavour. */
function speaksOf(row: StoredRow, reading: Reading): boolean {
  const { family, query, source } = reading
  if (row.name !== (row.by === 'source' ? source.name : query.name)) return false
  if (row.archs !== undefined && query.arch !== undefined && !row.archs.includes(query.arch)) return false
  if (family.listsBuilds !== true) return true
  const to = row.spans[0]?.to
  if (to !== undefined && flavourOf(to) !== flavourOf(query.version)) return false
  // a package may have a version of its own; the row names the source
  return isSameStream(
    { version: row.by === 'source' ? source.version : query.version, streams: reading.streams },
    { modules: row.modules, to },
  )
}

type Answer = 'affected' | 'fine' | 'unreadable'

/**
 * The public part of `2.0.0+cu118`: Python versions match by it unless the row itself names a local part. Source: PEP
 * 440, "Version matching"
 */
const publicPart = (version: string): string => version.replace(/\+[^+]*$/, '')

function judge(row: StoredRow, reading: Reading, orders: Orders): Answer {
  const written = versionFor(row, reading)
  const answer = judgeVersion(written, row, reading, orders)
  const isLocal = (row.order ?? reading.family.order) === 'pep440' && written.includes('+')
  if (answer !== 'fine' || !isLocal || row.spans.some(({ from, to = '' }) => `${from}${to}`.includes('+')))
    return answer
  return judgeVersion(publicPart(written), row, reading, orders)
}

function judgeVersion(version: string, row: StoredRow, reading: Reading, orders: Orders): Answer {
  const order = row.order === undefined ? reading.order : orders[row.order]
  if (
    row.versions?.some(
      one => one === version || (order.isVersion(one) && order.isVersion(version) && order.compare(one, version) === 0),
    ) === true
  )
    return 'affected'
  if (!order.isVersion(version)) {
    // from before every version on, and never fixed: that covers all of them, in any spelling
    if (row.spans.some(({ from, to }) => from === '0' && to === undefined)) return 'affected'
    return row.spans.length === 0 ? 'fine' : 'unreadable'
  }
  const spans =
    reading.family.listsBuilds === true && row.by === 'source'
      ? row.spans.map(({ to, ...span }) => (to === undefined ? span : { ...span, to: withoutEpoch(to) }))
      : row.spans
  return isWithin(version, spans, order) ? 'affected' : 'fine'
}

interface Judged {
  readonly row: StoredRow
  readonly answer: Answer
}

/**
 * What builds of one version have in common in an update: `2:8.0.1763-16.el8` and `2:8.0.1763-16.el8_5.13`; undefined
 * for other rows.
 */
function buildOf({ advisory, by, spans: [span, ...others] }: StoredRow): string | undefined {
  return span?.to === undefined || span.from !== '0' || span.closed === true || others.length > 0
    ? undefined
    : `${advisory.id}\0${by}\0${span.to.replace(/-[^-]*$/, '')}`
}

/**
 * An update may list several builds of one version, each with the fix: a package at one of them is fixed. Only where
 * updates list builds.
 */
function acrossBuilds(judged: readonly Judged[], { listsBuilds }: Family): readonly Judged[] {
  if (listsBuilds !== true) return judged
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

/** `DSA-5678` for `DSA-5678-2`: joins an update and its repair. */
const announcementOf = (id: string): string => id.replace(/-\d+$/, '')

/** In each group that `keyOf` makes, the rows of the highest rank. */
function ofHighestRank(judged: readonly Judged[], keyOf: (row: StoredRow) => string): readonly Judged[] {
  const ranks = new Map<string, number>()
  for (const { row } of judged) ranks.set(keyOf(row), Math.max(row.advisory.rank, ranks.get(keyOf(row)) ?? 0))
  return judged.filter(({ row }) => row.advisory.rank === ranks.get(keyOf(row)))
}

/**
 * The rows that decide about one CVE: those of the highest rank, without repairs whose original update is among them.
 * Where feeds list updates only, a later update may fix more of the same CVE, so the rank decides only between records
 * of one advisory.
 */
function deciding(judged: readonly Judged[], { listsBuilds }: Family): readonly Judged[] {
  const best = ofHighestRank(judged, row => (listsBuilds === true ? row.advisory.id : ''))
  return best.filter(
    ({ row: { advisory } }) =>
      advisory.regression !== true ||
      !best.some(
        ({ row: other }) =>
          other.advisory.regression !== true && announcementOf(other.advisory.id) === announcementOf(advisory.id),
      ),
  )
}

/** Joins the names of one vulnerability: advisories that share an alias are one class. */
function classesOf(advisories: readonly Advisory[]): (id: string) => readonly string[] {
  const parent = new Map<string, string>()
  const find = (id: string): string => {
    const up = parent.get(id)
    if (up === undefined || up === id) return id
    const root = find(up)
    parent.set(id, root)
    return root
  }
  const names = new Set<string>()
  for (const { id, aliases = [] } of advisories) {
    for (const alias of [id, ...aliases]) {
      names.add(alias)
      parent.set(find(alias), find(id))
    }
  }
  const members = new Map<string, string[]>()
  for (const name of [...names].sort()) members.set(find(name), [...(members.get(find(name)) ?? []), name])
  return id => members.get(find(id)) ?? [id]
}

/** The names for an advisory's findings: its CVEs, else those of its class, else one name for the whole class. */
function idsOf(advisory: Advisory, classOf: (id: string) => readonly string[]): readonly string[] {
  if (advisory.cves.length > 0) return advisory.cves
  const all = classOf(advisory.id)
  const cves = [...new Set(all.map(cveOf).filter(cve => cve !== undefined))]
  if (cves.length > 0) return cves
  return [all.find(id => id.startsWith('GHSA-')) ?? all.find(id => id === advisory.id) ?? advisory.id]
}

/** The distribution's rating first, then the scores, then none. */
function severityOf(
  id: string,
  rows: readonly StoredRow[],
): { readonly severity: Severity; readonly cvss?: NonNullable<Finding['cvss']> } {
  const cvss = bestScore([...new Set(rows.flatMap(({ advisory }) => advisory.vectors ?? []))])
  const words = rows
    .map(({ ratings, severity, advisory }) => ratings?.[id] ?? severity ?? advisory.severity)
    .filter(word => word !== undefined)
  const word = words.reduce<Severity | undefined>(
    (sofar, next) => (sofar === undefined ? next : worse(sofar, next)),
    undefined,
  )
  return {
    severity: word ?? (cvss === undefined ? 'unknown' : ratingOf(cvss)),
    ...(cvss === undefined ? {} : { cvss }),
  }
}

const MOST_LISTED = 8

/** The fixes that end the ranges in which a version lies. */
function endsOf(row: StoredRow, reading: Reading, order: VersionOrder): readonly string[] {
  const version = versionFor(row, reading)
  return row.spans
    .filter(span => order.isVersion(version) && span.closed !== true && isWithin(version, [span], order))
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
function fixesOf(
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

interface Telling {
  readonly fixFor: (affected: readonly StoredRow[]) => string | undefined
  readonly classOf: (id: string) => readonly string[]
}

function findingOf(
  id: string,
  affected: readonly StoredRow[],
  reading: Reading,
  { fixFor, classOf }: Telling,
): Finding {
  const { query, source } = reading
  const advisories = [...new Set(affected.map(({ advisory }) => advisory))]
  const names = [...new Set(advisories.map(advisory => advisory.id))].filter(name => name !== id && cveOf(name) !== id)
  const aliases = [...new Set(advisories.flatMap(advisory => classOf(advisory.id)))].filter(name => name !== id)
  const references = [...new Set(advisories.flatMap(advisory => advisory.references ?? []))].slice(0, MOST_LISTED)
  const summary = advisories.map(advisory => advisory.summary).find(text => text !== undefined)
  const fix = fixFor(affected)
  const bySource = affected.every(({ by }) => by === 'source')
  return {
    id,
    package: query.name,
    ...severityOf(id, affected),
    detected_by: [ENGINE],
    matched: { ecosystem: query.ecosystem, ...(bySource ? source : { name: query.name, version: query.version }) },
    ...(aliases.length === 0 ? {} : { aliases: aliases.slice(0, MOST_LISTED) }),
    ...(fix === undefined ? {} : { fixed_in: fix }),
    ...(summary === undefined ? {} : { summary }),
    ...(names.length === 0 ? {} : { advisories: names.slice(0, MOST_LISTED) }),
    ...(references.length === 0 ? {} : { references }),
  }
}

/**
 * The advisories that apply to a package. Pure: `rows` are those in the tables under its name and its source's. One
 * finding per CVE. Not a finding: what is fixed, what a table of higher rank denies, and what concerns another module
 * stream.
 */
export function matchPackage(query: PackageQuery, rows: readonly StoredRow[], orders: Orders): Matched {
  const family = familyOf(query.ecosystem)
  if (family === undefined) return { findings: [], isUnreadable: false }
  const reading: Reading = {
    family,
    order: orders[family.order],
    query,
    source: sourceOf(query),
    streams: streamsOf(query, rows),
  }
  const speaking = rows.filter(row => isSecurity(row.advisory) && speaksOf(row, reading))
  const judged = acrossBuilds(
    speaking.map(row => ({ row, answer: judge(row, reading, orders) })),
    family,
  )
  const classOf = classesOf(family.kind === 'language' ? speaking.map(({ advisory }) => advisory) : [])
  const byId = new Map<string, Judged[]>()
  for (const one of judged) {
    for (const id of idsOf(one.row.advisory, classOf)) byId.set(id, [...(byId.get(id) ?? []), one])
  }
  const fixFor = fixesOf(speaking, reading, orders)
  const findings: Finding[] = []
  for (const [id, all] of byId) {
    // one language advisory that says affected is enough: none of them is a distribution's own table
    const affected = (family.kind === 'language' ? all : deciding(all, family))
      .filter(({ answer }) => answer === 'affected')
      .map(({ row }) => row)
    if (affected.length > 0) findings.push(findingOf(id, affected, reading, { fixFor, classOf }))
  }
  return { findings, isUnreadable: judged.some(({ answer }) => answer === 'unreadable') }
}
