import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { decide, findUndoable } from '../../backup/restore.ts'
import { STAGING } from '../../backup/restore-plan.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Jobs } from '../../core/work.ts'
import type { Queryable } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import { answerOf } from '../../work/answer.ts'
import type { backups, BackupView } from './contract.ts'
import { listBackups, removeBackup, type MadeBackup } from './store.ts'
import { connected } from './connected.ts'
import { RESTORE, type RestoreRequest } from './restore-work.ts'
import { BACKUP, DRILL } from './work.ts'

export interface BackupRouteDeps {
  readonly db: Queryable
  readonly jobs: Jobs
  readonly layout: Pick<Layout, 'backups' | 'root'>
  readonly clock: Clock
  readonly box: Pick<SecretBox, 'seal'>
  readonly open: () => Client
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
  'POST /backup/restore': async (deps, { body, who, raw }) => {
    const { file_name } = await viewOf(deps, body.file_name)
    const request: RestoreRequest = {
      file_name,
      ...(body.passphrase === undefined ? {} : { passphrase: deps.box.seal(body.passphrase) }),
    }
    const order = { kind: RESTORE, request: { ...request }, by: who.name, requestId: raw.requestId }
    const { id } = await deps.jobs.ask(order)
    return {
      status: 'accepted',
      job_id: id,
      message: `${file_name} is read and loaded beside what is here. Then the service stops for a moment, and you sign in again.`,
    }
  },
  'POST /backup/restore/undo': async ({ open, layout: { root }, clock }, { who }) => {
    const undoable = (await connected(open, findUndoable)) ?? fail('nothing_to_undo', {})
    const decided_at = clock.now().toISOString()
    await mkdir(join(root, STAGING), { recursive: true, mode: 0o700 })
    await decide(root, { do: 'undo', by: who.name, decided_at, away: undoable.away })
    return {
      status: 'accepted',
      message: 'The service stops for a moment and goes back to what was before. You sign in again.',
    }
  },
  'GET /backup/': async ({ db, open, layout, settings }) => {
    const list = await listBackups(db, layout.backups)
    const undoable = await connected(open, findUndoable)
    return {
      backups: list,
      total: list.length,
      folder: layout.backups,
      encrypts: settings.now().backup.passphrase !== '',
      undo: undoable === undefined ? null : { restored_at: undoable.restored_at, until: undoable.until },
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
