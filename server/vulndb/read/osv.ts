import type { Severity } from '../../core/findings.ts'
import { cveOf, type Advisory, type Row, type Sink, type Span } from '../advisory.ts'
import { familyOf, NATIVE, readEcosystem, spellName, type Ecosystem } from '../match/ecosystems.ts'
import type { FeedContext } from './distribution-feeds.ts'
import { modulesOf } from '../match/modules.ts'
import { nativeAffected } from './tags.ts'
import type { OrderId, Orders, VersionOrder } from '../versions/orders.ts'
import { isPep440 } from '../../core/versions/pep440.ts'
import { isWithin, spansOf } from '../match/ranges.ts'
import { scoreOf, severityOf } from '../match/severity.ts'
import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : [])
const textsOf = (value: unknown): string[] => listOf(value).filter(item => typeof item === 'string')
const unique = <T>(items: readonly T[]): T[] => [...new Set(items)]
const cvesOf = (ids: readonly string[]): string[] => unique(ids.map(cveOf).filter(cve => cve !== undefined))

/** Dates as the schema writes them: they sort as texts. */
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** A date in UTC, also when written in another zone; undefined when it is none. */
function readDate(value: unknown): string | undefined {
  const at = typeof value === 'string' ? new Date(value) : undefined
  if (typeof value !== 'string' || at === undefined || Number.isNaN(at.getTime())) return undefined
  return UTC.test(value) ? value : at.toISOString()
}

const MOST_REFERENCES = 4
const MOST_SUMMARY = 300
/** Names of one vulnerability; real records have a dozen at most. */
const MOST_ALIASES = 100

/** CVSS vectors, and the distribution's own rating where it stands beside them, as Ubuntu's does. */
function readSeverity(list: unknown): { readonly vectors: readonly string[]; readonly word: Severity | undefined } {
  const entries = listOf(list).filter(isFields)
  const vectors = entries
    .filter(({ type }) => typeof type === 'string' && type.startsWith('CVSS'))
    .map(({ score }) => score)
    .filter(score => typeof score === 'string')
  const word = entries.map(({ score }) => severityOf(score)).find(found => found !== undefined)
  return { vectors: unique(vectors.map(vector => vector.trim()).filter(vector => scoreOf(vector) !== undefined)), word }
}

/**
 * The CVEs of an advisory: its id if that is a CVE's, else those in `aliases` and `upstream`, else those in `related`,
 * as in older records of distributions. In records of language packages `related` means something else.
 */
function readCves(record: Fields, id: string, isLanguage: boolean): string[] {
  const own = cveOf(id)
  const aliases = cvesOf(textsOf(record.aliases).slice(0, MOST_ALIASES))
  if (own !== undefined) return unique([own, ...aliases])
  const named = unique([...aliases, ...cvesOf(textsOf(record.upstream))])
  return named.length > 0 || isLanguage ? named : cvesOf(textsOf(record.related))
}

// a record per CVE knows more than an announcement of an update
const PER_CVE = /^(?:CVE|DEBIAN-CVE|UBUNTU-CVE|ALPINE-CVE)-/

function readAdvisory(record: Fields, id: string, source: string, isLanguage: boolean): Advisory {
  const cves = readCves(record, id, isLanguage)
  const { vectors, word } = readSeverity(record.severity)
  const title = typeof record.summary === 'string' ? record.summary.trim() : ''
  // Alma, Rocky and Red Hat: `Important: xz security update`
  const prefix = isLanguage ? undefined : severityOf(/^(\w+): /.exec(title)?.[1])
  const said = severityOf(fieldsOf(record.database_specific).severity)
  // a distribution's rating stands before the scores, GitHub's only where there are none
  const severity = isLanguage
    ? id.startsWith('MAL-')
      ? 'critical'
      : vectors.length === 0
        ? said
        : undefined
    : (word ?? said ?? prefix)
  const summary =
    title === '' && typeof record.details === 'string' ? (record.details.trim().split('\n', 1)[0] ?? '') : title
  const references = unique(
    listOf(record.references)
      .filter(isFields)
      .map(({ url }) => url)
      .filter(url => typeof url === 'string')
      .filter(url => /^https?:\/\/\S{1,500}$/.test(url)),
  )
  const aliases = isLanguage ? unique(textsOf(record.aliases).slice(0, MOST_ALIASES)) : []
  const modified = readDate(record.modified)
  return {
    id,
    source,
    cves,
    rank: PER_CVE.test(id) || isLanguage ? 2 : 1,
    ...(aliases.length === 0 ? {} : { aliases }),
    ...(severity === undefined ? {} : { severity }),
    ...(vectors.length === 0 ? {} : { vectors }),
    ...(summary === '' ? {} : { summary: summary.slice(0, MOST_SUMMARY) }),
    ...(references.length === 0 ? {} : { references: references.slice(0, MOST_REFERENCES) }),
    ...(modified === undefined ? {} : { modified }),
    ...(!isLanguage && /\bregression\b/i.test(title) ? { regression: true } : {}),
  }
}

interface Context {
  readonly record: Fields
  readonly advisory: Advisory
  readonly orders: Orders
  readonly sink: Sink
}

/** The affected spans of all ranges, and the versions outside them; undefined when none of it can be used. */
function readAffected(
  affected: Fields,
  orderId: OrderId,
  { orders, sink }: Context,
): { readonly spans: readonly Span[]; readonly versions: readonly string[] } | undefined {
  const order = orders[orderId]
  const spans: Span[] = []
  let isRead = false
  for (const range of listOf(affected.ranges)) {
    const { type, events } = fieldsOf(range)
    if (type === 'GIT') continue
    const found = spansOf(events, order)
    if (typeof found === 'string') sink.skip(found)
    else {
      isRead = true
      spans.push(...found)
    }
  }
  const versions = textsOf(affected.versions)
  if (!isRead && versions.length === 0) return undefined
  return { spans, versions: versions.filter(version => !order.isVersion(version) || !isWithin(version, spans, order)) }
}

/** Ubuntu rates each CVE of a notice: `cves_map` of the entry or of the record. */
function readRatings(affected: Fields, record: Fields): Record<string, Severity> | undefined {
  const map = [fieldsOf(affected.database_specific).cves_map, fieldsOf(record.database_specific).cves_map].find(
    isFields,
  )
  const rated = listOf(map?.cves)
    .filter(isFields)
    .flatMap(({ id, severity }) => {
      const word = readSeverity(severity).word
      return typeof id === 'string' && word !== undefined ? [[id, word] as const] : []
    })
  return rated.length === 0 ? undefined : Object.fromEntries(rated)
}

/** Ubuntu's priority of a CVE, for other distributions: of its record, of a package in it, or of a notice about it. */
function rateByUbuntu(record: Fields, id: string, sink: Sink): void {
  const affected = listOf(record.affected).map(fieldsOf)
  const cve = id.startsWith('UBUNTU-CVE-') ? cveOf(id) : undefined
  const words = [
    readSeverity(record.severity).word,
    ...affected.map(one => severityOf(fieldsOf(one.ecosystem_specific).ubuntu_priority)),
  ]
  const word = words.find(found => found !== undefined)
  if (cve !== undefined && word !== undefined) sink.rate(cve, { ubuntu: word })
  if (!id.startsWith('USN-')) return
  for (const one of affected)
    for (const [named, ubuntu] of Object.entries(readRatings(one, record) ?? {}))
      if (cveOf(named) === named) sink.rate(named, { ubuntu })
}

/** Distributions put their rating beside each package: Debian an urgency, Ubuntu a priority, others a severity. */
function readUrgency(affected: Fields): Severity | undefined {
  const { urgency, ubuntu_priority: priority, severity } = fieldsOf(affected.ecosystem_specific)
  return (
    [urgency, priority, severity, fieldsOf(affected.database_specific).severity]
      .map(severityOf)
      .find(word => word !== undefined) ?? readSeverity(affected.severity).word
  )
}

/** openSUSE lists what each source was built into, each binary with its own version: `[{ "libfoo1": "1.2-3.1" }]`. */
function readBinaries(affected: Fields): readonly (readonly [name: string, version: string])[] {
  return listOf(fieldsOf(affected.ecosystem_specific).binaries)
    .filter(isFields)
    .flatMap(binaries =>
      Object.entries(binaries).filter(
        (pair): pair is [string, string] => typeof pair[1] === 'string' && !('binary_name' in binaries),
      ),
    )
}

/**
 * Ranges of semantic versions that the ecosystem's own order cannot read: the versions of its packages are semantic
 * ones.
 */
function isSemverOnly(affected: Fields, id: OrderId, orders: Orders): boolean {
  // what is left of an ecosystem's past must not take a semantic version for one of its own
  const own: VersionOrder = id === 'pep440' ? { ...orders[id], isVersion: isPep440 } : orders[id]
  return listOf(affected.ranges)
    .map(fieldsOf)
    .some(({ type, events }) => type === 'SEMVER' && spansOf(events, own) === 'bad_version')
}

/** Releases that name packages as they are installed. The others name their source. */
const BY_BINARY = /^(?:almalinux|redhat)-/
/** Builds of special interest groups, for their own kernels. */
const SIG = /[?&]distro=rocky-linux-\d+-sig-/

function readPackage(affected: Fields, ecosystem: Ecosystem, context: Context): Row[] {
  const { record, advisory, orders, sink } = context
  const family = familyOf(ecosystem)
  const { name: written, purl } = fieldsOf(affected.package)
  if (family === undefined || typeof written !== 'string' || written === '') {
    sink.skip('no_package')
    return []
  }
  if (ecosystem === NATIVE) {
    const native = nativeAffected(written, textsOf(affected.versions))
    if (native === undefined) sink.skip('other_ecosystem')
    return native === undefined ? [] : [{ ...native, by: 'binary', spans: [] }]
  }
  const specific = fieldsOf(affected.ecosystem_specific)
  // livepatches are no packages
  if (typeof specific.module_name_regex === 'string' || (typeof purl === 'string' && SIG.test(purl))) return []
  const orderId = family.kind === 'language' && isSemverOnly(affected, family.order, orders) ? 'semver' : family.order
  const read = readAffected(affected, orderId, context)
  if (read === undefined) return []
  const isBinary = BY_BINARY.test(ecosystem)
  const severity = family.kind === 'distribution' ? readUrgency(affected) : undefined
  const ratings = readRatings(affected, record)
  const modules =
    family.listsBuilds === true ? modulesOf(read.spans, specific.rpm_modularity, advisory.summary) : undefined
  const shared = {
    ...(orderId === family.order ? {} : { order: orderId }),
    ...(severity === undefined ? {} : { severity }),
    ...(ratings === undefined ? {} : { ratings }),
    ...(modules === undefined ? {} : { modules }),
  }
  const binaries = family.listsBuilds === true && !isBinary ? readBinaries(affected) : []
  if (binaries.length > 0) {
    const rows: Row[] = binaries
      .filter(([, version]) => orders[family.order].isVersion(version))
      .map(([name, to]) => ({ name, by: 'binary', spans: [{ from: '0', to }], ...shared }))
    // where no binary has the source's name, a package with that name is matched by its source
    return binaries.some(([name]) => name === written)
      ? rows
      : [...rows, { name: written, by: 'binary', spans: read.spans, ...shared }]
  }
  return [
    {
      name: spellName(ecosystem, written),
      by: isBinary || family.kind === 'language' ? 'binary' : 'source',
      spans: read.spans,
      ...(read.versions.length === 0 ? {} : { versions: read.versions }),
      ...shared,
      ...(read.spans.length === 0 && read.versions.length === 0 ? { safe: true } : {}),
    },
  ]
}

/**
 * Reads one OSV record. Leaves out and counts what breaks the schema and what was withdrawn.
 * @returns its id and when it was modified, or undefined when it is no record
 * Source: https://ossf.github.io/osv-schema/, 1.7.5
 */
export function readOsvRecord(
  value: unknown,
  { source, orders, sink }: FeedContext,
): { readonly id: string; readonly modified?: string } | undefined {
  const record = fieldsOf(value)
  const { id } = record
  if (typeof id !== 'string' || id === '' || id.length > 200) {
    sink.skip('malformed')
    return undefined
  }
  const modified = readDate(record.modified)
  const read = { id, ...(modified === undefined ? {} : { modified }) }
  if (record.withdrawn !== undefined && record.withdrawn !== null) {
    sink.skip('withdrawn')
    return read
  }
  const advisories = new Map<boolean, Advisory>()
  for (const affected of listOf(record.affected).map(fieldsOf)) {
    const written = fieldsOf(affected.package).ecosystem
    const ecosystem = typeof written === 'string' ? readEcosystem(written) : undefined
    if (ecosystem === undefined) {
      sink.skip(typeof written === 'string' ? 'other_ecosystem' : 'no_package')
      continue
    }
    const isLanguage = familyOf(ecosystem)?.kind === 'language'
    const advisory = advisories.get(isLanguage) ?? readAdvisory(record, id, source, isLanguage)
    advisories.set(isLanguage, advisory)
    // an update that only repairs an earlier one and names no vulnerability is no advisory
    if (advisory.regression === true && advisory.cves.length === 0) {
      sink.skip('not_security')
      continue
    }
    const own = readSeverity(affected.severity).vectors
    const named = own.length === 0 ? advisory : { ...advisory, vectors: own }
    for (const row of readPackage(affected, ecosystem, { record, advisory: named, orders, sink }))
      sink.add({ ecosystem, advisory: named, row })
    const [cve, ...others] = named.cves
    if (cve !== undefined && others.length === 0 && named.vectors !== undefined) sink.vector(cve, named.vectors)
  }
  // a CVE's own record rates it for every distribution, also where it only names commits
  const own = cveOf(id)
  const { vectors } = readSeverity(record.severity)
  if (own !== undefined && vectors.length > 0) sink.vector(own, vectors)
  rateByUbuntu(record, id, sink)
  return read
}
