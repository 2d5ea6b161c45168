import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import { openClient, type DatabaseAddress, type Db } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import { dailyAt } from '../../settings/daily.ts'
import type { Licensing } from '../../settings/licensing.ts'
import type { Keyring } from '../../signing/signer.ts'
import { BACKUP_PLACES, backups } from './contract.ts'
import { backupHandlers, type BackupRouteDeps } from './handlers.ts'
import { listBackups } from './store.ts'
import { restoreWork, type RestoreWorkDeps } from './restore-work.ts'
import type { VerifierDeps } from '../../publish/audit-trees.ts'
import { verifyWork } from './verify-work.ts'
import { BACKUP, backupWork, DRILL, drillWork } from './work.ts'

export interface BackupNeeds
  extends
    Omit<RestoreWorkDeps, 'open' | 'signer' | 'box' | 'isEnterprise'>,
    Pick<BackupRouteDeps, 'audit'>,
    Omit<VerifierDeps, 'formats'> {
  readonly box: SecretBox
  readonly db: Db
  readonly worker: Jobs
  readonly licensing: Pick<Licensing, 'allowed'>
  readonly databaseAddress: DatabaseAddress
  readonly keyring: Pick<Keyring, 'keys' | 'signer'>
}

/** Backups, made by hand and by the clock, and their proofs. */
export function composeBackups({ worker, databaseAddress, keyring, licensing, ...needs }: BackupNeeds): Feature {
  const { settings } = needs
  const deps: RestoreWorkDeps = {
    ...needs,
    isEnterprise: () => licensing.allowed() !== 'nothing',
    open: () => openClient(databaseAddress, { queryTimeoutMs: Infinity }),
    signer: async () => ((await keyring.keys()).length === 0 ? undefined : keyring.signer()),
  }
  const ask = (kind: string, request: Readonly<Record<string, unknown>>): Promise<unknown> =>
    worker.ask({ kind, request, by: 'system' })
  return {
    routes: bind(backups, backupHandlers, { ...deps, box: needs.box, jobs: worker }),
    work: [
      backupWork(deps) as WorkKind,
      drillWork(deps) as WorkKind,
      restoreWork(deps) as WorkKind,
      verifyWork({ ...needs, keyring, formats: getFormat }) as WorkKind,
    ],
    jobs: [
      {
        id: 'backup',
        name: 'Make a backup',
        when: () => dailyAt(settings.now().backup),
        daily: true,
        work: { kind: BACKUP, request: {} },
        run: () => ask(BACKUP, {}),
      },
      {
        id: 'backup-drill',
        name: 'Prove the newest backup of each place by restoring it in a scratch place',
        // an hour after the backup of the night
        when: () => {
          const { drill_weekly: isWanted, hour, minute } = settings.now().backup
          return isWanted ? `${minute} ${(hour + 1) % 24} * * 0` : undefined
        },
        daily: true,
        run: async () => {
          const all = await listBackups(deps)
          const newest = BACKUP_PLACES.map(place => all.find(one => one.place === place))
          for (const one of newest) if (one !== undefined) await ask(DRILL, { file_name: one.file_name })
        },
      },
    ],
  }
}
