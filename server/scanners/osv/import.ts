import { createHash } from 'node:crypto'
import { createReadStream, existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DISTRIBUTIONS } from '../../core/distributions.ts'
import { swapLink } from '../../lib/atomic.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { readZip } from '../../lib/zip.ts'
import { unpackBundle, type UnpackedBundle } from './bundle.ts'
import { ecosystemOf, familyOf, type Ecosystem } from './ecosystems.ts'
import { readAlpineSecdb, readDebianTracker } from './from-feeds.ts'
import { readOsvRecord } from './from-osv.ts'
import { readUpdateinfo } from './from-updateinfo.ts'
import { writeEpss, writeKev } from './intel-tables.ts'
import { readMeta, type Meta, type SourceFacts } from './meta.ts'
import type { Orders } from './orders.ts'
import { createPlace, currentGeneration, sweepGenerations, type Place } from './place.ts'
import { readUnpacked, recogniseFeed, type FeedKind, type Recognised } from './recognise.ts'
import { testGeneration } from './self-test.ts'
import { createTables, syncFolder, type Before, type Tables } from './tables.ts'

/** One file of an upstream, or a bundle of them. */
export interface ImportFile {
  readonly path: string
  /** The name it came with, or its place in a bundle: says which source it is where the content does not. */
  readonly label: string
  /** Of when it is, where somebody knows. ISO 8601. */
  readonly as_of?: string
  /** It is all there is of its source, so what was loaded of that and is not in it goes. */
  readonly whole?: boolean
  /** For updateinfo.xml that does not say which distribution it is for: a codename. */
  readonly distribution?: string
}

export interface ImportJob {
  /** `/repos/security` */
  readonly security: string
  readonly files: readonly ImportFile[]
  /** Take older data than what is loaded. */
  readonly force: boolean
  /** Armoured keys, one of which must have signed a bundle; empty: signatures are not looked at. */
  readonly key: string
  readonly now: string
}

/** A file of a bundle that is for another engine. */
export interface OtherFile { readonly kind: string; readonly path: string; readonly name: string }

export interface ImportResult {
  readonly status: 'imported' | 'unchanged'
  readonly generation: number
  readonly took_ms: number
  readonly signature: 'verified' | 'not_checked' | 'none'
  readonly sources: readonly (SourceFacts & { readonly name: string })[]
  /** Files that were not recognised, and what else people should know. */
  readonly notes: readonly string[]
  readonly others: readonly OtherFile[]
}

/** Data that are older than what is loaded. `force` takes them nevertheless. */
export class OlderData extends Error {}
/** Another import is running. */
export class ImportRunning extends Error {}

const OSV_LIMITS = { what: 'the zip', maxEntries: 2_000_000, maxEntryBytes: 32 * 2 ** 20, maxTotalBytes: 32 * 2 ** 30 }
const MOST_JSON = 64 * 2 ** 20

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

async function readJson(path: string, { compression }: Recognised): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of readUnpacked(path, compression)) {
    chunks.push(chunk)
    if ((size += chunk.length) > MOST_JSON) malformed('the JSON file is larger than any such feed')
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    return malformed('the JSON file is damaged', error)
  }
}

/** A process that cannot be mistaken for a later one of the same number: its id and when it was started, or undefined when it is gone. */
async function processMark(pid: number | 'self'): Promise<string | undefined> {
  // the 20th word behind the name, which stands in parentheses and may hold anything (proc_pid_stat(5))
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat === undefined ? undefined : `${pid === 'self' ? process.pid : pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`
}

/** Takes the one right to import; a lock whose process is gone is nobody's. @throws ImportRunning */
async function takeLock(place: Place): Promise<() => Promise<void>> {
  await mkdir(place.folder, { recursive: true })
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const handle = await open(place.lock, 'wx')
      await handle.writeFile(await processMark('self') ?? String(process.pid))
      await handle.close()
      return () => rm(place.lock, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const owner = await readFile(place.lock, 'utf8').catch(() => '')
      const pid = Number.parseInt(owner)
      // what this process had begun is over: its imports run one after the other
      if (pid > 0 && pid !== process.pid && await processMark(pid) === owner) throw new ImportRunning('another import is running')
      await rm(place.lock, { force: true })
    }
  }
  throw new ImportRunning('another import is running')
}

/** What has been read of one source. */
interface Loaded {
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

interface Run {
  readonly job: ImportJob
  readonly orders: Orders
  readonly tables: Tables
  readonly folder: string
  readonly before: Meta | undefined
  readonly loaded: Map<string, Loaded>
  /** Ids of the OSV records that were read, with when they were changed: they replace those of the same id. */
  readonly ids: Map<string, string>
  intel: Meta['intel']
  /** What of it came in with this import. */
  fresh: Meta['intel']
  readonly notes: string[]
}

const later = (a: string, b: string): string => a > b ? a : b

/** Dates of content are claims; none lies in the future. */
function clamp(date: string, now: string): string {
  const at = new Date(date)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString() > now ? now : at.toISOString()
}

/** The ecosystem of `updateinfo/<codename>/…`, by one of our codenames or an ecosystem's own name. */
function ecosystemNamed(name: string | undefined): Ecosystem | undefined {
  const distribution = DISTRIBUTIONS.find(({ codename }) => codename === name)
  if (distribution !== undefined) return ecosystemOf(distribution).ecosystem
  return name !== undefined && /^[a-z]+(-[a-z]+)?-\d+(\.\d+)?$/.test(name) && familyOf(name)?.order === 'rpm' ? name : undefined
}

function note(run: Run, { name, kind, file, as_of, records }: { readonly name: string; readonly kind: SourceFacts['kind']; readonly file: ImportFile & { readonly sha256: string }; readonly as_of: string; readonly records: number }): void {
  const { rows, skipped } = run.tables.taken()
  const known = run.loaded.get(name)
  const asOf = clamp(file.as_of ?? as_of, run.job.now) || run.job.now
  if (known === undefined) {
    run.loaded.set(name, { name, kind, whole: file.whole === true, dated: file.as_of !== undefined, as_of: asOf, records, rows, skipped, files: [file.sha256] })
    return
  }
  known.as_of = later(known.as_of, asOf)
  known.records = kind === 'kev' || kind === 'epss' ? records : known.records + records
  known.rows += rows
  known.skipped = Object.fromEntries([...new Set([...Object.keys(known.skipped), ...Object.keys(skipped)])].map(why => [why, (known.skipped[why as keyof typeof skipped] ?? 0) + (skipped[why as keyof typeof skipped] ?? 0)]))
  known.files.push(file.sha256)
}

type HashedFile = ImportFile & { readonly sha256: string; readonly is: Recognised }

/** OSV: `osv/<Name>/all.zip` says its name; a zip that stands alone is called after the first record's ecosystem. */
async function readOsv(run: Run, file: HashedFile): Promise<void> {
  const { orders, tables } = run
  let name = /(?:^|\/)osv\/([^/]+)\/all\.zip$/i.exec(file.label)?.[1]
  let newest = ''
  let records = 0
  const take = (bytes: Buffer): void => {
    let value: unknown
    try {
      value = JSON.parse(bytes.toString('utf8'))
    } catch {
      return tables.skip('malformed')
    }
    name ??= firstEcosystem(value)
    const read = readOsvRecord(value, { source: `osv/${name ?? 'mixed'}`, orders, sink: tables })
    if (read === undefined) return
    records++
    if (read.modified !== undefined && read.modified > newest) newest = read.modified
    run.ids.set(read.id, read.modified ?? '')
  }
  if (file.is.kind === 'osv-record') take(Buffer.from(JSON.stringify(await readJson(file.path, file.is))))
  else {
    await readZip(file.path, OSV_LIMITS, (entry, bytes) => {
      // what else a zip holds, such as an index of it, is no record
      if (!entry.endsWith('.json') || !/^\s*\{/.test(bytes.toString('utf8', 0, 64)) || !bytes.includes('"id"')) return
      take(bytes)
    })
  }
  if (records === 0) malformed(`${quote(file.label)} holds no OSV record`)
  note(run, { name: `osv/${name ?? 'mixed'}`, kind: 'osv', file, as_of: newest, records })
}

function firstEcosystem(value: unknown): string | undefined {
  const affected = (value as { affected?: unknown } | null)?.affected
  const first = Array.isArray(affected) ? (affected as readonly { package?: { ecosystem?: unknown } }[])[0]?.package?.ecosystem : undefined
  return typeof first === 'string' ? first.split(':', 1)[0]?.replace(/[^A-Za-z0-9. -]/g, '') : undefined
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
  const ecosystem = ecosystemNamed(given)
  if (file.distribution !== undefined && ecosystem === undefined) malformed(`there is no RPM distribution ${quote(file.distribution)}`)
  const name = `updateinfo/${ecosystem ?? given ?? 'several'}`
  const { records, newest } = await readUpdateinfo(readUnpacked(file.path, file.is.compression), { source: name, orders: run.orders, sink: run.tables }, ecosystem)
  note(run, { name, kind: 'updateinfo', file, as_of: newest, records })
}

const READERS: Readonly<Record<Exclude<FeedKind, 'bundle'>, (run: Run, file: HashedFile) => Promise<void>>> = {
  'osv': readOsv,
  'osv-record': readOsv,
  'debian-tracker': async (run, file) => {
    const records = await readDebianTracker(readUnpacked(file.path, file.is.compression), { source: 'debian/tracker', orders: run.orders, sink: run.tables })
    note(run, { name: 'debian/tracker', kind: 'debian-tracker', file: { ...file, whole: true }, as_of: '', records })
  },
  'alpine-secdb': readAlpine,
  'updateinfo': readUpdates,
  'kev': async (run, file) => {
    const kev = writeKev(run.folder, await readJson(file.path, file.is), { importedAt: run.job.now, sofar: run.fresh.kev })
    run.fresh = { ...run.fresh, kev }
    run.intel = { ...run.intel, kev }
    note(run, { name: 'kev', kind: 'kev', file: { path: file.path, label: file.label, sha256: file.sha256, whole: true }, as_of: kev.date, records: kev.entries })
  },
  'epss': async (run, file) => {
    const epss = await writeEpss(run.folder, readUnpacked(file.path, file.is.compression), { label: file.label, importedAt: run.job.now, sofar: run.fresh.epss })
    run.fresh = { ...run.fresh, epss }
    run.intel = { ...run.intel, epss }
    note(run, { name: 'epss', kind: 'epss', file: { path: file.path, label: file.label, sha256: file.sha256, whole: true }, as_of: `${epss.date}T00:00:00.000Z`, records: epss.entries })
  },
}

/** @throws OlderData unless forced */
function refuseOlder({ job, before, loaded }: Run): void {
  if (job.force) return
  for (const { name, as_of: asOf, whole } of loaded.values()) {
    const known = before?.sources[name]
    if (whole && known !== undefined && known.as_of > asOf) throw new OlderData(`${name} is of ${asOf.slice(0, 10)}, and what is loaded is of ${known.as_of.slice(0, 10)}`)
  }
}

/** What stays of the generation before: not what is replaced as a whole, nor records that came in anew. */
function keeper({ loaded, ids, job, before }: Run, folder: string | undefined): Before | undefined {
  if (before === undefined || folder === undefined) return undefined
  const replaced = new Set([...loaded.values()].filter(({ whole }) => whole).map(({ name }) => name))
  return {
    folder, ecosystems: before.ecosystems, vectorDigits: before.vector_digits,
    mayDrop: sources => sources.some(source => replaced.has(source) || (ids.size > 0 && source.startsWith('osv/'))),
    keeps({ advisory }) {
      if (replaced.has(advisory.source)) return false
      const changed = advisory.source.startsWith('osv/') ? ids.get(advisory.id) : undefined
      if (changed === undefined) return true
      if (!job.force && changed !== '' && (advisory.modified ?? '') > changed) throw new OlderData(`${advisory.id} was changed on ${changed.slice(0, 10)} there, and what is loaded is of ${advisory.modified?.slice(0, 10)}`)
      return false
    },
  }
}

/** Hard links to the side tables of the generation before, where nothing new came in. */
function carryIntel({ folder, before }: Run, previous: string | undefined): void {
  if (before === undefined || previous === undefined) return
  for (const table of ['.kev', '.epss']) {
    if (existsSync(join(folder, table)) || !existsSync(join(previous, table))) continue
    mkdirSync(join(folder, table))
    for (const name of readdirSync(join(previous, table))) linkSync(join(previous, table, name), join(folder, table, name))
  }
}

function factsOf({ loaded, before, job }: Run): Record<string, SourceFacts> {
  const sources: Record<string, SourceFacts> = { ...before?.sources }
  for (const { name, kind, whole, dated, as_of, records, rows, skipped, files } of loaded.values()) {
    const known = whole ? undefined : before?.sources[name]
    sources[name] = {
      kind, dated, as_of: known === undefined ? as_of : later(known.as_of, as_of), imported_at: job.now,
      records: records + (known?.records ?? 0), rows: rows + (known?.rows ?? 0), skipped, files: [...new Set([...known?.files ?? [], ...files])].slice(-100),
    }
  }
  return sources
}

interface Prepared { readonly files: readonly HashedFile[]; readonly others: readonly OtherFile[]; readonly bundle?: UnpackedBundle; readonly notes: readonly string[] }

const OTHERS = /^(grype|trivy|clamav)\//

/** Opens a bundle, recognises every file by its content. */
async function prepare(job: ImportJob, folder: string): Promise<Prepared> {
  const notes: string[] = []
  const files: HashedFile[] = []
  const others: OtherFile[] = []
  let bundle: UnpackedBundle | undefined
  for (const file of job.files) {
    const is = await recogniseFeed(file.path)
    if (is?.kind !== 'bundle') {
      if (job.key !== '') malformed('security.bundle_key names the key that data must be signed with, and only a bundle can be signed. Make one with npm run vulndb -- make, or remove the key')
      if (is === undefined) notes.push(`${file.label} is no advisory data that is known here, so it was left out.`)
      else files.push({ ...file, is, sha256: await sha256(file.path) })
      continue
    }
    bundle = await unpackBundle(readUnpacked(file.path, is.compression), join(folder, '.bundle', String(files.length)), { key: job.key })
    for (const { file: { path: label, sha256: digest, source_date: date }, path } of bundle.files) {
      const kind = OTHERS.exec(label)?.[1]
      const found = kind === undefined ? await recogniseFeed(path) : undefined
      if (kind !== undefined) others.push({ kind, path, name: label.slice(kind.length + 1) })
      else if (found === undefined || found.kind === 'bundle') notes.push(`${label} is no advisory data that is known here, so it was left out.`)
      else files.push({ path, label, sha256: digest, is: found, as_of: date ?? bundle.manifest.created, whole: true })
    }
  }
  return { files, others, notes, ...bundle === undefined ? {} : { bundle } }
}

/** True when every file is one that is loaded already, and none is newer. */
function isKnown(before: Meta | undefined, files: readonly HashedFile[]): boolean {
  const loaded = Object.values(before?.sources ?? {})
  return files.every(({ sha256: digest, as_of: asOf }) => loaded.some(source => source.files.includes(digest) && (asOf === undefined || source.as_of >= asOf)))
}

/** Brings files of other engines out of the part that is thrown away, into `/repos/security/incoming`. */
async function moveOthers(security: string, others: readonly OtherFile[]): Promise<OtherFile[]> {
  const moved: OtherFile[] = []
  for (const { kind, path, name } of others) {
    const to = join(security, 'incoming', kind, name.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^\.+/, '_'))
    await mkdir(join(security, 'incoming', kind), { recursive: true })
    await rename(path, to)
    moved.push({ kind, path: to, name })
  }
  return moved
}

/**
 * Builds a new generation out of the files and what is loaded, proves it, and makes it the current one by one rename. Until
 * then the old one is live, and it is kept. Works without giving way: for a thread or a process of its own.
 * @throws Malformed, OlderData, ImportRunning; then nothing has changed
 */
export async function importData(job: ImportJob, orders: Orders): Promise<ImportResult> {
  const started = performance.now()
  const place = createPlace({ security: job.security })
  const unlock = await takeLock(place)
  try {
    await sweepGenerations(place)
    const last = await currentGeneration(place)
    const previous = last === undefined ? undefined : place.generation(last)
    const before = previous === undefined ? undefined : await readMeta(previous)
    const generation = (last ?? 0) + 1
    const folder = `${place.generation(generation)}.part`
    await mkdir(folder, { recursive: true })
    try {
      const { files, others, bundle, notes } = await prepare(job, folder)
      const signature = bundle?.signature ?? 'none'
      if (files.length === 0 && others.length === 0) malformed('there is no advisory data in it: an OSV all.zip, Debian tracker JSON, Alpine secdb JSON, updateinfo.xml, KEV JSON, EPSS CSV or a bundle of them is needed')
      if (last !== undefined && isKnown(before, files)) {
        return { status: 'unchanged', generation: last, took_ms: performance.now() - started, signature, sources: [], notes, others: await moveOthers(job.security, others) }
      }
      const run: Run = { job, orders, tables: createTables(folder), folder, before, loaded: new Map(), ids: new Map(), intel: before?.intel ?? {}, fresh: {}, notes: [...notes] }
      for (const file of files) {
        if (file.is.kind === 'bundle') continue
        await READERS[file.is.kind](run, file)
      }
      refuseOlder(run)
      const { ecosystems, vectorDigits } = run.tables.finish(keeper(run, previous))
      carryIntel(run, previous)
      const meta: Meta = {
        format: 1, generation, created: job.now, ecosystems, sources: factsOf(run), vector_digits: vectorDigits, intel: run.intel,
        ...bundle === undefined ? {} : { bundle: { created: bundle.manifest.created, signature: bundle.signature } },
      }
      await writeFile(join(folder, 'meta.json'), `${JSON.stringify(meta)}\n`)
      testGeneration(folder, meta, orders)
      const moved = await moveOthers(job.security, others)
      await rm(join(folder, '.bundle'), { recursive: true, force: true })
      syncFolder(folder)
      await rename(folder, place.generation(generation))
      await swapLink(String(generation), place.link)
      await sweepGenerations(place)
      // what this import brought, not what is there by now
      const sources = [...run.loaded.values()].map(({ name, records, rows }) => ({ name, ...meta.sources[name] as SourceFacts, records, rows }))
      return { status: 'imported', generation, took_ms: performance.now() - started, signature, sources, notes: run.notes, others: moved }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  } finally {
    await unlock()
  }
}
