import { join } from 'node:path'
import { BadArchive } from '../../backup/archive-reader.ts'
import { archiveCut, sweepCuts, withCut, type CutDeps } from '../../backup/cut.ts'
import { discardStaged, forgetBefore, rehearse } from '../../backup/restore.ts'
import { archiveSource } from '../../backup/source.ts'
import { fail } from '../../core/errors.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import { connected } from './connected.ts'
import {
  isRestoreAsked,
  listBackups,
  noteBackup,
  noteProof,
  removeBackup,
  surplusOf,
  type MadeBackup,
} from './store.ts'

export const BACKUP = 'backup'
export const DRILL = 'backup-drill'

export interface BackupWorkDeps extends CutDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'record'>
}

/** A backup, and the removal of those that are too many. A run that was cut short begins again. */
export const backupWork = (deps: BackupWorkDeps): WorkKind<unknown, never, MadeBackup> => ({
  kind: BACKUP,
  name: 'Make a backup',
  see: 'admin',
  cancel: 'admin',
  run: async run => {
    const { db, settings, audit, layout, clock } = deps
    await sweepCuts(layout)
    const { passphrase, retention_count: count, retention_days: days } = settings.now().backup
    try {
      const { signal } = run
      const encrypted = passphrase !== ''
      const made = await withCut(
        deps,
        { hasSecrets: encrypted, taken: [], signal },
        async (cut): Promise<MadeBackup> => {
          const archive = await archiveCut(cut, layout, {
            passphrase,
            signal,
            told: (bytes, totalBytes) => run.step({ bytes, totalBytes }),
          })
          return { ...archive, packages: cut.packages, files: cut.paths.length, encrypted }
        },
      )
      await noteBackup(db, made, run.by)
      await audit.record({
        action: 'BACKUP_CREATE',
        result: 'SUCCESS',
        user: run.by,
        facts: { kind: 'backup.made', ...made },
      })
      for (const one of surplusOf(await listBackups(db, layout.backups), { count, days, now: clock.now() })) {
        await removeBackup(db, layout.backups, one.file_name)
        await run.step({ say: [{ level: 'info', message: `Removed ${one.file_name}: newer ones are kept.` }] })
      }
      await connected(deps.open, async client => {
        await forgetBefore(layout.root, client, clock.now())
        if (!(await isRestoreAsked(db))) await discardStaged(layout.root, client)
      })
      return made
    } catch (error) {
      if (run.signal.aborted) throw error
      const why = error instanceof Error ? error.message.slice(0, 300) : 'it broke'
      await audit.record({
        action: 'BACKUP_CREATE',
        result: 'FAILURE',
        user: run.by,
        facts: { kind: 'backup.failed', why },
      })
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') fail('storage_full', {}, error)
      throw error
    }
  },
})

/** Proves one backup. */
export const drillWork = (
  deps: BackupWorkDeps,
): WorkKind<{ readonly file_name: string }, never, { readonly packages: number }> => ({
  kind: DRILL,
  name: 'Prove a backup by restoring it in a scratch place',
  see: 'admin',
  cancel: 'admin',
  run: async (run, { file_name: fileName }) => {
    const { db, settings, layout, clock, open } = deps
    try {
      const { packages, files } = await connected(open, client =>
        rehearse({
          source: archiveSource(join(layout.backups, fileName)),
          passphrase: settings.now().backup.passphrase,
          client,
          root: layout.root,
          scratch: join(layout.backups, '.cut-drill'),
          signal: run.signal,
        }),
      )
      await noteProof(db, { fileName, packages, files, at: clock.now(), failed: undefined })
      return { packages }
    } catch (error) {
      if (!(error instanceof BadArchive)) throw error
      await noteProof(db, { fileName, packages: 0, files: 0, at: clock.now(), failed: error.message })
      return fail('backup_refused', { why: error.message }, error)
    }
  },
})
