import { archiveCut, type Cut } from '../../backup/cut.ts'
import type { Target } from '../../backup/targets/places.ts'
import { sweepTarget } from '../../backup/targets/sweep.ts'
import { writeSnapshot } from '../../backup/targets/snapshot-writer.ts'
import { TargetTrouble } from '../../backup/targets/target-store.ts'
import { AppError, fail, isRefusal } from '../../core/errors.ts'
import type { Run } from '../../core/work.ts'
import type { Audit } from '../../record/audit.ts'
import type { BackupPlace, Outcome } from './contract.ts'
import { look, onTarget, removeBackup, type ReachDeps } from './reached.ts'
import { listBackups, noteBackup, surplusOf, targetsNow, type MadeBackup } from './store.ts'
import { snapshotFileName } from './target-rows.ts'

export interface WriteDeps extends ReachDeps {
  readonly audit: Pick<Audit, 'record'>
}

/** A place that a backup is written to. */
interface Destination {
  readonly place: BackupPlace
  readonly address: string
  /** @returns what was made, and how many bytes that wrote */
  write(cut: Cut, told: (bytes: number) => Promise<void>): Promise<MadeBackup & { readonly written: number }>
  /** Removes what no backup needs any more. */
  tidy(): Promise<void>
}

/** What came of a place, and the error that says why nothing did. */
interface Ended {
  readonly outcome: Outcome
  readonly made?: MadeBackup
  readonly error?: unknown
}

function onto(deps: WriteDeps, target: Target, run: Run<never>): Destination {
  const { signal } = run
  const { passphrase } = deps.settings.now().backup
  const { place, address } = target
  return {
    place,
    address,
    write: (cut, told) =>
      onTarget(deps, target, signal, async store => {
        await look(deps, target, store, signal)
        const { size, written, encrypted } = await writeSnapshot(store, cut, { passphrase, signal, told })
        const { packages, paths } = cut
        const name = snapshotFileName(cut.name, place)
        return { file_name: name, size, packages, files: paths.length, encrypted, written }
      }),
    tidy: () =>
      onTarget(deps, target, signal, async store => {
        const { blobs, bytes } = await sweepTarget(store, passphrase, signal)
        if (blobs > 0)
          await run.step({
            say: [
              { level: 'info', message: `Removed ${blobs} files that no backup on ${address} needs, ${bytes} bytes.` },
            ],
          })
      }),
  }
}

function intoFolder({ layout, settings }: WriteDeps, { signal }: Run<never>): Destination {
  const { passphrase } = settings.now().backup
  return {
    place: 'folder',
    address: layout.backups,
    write: async (cut, told) => {
      const archive = await archiveCut(cut, layout, { passphrase, signal, told })
      const { packages, paths } = cut
      return { ...archive, packages, files: paths.length, encrypted: passphrase !== '', written: archive.size }
    },
    tidy: () => Promise.resolve(),
  }
}

/** The places that the settings name. @throws backup_nowhere */
export function destinations(deps: WriteDeps, run: Run<never>): readonly Destination[] {
  const all = targetsNow(deps).map(target => onto(deps, target, run))
  if (deps.settings.now().backup.to_folder) all.unshift(intoFolder(deps, run))
  return all.length === 0 ? fail('backup_nowhere', {}) : all
}

/** Why nothing came of a place, in words. */
function reasonOf(error: unknown): AppError {
  if (isRefusal(error)) return error
  if (error instanceof TargetTrouble) return new AppError('backup_target_failed', { why: error.message })
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return new AppError('storage_full', {})
  return new AppError('backup_target_failed', {
    why: error instanceof Error ? error.message.slice(0, 300) : 'It broke.',
  })
}

/** Removes backups of a place that are too many, and what only they needed. Trouble with that is told, no more. */
async function retain(deps: WriteDeps, to: Destination, run: Run<never>): Promise<void> {
  const { retention_count: count, retention_days: days } = deps.settings.now().backup
  try {
    const all = (await listBackups(deps)).filter(({ place }) => place === to.place)
    for (const one of surplusOf(all, { count, days, now: deps.clock.now() })) {
      await removeBackup(deps, one, run.signal)
      await run.step({ say: [{ level: 'info', message: `Removed ${one.file_name}: newer ones are kept.` }] })
    }
    await to.tidy()
  } catch (error) {
    run.signal.throwIfAborted()
    const { message } = reasonOf(error)
    await run.step({
      say: [{ level: 'warning', message: `Old backups were not removed from ${to.address}: ${message}` }],
    })
  }
}

/** Writes a cut to one place. What goes wrong there is its outcome. @throws the reason of the run's signal */
export async function writeTo(
  deps: WriteDeps,
  to: Destination,
  { cut, run, told }: { readonly cut: Cut; readonly run: Run<never>; readonly told: (bytes: number) => Promise<void> },
): Promise<Ended> {
  const { db, audit } = deps
  const { place, address } = to
  try {
    const { written, ...made } = await to.write(cut, told)
    await noteBackup(db, made, { by: run.by, place })
    await audit.record({
      action: 'BACKUP_CREATE',
      result: 'SUCCESS',
      user: run.by,
      facts: { kind: 'backup.made', ...made },
    })
    await retain(deps, to, run)
    return { made, outcome: { place, address, file_name: made.file_name, written, failed: null } }
  } catch (error) {
    run.signal.throwIfAborted()
    const reason = reasonOf(error)
    const failed = reason.message
    await audit.record({
      action: 'BACKUP_CREATE',
      result: 'FAILURE',
      user: run.by,
      facts: { kind: 'backup.failed', why: failed },
    })
    await run.step({ say: [{ level: 'error', message: `Nothing was written to ${address}: ${failed}` }] })
    return {
      error: isRefusal(error) ? error : Object.assign(reason, { cause: error }),
      outcome: { place, address, file_name: null, written: 0, failed },
    }
  }
}
