import { rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { printRef, type FormatId, type PackageName } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import type { TagList } from '../core/tag.ts'
import { maySee, type Viewer } from '../core/viewer.ts'
import type { Db } from '../db/db.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Layout } from '../files/layout.ts'
import type { Manifests } from '../files/manifests.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { failpoint } from '../lib/failpoint.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { createRebuildRows, type Read } from './rebuild-rows.ts'
import { hasWaitingManifest, listRefs, type ListedRef } from './queries/store.ts'
import { listTagged, replaceTags } from './queries/tags.ts'
import type { HasTree } from './effects.ts'

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
  readonly layout: Pick<Layout, 'rebuilding'>
  /** As the catalogue has it. */
  readonly hasTree: HasTree
}

/**
 * Rebuilds the database from the manifests on disk, and owes a publication of every tree it touched. Writes everything
 * owed to the manifests first, so on a healthy service it changes nothing. One at a time; uploads go on beside it.
 * @param told  called now and then with how many manifests were read, of how many
 */
export type Rebuild = (viewer: Viewer, told?: (done: number, of: number) => void) => Promise<Rebuilt>

const BATCH = 500

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

/** Counts what was done, for one viewer, and collects the names whose list rows follow. */
function createTally(viewer: Viewer) {
  const isSeen = ({ codename }: Pick<PackageName, 'codename'>): boolean => maySee(viewer, codename)
  const counts = { manifests: 0, added: 0, changed: 0, removed: 0 }
  const names = new Map<FormatId, Set<string>>()
  const broken: { readonly path: string; readonly broken: string }[] = []
  return {
    broken,
    names,
    note({ format, name }: PackageName): void {
      const some = names.get(format) ?? new Set()
      names.set(format, some.add(name))
    },
    read: (of: PackageName): void => void (counts.manifests += Number(isSeen(of))),
    written: ({ manifest: { ref }, row }: Read): void =>
      void (counts[row ? 'changed' : 'added'] += Number(isSeen(ref))),
    removed: (of: PackageName): void => void (counts.removed += Number(isSeen(of))),
    // deb/jammy/hello/1.0_amd64.json
    result: (): Rebuilt => ({
      ...counts,
      broken: broken.filter(({ path }) => maySee(viewer, path.split('/')[1] ?? '')),
    }),
  }
}

/** Whether a rebuild was begun and never finished. */
export const isRebuildUnfinished = (layout: Pick<Layout, 'rebuilding'>): boolean => existsSync(layout.rebuilding)

/** Makes the rebuild of one root. A note on disk lets the next start finish it after a kill. */
export function createRebuild({ db, outbox, manifests, layout, hasTree }: RebuildDeps): Rebuild {
  const lock = createKeyedLock()
  const rows = createRebuildRows({
    db,
    outbox,
    hasTree,
    // in this order: the debt is gone only when the file is there
    isOwed: async (tx, ref) => (await hasWaitingManifest(tx, ref)) || (await manifests.has(ref)),
  })

  /** @param isWhole  whether every file could be read: the rows of damaged ones are kept */
  async function writeTags(lists: readonly TagList[], isWhole: boolean): Promise<void> {
    const named = new Set(lists.map(({ of }) => printName(of)))
    const gone = (await listTagged(db)).filter(of => isWhole && !named.has(printName(of)))
    await db.tx(async tx => {
      for (const { of, tags } of lists) await replaceTags(tx, of, tags)
      for (const of of gone) await replaceTags(tx, of, [])
    })
  }

  async function rebuild(viewer: Viewer, told?: (done: number, of: number) => void): Promise<Rebuilt> {
    await outbox.drain()
    const known = new Map((await listRefs(db)).map(row => [printRef(row), row]))
    const wasEmpty = known.size === 0
    // rows that an interrupted one wrote are the same by now, and their names were never listed
    const isAgain = isRebuildUnfinished(layout)
    const tally = createTally(viewer)
    const lists: TagList[] = []
    let batch: Read[] = []
    const flush = async (): Promise<void> => {
      if (batch.length === 0) return
      if (!isRebuildUnfinished(layout)) await writeAtomic(layout.rebuilding, '')
      const { written, refused } = await rows.write(batch)
      failpoint('rebuild:after-batch')
      for (const read of written) {
        tally.written(read)
        tally.note(read.manifest.ref)
      }
      tally.broken.push(...refused)
      batch = []
    }
    for await (const found of manifests.walk(told)) {
      if ('broken' in found) tally.broken.push(found)
      if ('list' in found) lists.push(found.list)
      if (!('manifest' in found)) continue
      const { manifest, path } = found
      const ref = printRef(manifest.ref)
      const row = known.get(ref)
      known.delete(ref)
      tally.read(manifest.ref)
      if (isAgain) tally.note(manifest.ref)
      if (!isSame(row, manifest)) batch.push({ manifest, path, row })
      if (batch.length >= BATCH) await flush()
    }
    await flush()
    // a row whose manifest exists but cannot be read stays: damage is no decision to delete
    const gone = tally.broken.length > 0 ? [] : [...known.values()]
    for (let from = 0; from < gone.length; from += BATCH)
      for (const row of await rows.remove(gone.slice(from, from + BATCH))) tally.removed(row)
    if (wasEmpty) await db.query('analyze')
    await rows.refresh(tally.names)
    await writeTags(lists, tally.broken.length === 0)
    await rm(layout.rebuilding, { force: true })
    outbox.nudge()
    return tally.result()
  }

  return (viewer, told) => lock.run('', () => rebuild(viewer, told))
}
