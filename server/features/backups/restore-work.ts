import { BadArchive } from '../../backup/archive-reader.ts'
import { printSigned } from '../../backup/archive-signature.ts'
import { slowly } from '../../backup/cut.ts'
import { decide, stageBackup } from '../../backup/restore.ts'
import type { RestoredBackup } from '../../backup/restore-plan.ts'
import type { BackupSource } from '../../backup/source.ts'
import { fail } from '../../core/errors.ts'
import { connected } from '../../db/connected.ts'
import type { WorkKind } from '../../core/work.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import { findBackup, told, withSource } from './reached.ts'
import type { BackupWorkDeps } from './work.ts'

export const RESTORE = 'restore'

export interface RestoreRequest {
  readonly file_name: string
  /** Sealed; absent: that of the settings. */
  readonly passphrase?: string
}

export interface RestoreWorkDeps extends BackupWorkDeps {
  readonly box: Pick<SecretBox, 'open'>
  /** SETTINGS_ENCRYPTION_KEY, where it is set. */
  readonly settingsKey: string | undefined
}

/**
 * Prepares a restore while the service goes on, and decides it: the service then stops in order, and does it when it
 * starts again. A run that was cut short begins again.
 */
export const restoreWork = (deps: RestoreWorkDeps): WorkKind<RestoreRequest, never, RestoredBackup> => ({
  kind: RESTORE,
  name: 'Restore a backup',
  see: 'admin',
  cancel: 'admin',
  run: async (run, { file_name: fileName, passphrase }) => {
    const { settings, layout, box, open, settingsKey } = deps
    const say = (message: string): Promise<void> => run.step({ say: [{ level: 'info', message }] })
    try {
      const { place, address } = await findBackup(deps, fileName)
      const key = passphrase === undefined ? settings.now().backup.passphrase : box.open(passphrase).toString()
      const from = { signal: run.signal, heals: false }
      const prepare = (source: BackupSource) =>
        connected(open, async client => {
          const telling = slowly((bytes, totalBytes) => run.step({ bytes, totalBytes }), await source.sizeBytes(key))
          const { backup, ...rest } = await stageBackup({
            root: layout.root,
            source,
            passphrase: key,
            settingsKey,
            client,
            signal: run.signal,
            say,
            told: telling.tell,
          })
          await telling.end()
          await say(printSigned(backup.signed))
          if (backup.without_file > 0)
            await run.step({
              say: [{ level: 'warning', message: `${backup.without_file} packages have no file in the backup.` }],
            })
          await say('Everything is read and loaded. The service stops for a moment and goes on with it.')
          await decide(layout.root, {
            do: 'restore',
            by: run.by,
            decided_at: deps.clock.now().toISOString(),
            backup: { ...backup, ...(place === 'medium' ? { from: address } : {}) },
            ...rest,
          })
          return backup
        })
      return await told(() => withSource(deps, fileName, from, prepare))
    } catch (error) {
      if (run.signal.aborted) throw error
      if (error instanceof BadArchive) fail('backup_refused', { why: error.message }, error)
      throw error
    }
  },
})
