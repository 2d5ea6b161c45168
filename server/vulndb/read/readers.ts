import { stat } from 'node:fs/promises'
import { malformed, quote } from '../../lib/limited.ts'
import { readZip } from '../../lib/zip.ts'
import { familyOf, type Ecosystem } from '../match/ecosystems.ts'
import { readAlpineSecdb, readDebianTracker } from './distribution-feeds.ts'
import { readOsvRecord } from './osv.ts'
import { readUpdateinfo } from './updateinfo.ts'
import { writeEpss, writeKev } from '../intel/intel-tables.ts'
import type { Meta, SourceFacts } from '../store/generation-meta.ts'
import type { Orders } from '../versions/orders.ts'
import { readUnpacked, type FeedKind, type Recognised } from './recognise.ts'
import type { Tables } from '../store/tables.ts'

/** One file of an upstream, or a bundle of them. */
export interface ImportFile {
  readonly path: string
  /** Its original name, or its place in a bundle: names the source where the content does not. */
  readonly label: string
  /** Its date, where it is known. ISO 8601. */
  readonly as_of?: string
  /** It holds everything of its source: loaded records of that source that are not in it are removed. */
  readonly whole?: boolean
  /** A codename, for updateinfo.xml that does not name its distribution. */
  readonly distribution?: string
}

export interface ImportJob {
  /** `/repos/security` */
  readonly security: string
  readonly files: readonly ImportFile[]
  /** Accept older data than those loaded. */
  readonly force: boolean
  /** Armoured keys, one of which must have signed a bundle; empty: signatures are not checked. */
  readonly key: string
  readonly now: string
  /** Where the advisories of our distributions lie, by codename. */
  readonly ecosystems: Readonly<Record<string, Ecosystem>>
}

const OSV_LIMITS = { what: 'the zip', maxEntries: 2_000_000, maxEntryBytes: 32 * 2 ** 20, maxTotalBytes: 32 * 2 ** 30 }
/** Advisories pack to a fifth or a tenth; a file that unpacks to more than this many times its size is a bomb. */
const MOST_RATIO = 60
const MOST_AT_ONCE = 64 * 2 ** 20
const MOST_JSON = 64 * 2 ** 20

/** Accepts the byte order mark that some editors write. @throws SyntaxError */
const parseJson = (bytes: Buffer): unknown => JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''))

async function readJson(path: string, { compression }: Recognised): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of readUnpacked(path, compression)) {
    chunks.push(chunk)
    if ((size += chunk.length) > MOST_JSON) malformed('the JSON file is larger than any such feed')
  }
  try {
    return parseJson(Buffer.concat(chunks))
  } catch (error) {
    return malformed('the JSON file is damaged', error)
  }
}

/** What has been read of one source. */
export interface Loaded {
  readonly name: string
  readonly kind: SourceFacts['kind']
  readonly whole: boolean
  readonly dated: boolean
  as_of: string
  records: number
  rows: number
  skipped: SourceFacts['skipped']
  readonly files: string[]
}

/** Where an OSV record was read, and when it was changed: ISO 8601, or '' when unknown. */
export interface ReadRecord {
  readonly modified: string
  readonly source: string
}

/** One import while it runs. */
export interface Run {
  readonly job: ImportJob
  readonly orders: Orders
  readonly tables: Tables
  readonly folder: string
  readonly before: Meta | undefined
  readonly loaded: Map<string, Loaded>
  /** The newest OSV record of each id that was read: it replaces those of the same id. */
  readonly ids: Map<string, ReadRecord>
  intel: Meta['intel']
  /** What this import brought. */
  fresh: Meta['intel']
  readonly notes: string[]
}

/** The later of two ISO 8601 dates. */
export const later = (a: string, b: string): string => (a > b ? a : b)

/** Dates in content are claims; none may lie in the future. */
function clamp(date: string, now: string): string {
  const at = new Date(date)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString() > now ? now : at.toISOString()
}

/** The ecosystem of `updateinfo/<codename>/…`, by one of our codenames or by the name of an ecosystem. */
function ecosystemNamed(name: string | undefined, known: ImportJob['ecosystems']): Ecosystem | undefined {
  if (name !== undefined && Object.hasOwn(known, name)) return known[name]
  return name !== undefined && /^[a-z]+(-[a-z]+)?-\d+(\.\d+)?$/.test(name) && familyOf(name)?.listsBuilds === true
    ? name
    : undefined
}

interface Note {
  readonly name: string
  readonly kind: SourceFacts['kind']
  readonly file: ImportFile & { readonly sha256: string }
  readonly as_of: string
  readonly records: number
  readonly taken?: Taken
}

type Taken = Pick<Loaded, 'rows' | 'skipped'>

function sum(a: Taken, b: Taken): Taken {
  const skipped: Record<string, number> = { ...a.skipped }
  for (const [why, count] of Object.entries(b.skipped)) skipped[why] = (skipped[why] ?? 0) + count
  return { rows: a.rows + b.rows, skipped }
}

function note(run: Run, { name, kind, file, as_of, records, taken = run.tables.taken() }: Note): void {
  const { rows, skipped } = taken
  const known = run.loaded.get(name)
  const asOf = clamp(file.as_of ?? as_of, run.job.now) || run.job.now
  if (known === undefined) {
    run.loaded.set(name, {
      name,
      kind,
      whole: file.whole === true,
      dated: file.as_of !== undefined,
      as_of: asOf,
      records,
      rows,
      skipped,
      files: [file.sha256],
    })
    return
  }
  known.as_of = later(known.as_of, asOf)
  known.records = kind === 'kev' || kind === 'epss' ? records : known.records + records
  Object.assign(known, sum(known, taken))
  known.files.push(file.sha256)
}

/** A file with its digest and its kind. */
export type HashedFile = ImportFile & { readonly sha256: string; readonly is: Recognised }

/** What a file of OSV records brought for one source. */
interface OsvPart {
  records: number
  newest: string
  taken: Taken
}

/**
 * OSV: the path `osv/<Name>/all.zip` gives the name. In a zip without that path, each record belongs to the source
 * named after its own ecosystem: there may be several, and the zip is complete for none of them.
 */
async function readOsv(run: Run, file: HashedFile): Promise<void> {
  const { orders, tables } = run
  const said = /(?:^|\/)osv\/([^/]+)\/all\.zip$/i.exec(file.label)?.[1]
  const parts = new Map<string, OsvPart>()
  let name = said
  const take = (value: unknown): void => {
    const own = said === undefined ? ecosystemsIn(value) : []
    // a record of several ecosystems stays with the one whose file it is in
    if (name === undefined || (own.length > 0 && !own.includes(name))) name = own[0] ?? name
    const source = `osv/${name ?? 'mixed'}`
    const read = readOsvRecord(value, { source, orders, sink: tables })
    if (read === undefined) return
    const part = parts.get(source) ?? { records: 0, newest: '', taken: { rows: 0, skipped: {} } }
    parts.set(source, part)
    part.records++
    part.taken = sum(part.taken, tables.taken())
    const { id, modified = '' } = read
    // a date in the future says nothing about the age of the others
    if (modified > part.newest && modified <= run.job.now) part.newest = modified
    if (modified >= (run.ids.get(id)?.modified ?? '')) run.ids.set(id, { modified, source })
  }
  if (file.is.kind === 'osv-record') take(await readJson(file.path, file.is))
  else {
    const maxTotalBytes = Math.min(OSV_LIMITS.maxTotalBytes, MOST_AT_ONCE + MOST_RATIO * (await stat(file.path)).size)
    await readZip(file.path, { ...OSV_LIMITS, maxTotalBytes }, (entry, bytes) => {
      // other files in a zip, such as an index, are no records
      if (!entry.endsWith('.json') || !/^\s*\{/.test(bytes.toString('utf8', 0, 64)) || !bytes.includes('"id"')) return
      try {
        take(parseJson(bytes))
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        tables.skip('malformed')
      }
    })
  }
  const last = [...parts.values()].at(-1) ?? malformed(`${quote(file.label)} holds no OSV record`)
  last.taken = sum(last.taken, tables.taken())
  const nameless = parts.get('osv/mixed')
  if (nameless !== undefined && nameless !== last) {
    // records before this one that name no ecosystem are counted here too
    last.records += nameless.records
    last.taken = sum(last.taken, nameless.taken)
    parts.delete('osv/mixed')
  }
  const whole = file.whole === true && parts.size === 1
  for (const [source, { records, newest, taken }] of parts)
    note(run, { name: source, kind: 'osv', file: { ...file, whole }, as_of: newest, records, taken })
}

/** The families that a record names: `Debian` from `Debian:12`. */
function ecosystemsIn(value: unknown): string[] {
  const affected = (value as { affected?: unknown } | null)?.affected
  const names = (
    Array.isArray(affected) ? (affected as readonly ({ package?: { ecosystem?: unknown } | null } | null)[]) : []
  ).map(one => one?.package?.ecosystem)
  return names
    .filter(name => typeof name === 'string')
    .map(name => name.replace(/:.*/s, '').replace(/[^A-Za-z0-9. -]/g, ''))
}

async function readAlpine(run: Run, file: HashedFile): Promise<void> {
  const value = await readJson(file.path, file.is)
  const { distroversion, reponame } = value as Record<string, unknown>
  const name = `alpine/${String(distroversion).replace(/[^\w.-]/g, '')}/${String(reponame).replace(/[^\w.-]/g, '')}`
  const records = readAlpineSecdb(value, { source: name, orders: run.orders, sink: run.tables })
  note(run, { name, kind: 'alpine-secdb', file: { ...file, whole: true }, as_of: '', records })
}

async function readUpdates(run: Run, file: HashedFile): Promise<void> {
  const named = /(?:^|\/)updateinfo\/([^/]+)\//.exec(file.label)?.[1]
  const given = file.distribution ?? named
  const ecosystem = ecosystemNamed(given, run.job.ecosystems)
  if (file.distribution !== undefined && ecosystem === undefined)
    malformed(`there is no RPM distribution ${quote(file.distribution)}`)
  const name = `updateinfo/${ecosystem ?? given ?? 'several'}`
  const { records, newest } = await readUpdateinfo(
    readUnpacked(file.path, file.is.compression),
    { source: name, orders: run.orders, sink: run.tables },
    ecosystem,
  )
  note(run, { name, kind: 'updateinfo', file, as_of: newest, records })
}

/** The reader for each kind of file. */
export const READERS: Readonly<Record<Exclude<FeedKind, 'bundle'>, (run: Run, file: HashedFile) => Promise<void>>> = {
  'osv': readOsv,
  'osv-record': readOsv,
  'debian-tracker': async (run, file) => {
    const records = await readDebianTracker(readUnpacked(file.path, file.is.compression), {
      source: 'debian/tracker',
      orders: run.orders,
      sink: run.tables,
    })
    note(run, { name: 'debian/tracker', kind: 'debian-tracker', file: { ...file, whole: true }, as_of: '', records })
  },
  'alpine-secdb': readAlpine,
  'updateinfo': readUpdates,
  'kev': async (run, file) => {
    const kev = writeKev(run.folder, await readJson(file.path, file.is), {
      importedAt: run.job.now,
      sofar: run.fresh.kev,
    })
    run.fresh = { ...run.fresh, kev }
    run.intel = { ...run.intel, kev }
    note(run, {
      name: 'kev',
      kind: 'kev',
      file: { path: file.path, label: file.label, sha256: file.sha256, whole: true },
      as_of: kev.date,
      records: kev.entries,
    })
  },
  'epss': async (run, file) => {
    const epss = await writeEpss(run.folder, readUnpacked(file.path, file.is.compression), {
      label: file.label,
      importedAt: run.job.now,
      sofar: run.fresh.epss,
    })
    run.fresh = { ...run.fresh, epss }
    run.intel = { ...run.intel, epss }
    note(run, {
      name: 'epss',
      kind: 'epss',
      file: { path: file.path, label: file.label, sha256: file.sha256, whole: true },
      as_of: `${epss.date}T00:00:00.000Z`,
      records: epss.entries,
    })
  },
}
