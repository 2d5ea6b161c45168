import { listKnown, type Known } from '../../catalog/queries/known.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { olderThan } from '../catalogue/newest.ts'
import type { Source } from '../source.ts'
import type { MirrorRule } from './rules.ts'

/** A package that a mirror is to bring. */
export interface Wanted {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  /** Those that follow one another with the same word come together or not at all. */
  readonly unit?: string
}

/** Where a mirror puts the packages of a source: for machines of one architecture of a distribution. */
export interface MirrorList {
  readonly codename: Codename
  readonly format: FormatId
  /** The machines'. */
  readonly arch: string
  /** Packages of these architectures: the machines', and with the first of them what fits all. */
  readonly archs: readonly string[]
}

/** A pattern of a rule as a regular expression of PostgreSQL, for the whole name. */
export const patternOf = (glob: string): string =>
  `^${[...glob].map(char => (char === '*' ? '.*' : char === '?' ? '.' : char.replace(/[^A-Za-z0-9_]/, '\\$&'))).join('')}$`

const some = (patterns: readonly string[]): string[] => patterns.filter(one => !one.startsWith('!')).map(patternOf)
const none = (patterns: readonly string[]): string[] =>
  patterns.filter(one => one.startsWith('!')).map(one => patternOf(one.slice(1)))

interface Row extends Wanted {
  readonly isBrought: boolean
}

export interface WantedOf {
  readonly source: Source
  readonly rule: MirrorRule
  readonly list: MirrorList
  /** Ids of the sources of the distribution: packages of them hide plain ones where they are of a module. */
  readonly sources: readonly number[]
  /** Ids of those with security updates. */
  readonly security: readonly number[]
}

const keyOf = ({ name, version, arch }: Pick<Known, 'name' | 'version' | 'arch'>): string =>
  `${name} ${version} ${arch}`

// brought before: what people removed or refused stays away
const BROUGHT = `exists (select 1 from import_item i where i.format = $2 and i.codename = $3 and i.name = p.name
    and i.version = p.version and i.arch = p.arch and i.state in ('added', 'already', 'pending_review', 'blocked', 'upstream_changed'))`

/**
 * What a source lists for a distribution by the rule and is not here yet, by name, the newest first. What was imported
 * and then removed by a person or by retention is not wanted again.
 */
export async function listWanted(
  db: Queryable,
  { source, rule, list, sources, security }: WantedOf,
  format: Pick<Format, 'compareVersions'>,
): Promise<Wanted[]> {
  const rows = await db.query<Row>(
    `
    select p.name, p.version, p.arch, p.size, ${BROUGHT} as "isBrought"
    from import_package p
    where p.source_id = $1 and p.arch = any($4::text[]) and not p.hidden
      and (p.module is not null or not exists (select 1 from import_package m
        where m.name = p.name and m.source_id = any($5::int[]) and m.module is not null and not m.hidden))
      and (cardinality($6::text[]) = 0 or p.name ~ any($6::text[])) and not p.name ~ any($7::text[])
      and (cardinality($8::text[]) = 0 or p.section ~ any($8::text[])) and not coalesce(p.section, '') ~ any($9::text[])
      and (cardinality($10::text[]) = 0 or p.relations->>'priority' = any($10::text[]))
      and (not $11::boolean or p.source_id = any($12::int[]) or exists (select 1 from import_package s
        where s.name = p.name and s.source_id = any($12::int[]) and s.version = p.version and s.arch = p.arch))
    order by p.name collate "C", p.arch, p.id`,
    [
      source.id,
      list.format,
      list.codename,
      list.archs,
      sources,
      some(rule.names),
      none(rule.names),
      some(rule.sections),
      none(rule.sections),
      rule.priorities,
      rule.security_only,
      security,
    ],
  )
  const here = new Set((await listKnown(db, ALL_SEEING, list)).map(keyOf))
  const { newest } = rule
  const old = newest === null ? new Set<Row>() : new Set(olderThan(rows, { format: list.format, newest }))
  return rows
    .filter(row => !row.isBrought && !here.has(keyOf(row)) && !old.has(row))
    .toSorted((a, b) => (a.name === b.name ? format.compareVersions(b.version, a.version) : a.name < b.name ? -1 : 1))
    .map(({ name, version, arch, size }) => ({ name, version, arch, size }))
}

/** What came from a source and is published here, and that it lists no longer. */
export async function listGone(
  db: Queryable,
  source: Pick<Source, 'id' | 'key'>,
  codename: string,
): Promise<{ name: string; version: string; arch: string }[]> {
  const ours = (await listKnown(db, ALL_SEEING, { codename })).filter(
    ({ state, origin }) => state === 'published' && origin === `source:${source.key}`,
  )
  const names = [...new Set(ours.map(({ name }) => name))]
  const rows = await db.query<{ name: string; version: string; arch: string }>(
    'select name, version, arch from import_package where source_id = $1 and name = any($2::text[])',
    [source.id, names],
  )
  const listed = new Set(rows.map(keyOf))
  return ours.filter(one => !listed.has(keyOf(one))).map(({ name, version, arch }) => ({ name, version, arch }))
}
