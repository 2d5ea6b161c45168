import { existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { swapLink } from '../../lib/atomic.ts'
import { malformed } from '../../lib/limited.ts'
import { processFacts } from '../../lib/process.ts'
import { unpackBundle, type UnpackedBundle } from '../read/bundle.ts'
import { readMeta, type Meta, type SourceFacts } from './generation-meta.ts'
import type { Orders } from '../versions/orders.ts'
import { createPlace, currentGeneration, sweepGenerations, type Place } from './layout.ts'
import { later, READERS, type HashedFile, type ImportJob, type Run } from '../read/readers.ts'
import { readUnpacked, recogniseFeed } from '../read/recognise.ts'
import { testGeneration } from './self-test.ts'
import type { StoredRow } from './shards.ts'
import { createTables, syncFolder, type Before } from './tables.ts'
import { sha256Of } from '../../lib/digest-file.ts'

/** A file of a bundle for another engine. */
export interface OtherFile {
  readonly kind: string
  readonly path: string
  readonly name: string
}

export interface ImportResult {
  readonly status: 'imported' | 'unchanged'
  readonly generation: number
  readonly took_ms: number
  readonly signature: 'verified' | 'not_checked' | 'none'
  readonly sources: readonly (SourceFacts & { readonly name: string })[]
  /** Files that were not recognised, and other notes for people. */
  readonly notes: readonly string[]
  readonly others: readonly OtherFile[]
}

/** The data are older than those loaded. `force` accepts them nevertheless. */
export class OlderData extends Error {}
/** Another import is running. */
export class ImportRunning extends Error {}

/** Identifies a process even after its number is reused; undefined when it is gone. */
async function processMark(pid: number): Promise<string | undefined> {
  const facts = await processFacts(pid)
  return facts === undefined || facts.defunct ? undefined : `${pid} ${facts.begun}`
}

/** Takes the only right to import. A lock of a dead process is free. @throws ImportRunning */
async function takeLock(place: Place): Promise<() => Promise<void>> {
  await mkdir(place.folder, { recursive: true })
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const handle = await open(place.lock, 'wx')
      await handle.writeFile((await processMark(process.pid)) ?? String(process.pid))
      await handle.close()
      return () => rm(place.lock, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const owner = await readFile(place.lock, 'utf8').catch(() => '')
      const pid = Number.parseInt(owner)
      // an earlier import of this process is over: they run one after the other
      if (pid > 0 && pid !== process.pid && (await processMark(pid)) === owner)
        throw new ImportRunning('another import is running')
      await rm(place.lock, { force: true })
    }
  }
  throw new ImportRunning('another import is running')
}

/** @throws OlderData unless forced */
function refuseOlder({ job, before, loaded }: Run): void {
  if (job.force) return
  for (const { name, as_of: asOf, whole } of loaded.values()) {
    const known = before?.sources[name]
    if (whole && known !== undefined && known.as_of > asOf)
      throw new OlderData(`${name} is of ${asOf.slice(0, 10)}, and what is loaded is of ${known.as_of.slice(0, 10)}`)
  }
}

/**
 * Which rows of the generation before stay: not those whose source is replaced as a whole, nor records that came in
 * anew.
 */
function keeper({ loaded, ids, job, before }: Run, folder: string | undefined): Before | undefined {
  if (before === undefined || folder === undefined) return undefined
  const replaced = new Set([...loaded.values()].filter(({ whole }) => whole).map(({ name }) => name))
  const newer = new Set<string>()
  return {
    folder,
    ecosystems: before.ecosystems,
    vectorDigits: before.vector_digits,
    mayDrop: sources => sources.some(source => replaced.has(source) || (ids.size > 0 && source.startsWith('osv/'))),
    keeps({ advisory }) {
      if (replaced.has(advisory.source)) return false
      const read = advisory.source.startsWith('osv/') ? ids.get(advisory.id) : undefined
      if (read === undefined) return true
      const changed = read.modified
      if (newer.has(advisory.id) && advisory.modified === changed) return true
      if (job.force || changed === '' || (advisory.modified ?? '') <= changed) return false
      // dumps of two ecosystems may hold one record in the state of different days
      if (advisory.source !== read.source) {
        newer.add(advisory.id)
        ids.set(advisory.id, { modified: advisory.modified ?? '', source: advisory.source })
        return true
      }
      throw new OlderData(
        `${advisory.id} was changed on ${changed.slice(0, 10)} there, and what is loaded is of ${advisory.modified?.slice(0, 10)}`,
      )
    },
  }
}

/** Hard-links the side tables of the generation before, where nothing new came in. */
function carryIntel({ folder, before }: Run, previous: string | undefined): void {
  if (before === undefined || previous === undefined) return
  for (const table of ['.kev', '.epss']) {
    if (existsSync(join(folder, table)) || !existsSync(join(previous, table))) continue
    mkdirSync(join(folder, table))
    for (const name of readdirSync(join(previous, table)))
      linkSync(join(previous, table, name), join(folder, table, name))
  }
}

function factsOf({ loaded, before, job }: Run): Record<string, SourceFacts> {
  const sources: Record<string, SourceFacts> = { ...before?.sources }
  for (const { name, kind, whole, dated, as_of, records, rows, skipped, files } of loaded.values()) {
    const known = whole ? undefined : before?.sources[name]
    sources[name] = {
      kind,
      dated,
      as_of: known === undefined ? as_of : later(known.as_of, as_of),
      imported_at: job.now,
      records: records + (known?.records ?? 0),
      rows: rows + (known?.rows ?? 0),
      skipped,
      files: [...new Set([...(known?.files ?? []), ...files])].slice(-100),
    }
  }
  return sources
}

interface Prepared {
  readonly files: readonly HashedFile[]
  readonly others: readonly OtherFile[]
  readonly bundle?: UnpackedBundle
  readonly notes: readonly string[]
}

const OTHERS = /^(grype|trivy|clamav)\//

/** Opens a bundle and recognises every file by its content. */
async function prepare(job: ImportJob, folder: string): Promise<Prepared> {
  const notes: string[] = []
  const files: HashedFile[] = []
  const others: OtherFile[] = []
  let bundle: UnpackedBundle | undefined
  for (const file of job.files) {
    const is = await recogniseFeed(file.path)
    if (is?.kind !== 'bundle') {
      if (job.key !== '')
        malformed(
          'security.bundle_key names the key that data must be signed with, and only a bundle can be signed. Make one with npm run vulndb -- make, or remove the key',
        )
      if (is === undefined) notes.push(`${file.label} is no advisory data that is known here, so it was left out.`)
      else files.push({ ...file, is, sha256: await sha256Of(file.path) })
      continue
    }
    bundle = await unpackBundle(
      readUnpacked(file.path, is.compression),
      join(folder, '.bundle', String(files.length)),
      { key: job.key },
    )
    for (const {
      file: { path: label, sha256: digest, source_date: date },
      path,
    } of bundle.files) {
      const kind = OTHERS.exec(label)?.[1]
      const found = kind === undefined ? await recogniseFeed(path) : undefined
      if (kind !== undefined) others.push({ kind, path, name: label.slice(kind.length + 1) })
      else if (found === undefined || found.kind === 'bundle')
        notes.push(`${label} is no advisory data that is known here, so it was left out.`)
      else files.push({ path, label, sha256: digest, is: found, as_of: date ?? bundle.manifest.created, whole: true })
    }
  }
  return { files, others, notes, ...(bundle === undefined ? {} : { bundle }) }
}

/** True when every file is loaded already and none is newer. */
function isKnown(before: Meta | undefined, files: readonly HashedFile[]): boolean {
  const loaded = Object.values(before?.sources ?? {})
  return files.every(({ sha256: digest, as_of: asOf }) =>
    loaded.some(source => source.files.includes(digest) && (asOf === undefined || source.as_of >= asOf)),
  )
}

/** Moves files for other engines out of the temporary folder, into `/repos/security/incoming`. */
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
 * Builds a new generation from the files and what is loaded, checks it, and makes it current by one rename. Until then
 * the old one is live; it is kept. Blocks: run it in a thread or process of its own.
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
      if (files.length === 0 && others.length === 0)
        malformed(
          'there is no advisory data in it: an OSV all.zip, Debian tracker JSON, Alpine secdb JSON, updateinfo.xml, KEV JSON, EPSS CSV or a bundle of them is needed',
        )
      if (last !== undefined && isKnown(before, files)) {
        return {
          status: 'unchanged',
          generation: last,
          took_ms: performance.now() - started,
          signature,
          sources: [],
          notes,
          others: await moveOthers(job.security, others),
        }
      }
      const run: Run = {
        job,
        orders,
        tables: createTables(folder),
        folder,
        before,
        loaded: new Map(),
        ids: new Map(),
        intel: before?.intel ?? {},
        fresh: {},
        notes: [...notes],
      }
      for (const file of files) {
        if (file.is.kind === 'bundle') continue
        await READERS[file.is.kind](run, file)
      }
      refuseOlder(run)
      // one import may bring a record twice, in dumps of two days
      const isNewest = ({ advisory }: StoredRow): boolean =>
        !advisory.source.startsWith('osv/') || (advisory.modified ?? '') >= (run.ids.get(advisory.id)?.modified ?? '')
      const { ecosystems, vectorDigits } = run.tables.finish(keeper(run, previous), isNewest)
      carryIntel(run, previous)
      const meta: Meta = {
        format: 1,
        generation,
        created: job.now,
        ecosystems,
        sources: factsOf(run),
        vector_digits: vectorDigits,
        intel: run.intel,
        ...(bundle === undefined ? {} : { bundle: { created: bundle.manifest.created, signature: bundle.signature } }),
      }
      await writeFile(join(folder, 'meta.json'), `${JSON.stringify(meta)}\n`)
      testGeneration(folder, meta, orders)
      const moved = await moveOthers(job.security, others)
      await rm(join(folder, '.bundle'), { recursive: true, force: true })
      syncFolder(folder)
      await rename(folder, place.generation(generation))
      await swapLink(String(generation), place.link)
      await sweepGenerations(place)
      // what this import brought, not all that is there now
      const sources = [...run.loaded.values()].map(({ name, records, rows }) => ({
        name,
        ...(meta.sources[name] as SourceFacts),
        records,
        rows,
      }))
      return {
        status: 'imported',
        generation,
        took_ms: performance.now() - started,
        signature,
        sources,
        notes: run.notes,
        others: moved,
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  } finally {
    await unlock()
  }
}
