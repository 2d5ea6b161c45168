import { printRef, type FormatId, type PackageRef } from '../core/identity.ts'
import { differentFile, type Manifest } from '../core/manifest.ts'
import { DatabaseUnavailable } from '../db/database-unavailable.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import { FORMATS } from '../formats/index.ts'
import type { HasTree } from './effects.ts'
import { insertManifests, markManyDirty } from './queries/insert-many.ts'
import {
  deleteManifest,
  findRival,
  lockChangedAt,
  lockOutOtherBytes,
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

/** What makes two packages clash: their address where the format builds it from the version, or their source's name. */
function placeOf({ ref, kind }: Manifest): string | undefined {
  if (kind === 'source') return JSON.stringify(['source', ref.format, ref.codename, ref.name, ref.arch])
  const format = FORMATS.find(({ id }) => id === ref.format)
  if (format?.neutralSharesAddress !== true) return undefined
  return JSON.stringify([ref.format, ref.codename, ref.name, ref.version])
}

/** Cuts a batch so that no two of a part can clash: of those the second must find the first in the database. */
function* apart(batch: readonly Read[]): Generator<readonly Read[]> {
  let part: Read[] = []
  let places = new Set<string>()
  for (const read of batch) {
    const place = placeOf(read.manifest)
    if (place !== undefined && places.has(place)) {
      yield part
      part = []
      places = new Set()
    }
    if (place !== undefined) places.add(place)
    part.push(read)
  }
  if (part.length > 0) yield part
}

/** @throws Error where clients would find two packages at one address */
async function refuseClash(tx: Tx, manifest: Manifest): Promise<void> {
  const rival = await findRival(tx, manifest.ref)
  if (rival !== undefined && differentFile(rival.files, manifest.files) !== undefined)
    throw new Error(`${printRef(rival.ref)} has the same address and other bytes: remove one of the two`)
  const clash = manifest.kind === 'source' ? await lockOutOtherBytes(tx, manifest) : undefined
  if (clash !== undefined)
    throw new Error(`${printRef(clash.ref)} has a file ${clash.path} with other bytes: remove one of the two`)
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
    const refs = all.filter(ref => hasTree(ref.format))
    await markManyDirty(tx, refs)
    for (const codename of new Set(refs.map(ref => ref.codename)))
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
      for (const { manifest } of fresh) if (placeOf(manifest) !== undefined) await refuseClash(tx, manifest)
      const inserted = new Set(
        await insertManifests(
          tx,
          fresh.map(({ manifest }) => manifest),
        ),
      )
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
