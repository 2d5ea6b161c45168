import { printRef, type FormatId, type PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { DatabaseUnavailable } from '../db/database-unavailable.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { HasTree } from './effects.ts'
import { lockOutClashes, placesOf } from './queries/clashes.ts'
import { insertManifests } from './queries/insert.ts'
import {
  deleteManifest,
  lockChangedAt,
  markDirty,
  refreshArtifacts,
  rewriteFiles,
  updateManifest,
  type ListedRef,
} from './queries/store.ts'

/** A manifest as it was read, with its path for messages; `row` is what the database said before. */
export interface Read {
  readonly manifest: Manifest
  readonly path: string
  readonly row: ListedRef | undefined
}

/** The rows that a rebuild writes and removes. */
export interface RebuildRows {
  /**
   * Writes these, and owes what follows. Leaves a row alone that was changed since it was listed.
   * @returns those written, and those that cannot be, with the reason
   */
  write(batch: readonly Read[]): Promise<{
    readonly written: readonly Read[]
    readonly refused: readonly { readonly path: string; readonly broken: string }[]
  }>
  /** Removes rows whose manifest is not there. @returns the removed ones */
  remove(gone: readonly ListedRef[]): Promise<readonly ListedRef[]>
  /** Updates the list rows of these names, by format. */
  refresh(names: ReadonlyMap<FormatId, ReadonlySet<string>>): Promise<void>
}

/** More in one transaction would hold up uploads of the same names for longer. */
const NAMES_AT_ONCE = 500
/** The publications of a whole rebuild share a few trees. */
const COALESCE_MS = 2_000

/** Cuts a batch so that no two of a part can clash: of those the second must find the first in the database. */
function* apart(batch: readonly Read[]): Generator<readonly Read[]> {
  let part: Read[] = []
  let taken = new Set<string>()
  for (const read of batch) {
    const places = placesOf(read.manifest)
    if (places.some(place => taken.has(place))) {
      yield part
      part = []
      taken = new Set()
    }
    for (const place of places) taken.add(place)
    part.push(read)
  }
  if (part.length > 0) yield part
}

/** @throws Error where clients would find two packages, or two files, at one address */
async function refuseClashes(tx: Tx, manifests: readonly Manifest[]): Promise<void> {
  for (const { rival, file } of (await lockOutClashes(tx, manifests)).values()) {
    if (rival !== undefined)
      throw new Error(`${printRef(rival.ref)} has the same address and other bytes: remove one of the two`)
    if (file !== undefined)
      throw new Error(`${printRef(file.ref)} has a file ${file.path} with other bytes: remove one of the two`)
  }
}

/** @param isOwed  whether the manifest of a row is there or about to be written */
export function createRebuildRows({
  db,
  outbox,
  hasTree,
  isOwed,
}: {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe'>
  readonly hasTree: HasTree
  readonly isOwed: (tx: Tx, ref: PackageRef) => Promise<boolean>
}): RebuildRows {
  async function oweTrees(tx: Tx, all: readonly PackageRef[]): Promise<void> {
    const codenames = [...new Set(all.filter(ref => hasTree(ref.format)).map(ref => ref.codename))]
    // all of each, not the names written: packages that were left out may still stand in the tree
    await markDirty(
      tx,
      codenames.map(codename => ({ ref: { codename, name: '', arch: '' }, id: null, component: null })),
    )
    for (const codename of codenames)
      for (const kind of ['publish', 'contents']) await outbox.owe(tx, `${kind}:${codename}`, { delayMs: COALESCE_MS })
  }

  async function update(tx: Tx, { manifest, row }: Read): Promise<boolean> {
    const at = await lockChangedAt(tx, manifest.ref)
    if (at?.getTime() !== row?.changed_at.getTime()) return false // its manifest follows
    await updateManifest(tx, manifest)
    await rewriteFiles(tx, manifest)
    return true
  }

  /** All of them, or none. */
  function writeAll(part: readonly Read[]): Promise<readonly Read[]> {
    return db.tx(async tx => {
      const fresh = part.filter(({ row }) => row === undefined)
      const manifests = fresh.map(({ manifest }) => manifest)
      await refuseClashes(tx, manifests)
      const inserted = new Set((await insertManifests(tx, manifests)).map(({ manifest }) => manifest))
      const written = fresh.filter(({ manifest }) => inserted.has(manifest))
      for (const read of part) if (read.row !== undefined && (await update(tx, read))) written.push(read)
      await oweTrees(
        tx,
        written.map(({ manifest }) => manifest.ref),
      )
      return written
    })
  }

  /** Halves what cannot be written until the culprits stand alone. */
  async function writePart(part: readonly Read[]): ReturnType<RebuildRows['write']> {
    try {
      return { written: await writeAll(part), refused: [] }
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      const [only, ...others] = part
      if (only !== undefined && others.length === 0)
        return {
          written: [],
          refused: [{ path: only.path, broken: error instanceof Error ? error.message : String(error) }],
        }
      const middle = part.length >> 1
      const [left, right] = [await writePart(part.slice(0, middle)), await writePart(part.slice(middle))]
      return { written: [...left.written, ...right.written], refused: [...left.refused, ...right.refused] }
    }
  }

  return {
    async write(batch) {
      const written: Read[] = []
      const refused: { readonly path: string; readonly broken: string }[] = []
      for (const part of apart(batch)) {
        const done = await writePart(part)
        written.push(...done.written)
        refused.push(...done.refused)
      }
      return { written, refused }
    },
    remove: gone =>
      db.tx(async tx => {
        const removed: ListedRef[] = []
        for (const ref of gone) {
          const at = await lockChangedAt(tx, ref)
          if (at?.getTime() !== ref.changed_at.getTime() || (await isOwed(tx, ref))) continue
          await deleteManifest(tx, ref)
          for (const blob of ref.blobs) await outbox.owe(tx, `blob:${blob}`)
          removed.push(ref)
        }
        for (const [format, refs] of Map.groupBy(removed, ref => ref.format))
          await refreshArtifacts(tx, format, [...new Set(refs.map(ref => ref.name))])
        await oweTrees(tx, removed)
        return removed
      }),
    async refresh(names) {
      for (const [format, some] of names) {
        const all = [...some].sort()
        for (let from = 0; from < all.length; from += NAMES_AT_ONCE)
          await db.tx(tx => refreshArtifacts(tx, format, all.slice(from, from + NAMES_AT_ONCE)))
      }
    },
  }
}
