import type { FormatId } from '../../core/identity.ts'
import type { Severity } from '../../core/findings.ts'
import type { Manifest, PackageKind, State } from '../../core/manifest.ts'
import type { SaidMark } from '../../core/mark.ts'
import { seesAll, type Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { pageOf, type Page, type Paging } from '../page.ts'
import { hasResult } from './gate-flow.ts'
import { artifactsSeenBy, describedBy, pageClause, params, seenBy, SERVED_FIRST, type AddParam } from './sql.ts'

/** A package as lists show it: the columns, not the manifest. */
export interface PackageRow {
  readonly format: FormatId
  readonly codename: string
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly kind: PackageKind
  readonly sha256: string
  readonly size: number
  readonly summary: string
  readonly state: State
  readonly worst: Severity | null
  readonly findings: number
  readonly warned: boolean
  /** Whether a vulnerability engine answered for it. */
  readonly scanned: boolean
  readonly uploaded_by: string
  readonly origin: string
  readonly created_at: Date
  readonly changed_at: Date
  readonly filename: string | null
  /** Null where nobody says to leave it. */
  readonly mark: SaidMark | null
}

/** A manifest as the index holds it: without the format's facts and the file list. */
export type IndexedManifest = Omit<Manifest, 'facts' | 'paths'>

/** The same with the mark that its facts have. */
export type MarkedManifest = IndexedManifest & Pick<PackageRow, 'mark'>

const COLUMNS = `p.format, p.codename, p.name, p.version, p.arch, p.kind, p.sha256, p.size, p.summary, p.state, p.worst, p.findings, p.warned, not p.unscanned as scanned,
  p.uploaded_by, p.origin, p.created_at, p.changed_at, p.manifest->'files'->0->>'path' as filename, p.mark`

/** The default order of packages in lists: newest version of each name first, by the format's own order. */
const BY_NAME = 'p.name, p.sort_key desc, p.codename, p.arch, p.id'

const ORDERS = {
  'name': BY_NAME,
  '-name': 'p.name desc, p.sort_key desc, p.codename, p.arch, p.id',
  'updated_at': 'p.changed_at, p.id',
  '-updated_at': 'p.changed_at desc, p.id desc',
  'size': 'p.size, p.id',
  '-size': 'p.size desc, p.id desc',
} as const
export type PackageOrder = keyof typeof ORDERS

export const PACKAGE_ORDERS = Object.keys(ORDERS) as readonly PackageOrder[]

/** A LIKE pattern that finds `%`, `_` and `\` literally. */
function literally(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** The search term: a part of the name or the summary, in any case. */
const term = (text: string | undefined): string => (text ?? '').trim().toLowerCase()

/**
 * Orders hits over `a`: the name itself, then names that begin so. The haystack begins with the name, and no name has a
 * space.
 */
function bestFirst(q: string, add: AddParam): string {
  return `(a.haystack like ${add(`${literally(q)} %`)}) desc, (a.haystack like ${add(`${literally(q)}%`)}) desc`
}

export interface ArtifactFilter {
  readonly q?: string | undefined
  readonly format?: string | undefined
  /** The names that have a package there, described by those packages. */
  readonly distribution?: string | undefined
  /** The names that have a package in this state. */
  readonly state?: State | undefined
  /** The names that say this of themselves. */
  readonly status?: State | undefined
  readonly kind?: PackageKind | undefined
  readonly arch?: string | undefined
}

/** What a name says of itself. */
export interface ArtifactRow {
  readonly format: FormatId
  readonly name: string
  readonly summary: string
  readonly versions: number
  /** The newest version that is served; where none is, the newest. */
  readonly latest: string
  /** Of the latest. */
  readonly state: State
  /** The newest version that is not served, where it is newer than the latest. */
  readonly newer: string | null
  readonly newer_state: State | null
  readonly updated_at: Date
}

/** The packages `p` of the name `a` that count for a viewer and a distribution. */
function ofName(viewer: Viewer, add: AddParam, distribution: string | undefined, name = 'a'): string {
  const of = distribution === undefined ? '' : `and p.codename = ${add(distribution)}`
  return `p.name = ${name}.name and p.format = ${name}.format and ${seenBy(viewer, add, 'p.codename')} ${of}`
}

/**
 * A page of artifact names: the exact name first, then names that begin with it, then the others, each by name. Under
 * 30 ms over 100,000 names for terms of any length (`npm run bench search`): three characters and more use the trigram
 * index, shorter ones a scan of the narrow list table.
 */
export async function searchArtifacts(
  db: Queryable,
  viewer: Viewer,
  { filter, paging }: { readonly filter: ArtifactFilter; readonly paging: Paging },
): Promise<Page<ArtifactRow>> {
  const { values, add } = params()
  const q = term(filter.q)
  const where: string[] = []
  if (q !== '') where.push(`a.haystack like ${add(`%${literally(q)}%`)}`)
  if (filter.format !== undefined) where.push(`a.format = ${add(filter.format)}`)
  // the table describes a name by all its packages
  const isTold = seesAll(viewer) && filter.distribution === undefined
  if (
    (q === '' && !seesAll(viewer)) ||
    [filter.distribution, filter.state, filter.kind, filter.arch].some(one => one !== undefined)
  ) {
    const is = filter.state === undefined ? '' : `and p.state = ${add(filter.state)}`
    const as = filter.kind === undefined ? '' : `and p.kind = ${add(filter.kind)}`
    const built = filter.arch === undefined ? '' : `and p.arch = ${add(filter.arch)}`
    where.push(
      `exists (select 1 from package p where ${ofName(viewer, add, filter.distribution)} ${is} ${as} ${built})`,
    )
  }
  if (filter.status !== undefined) {
    const said = `(select p.state from package p where ${ofName(viewer, add, filter.distribution)} order by ${SERVED_FIRST} limit 1)`
    where.push(`${isTold ? 'a.state' : said} = ${add(filter.status)}`)
  }
  // without a term the names are read in order, and only those of the page are described again
  const from = `from ${q === '' ? 'artifact' : artifactsSeenBy(viewer, add)} a ${where.length === 0 ? '' : `where ${where.join(' and ')}`}`
  const counted = db.first<{ total: number }>(`select count(*) as total ${from}`, [...values])
  const order = `order by ${q === '' ? '' : `${bestFirst(q, add)},`} a.name, a.format ${pageClause(paging, add)}`
  const rows = db.query<ArtifactRow>(
    isTold
      ? `select a.format, a.name, a.summary, a.versions, a.latest, a.state, a.newer, a.newer_state, a.updated_at ${from} ${order}`
      : `select told.* from (
          select found.*, row_number() over () as n from (select a.format, a.name ${from} ${order}) as found
        ) as listed cross join lateral (${describedBy(ofName(viewer, add, filter.distribution, 'listed'))}) as told order by listed.n`,
    values,
  )
  const [total, items] = await Promise.all([counted, rows])
  return pageOf(items, total?.total ?? 0, paging)
}

interface Names {
  readonly artifacts: readonly Pick<ArtifactRow, 'format' | 'name'>[]
  /** Only what is there. */
  readonly distribution?: string | undefined
}

/** The newest packages of each of these names, at most `most` each, newest version first. */
export function newestOf(
  db: Queryable,
  viewer: Viewer,
  { artifacts, distribution, most }: Names & { readonly most: number },
): Promise<PackageRow[]> {
  const { values, add } = params(
    artifacts.map(a => a.format),
    artifacts.map(a => a.name),
    most,
  )
  return db.query<PackageRow>(
    `
    select p.* from unnest($1::text[], $2::text[]) with ordinality as wanted (format, name, n)
    cross join lateral (
      select ${COLUMNS} from package p where ${ofName(viewer, add, distribution, 'wanted')}
      order by p.sort_key desc, p.codename, p.arch, p.id limit $3
    ) p order by wanted.n`,
    values,
  )
}

/** A package with what lists of names say of it. */
export interface SpeakingRow extends PackageRow {
  readonly description: string
  readonly section: string | null
  readonly deps_missing: readonly string[]
  /** Only severities that it has. */
  readonly cve_counts: Partial<Record<Severity, number>> | null
}

/** Columns of a package `p` that open its manifest and count its findings: for a page, not for a list. */
export const SPEAKING = `${COLUMNS}, p.manifest->'about'->>'description' as description, p.manifest->'about'->>'section' as section,
  jsonb_path_query_array(p.manifest, '$.reports[*].missing[*]') as deps_missing,
  (select jsonb_object_agg(f.severity, f.n) from (select severity, count(*) as n from finding where package_id = p.id group by severity) as f) as cve_counts`

/** The package that speaks for each of these names. */
export function latestOf(db: Queryable, viewer: Viewer, { artifacts, distribution }: Names): Promise<SpeakingRow[]> {
  const { values, add } = params(
    artifacts.map(a => a.format),
    artifacts.map(a => a.name),
  )
  return db.query<SpeakingRow>(
    `
    select p.* from unnest($1::text[], $2::text[]) with ordinality as wanted (format, name, n)
    cross join lateral (
      select ${SPEAKING} from package p where ${ofName(viewer, add, distribution, 'wanted')} order by ${SERVED_FIRST} limit 1
    ) p order by wanted.n`,
    values,
  )
}

export interface PackageFilter {
  readonly q?: string | undefined
  readonly format?: string | undefined
  readonly distribution?: string | undefined
  readonly states: readonly State[]
  readonly kind?: PackageKind | undefined
  readonly arch?: string | undefined
  /** Whether a vulnerability engine answered for it. */
  readonly scanned?: boolean | undefined
  /** What a step of the gate made of it: `vulnerabilities:held`. */
  readonly gate?: string | undefined
  /** How it came in. */
  readonly origin?: 'uploaded' | 'imported' | undefined
  /** It came in then or later. */
  readonly since?: string | undefined
  readonly sort?: PackageOrder | undefined
}

/**
 * A page of packages, one row per version, architecture and distribution. With a term and no order: best match first.
 */
export async function searchPackages(
  db: Queryable,
  viewer: Viewer,
  { filter, paging }: { readonly filter: PackageFilter; readonly paging: Paging },
): Promise<Page<PackageRow>> {
  const { values, add } = params()
  const q = term(filter.q)
  const where = [`p.state = any(${add(filter.states)}::text[])`, seenBy(viewer, add, 'p.codename')]
  if (filter.distribution !== undefined) where.push(`p.codename = ${add(filter.distribution)}`)
  if (filter.format !== undefined) where.push(`p.format = ${add(filter.format)}`)
  if (filter.kind !== undefined) where.push(`p.kind = ${add(filter.kind)}`)
  if (filter.arch !== undefined) where.push(`p.arch = ${add(filter.arch)}`)
  if (filter.scanned !== undefined) where.push(filter.scanned ? 'not p.unscanned' : 'p.unscanned')
  if (filter.origin !== undefined) where.push(`p.origin ${filter.origin === 'uploaded' ? '=' : '<>'} 'upload'`)
  if (filter.since !== undefined) where.push(`p.created_at >= ${add(new Date(filter.since))}`)
  if (filter.gate !== undefined) where.push(hasResult(add(filter.gate)))
  if (q !== '') where.push(`a.haystack like ${add(`%${literally(q)}%`)}`)
  const from = `from package p ${q === '' ? '' : `join ${artifactsSeenBy(viewer, add)} a on a.name = p.name and a.format = p.format`} where ${where.join(' and ')}`
  const counted = db.first<{ total: number }>(`select count(*) as total ${from}`, [...values])
  const order =
    filter.sort !== undefined || q === '' ? ORDERS[filter.sort ?? 'name'] : `${bestFirst(q, add)}, ${BY_NAME}`
  // numbers first, so that only the manifests of the page are opened
  const rows = db.query<PackageRow>(
    `
    select ${COLUMNS} from (
      select id, row_number() over () as n from (
        select p.id ${from} order by ${order} limit ${add(paging.perPage)} offset ${add((paging.page - 1) * paging.perPage)}
      ) as found
    ) as page join package p using (id) order by page.n`,
    values,
  )
  const [total, items] = await Promise.all([counted, rows])
  return pageOf(items, total?.total ?? 0, paging)
}
