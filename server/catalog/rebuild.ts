import type { PackageRef } from '../core/identity.ts'
import { printRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Manifests } from '../files/manifests.ts'
import {
  deleteManifest,
  insertManifest,
  listRefs,
  markDirty,
  refreshArtifact,
  rewriteFiles,
  updateManifest,
} from './store.ts'

/** What a rebuild did. `broken` names manifests that could not be read; their rows, if any, are left as they are. */
export interface Rebuilt {
  readonly manifests: number
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly broken: readonly { readonly path: string; readonly broken: string }[]
}

const BATCH = 200

/**
 * Makes the database say what the manifests on disk say, and owes a publication of every distribution it touched.
 * Everything owed to the manifests is written first, so on a healthy service this changes nothing.
 */
export function createRebuild({
  db,
  outbox,
  manifests,
}: {
  readonly db: Db
  readonly outbox: Outbox
  readonly manifests: Manifests
}): () => Promise<Rebuilt> {
  async function write(batch: readonly Manifest[], known: ReadonlySet<string>): Promise<void> {
    await db.tx(async tx => {
      for (const manifest of batch) {
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

  async function owe(tx: Parameters<Outbox['owe']>[0], refs: readonly PackageRef[]): Promise<void> {
    for (const ref of refs) await markDirty(tx, ref.codename, ref.name)
    for (const codename of new Set(refs.map(ref => ref.codename))) {
      await outbox.owe(tx, `publish:${codename}`)
      await outbox.owe(tx, `contents:${codename}`)
    }
  }

  return async () => {
    await outbox.drain()
    const rows = new Map((await listRefs(db)).map(row => [printRef(row), row]))
    const known = new Set(rows.keys())
    const broken: { path: string; broken: string }[] = []
    let batch: Manifest[] = []
    let count = 0,
      added = 0,
      changed = 0
    for await (const found of manifests.walk()) {
      if ('broken' in found) {
        broken.push(found)
        continue
      }
      const { manifest } = found
      count++
      const row = rows.get(printRef(manifest.ref))
      rows.delete(printRef(manifest.ref))
      const same =
        row?.sha256 === manifest.files[0].blob.sha256 &&
        row.state === manifest.state &&
        row.changed_at.toISOString() === manifest.changed_at
      if (same) continue
      if (row === undefined) added++
      else changed++
      batch.push(manifest)
      if (batch.length < BATCH) continue
      await write(batch, known)
      batch = []
    }
    if (batch.length > 0) await write(batch, known)
    // a row whose manifest exists but cannot be read stays: a damaged file is no decision to delete
    const gone = broken.length > 0 ? [] : [...rows.values()]
    if (gone.length > 0)
      await db.tx(async tx => {
        for (const ref of gone) {
          await deleteManifest(tx, ref)
          await refreshArtifact(tx, ref)
          await outbox.owe(tx, `blob:${ref.sha256}`)
        }
        await owe(tx, gone)
      })
    outbox.nudge()
    return { manifests: count, added, changed, removed: gone.length, broken }
  }
}
