import { dirname, join } from 'node:path'
import { listEntries, readEntries, type Numbered } from '../catalog/queries/entries.ts'
import { mainOf, type Distribution } from '../core/repository.ts'
import type { PackageKind } from '../core/manifest.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Format } from '../formats/format.ts'
import type { PublishedEntry } from '../formats/tree.ts'
import { areOrdered, cut, plan, splice, type Range, type Shard } from '../formats/shards.ts'
import type { IndexPlan, TreeWriter } from '../formats/tree.ts'
import { printBuilt, readEntriesOf, type Entry } from './piece-entries.ts'
import { linkPackage, unlinkPackage } from './pool-links.ts'
import type { ShardCache } from './shard-cache.ts'
import { everyFile, type PoolFile } from './store.ts'

export interface IndexDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'published' | 'blob'>
  readonly cache: ShardCache
  readonly format: Pick<Format, 'poolName' | 'neutralSharesAddress' | 'announcements'>
  readonly writer: Pick<TreeWriter, 'fileName'>
}

/** Pieces by the id of their index. */
export type Pieces = Readonly<Record<string, readonly Shard[]>>

/**
 * The new indexes of one architecture. `gone` are the package files that the old pieces named and the new ones do not.
 */
export interface IndexUpdate {
  readonly pieces: Pieces
  readonly written: number
  readonly gone: readonly PoolFile[]
  /** Packages whose bytes are not in the pool; they are left out. */
  readonly missing: readonly string[]
}

interface Question {
  readonly distribution: Distribution
  readonly arch: string
  readonly component: string
  readonly kind: PackageKind
  /**
   * The indexes of this architecture in this component. They are cut at the same packages, so one range of packages is
   * the same range of pieces in each; the first one's cards say where the packages are.
   */
  readonly plans: readonly IndexPlan[]
  readonly before: Pieces
  /** Packages that changed; undefined means everything. */
  readonly changed: ReadonlySet<number> | undefined
}

/** So many pieces are compressed at once. */
const AT_ONCE = 4

async function filesOf(cache: ShardCache, shards: readonly Shard[]): Promise<PoolFile[]> {
  const cards = await Promise.all(shards.map(shard => cache.find(shard.digest)))
  return everyFile(cards.flatMap(card => card?.files ?? []))
}

interface Rewritten {
  readonly pieces: Pieces
  readonly files: readonly PoolFile[]
  readonly written: number
  readonly missing: readonly string[]
}

/** Compresses and keeps one index's pieces. @returns how many were not there yet */
async function keepAll(
  cache: ShardCache,
  { kinds }: Pick<IndexPlan, 'kinds'>,
  { cuts, files }: { readonly cuts: ReturnType<typeof cut>; readonly files: ReadonlyMap<number, PoolFile> },
): Promise<number> {
  let written = 0
  const waiting = [...cuts]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const { isNew } = await cache.keep(one, { kinds, files: one.ids.flatMap(id => files.get(id) ?? []) })
        if (isNew) written++
      }
    }),
  )
  return written
}

/** Makes every file of a version reachable. @returns false when one of them is not in the pool */
async function linkAll(
  layout: IndexDeps['layout'],
  codename: Distribution['codename'],
  files: readonly Parameters<typeof linkPackage>[2][],
): Promise<boolean> {
  for (const file of files) if (!(await linkPackage(layout, codename, file))) return false
  return true
}

/** The deleted or withheld packages at the place of this one: they must not be mistaken for it. */
async function unlinkRivals(
  { format, layout }: IndexDeps,
  { codename, format: id, archs, neutral }: Distribution,
  { entry: { name, version, arch, source }, component }: { readonly entry: PublishedEntry; readonly component: string },
): Promise<void> {
  const rivals = neutral.includes(arch) ? archs : neutral
  for (const other of rivals)
    await unlinkPackage(
      layout,
      codename,
      format.poolName({ format: id, name, version, arch: other }, source, component),
    )
}

/**
 * Renders a package, and makes it reachable.
 * @returns undefined when its bytes are not in the pool
 */
async function render(
  deps: IndexDeps,
  { distribution, arch, component, plans }: Question,
  entry: PublishedEntry,
): Promise<Entry | undefined> {
  const { codename, format } = distribution
  const { name, version } = entry
  const path = deps.format.poolName({ format, name, version, arch: entry.arch }, entry.source, component)
  const others = (entry.others ?? [])
    .filter(other => deps.format.announcements?.isRecord(other.path) !== true)
    .map(other => ({ path: join(dirname(path), other.path), blob: other.blob }))
  if (!(await linkAll(deps.layout, codename, [...others, { path, blob: entry.blob }]))) return undefined
  if (deps.format.neutralSharesAddress === true) await unlinkRivals(deps, distribution, { entry, component })
  const file = deps.writer.fileName(distribution, arch, path)
  return {
    file: {
      ...{ name, version, arch: entry.arch, path, sha256: entry.blob.sha256 },
      ...(others.length === 0
        ? {}
        : { others: others.map(other => ({ path: other.path, sha256: other.blob.sha256 })) }),
    },
    texts: plans.map(one => one.render(entry, file)),
  }
}

/**
 * Makes the pieces of one range again. The database lists what is in it; what changed is read and made reachable, the
 * rest is taken from the old pieces, or also read where they are lost.
 */
async function rewrite(deps: IndexDeps, question: Question, range: Range): Promise<Rewritten> {
  const { distribution, arch, component, kind, plans, before, changed } = question
  const { codename, format, neutral } = distribution
  const query = {
    ...{ codename, format, kind, archs: [arch, ...neutral] },
    component: { name: component, first: mainOf(distribution) },
  }
  const listed = await listEntries(deps.db, ALL_SEEING, { ...query, from: range.from, to: range.to })
  const old =
    changed === undefined
      ? undefined
      : await readEntriesOf(
          deps.cache,
          plans.map(({ id }) => (before[id] ?? []).slice(...range.shards)),
        )
  const entries = new Map<number, Entry>()
  for (const one of listed) {
    const known = changed?.has(one.id) === true ? undefined : old?.get(printBuilt(one))
    if (known !== undefined) entries.set(one.id, known)
  }
  /** Renders these. @returns the packages whose bytes are not in the pool */
  async function read(ids: readonly number[]): Promise<readonly Numbered[]> {
    const lost: Numbered[] = []
    for await (const entry of readEntries(deps.db, ALL_SEEING, query, ids)) {
      const made = await render(deps, question, entry)
      if (made === undefined) lost.push(entry)
      else entries.set(entry.id, made)
    }
    return lost
  }
  const lost = await read(listed.filter(({ id }) => !entries.has(id)).map(({ id }) => id))
  // what was deleted while it was read is missed by nobody: the database is asked once more
  const absent = lost.length === 0 ? [] : await read(lost.map(({ id }) => id))
  // one that was left out before is not news
  const isNews = ({ id }: Numbered): boolean => changed === undefined || changed.has(id) || old?.size === 0
  const present = listed.flatMap(({ id }) => {
    const entry = entries.get(id)
    return entry === undefined ? [] : [{ id, ...entry }]
  })
  const files = new Map(present.map(({ id, file }) => [id, file]))
  const pieces: Record<string, readonly Shard[]> = {}
  let written = 0
  for (const [n, { id, kinds }] of plans.entries()) {
    const cuts = cut(
      present.map(one => ({ id: one.id, text: one.texts[n] ?? '', isNeutral: neutral.includes(one.file.arch) })),
    )
    written += await keepAll(deps.cache, { kinds }, { cuts, files: n === 0 ? files : new Map() })
    pieces[id] = cuts.map(({ shard }) => shard)
  }
  return { pieces, files: [...files.values()], written, missing: absent.filter(isNews).map(printBuilt) }
}

/**
 * Updates the indexes of one architecture in one component from the database. Rewrites only the pieces in which a
 * package changed; reads nothing if none did.
 */
export async function updateIndexes(deps: IndexDeps, question: Question): Promise<IndexUpdate> {
  const { before, changed, plans } = question
  const first = before[plans[0]?.id ?? ''] ?? []
  // a new index has no pieces yet, so everything is rendered once
  const isAligned = areOrdered(first) && plans.every(one => before[one.id]?.length === first.length)
  const some = changed !== undefined && isAligned ? plan(first, changed) : undefined
  const ranges: readonly Range[] = some ?? [{ from: 0, to: undefined, shards: [0, first.length], ids: [] }]
  const changes = new Map<string, { range: Range; shards: readonly Shard[] }[]>(plans.map(one => [one.id, []]))
  const gone: PoolFile[] = []
  const missing: string[] = []
  let written = 0
  for (const range of ranges) {
    const old = await filesOf(deps.cache, first.slice(...range.shards))
    const fresh = await rewrite(deps, some === undefined ? { ...question, changed: undefined } : question, range)
    const kept = new Set(everyFile(fresh.files).map(file => file.path))
    gone.push(...old.filter(file => !kept.has(file.path)))
    missing.push(...fresh.missing)
    written += fresh.written
    for (const one of plans)
      changes.get(one.id)?.push({
        range: some === undefined ? { ...range, shards: [0, before[one.id]?.length ?? 0] } : range,
        shards: fresh.pieces[one.id] ?? [],
      })
  }
  const pieces = Object.fromEntries(plans.map(one => [one.id, splice(before[one.id] ?? [], changes.get(one.id) ?? [])]))
  return { pieces, written, gone, missing }
}
