import { join } from 'node:path'
import { BadArchive } from '../../backup/archive-reader.ts'
import { sweepCuts, withCut, type CutDeps, type CutOptions } from '../../backup/cut.ts'
import { rehearse, sweepRestores } from '../../backup/restore.ts'
import { fail } from '../../core/errors.ts'
import type { WorkKind } from '../../core/work.ts'
import { connected } from '../../db/connected.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import type { Outcome } from './contract.ts'
import { told, withSource } from './reached.ts'
import { listBackups, noteProof, type MadeBackup } from './store.ts'
import { destinations, writeTo } from './write.ts'

export const BACKUP = 'backup'
export const DRILL = 'backup-drill'

export interface BackupWorkDeps extends CutDeps {
  readonly db: Db
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'record'>
  /** MEDIA_FOLDER: where sticks are mounted. */
  readonly mediaFolder?: string | undefined
}

/** A backup and what came of each place. */
export interface MadeEverywhere extends MadeBackup {
  readonly places: readonly Outcome[]
}

/**
 * A backup of one moment in each place that the settings name, and the removal of those that are too many. A place that
 * fails does not lose the others. A run that was cut short begins again.
 */
export const backupWork = (deps: BackupWorkDeps): WorkKind<unknown, never, MadeEverywhere> => ({
  kind: BACKUP,
  name: 'Make a backup',
  see: 'admin',
  cancel: 'admin',
  run: async run => {
    const { layout, clock, settings } = deps
    await sweepCuts(layout)
    const places = destinations(deps, run)
    const options: CutOptions = {
      hasSecrets: settings.now().backup.passphrase !== '',
      taken: (await listBackups(deps)).map(one => one.file_name),
      signal: run.signal,
    }
    const ends = await withCut(deps, options, async cut => {
      const ended = []
      const totalBytes = cut.sizeBytes * places.length
      for (const [n, to] of places.entries()) {
        const told = (bytes: number): Promise<void> => run.step({ bytes: n * cut.sizeBytes + bytes, totalBytes })
        ended.push(await writeTo(deps, to, { cut, run, told }))
      }
      return ended
    })
    const made = ends.find(end => end.made !== undefined)?.made
    if (made === undefined) throw ends[0]?.error
    await connected(deps.open, client => sweepRestores(layout.root, client, clock.now()))
    return { ...made, places: ends.map(({ outcome }) => outcome) }
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
  run: (run, { file_name: fileName }) =>
    told(async () => {
      const { db, settings, layout, clock, open } = deps
      const { signal } = run
      try {
        const { packages, files } = await withSource(deps, fileName, { signal, heals: true }, source =>
          connected(open, client =>
            rehearse({
              source,
              passphrase: settings.now().backup.passphrase,
              client,
              root: layout.root,
              scratch: join(layout.backups, '.cut-drill'),
              signal,
            }),
          ),
        )
        await noteProof(db, { fileName, packages, files, at: clock.now(), failed: undefined })
        return { packages }
      } catch (error) {
        if (!(error instanceof BadArchive)) throw error
        await noteProof(db, { fileName, packages: 0, files: 0, at: clock.now(), failed: error.message })
        return fail('backup_refused', { why: error.message }, error)
      }
    }),
})
