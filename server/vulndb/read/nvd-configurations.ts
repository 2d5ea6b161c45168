import { nativeVersion, productOfCpe } from '../../core/native-products.ts'
import { isFields, type Fields } from '../../lib/fields.ts'
import type { Row, Skipped, Span } from '../advisory.ts'
import type { VersionOrder } from '../versions/orders.ts'
import { readCpe, type Cpe } from './cpe.ts'

const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? (value as readonly unknown[]).filter(isFields) : []
const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Editions that are the free program, or say nothing about it. */
const OWN_EDITIONS: ReadonlySet<string> = new Set(['*', '-', 'lts', 'community', 'open_source'])
/** Systems by what a CPE name says that it runs in; what is not here and is no system is another product. */
const SYSTEMS: Readonly<Record<string, string>> = {
  windows: 'windows',
  macos: 'darwin',
  mac_os: 'darwin',
  mac_os_x: 'darwin',
  iphone_os: 'darwin',
  android: 'android',
}
const ANY_SYSTEM: ReadonlySet<string> = new Set(['*', '-', 'linux', 'linux_kernel', 'unix', 'x64', 'x86'])
/** Systems by the vendors that make no other kind. */
const VENDORS: Readonly<Record<string, string>> = { microsoft: 'windows', apple: 'darwin' }

/** What a record says of one product on some systems; of all where there are none. */
interface Statement {
  readonly name: string
  readonly systems: readonly string[]
  readonly span?: Span
  readonly version?: string
}

/** The system that a condition names; undefined for Linux and whatever else could be ours. */
function systemOf({ part, pair }: Cpe): string | undefined {
  if (part !== 'o') return undefined
  return pair === 'google:android' ? 'android' : VENDORS[pair.slice(0, pair.indexOf(':'))]
}

/** The only systems that a condition allows; empty where it allows ours, or is about something else. */
function systemsOf(matches: readonly Fields[]): readonly string[] {
  const systems = matches.map(({ criteria }) => {
    const cpe = readCpe(criteria)
    return cpe === undefined ? undefined : systemOf(cpe)
  })
  return systems.some(system => system === undefined)
    ? []
    : [...new Set(systems.filter(system => system !== undefined))]
}

/** The versions that an entry names; why not, where they cannot be compared. */
function versionsOf(
  match: Fields,
  { version, update }: Cpe,
  name: string,
  order: VersionOrder,
): Pick<Statement, 'span' | 'version'> | 'bad_version' {
  const read = (text: unknown): string => nativeVersion(name, textOf(text))
  // an entry for no version in particular says nothing of any
  if (version === '-') return 'bad_version'
  if (version !== '*') {
    const exact = read(`${version}${update === '*' || update === '-' ? '' : update}`)
    return order.isVersion(exact) ? { version: exact } : 'bad_version'
  }
  const [from, after] = [read(match.versionStartIncluding), read(match.versionStartExcluding)]
  const [last, to] = [read(match.versionEndIncluding), read(match.versionEndExcluding)]
  if ([from, after, last, to].some(one => one !== '' && !order.isVersion(one))) return 'bad_version'
  const end = to === '' ? last : to
  return {
    span: {
      from: after === '' ? from || '0' : after,
      ...(end === '' ? {} : { to: end }),
      ...(to === '' && last !== '' ? { closed: true } : {}),
      ...(after === '' ? {} : { after: true }),
    },
  }
}

/** What one entry of a node says of one of our products; undefined where it is about another. */
function statementOf(
  match: Fields,
  conditions: readonly string[],
  order: VersionOrder,
): Statement | 'bad_version' | undefined {
  const cpe = match.vulnerable === true ? readCpe(match.criteria) : undefined
  const name = cpe?.part === 'a' ? productOfCpe(cpe.pair) : undefined
  if (cpe === undefined || name === undefined || !OWN_EDITIONS.has(cpe.edition)) return undefined
  const system = SYSTEMS[cpe.target]
  if (system === undefined && !ANY_SYSTEM.has(cpe.target)) return undefined
  const versions = versionsOf(match, cpe, name, order)
  return versions === 'bad_version'
    ? versions
    : { name, systems: system === undefined ? conditions : [system], ...versions }
}

/**
 * The conditions of a configuration are entries that are not vulnerable themselves, in a node beside or in the same
 * one. Only those that name other systems restrict anything: what cannot be judged here counts as fulfilled.
 */
function statementsOf(configuration: Fields, order: VersionOrder): (Statement | 'bad_version')[] {
  const nodes = listOf(configuration.nodes).map(node => ({
    isAll: node.operator === 'AND',
    isNegated: node.negate === true,
    matches: listOf(node.cpeMatch),
  }))
  const isCondition = ({ vulnerable }: Fields): boolean => vulnerable === false
  const beside =
    configuration.operator === 'AND' && configuration.negate !== true
      ? nodes.filter(node => !node.isNegated && node.matches.length > 0 && node.matches.every(isCondition))
      : []
  const outer = beside.map(({ matches }) => systemsOf(matches)).find(systems => systems.length > 0) ?? []
  return nodes.flatMap(({ isAll, matches }) => {
    const inside = isAll ? systemsOf(matches.filter(isCondition)) : []
    const conditions = inside.length > 0 ? inside : outer
    return matches.flatMap(match => statementOf(match, conditions, order) ?? [])
  })
}

const MOST_STATEMENTS = 5_000

/**
 * What a record of the NVD says of the products that readers name, one row for each and for the systems it has it on.
 * @param skip  called for each entry whose versions cannot be compared
 * Source: https://csrc.nist.gov/schema/nvd/api/2.0/cve_api_json_2.0.schema, `config`
 */
export function nvdRows(configurations: unknown, order: VersionOrder, skip: (why: Skipped) => void): Row[] {
  const rows = new Map<string, { name: string; systems: readonly string[]; spans: Span[]; versions: Set<string> }>()
  const all = listOf(configurations).flatMap(one => statementsOf(one, order))
  for (const statement of all.slice(0, MOST_STATEMENTS)) {
    if (statement === 'bad_version') {
      skip(statement)
      continue
    }
    const { name, systems, span, version } = statement
    const key = `${name} ${[...systems].sort().join(' ')}`
    const row = rows.get(key) ?? { name, systems, spans: [], versions: new Set() }
    rows.set(key, row)
    if (span !== undefined) row.spans.push(span)
    if (version !== undefined) row.versions.add(version)
  }
  return [...rows.values()].map(({ name, systems, spans, versions }) => ({
    name,
    by: 'binary',
    spans: [...new Map(spans.map(span => [JSON.stringify(span), span])).values()],
    ...(versions.size === 0 ? {} : { versions: [...versions] }),
    ...(systems.length === 0 ? {} : { archs: systems }),
  }))
}
