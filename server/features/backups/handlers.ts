import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Jobs } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import { answerOf } from '../../work/answer.ts'
import type { backups, BackupView } from './contract.ts'
import { listBackups, removeBackup, type MadeBackup } from './store.ts'
import { BACKUP, DRILL } from './work.ts'

export interface BackupRouteDeps {
  readonly db: Queryable
  readonly jobs: Jobs
  readonly layout: Pick<Layout, 'backups'>
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'record'>
}

/** One of the folder: other paths are never looked at. @throws backup_not_found */
async function viewOf({ db, layout }: BackupRouteDeps, fileName: string): Promise<BackupView> {
  const all = await listBackups(db, layout.backups)
  return all.find(one => one.file_name === fileName) ?? fail('backup_not_found', { file_name: fileName })
}

export const backupHandlers: Handlers<typeof backups, BackupRouteDeps> = {
  'POST /backup/': async (deps, { who, raw }) => {
    const order = { kind: BACKUP, request: {}, by: who.name, requestId: raw.requestId }
    const made = await answerOf<MadeBackup>(deps.jobs, order, raw.signal)
    const view = await viewOf(deps, made.file_name)
    return {
      ...view,
      status: 'created',
      message: made.encrypted
        ? `${made.file_name} has ${made.packages} packages and the secrets, encrypted with the passphrase.`
        : `${made.file_name} has ${made.packages} packages. It is not encrypted, so no secrets are in it: to restore it on another machine, keep SETTINGS_ENCRYPTION_KEY or the folder .secrets elsewhere.`,
    }
  },
  'GET /backup/': async ({ db, layout, settings }) => {
    const list = await listBackups(db, layout.backups)
    return {
      backups: list,
      total: list.length,
      folder: layout.backups,
      encrypts: settings.now().backup.passphrase !== '',
    }
  },
  'GET /backup/{file_name}': async (deps, { params }) => {
    const { file_name: name, size, encrypted } = await viewOf(deps, params.file_name)
    return {
      body: createReadStream(join(deps.layout.backups, name)),
      type: encrypted ? 'application/octet-stream' : 'application/gzip',
      name,
      size,
    }
  },
  'DELETE /backup/{file_name}': async (deps, { params, who, raw }) => {
    const { file_name: name } = await viewOf(deps, params.file_name)
    await removeBackup(deps.db, deps.layout.backups, name)
    await deps.audit.record({
      action: 'BACKUP_DELETE',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'backup.deleted', file_name: name },
    })
    return { status: 'deleted', message: `${name} is deleted.` }
  },
  'POST /backup/{file_name}/drill': async (deps, { params, who, raw }) => {
    const { file_name: name } = await viewOf(deps, params.file_name)
    const order = { kind: DRILL, target: name, request: { file_name: name }, by: who.name, requestId: raw.requestId }
    const { packages } = await answerOf<{ packages: number }>(deps.jobs, order, raw.signal)
    return {
      ...(await viewOf(deps, name)),
      message: `${name} was read to its end and its ${packages} packages were loaded beside the database of now. It can be restored.`,
    }
  },
}
