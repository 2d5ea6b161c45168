import type { Distribution } from '../core/distributions.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Format, PublishedEntry } from '../formats/format.ts'
import { cut, plan, splice, type Range, type Rendered, type Shard } from '../formats/shards.ts'
import type { TreeWriter } from '../formats/tree.ts'
import { linkPackage } from './pool-links.ts'
import type { ShardCache } from './shard-cache.ts'
import { readEntries, type PoolFile } from './store.ts'

export interface IndexDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'published' | 'blob'>
  readonly cache: ShardCache
  readonly format: Pick<Format, 'poolName'>
  readonly writer: Pick<TreeWriter, 'render'>
}

/** What an index of one architecture is to be. `gone` are the package files that the old pieces named and the new ones do not. */
export interface IndexUpdate {
  readonly shards: readonly Shard[]
  readonly written: number
  readonly gone: readonly PoolFile[]
  /** Packages whose bytes are not in the pool; they are left out. */
  readonly missing: readonly string[]
}

interface Question {
  readonly distribution: Distribution
  readonly arch: string
  readonly before: readonly Shard[]
  /** Names that changed; undefined means everything. */
  readonly names: ReadonlySet<string> | undefined
}

/** Pieces are compressed this many at once: one core each is enough to be busy. */
const AT_ONCE = 4

async function filesOf(cache: ShardCache, shards: readonly Shard[]): Promise<PoolFile[]> {
  const cards = await Promise.all(shards.map(shard => cache.find(shard.digest)))
  return cards.flatMap(card => card?.files ?? [])
}

interface Rewritten { readonly shards: readonly Shard[]; readonly files: readonly PoolFile[]; readonly written: number; readonly missing: readonly string[] }

/** Reads one range from the database, makes its packages reachable, and cuts it into pieces. */
async function rewrite(deps: IndexDeps, { distribution, arch, names }: Question, range: Range): Promise<Rewritten> {
  const { codename, format, component, neutral } = distribution
  const rendered: Rendered[] = []
  const files: PoolFile[] = []
  const missing: string[] = []
  const add = async (entry: PublishedEntry): Promise<void> => {
    const path = deps.format.poolName({ format, name: entry.name, version: entry.version, arch: entry.arch }, entry.source)
    const isNew = names === undefined || names.has(entry.name)
    if (isNew && !await linkPackage(deps.layout, codename, { path, blob: entry.blob })) {
      missing.push(`${entry.name} ${entry.version} ${entry.arch}`)
      return
    }
    files.push({ name: entry.name, version: entry.version, arch: entry.arch, path })
    rendered.push({ name: entry.name, text: deps.writer.render(entry, `pool/${codename}/${component}/${path}`) })
  }
  for await (const entry of readEntries(deps.db, { codename, format, archs: [arch, ...neutral], from: range.from, to: range.to })) await add(entry)
  const cuts = cut(rendered)
  const byName = Map.groupBy(files, file => file.name)
  let written = 0
  const waiting = [...cuts]
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      if (await deps.cache.find(one.shard.digest) !== undefined) continue
      await deps.cache.keep(one, one.names.flatMap(name => byName.get(name) ?? []))
      written++
    }
  }))
  return { shards: cuts.map(one => one.shard), files, written, missing }
}

/** Brings the index of one architecture to what the database says, by rewriting only the pieces in which a name changed. */
export async function updateIndex(deps: IndexDeps, question: Question): Promise<IndexUpdate> {
  const { before, names } = question
  const ranges: readonly Range[] = names === undefined ? [{ from: '', to: undefined, shards: [0, before.length] }] : plan(before, names)
  const changes: { range: Range; shards: readonly Shard[] }[] = []
  const gone: PoolFile[] = []
  const missing: string[] = []
  let written = 0
  for (const range of ranges) {
    const old = await filesOf(deps.cache, before.slice(...range.shards))
    const fresh = await rewrite(deps, question, range)
    const kept = new Set(fresh.files.map(file => file.path))
    gone.push(...old.filter(file => !kept.has(file.path)))
    missing.push(...fresh.missing)
    written += fresh.written
    changes.push({ range, shards: fresh.shards })
  }
  return { shards: splice(before, changes), written, gone, missing }
}
