import { readdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Distribution } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import { listFiles } from '../lib/list-files.ts'
import type { Maker } from './maker.ts'
import { hasEveryIndex } from './tree-parts.ts'
import { isLiveTreeIntact, listTorn } from './live-tree.ts'
import { listGenerations, liveGeneration, readStates } from './prune.ts'
import { readState, stateFile, type GenerationState } from './state.ts'
import { markAllDirty, wasPublished, pathsWithheld } from './store.ts'

export interface RepairDeps {
  readonly db: Db
  readonly layout: Layout
  readonly maker: Pick<Maker, 'filesOf' | 'forget' | 'forgetLost' | 'writerOf'>
}

/**
 * Removes what a crash left of one distribution and checks its live tree.
 * @param of.isForeign  the tree is of another database: a backup was restored
 * @returns true when the tree is to be built again
 */
export function createRepair({
  db,
  layout,
  maker,
}: RepairDeps): (distribution: Distribution, of: { readonly isForeign: boolean }) => Promise<boolean> {
  /** Removes links of publications that never happened or were interrupted. */
  async function unlinkUnnamed(distribution: Distribution, live: GenerationState | undefined): Promise<void> {
    const kept = await readStates(layout, distribution.codename)
    const files = (
      await Promise.all(
        [...kept, ...(live === undefined ? [] : [live])].map(state => maker.filesOf(distribution, state.pieces)),
      )
    ).flat()
    const named = new Set([...files, ...(live?.graves ?? [])].map(file => file.path))
    const withheld = await pathsWithheld(db, distribution.codename, files)
    const top = layout.publishedFolder(distribution.codename)
    for (const path of await listFiles(top)) {
      const name = relative(top, path)
      if (!named.has(name) || withheld.has(name)) await rm(path, { force: true })
    }
  }

  return async (distribution, { isForeign }) => {
    const { codename } = distribution
    const live = await liveGeneration(layout, codename)
    for (const n of await listGenerations(layout, codename)) {
      // built, and never switched to
      if (n > (live ?? 0)) await rm(layout.generation(codename, n), { recursive: true, force: true })
      if (n > (live ?? 0)) await rm(stateFile(layout, codename, n), { force: true })
    }
    const folder = join(layout.trees, codename)
    for (const name of await readdir(folder).catch(() => []))
      if (name.endsWith('.part')) await rm(join(folder, name), { recursive: true, force: true })
    await maker.forgetLost(codename)
    const state = live === undefined ? undefined : await readState(layout, codename, live)
    // with the state lost, the rebuild below links everything again
    await unlinkUnnamed(distribution, state)
    if (live === undefined && !(await wasPublished(db, codename))) return false
    if (isForeign) {
      // the tree goes on being served until the one of this database takes its place
      maker.forget(codename)
      await markAllDirty(db, codename)
      return true
    }
    // the next publication adds and removes indexes
    if (live !== undefined && state !== undefined && (await isLiveTreeIntact(layout, codename, state)))
      return !hasEveryIndex(maker.writerOf(distribution), distribution, state.pieces)
    // a link to one would stay: the tree that is built again has the same digests
    for (const path of await listTorn(layout, codename)) await rm(path, { force: true })
    // no link: this was restored from a backup without trees
    if (live !== undefined) await rm(stateFile(layout, codename, live), { force: true })
    maker.forget(codename)
    await markAllDirty(db, codename)
    return true
  }
}
