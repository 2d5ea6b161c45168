import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { DISTRIBUTIONS, getDistribution, type Distribution } from '../core/distributions.ts'
import type { Codename, FormatId } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Format } from '../formats/format.ts'
import type { Shard } from '../formats/shards.ts'
import type { ListedFile, TreeWriter } from '../formats/tree.ts'
import type { Clock } from '../lib/clock.ts'
import { failpoint } from '../lib/failpoint.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { Keyring } from '../signing/signer.ts'
import { buildContents } from './contents.ts'
import { age, buildGeneration, goLive } from './generation.ts'
import { updateIndex, type IndexUpdate } from './indexes.ts'
import { createJoiner } from './joiner.ts'
import { unlinkPackage } from './pool-links.ts'
import { bury, listGenerations, liveGeneration, prune, pruneShards, walkFiles } from './prune.ts'
import { createShardCache } from './shard-cache.ts'
import { proveLiveTree } from './prove.ts'
import { readState, stateFile, writeState, type GenerationState, type Grave } from './state.ts'
import { clearDirty, lastGeneration, markAllDirty, readDirty, recordGeneration, whichAreWithheld, type Dirty, type PoolFile } from './store.ts'

/** What a publication did, for logs, events and the dashboard. */
export interface Publication {
  readonly codename: Codename
  readonly n: number
  readonly packages: number
  readonly bytes: number
  readonly shardsWritten: number
  readonly ms: number
  /** Packages that the database has and the pool has not; they are left out of the index. */
  readonly missing: readonly string[]
}

/** Makes generations and switches to them. One at a time per distribution. */
export interface Publisher {
  /**
   * Brings the live tree of one distribution to what the database says. Idempotent; costs what changed.
   * @returns undefined when nothing was dirty and a live generation exists. @throws no_signing_key
   */
  publish(codename: Codename): Promise<Publication | undefined>
  /** Makes the file lists anew and publishes them. Costs what is there, so it follows the packages at a distance. */
  publishContents(codename: Codename): Promise<Publication | undefined>
  /** Removes what a crash left and proves every live tree; @returns the distributions whose tree is to be built again */
  repair(): Promise<readonly Codename[]>
  /** Removes what nobody can ask for any more, in all distributions. */
  tidy(): Promise<void>
  close(): Promise<void>
}

export interface PublisherDeps {
  readonly db: Db
  readonly layout: Layout
  readonly keyring: Pick<Keyring, 'signer'>
  readonly clock: Clock
  readonly formats: (id: FormatId) => Format
  readonly onPublished?: (publication: Publication) => void
}

/** What is known when a publication begins. */
interface Begin { readonly distribution: Distribution; readonly before: GenerationState | undefined; readonly dirty: readonly Dirty[]; readonly contents: readonly ListedFile[] | undefined }

export function createPublisher({ db, layout, keyring, clock, formats, onPublished }: PublisherDeps): Publisher {
  const lock = createKeyedLock()
  const cache = createShardCache(layout)
  const joiner = createJoiner()
  const states = new Map<Codename, GenerationState>()

  function writerOf({ format }: Distribution): TreeWriter {
    const writer = formats(format).tree
    if (writer === undefined) throw new Error(`there is no tree for the format ${format}`)
    return writer
  }

  async function currentState(codename: Codename): Promise<GenerationState | undefined> {
    const n = await liveGeneration(layout, codename)
    if (n === undefined) return undefined
    const known = states.get(codename)
    return known?.n === n ? known : readState(layout, codename, n)
  }

  async function updateIndexes({ distribution, before, dirty }: Begin): Promise<Record<string, IndexUpdate>> {
    const everything = before === undefined || dirty.some(mark => mark.name === '')
    const names = everything ? undefined : new Set(dirty.map(mark => mark.name))
    const format = formats(distribution.format)
    const updates: Record<string, IndexUpdate> = {}
    for (const { arch } of writerOf(distribution).indexes(distribution)) {
      updates[arch] = await updateIndex({ db, layout, cache, format, writer: writerOf(distribution) }, { distribution, arch, before: before?.shards[arch] ?? [], names })
    }
    return updates
  }

  /** What is withheld goes at once; what was deleted may still be asked for by who holds the old index. */
  async function retire(codename: Codename, gone: readonly PoolFile[], now: Date): Promise<Grave[]> {
    const withheld = await whichAreWithheld(db, codename, gone)
    for (const path of withheld) await unlinkPackage(layout, codename, path)
    return gone.filter(file => !withheld.has(file.path)).map(file => ({ path: file.path, at: now.toISOString() }))
  }

  async function make(begin: Begin): Promise<Publication> {
    const started = performance.now()
    const { distribution, before, dirty } = begin
    const { codename } = distribution
    const signer = await keyring.signer()
    failpoint('publish:before-build')
    const updates = await updateIndexes(begin)
    const shards: Record<string, readonly Shard[]> = Object.fromEntries(Object.entries(updates).map(([arch, update]) => [arch, update.shards]))
    const at = clock.now()
    const n = Math.max(before?.n ?? 0, await lastGeneration(db, codename), await liveGeneration(layout, codename) ?? 0) + 1
    const contents = begin.contents ?? before?.contents ?? []
    const files = await buildGeneration({ layout, cache, joiner, writer: writerOf(distribution) }, { distribution, n, at, shards, contents, signer })
    const gone = Object.values(updates).flatMap(update => update.gone)
    const named = new Set(gone.map(file => file.path))
    const entries = Object.values(shards).flat().reduce((sum, shard) => sum + shard.entries, 0)
    const bytes = files.reduce((sum, file) => sum + file.size, 0)
    const state: GenerationState = { schema: 1, n, at: at.toISOString(), shards, entries, files, contents, graves: (before?.graves ?? []).filter(grave => !named.has(grave.path)) }
    await writeState(layout, codename, state)
    await goLive(layout, codename, n)
    const graves = [...await bury(layout, codename, { ...state, graves: await stillGone(codename, state, before, updates) }, at), ...await retire(codename, gone, at)]
    states.set(codename, { ...state, graves })
    if (graves.length > 0 || state.graves.length > 0) await writeState(layout, codename, { ...state, graves })
    await age(layout, codename, { files: before?.files ?? [], at })
    failpoint('publish:before-done')
    await db.tx(async tx => {
      await clearDirty(tx, dirty.map(mark => mark.seq))
      await recordGeneration(tx, { codename, n, at, packages: entries, bytes })
    })
    await prune(layout, codename, at)
    const shardsWritten = Object.values(updates).reduce((sum, update) => sum + update.written, 0)
    return { codename, n, packages: entries, bytes, shardsWritten, ms: Math.round(performance.now() - started), missing: Object.values(updates).flatMap(update => update.missing) }
  }

  /** Graves of packages that came back are no graves. */
  async function stillGone(codename: Codename, state: GenerationState, before: GenerationState | undefined, updates: Readonly<Record<string, IndexUpdate>>): Promise<readonly Grave[]> {
    if (state.graves.length === 0 || before === undefined) return state.graves
    const old = new Set(Object.values(before.shards).flat().map(shard => shard.digest))
    const fresh = Object.values(updates).flatMap(update => update.shards).filter(shard => !old.has(shard.digest))
    const cards = await Promise.all(fresh.map(shard => cache.find(shard.digest)))
    const back = new Set(cards.flatMap(card => card?.files ?? []).map(file => file.path))
    return state.graves.filter(grave => !back.has(grave.path))
  }

  function publishing(codename: Codename, contents?: typeof sameLists): Promise<Publication | undefined> {
    return lock.run(codename, async () => {
      const distribution = getDistribution(codename)
      const dirty = await readDirty(db, codename)
      const before = await currentState(codename)
      const lists = await contents?.(distribution, before)
      if (dirty.length === 0 && before !== undefined && lists === undefined) return undefined
      const publication = await make({ distribution, before, dirty, contents: lists })
      onPublished?.(publication)
      return publication
    })
  }

  async function sameLists(distribution: Distribution, before: GenerationState | undefined): Promise<readonly ListedFile[] | undefined> {
    const lists: ListedFile[] = []
    for (const plan of writerOf(distribution).contents(distribution)) lists.push(await buildContents({ db, layout }, distribution, plan))
    const known = new Set(before?.contents.map(file => `${file.path} ${file.sha256}`))
    return before !== undefined && lists.every(file => known.has(`${file.path} ${file.sha256}`)) ? undefined : lists
  }

  /** What was linked for a publication that never was, or outlived one that was cut off, must not stay within reach. */
  async function unlinkUnnamed({ codename, component }: Distribution, state: GenerationState | undefined): Promise<void> {
    const cards = await Promise.all(Object.values(state?.shards ?? {}).flat().map(shard => cache.find(shard.digest)))
    const named = new Set([...cards.flatMap(card => card?.files ?? []), ...state?.graves ?? []].map(file => file.path))
    const top = join(layout.apt, 'pool', codename, component)
    for await (const path of walkFiles(top)) if (!named.has(relative(top, path))) await rm(path, { force: true })
  }

  async function repairOne(distribution: Distribution): Promise<boolean> {
    const { codename } = distribution
    const live = await liveGeneration(layout, codename)
    for (const n of await listGenerations(layout, codename)) {
      await rm(`${layout.generation(codename, n)}.part`, { recursive: true, force: true })
      // built, and never switched to
      if (n > (live ?? 0)) await rm(layout.generation(codename, n), { recursive: true, force: true })
      if (n > (live ?? 0)) await rm(stateFile(layout, codename, n), { force: true })
    }
    await rm(join(layout.trees, codename, `${(live ?? 0) + 1}.part`), { recursive: true, force: true })
    const state = live === undefined ? undefined : await readState(layout, codename, live)
    // with the state lost, the rebuild below links everything anew
    await unlinkUnnamed(distribution, state)
    if (live === undefined) return false
    if (state !== undefined && await proveLiveTree(layout, codename, state)) return false
    await rm(stateFile(layout, codename, live), { force: true })
    await markAllDirty(db, codename)
    return true
  }

  return {
    publish: codename => publishing(codename),
    publishContents: codename => publishing(codename, sameLists),
    async repair() {
      const broken: Codename[] = []
      for (const distribution of DISTRIBUTIONS) if (await repairOne(distribution)) broken.push(distribution.codename)
      return broken
    },
    async tidy() {
      for (const { codename } of DISTRIBUTIONS) {
        await lock.run(codename, async () => {
          const state = await currentState(codename)
          if (state === undefined) return
          const graves = await bury(layout, codename, state, clock.now())
          if (graves.length !== state.graves.length) {
            states.set(codename, { ...state, graves })
            await writeState(layout, codename, { ...state, graves })
          }
          await prune(layout, codename, clock.now())
        })
      }
      await pruneShards(layout, DISTRIBUTIONS.map(distribution => distribution.codename), clock.now())
    },
    close: () => joiner.close(),
  }
}
