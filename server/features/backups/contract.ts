import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { OrNull, Text, Time } from '../../core/schemas.ts'

/** A backup in the folder. Sizes in bytes, times ISO 8601. */
export interface BackupView {
  readonly file_name: string
  readonly size: number
  readonly created_at: string
  readonly encrypted: boolean
  /** Null where it was put there by hand. */
  readonly packages: number | null
  readonly made_by: string | null
  /** When it was last tried out, and why that failed; null: never, or it did not. */
  readonly proved_at: string | null
  readonly proof_failed: string | null
}

const Backup = Type.Unsafe<BackupView>(
  Type.Object({
    file_name: Text,
    size: Type.Integer(),
    created_at: Time,
    encrypted: Type.Boolean(),
    packages: OrNull(Type.Integer()),
    made_by: OrNull(Text),
    proved_at: OrNull(Time),
    proof_failed: OrNull(Text),
  }),
)
const Accepted = Type.Object({ status: Text, job_id: Text, message: Text })
const FileName = Type.Object({ file_name: Type.String({ minLength: 1, maxLength: 120 }) })

/** Backups of the whole installation. */
export const backups = contract({
  'POST /backup/': {
    summary: 'Makes a backup now: database, settings, keys, audit log, documents and all packages, of one moment.',
    details:
      'It goes on as a job when the caller goes away; a second request meanwhile waits for the same one. With `backup.passphrase` it is encrypted (age) and holds the secrets; without, it holds none in the clear.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    status: 201,
    reply: Type.Intersect([Backup, Type.Object({ status: Text, message: Text })]),
    fails: ['backup_no_room'],
  },
  'GET /backup/': {
    summary: 'Lists backups, newest first.',
    access: 'admin',
    reply: Type.Object({
      backups: Type.Array(Backup),
      total: Type.Integer(),
      folder: Text,
      encrypts: Type.Boolean({ description: 'Whether the next one is encrypted.' }),
      undo: OrNull(
        Type.Object({ restored_at: Time, until: Time }, { description: 'The last restore, while it can be undone.' }),
      ),
    }),
  },
  'POST /backup/restore': {
    summary: 'Restores a backup over what is here.',
    details:
      'It is read and compared with its manifest, and its database is loaded beside the one of now; both go on as a job. Then the service stops for a moment (503 `maintenance` with `Retry-After`; trees are served meanwhile), and what was here is put aside for seven days: `POST /backup/restore/undo` goes back to it. What happens between the request and that moment is put aside, too. Sessions, accounts and keys are those of the backup then.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    status: 202,
    body: Type.Object(
      {
        file_name: Type.String({ minLength: 1, maxLength: 120 }),
        passphrase: Type.Optional(
          Type.String({ maxLength: 1_000, description: 'Of an encrypted one; by default `backup.passphrase`.' }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Accepted,
    fails: ['backup_not_found'],
  },
  'POST /backup/restore/undo': {
    summary: 'Goes back to what was before the last restore. What was done since then is lost.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    status: 202,
    reply: Type.Object({ status: Text, message: Text }),
    fails: ['nothing_to_undo'],
  },
  'GET /backup/{file_name}': {
    summary: 'Downloads a backup.',
    access: 'admin',
    params: FileName,
    reply: 'file',
    types: ['application/gzip', 'application/octet-stream'],
    fails: ['backup_not_found'],
  },
  'DELETE /backup/{file_name}': {
    summary: 'Deletes a backup.',
    access: 'admin',
    params: FileName,
    reply: Type.Object({ status: Text, message: Text }),
    fails: ['backup_not_found'],
  },
  'POST /backup/{file_name}/drill': {
    summary: 'Proves a backup: reads all of it and loads its database beside the one of now, which does not change.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    params: FileName,
    reply: Type.Intersect([Backup, Type.Object({ message: Text })]),
    fails: ['backup_not_found', 'backup_refused'],
  },
})
