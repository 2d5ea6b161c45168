import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkKind } from '../../server/core/work.ts'
import type { Db } from '../../server/db/db.ts'
import { getFormat } from '../../server/formats/index.ts'
import { importWork, type ImportDeps } from '../../server/imports/run/import-work.ts'
import { createCatalogueOf } from '../../server/imports/run/catalogue-of.ts'
import { createPlanner, type Planner } from '../../server/imports/run/plan.ts'
import { findResolver } from '../../server/imports/resolve/resolvers.ts'
import type { Sync } from '../../server/imports/catalogue/sync.ts'
import { createSourceStore } from '../../server/imports/sources/store.ts'
import type { Source } from '../../server/imports/source.ts'
import { fail } from '../../server/core/errors.ts'
import { addSource, startSync } from './catalogue.ts'
import { repositories } from './repositories.ts'
import type { DebSpec } from './packages.ts'
import { writeAptTree } from './upstream/trees.ts'
import type { Uploads } from './uploads.ts'

/** Sources on the disk, their catalogue, and the real import from them, over the upload routes' gate and database. */
export interface Importing {
  readonly sync: Sync
  readonly planner: Planner
  readonly work: WorkKind
  /** Names of the files that were fetched, in order. */
  readonly fetched: string[]
  /** Called before each file is fetched. */
  onFetch: (name: string) => Promise<void> | void
  boundOf: ImportDeps['boundOf']
  listSources(): Promise<readonly Source[]>
  /** A source that lists these packages; again: its next state. */
  offer(key: string, packages: readonly DebSpec[], more?: Partial<Omit<Source, 'id' | 'key'>>): Promise<Source>
  close(): Promise<void>
}

/** @param uploads  its database and gate, within a test */
export async function openImporting(uploads: Uploads): Promise<Importing> {
  const { db, deps } = uploads
  await emptyCatalogue(db)
  const folder = await mkdtemp(join(tmpdir(), 'gh-importing-'))
  const treeOf = (key: string): string => join(folder, 'trees', key)
  const store = createSourceStore({ db, clock: { now: () => new Date() }, switches: () => ({}) })
  const listSources = async (): Promise<readonly Source[]> => (await store.list()).map(({ source }) => source)
  const sync = await startSync(db, source => async path => {
    const bytes = await readFile(join(treeOf(source.key), path)).catch(() => undefined)
    return bytes === undefined
      ? undefined
      : (async function* () {
          yield await Promise.resolve(bytes)
        })()
  })
  const planner = createPlanner({
    db,
    repositories,
    settings: { now: () => ({ import: { base: 'none', base_of: '', resolve_uploads: {} } }) as never },
    catalogue: createCatalogueOf({ db, repositories, listSources }),
    formatOf: getFormat,
    resolverOf: findResolver,
  })
  const sources = new Map<string, Source>()
  const it: Importing = {
    sync,
    planner,
    fetched: [],
    onFetch: () => undefined,
    boundOf: async () => undefined,
    listSources,
    work: importWork({
      ...{ db, repositories, gate: deps.gate, spool: deps.spool, settings: deps.settings },
      formatOf: getFormat,
      plan: planner.plan,
      findSource: async id => (await listSources()).find(one => one.id === id),
      async download(source, item, { signal }) {
        it.fetched.push(item.identity.name)
        await it.onFetch(item.identity.name)
        signal.throwIfAborted()
        const path = join(folder, `${item.identity.name}_${item.identity.version}`)
        await copyFile(join(treeOf(source.key), item.path), path).catch(() =>
          fail('outbound_failed', { host: source.key, why: 'the file is not there' }),
        )
        return path
      },
      needRoom: async () => undefined,
      boundOf: (request, bytes) => it.boundOf(request, bytes),
      publish: async () => undefined,
    }) as WorkKind,
    async offer(key, packages, more = {}) {
      await rm(join(treeOf(key), 'dists'), { recursive: true, force: true })
      await writeAptTree(treeOf(key), packages, { suite: key })
      const source = sources.get(key) ?? (await addSource(db, key, { suite: key, ...more }))
      sources.set(key, source)
      const { state, said } = await sync.run(source, { signal: new AbortController().signal })
      if (state !== 'ok') throw new Error(`the source ${key} could not be read: ${said ?? state}`)
      return source
    },
    async close() {
      await sync.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return it
}

async function emptyCatalogue(db: Db): Promise<void> {
  await db.query(
    'truncate import_source, import_package, import_capability, import_name, import_group, job, security_report, mirror_freeze cascade',
  )
}
