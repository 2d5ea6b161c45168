import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { swapLink } from '../../lib/atomic.ts'
import { malformed } from '../../lib/limited.ts'
import type { UnpackedBundle } from '../read/bundle.ts'
import { READERS } from '../read/readers.ts'
import { later, type HashedFile, type ImportJob, type Run } from '../read/run.ts'
import type { Orders } from '../versions/orders.ts'
import { carryIntel, keeper, refuseOlder } from './carry-over.ts'
import { isKnown, moveOthers, prepare, type OtherFile } from './import-files.ts'
import { takeLock } from './import-lock.ts'
import { readMeta, type Meta, type SourceFacts } from './generation-meta.ts'
import { createVulndbLayout, currentGeneration, sweepGenerations } from './layout.ts'
import { testGeneration } from './self-test.ts'
import type { StoredRow } from './shards.ts'
import { createTables, syncFolder } from './tables.ts'

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

/** Reads the files into the folder of a generation, with what stays of the one before, and checks what came out. */
async function fill(
  run: Run,
  files: readonly HashedFile[],
  {
    generation,
    previous,
    bundle,
  }: {
    readonly generation: number
    /** The folder of the generation before. */
    readonly previous: string | undefined
    readonly bundle: UnpackedBundle | undefined
  },
): Promise<Meta> {
  const { job, orders, tables, folder } = run
  for (const file of files) {
    if (file.is.kind === 'bundle') continue
    await READERS[file.is.kind](run, file)
  }
  refuseOlder(run)
  // one import may bring a record twice, in dumps of two days
  const isNewest = ({ advisory }: StoredRow): boolean =>
    !advisory.source.startsWith('osv/') || (advisory.modified ?? '') >= (run.ids.get(advisory.id)?.modified ?? '')
  const { ecosystems, vectorDigits } = tables.finish(keeper(run, previous), isNewest)
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
  return meta
}

/**
 * Builds a new generation from the files and what is loaded, checks it, and makes it current by one rename. Until then
 * the old one is live; it is kept. Blocks: run it in a thread or process of its own.
 * @throws Malformed, OlderData, ImportRunning; then nothing has changed
 */
export async function importData(job: ImportJob, orders: Orders): Promise<ImportResult> {
  const started = performance.now()
  const place = createVulndbLayout({ security: job.security })
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
      const meta = await fill(run, files, { generation, previous, bundle })
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
