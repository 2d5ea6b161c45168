import { archiveSource, type BackupSource } from '../../backup/source.ts'
import { claimTarget } from '../../backup/targets/marker.ts'
import { withTarget, type Target } from '../../backup/targets/places.ts'
import { snapshotSource } from '../../backup/targets/snapshot-reader.ts'
import { TargetTrouble, type TargetStore } from '../../backup/targets/target-store.ts'
import { listSnapshots } from '../../backup/targets/vault.ts'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import { findOnMedium, reading, type FoundOnMedium } from '../../machine/media.ts'
import type { Clock } from '../../lib/clock.ts'
import type { BackupView } from './contract.ts'
import { forgetBackup, listBackups, momentOf, targetsNow, type BackupPlaces } from './store.ts'
import { installationId, isMarked, noteFound, noteMarked, noteTried } from './target-rows.ts'

export interface ReachDeps extends BackupPlaces {
  readonly clock: Clock
}

/** One that is listed: other paths are never looked at. @throws backup_not_found */
export async function findBackup(deps: BackupPlaces, fileName: string): Promise<BackupView> {
  const all = await listBackups(deps)
  return all.find(one => one.file_name === fileName) ?? fail('backup_not_found', { file_name: fileName })
}

/**
 * Uses a target that is there and this installation's, and notes how that went.
 * @throws TargetTrouble, and what `work` throws
 */
export async function onTarget<T>(
  { db, clock }: ReachDeps,
  target: Target,
  signal: AbortSignal,
  work: (store: TargetStore) => Promise<T>,
): Promise<T> {
  try {
    const result = await withTarget(target, async store => {
      const [installation, isKnown] = await Promise.all([installationId(db), isMarked(db, target)])
      await claimTarget(store, { installation, isKnown, now: clock.now() }, signal)
      await noteMarked(db, target, clock.now())
      return work(store)
    })
    await noteTried(db, target, { at: clock.now(), trouble: undefined })
    return result
  } catch (error) {
    if (!signal.aborted && error instanceof TargetTrouble)
      await noteTried(db, target, { at: clock.now(), trouble: error.message })
    throw error
  }
}

/** Makes the list say what lies on a target. */
export async function look(
  { db }: ReachDeps,
  target: Target,
  store: TargetStore,
  signal: AbortSignal,
): Promise<number> {
  const found = await listSnapshots(store, signal)
  await noteFound(
    db,
    target.place,
    found.map(({ name, vault }) => ({ name, vault, createdAt: momentOf(name) })),
  )
  return found.length
}

/** The file of a backup on a stick. @throws as `findOnMedium` */
export function onStick({ mediaFolder }: BackupPlaces, { file_name, address }: BackupView): Promise<FoundOnMedium> {
  const medium = file_name.slice(file_name.indexOf('@') + 1)
  return findOnMedium(mediaFolder, { medium, path: address.slice(address.indexOf(':/') + 2) })
}

/** The target that a backup lies on. @throws backup_not_found where the settings no longer name it */
function targetOf(deps: BackupPlaces, { file_name, place, address }: BackupView): Target {
  const target = targetsNow(deps).find(one => one.place === place && one.address === address)
  return target ?? fail('backup_not_found', { file_name })
}

const nameOf = (fileName: string): string => fileName.split('@')[0] ?? ''

/** What troubles a target is told as an error of the API. */
export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TargetTrouble) return fail('backup_target_failed', { why: error.message }, error)
    throw error
  }
}

/**
 * Reads a backup from where it lies.
 * @param heals  read on behind a blob of a target that is damaged, and remove it at the end: the next backup writes it
 * again
 * @throws backup_not_found, TargetTrouble, and what `work` throws
 */
export async function withSource<T>(
  deps: ReachDeps,
  fileName: string,
  { signal, heals }: { readonly signal: AbortSignal; readonly heals: boolean },
  work: (source: BackupSource) => Promise<T>,
): Promise<T> {
  const view = await findBackup(deps, fileName)
  if (view.place === 'folder') return work(archiveSource(join(deps.layout.backups, view.file_name)))
  if (view.place === 'medium') {
    const { real, medium } = await onStick(deps, view)
    return reading(medium, real.slice(medium.path.length + 1), () => work(archiveSource(real)))
  }
  return onTarget(deps, targetOf(deps, view), signal, async store => {
    const damaged = new Set<string>()
    try {
      return await work(snapshotSource(store, nameOf(fileName), heals ? { onDamaged: key => damaged.add(key) } : {}))
    } finally {
      for (const key of damaged) await store.remove(key, signal).catch(() => undefined) // why it was read matters more
    }
  })
}

/** Removes a backup from where it lies. @throws TargetTrouble, backup_on_medium; then it is still listed */
export async function removeBackup(deps: ReachDeps, view: BackupView, signal: AbortSignal): Promise<void> {
  const { db, layout } = deps
  if (view.place === 'medium') fail('backup_on_medium', { file_name: view.file_name })
  if (view.place === 'folder') await rm(join(layout.backups, view.file_name), { force: true })
  else
    await onTarget(deps, targetOf(deps, view), signal, async store => {
      const all = await listSnapshots(store, signal)
      for (const { key, name } of all) if (name === nameOf(view.file_name)) await store.remove(key, signal)
      await store.settle()
    })
  await forgetBackup(db, view.file_name)
}
