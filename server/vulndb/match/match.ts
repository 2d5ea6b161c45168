import type { Evidence, Finding } from '../../core/findings.ts'
import { cveOf, isSecurity, type Advisory } from '../advisory.ts'
import type { StoredRow } from '../store/shards.ts'
import type { Orders } from '../versions/orders.ts'
import { apk } from './apk.ts'
import { deb } from './deb.ts'
import { familyOf, type Family } from './ecosystems.ts'
import { findingOf, fixesOf, proofsOf, versionFor } from './finding.ts'
import type { Answer, ClassOf, Judged, Kind, Matched, PackageQuery, Reading, Versioned } from './matching-rules.ts'
import { language } from './language.ts'
import { native } from './native.ts'
import { streamsOf } from './modules.ts'
import { isWithin } from './ranges.ts'
import { rpm } from './rpm.ts'

const DISTRIBUTIONS: Readonly<Partial<Record<Family['order'], Kind>>> = { deb, rpm, apk }

/** The rules of languages, and of distributions by the order of their versions. */
const kindOf = ({ kind, order }: Family): Kind =>
  order === 'native' ? native : kind === 'language' ? language : (DISTRIBUTIONS[order] ?? apk)

/** The source that advisories name, and the version to compare with theirs. */
export function sourceOf(query: PackageQuery): Versioned {
  const { ecosystem, name, version, source: own = { name, version } } = query
  const family = familyOf(ecosystem)
  return family === undefined ? own : kindOf(family).sourceOf(own, query)
}

/** Whether a row concerns this build: name, architecture, and what its kind asks. */
function concernsBuild(row: StoredRow, reading: Reading): boolean {
  const { family, kind, query, source } = reading
  // tables of an earlier release have some names as they were written
  const name = family.spell?.(row.name) ?? row.name
  if (name !== (row.by === 'source' ? source.name : query.name)) return false
  if (row.archs !== undefined && query.arch !== undefined && !row.archs.includes(query.arch)) return false
  return kind.concerns(row, reading)
}

function judge(row: StoredRow, reading: Reading, orders: Orders): Answer {
  const written = versionFor(row, reading)
  const answer = judgeVersion(written, row, reading, orders)
  const other =
    answer === 'fine' ? reading.kind.otherReading(written, row, row.order ?? reading.family.order) : undefined
  return other === undefined ? answer : judgeVersion(other, row, reading, orders)
}

function judgeVersion(version: string, row: StoredRow, reading: Reading, orders: Orders): Answer {
  const order = row.order === undefined ? reading.order : orders[row.order]
  if (
    row.versions?.some(
      one => one === version || (order.isVersion(one) && order.reads(version) && order.compare(one, version) === 0),
    ) === true
  )
    return 'affected'
  if (!order.reads(version)) {
    // from before every version on, and never fixed: that covers all of them, in any spelling
    if (row.spans.some(({ from, to }) => from === '0' && to === undefined)) return 'affected'
    return row.spans.length === 0 ? 'fine' : 'unreadable'
  }
  return isWithin(version, reading.kind.spansOf(row), order) ? 'affected' : 'fine'
}

/**
 * The names for an advisory's findings: its CVEs, else those of its class, else one name for the whole class, that of
 * malicious code first.
 */
function idsOf(advisory: Advisory, classOf: ClassOf): readonly string[] {
  if (advisory.cves.length > 0) return advisory.cves
  const all = classOf(advisory.id)
  const cves = [...new Set(all.map(cveOf).filter(cve => cve !== undefined))]
  if (cves.length > 0) return cves
  const malicious = all.find(id => id.startsWith('MAL-'))
  if (malicious !== undefined) return [malicious]
  return [all.find(id => id.startsWith('GHSA-')) ?? all.find(id => id === advisory.id) ?? advisory.id]
}

/** A query as its ecosystem reads it, and what each row that concerns it says; undefined for an unknown ecosystem. */
function judgeRows(
  query: PackageQuery,
  rows: readonly StoredRow[],
  orders: Orders,
): { readonly reading: Reading; readonly judged: readonly Judged[] } | undefined {
  const family = familyOf(query.ecosystem)
  if (family === undefined) return undefined
  const kind = kindOf(family)
  const reading: Reading = {
    family,
    kind,
    order: orders[family.order],
    query,
    source: sourceOf(query),
    streams: streamsOf(query, rows),
  }
  const speaking = rows.filter(row => isSecurity(row.advisory) && concernsBuild(row, reading))
  return { reading, judged: kind.settle(speaking.map(row => ({ row, answer: judge(row, reading, orders) }))) }
}

/**
 * The advisories that apply to a package. Pure: `rows` are those in the tables under its name and its source's. One
 * finding per CVE. Not a finding: what is fixed, what a table of higher rank denies, and what concerns another module
 * stream.
 */
export function matchPackage(query: PackageQuery, rows: readonly StoredRow[], orders: Orders): Matched {
  const answer = judgeRows(query, rows, orders)
  if (answer === undefined) return { findings: [], isUnreadable: false }
  const { reading, judged } = answer
  const { kind } = reading
  const speaking = judged.map(({ row }) => row)
  const classOf = kind.classesOf(speaking.map(({ advisory }) => advisory))
  const byId = new Map<string, Judged[]>()
  for (const one of judged) {
    for (const id of idsOf(one.row.advisory, classOf)) byId.set(id, [...(byId.get(id) ?? []), one])
  }
  const fixFor = fixesOf(speaking, reading, orders)
  const proofOf = proofsOf(reading, orders)
  const findings: Finding[] = []
  const denied: NonNullable<Matched['denied']>[number][] = []
  for (const [id, all] of byId) {
    const deciding = kind.deciding(all)
    const affected = deciding.filter(({ answer }) => answer === 'affected').map(({ row }) => row)
    if (affected.length > 0) findings.push(findingOf(id, affected, reading, { fixFor, classOf, proofOf }))
    const safe = affected.length > 0 ? undefined : deciding.find(({ row }) => row.safe === true)?.row
    if (safe !== undefined)
      denied.push({
        id,
        package: query.name,
        said: safe.said ?? `${safe.advisory.source} says that this release is not affected.`,
        source: safe.advisory.source,
        isDisputed: all.some(({ answer }) => answer === 'affected'),
      })
  }
  return {
    findings,
    ...(denied.length === 0 ? {} : { denied }),
    isUnreadable: judged.some(({ answer }) => answer === 'unreadable'),
  }
}

/** What one row says, and whether that concerns the version. */
export interface Said extends Evidence {
  readonly answer: Answer
}

/** Every row about a package with what it says, also those that find nothing. */
export function sayRows(query: PackageQuery, rows: readonly StoredRow[], orders: Orders): readonly Said[] {
  const { reading, judged = [] } = judgeRows(query, rows, orders) ?? {}
  if (reading === undefined) return []
  const proofOf = proofsOf(reading, orders)
  return judged.map(({ row, answer }) => ({ ...proofOf(row), answer }))
}
