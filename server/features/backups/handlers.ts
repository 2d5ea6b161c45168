import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { BadArchive } from '../../backup/archive-reader.ts'
import { previewBackup } from '../../backup/preview.ts'
import { decideUndo, undoableOf } from '../../backup/restore.ts'
import { awayAmong, LIST_SCHEMAS } from '../../backup/restore-database.ts'
import { isRestoreDecided } from '../../backup/restore-plan.ts'
import { tryStore } from '../../backup/targets/marker.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { connected } from '../../db/connected.ts'
import type { Jobs } from '../../core/work.ts'
import { reading } from '../../machine/media.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { Audit } from '../../record/audit.ts'
import { answerOf } from '../../work/answer.ts'
import type { backups } from './contract.ts'
import { findBackup, look, onStick, onTarget, removeBackup, told, withSource, type ReachDeps } from './reached.ts'
import { RESTORE, type RestoreRequest } from './restore-work.ts'
import { findOpenRestore, listBackups, targetsNow } from './store.ts'
import { listTargets } from './target-rows.ts'
import { BACKUP, DRILL, type MadeEverywhere } from './work.ts'

export interface BackupRouteDeps extends ReachDeps {
  readonly jobs: Jobs
  readonly box: Pick<SecretBox, 'seal'>
  readonly open: () => Client
  readonly audit: Pick<Audit, 'record'>
  readonly isEnterprise: () => boolean
}

/** What there is to say of a new backup. */
function messageOf({ file_name: name, packages, encrypted, places }: MadeEverywhere): string {
  const what = encrypted
    ? `${name} has ${packages} packages and the secrets, encrypted with the passphrase.`
    : `${name} has ${packages} packages. It is not encrypted, so no secrets are in it: to restore it on another machine, keep SETTINGS_ENCRYPTION_KEY or the folder .secrets elsewhere.`
  const more = places.filter(one => one.file_name !== null && one.file_name !== name)
  const failed = places.filter(one => one.failed !== null)
  return [
    what,
    ...more.map(one => `It is on ${one.address}, too.`),
    ...failed.map(one => `Nothing was written to ${one.address}: ${one.failed}`),
  ].join(' ')
}

/**
 * @param same  the archive that is asked for once more with the same passphrase: that request joins the first
 * @throws restore_under_way
 */
async function refuseSecond({ db, layout: { root } }: BackupRouteDeps, same?: string): Promise<void> {
  const open = await findOpenRestore(db)
  const isSame = open !== undefined && open.file_name === same && !open.has_passphrase
  if (isRestoreDecided(root) || (open !== undefined && !isSame)) fail('restore_under_way', {})
}

/** What the settings of a target are called. */
const SETTINGS_OF = { directory: 'backup.directory', s3: 'backup.s3_endpoint and backup.s3_bucket' } as const

export const backupHandlers: Handlers<typeof backups, BackupRouteDeps> = {
  'POST /backup/': async (deps, { who, raw }) => {
    const order = { kind: BACKUP, request: {}, by: who.name, requestId: raw.requestId }
    const made = await answerOf<MadeEverywhere>(deps.jobs, order, raw.signal)
    const view = await findBackup(deps, made.file_name)
    const isPartial = made.places.some(({ failed }) => failed !== null)
    return {
      ...view,
      status: isPartial ? 'partial' : 'created',
      message: messageOf(made),
      places: [...made.places],
    }
  },
  'POST /backup/restore': async (deps, { body, who, raw }) => {
    const { file_name } = await findBackup(deps, body.file_name)
    await refuseSecond(deps, body.passphrase === undefined ? file_name : undefined)
    const request: RestoreRequest = {
      file_name,
      ...(body.passphrase === undefined ? {} : { passphrase: deps.box.seal(body.passphrase) }),
    }
    const order = { kind: RESTORE, request: { ...request }, by: who.name, requestId: raw.requestId }
    const { id } = await deps.jobs.ask(order)
    return {
      status: 'accepted',
      job_id: id,
      message: `${file_name} is read and loaded beside what is here. Then the service stops for a moment. Then everybody has to sign in again, with the passwords of the backup.`,
    }
  },
  'POST /backup/restore/undo': async (deps, { who }) => {
    const { open, clock } = deps
    const { root } = deps.layout
    await refuseSecond(deps)
    const order = { by: who.name, at: clock.now() }
    if (!(await connected(open, client => decideUndo(root, client, order)))) fail('nothing_to_undo', {})
    return {
      status: 'accepted',
      message: 'The service stops for a moment and goes back to what was before. Then everybody has to sign in again.',
    }
  },
  'GET /backup/': async deps => {
    const { db, layout, settings } = deps
    const [list, targets, undoable] = await Promise.all([
      listBackups(deps),
      listTargets(db, targetsNow(deps)),
      db.query<{ name: string }>(LIST_SCHEMAS).then(rows => undoableOf(awayAmong(rows))),
    ])
    const { passphrase, to_folder } = settings.now().backup
    return {
      backups: list,
      total: list.length,
      targets,
      folder: layout.backups,
      to_folder,
      encrypts: passphrase !== '',
      undo: undoable === undefined ? null : { restored_at: undoable.restored_at, until: undoable.until },
    }
  },
  'GET /backup/{file_name}': async (deps, { params }) => {
    const view = await findBackup(deps, params.file_name)
    const { file_name: name, place, address, size, encrypted } = view
    const type = encrypted ? 'application/octet-stream' : 'application/gzip'
    if (view.place === 'medium') {
      const { real, medium } = await onStick(deps, view)
      const file = await reading(medium, name, () => open(real))
      return { body: file.createReadStream(), type, name: name.split('@')[0] ?? name, size: size ?? 0 }
    }
    if (place !== 'folder') {
      const command = `npm run restore -- ${address}/${name.split('@')[0]}`
      return fail('backup_in_pieces', { file_name: name, address, command })
    }
    return {
      body: createReadStream(join(deps.layout.backups, name)),
      type,
      name,
      size: size ?? 0,
    }
  },
  'DELETE /backup/{file_name}': async (deps, { params, who, raw }) => {
    const view = await findBackup(deps, params.file_name)
    const { file_name: name } = view
    await told(() => removeBackup(deps, view, raw.signal))
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
    const { file_name: name } = await findBackup(deps, params.file_name)
    const order = { kind: DRILL, target: name, request: { file_name: name }, by: who.name, requestId: raw.requestId }
    const { packages } = await answerOf<{ packages: number }>(deps.jobs, order, raw.signal)
    return {
      ...(await findBackup(deps, name)),
      message: `${name} was read to its end and its ${packages} packages were loaded beside the database of now. It can be restored.`,
    }
  },
  'POST /backup/{file_name}/preview': async (deps, { params, body, raw: { signal } }) => {
    const passphrase = body.passphrase ?? deps.settings.now().backup.passphrase
    const here = { ...deps, root: deps.layout.root }
    try {
      return await told(() =>
        withSource(deps, params.file_name, { signal, heals: false }, async source => {
          const { parts, notes, ...rest } = await previewBackup(here, source, { passphrase, signal })
          return { ...rest, parts: [...parts], notes: [...notes] }
        }),
      )
    } catch (error) {
      if (error instanceof BadArchive) return fail('backup_refused', { why: error.message }, error)
      throw error
    }
  },
  'POST /backup/targets/{place}/try': async (deps, { params, raw }) => {
    const { signal } = raw
    const target = targetsNow(deps).find(({ place }) => place === params.place)
    if (target === undefined)
      return fail('backup_no_target', { place: params.place, settings: SETTINGS_OF[params.place] })
    const found = await told(() =>
      onTarget(deps, target, signal, async store => {
        await tryStore(store, signal)
        return look(deps, target, store, signal)
      }),
    )
    const [view] = await listTargets(deps.db, [target])
    return {
      ...(view ?? fail('backup_no_target', { place: params.place, settings: SETTINGS_OF[params.place] })),
      backups: found,
      message: `${target.address} can be written, read and listed. ${found} backups are there.`,
    }
  },
}
