import { printRef, type FormatId, type PackageName, type PackageRef } from '../core/identity.ts'
import { differentFile, type Manifest } from '../core/manifest.ts'
import type { TagList } from '../core/tag.ts'
import { maySee, type Viewer } from '../core/viewer.ts'
import { DatabaseUnavailable } from '../db/database-unavailable.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Manifests } from '../files/manifests.ts'
import { listTagged, replaceTags } from './queries/tags.ts'
import {
  deleteManifest,
  findRival,
  insertManifest,
  listRefs,
  lockOutOtherBytes,
  markDirty,
  refreshArtifact,
  rewriteFiles,
  updateManifest,
  type ListedRef,
} from './queries/store.ts'

/**
 * The result of a rebuild, as far as the viewer sees it. `broken` names manifests that could not be read; their rows,
 * if any, stay as they are.
 */
export interface Rebuilt {
  readonly manifests: number
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly broken: readonly { readonly path: string; readonly broken: string }[]
}

export interface RebuildDeps {
  readonly db: Db
  readonly outbox: Outbox
  readonly manifests: Manifests
  /** As the catalogue has it. */
  readonly hasTree: (format: FormatId) => boolean
}

const BATCH = 200

type Broken = Rebuilt['broken'][number]
interface Read {
  readonly manifest: Manifest
  readonly path: string
}

const printName = ({ format, codename, name }: PackageName): string => JSON.stringify([format, codename, name])

function isSame(row: ListedRef | undefined, { files, component, state, changed_at }: Manifest): boolean {
  return (
    row !== undefined &&
    row.blobs.join() === files.map(({ blob }) => blob.sha256).join() &&
    row.component === (component ?? null) &&
    row.state === state &&
    row.changed_at.toISOString() === changed_at
  )
}

/**
 * Rebuilds the database from the manifests on disk, and owes a publication of every tree it touched. Writes everything
 * owed to the manifests first, so on a healthy service it changes nothing.
 */
export function createRebuild({ db, outbox, manifests, hasTree }: RebuildDeps): (viewer: Viewer) => Promise<Rebuilt> {
  /** @throws Error where clients would find two packages at one address */
  async function refuseClash(tx: Tx, manifest: Manifest): Promise<void> {
    const rival = await findRival(tx, manifest.ref)
    if (rival !== undefined && differentFile(rival.files, manifest.files) !== undefined)
      throw new Error(`${printRef(rival.ref)} has the same address and other bytes: remove one of the two`)
    const clash = manifest.kind === 'source' ? await lockOutOtherBytes(tx, manifest) : undefined
    if (clash !== undefined)
      throw new Error(`${printRef(clash.ref)} has a file ${clash.path} with other bytes: remove one of the two`)
  }

  async function writeAll(batch: readonly Manifest[], known: ReadonlySet<string>): Promise<void> {
    await db.tx(async tx => {
      for (const manifest of batch) {
        if (!known.has(printRef(manifest.ref))) await refuseClash(tx, manifest)
        if (known.has(printRef(manifest.ref))) {
          await updateManifest(tx, manifest)
          await rewriteFiles(tx, manifest)
        } else await insertManifest(tx, manifest)
        await refreshArtifact(tx, manifest.ref)
      }
      await owe(
        tx,
        batch.map(manifest => manifest.ref),
      )
    })
  }

  /**
   * Those that cannot be written are named in `broken`; the others are written all the same. @returns the written ones
   */
  async function write(
    batch: readonly Read[],
    known: ReadonlySet<string>,
    broken: Broken[],
  ): Promise<readonly Manifest[]> {
    const all = batch.map(({ manifest }) => manifest)
    const isWritten = await writeAll(all, known).then(
      () => true,
      () => false,
    )
    if (isWritten) return all
    const written: Manifest[] = []
    for (const { manifest, path } of batch)
      try {
        await writeAll([manifest], known)
        written.push(manifest)
      } catch (error) {
        if (error instanceof DatabaseUnavailable) throw error
        broken.push({ path, broken: error instanceof Error ? error.message : String(error) })
      }
    return written
  }

  async function remove(gone: readonly ListedRef[]): Promise<void> {
    await db.tx(async tx => {
      for (const ref of gone) {
        await deleteManifest(tx, ref)
        await refreshArtifact(tx, ref)
        for (const blob of ref.blobs) await outbox.owe(tx, `blob:${blob}`)
      }
      await owe(tx, gone)
    })
  }

  async function owe(tx: Tx, all: readonly PackageRef[]): Promise<void> {
    const refs = all.filter(ref => hasTree(ref.format))
    for (const ref of refs) await markDirty(tx, ref, null)
    for (const codename of new Set(refs.map(ref => ref.codename))) {
      await outbox.owe(tx, `publish:${codename}`)
      await outbox.owe(tx, `contents:${codename}`)
    }
  }

  /** @param isWhole  whether every file could be read: the rows of damaged ones are kept */
  async function writeTags(lists: readonly TagList[], isWhole: boolean): Promise<void> {
    const named = new Set(lists.map(({ of }) => printName(of)))
    const gone = (await listTagged(db)).filter(of => isWhole && !named.has(printName(of)))
    await db.tx(async tx => {
      for (const { of, tags } of lists) await replaceTags(tx, of, tags)
      for (const of of gone) await replaceTags(tx, of, [])
    })
  }

  return async viewer => {
    const isSeen = ({ codename }: Pick<PackageName, 'codename'>): boolean => maySee(viewer, codename)
    await outbox.drain()
    const rows = new Map((await listRefs(db)).map(row => [printRef(row), row]))
    const known = new Set(rows.keys())
    const broken: Broken[] = []
    const lists: TagList[] = []
    let batch: Read[] = []
    let count = 0,
      added = 0,
      changed = 0
    const tally = (written: readonly Manifest[]): void => {
      for (const { ref } of written)
        if (isSeen(ref))
          if (known.has(printRef(ref))) changed++
          else added++
    }
    for await (const found of manifests.walk()) {
      if ('broken' in found) broken.push(found)
      if ('list' in found) lists.push(found.list)
      if (!('manifest' in found)) continue
      const { manifest } = found
      if (isSeen(manifest.ref)) count++
      const row = rows.get(printRef(manifest.ref))
      rows.delete(printRef(manifest.ref))
      if (isSame(row, manifest)) continue
      batch.push(found)
      if (batch.length < BATCH) continue
      tally(await write(batch, known, broken))
      batch = []
    }
    if (batch.length > 0) tally(await write(batch, known, broken))
    // a row whose manifest exists but cannot be read stays: damage is no decision to delete
    const gone = broken.length > 0 ? [] : [...rows.values()]
    if (gone.length > 0) await remove(gone)
    await writeTags(lists, broken.length === 0)
    outbox.nudge()
    return {
      manifests: count,
      added,
      changed,
      removed: gone.filter(isSeen).length,
      // deb/jammy/hello/1.0_amd64.json
      broken: broken.filter(({ path }) => maySee(viewer, path.split('/')[1] ?? '')),
    }
  }
}
