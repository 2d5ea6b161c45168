import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { COUNTED, type Counted } from '../../backup/preview.ts'
import { PLACES, type Place } from '../../backup/targets/places.ts'
import { MEDIUM_FAILS } from '../../machine/protocol.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'

/** A backup. Sizes in bytes, times ISO 8601. */
export interface BackupView {
  /** Of an archive its name; elsewhere with the place, of a stick its id: `gatehouse_backup_20261123_043000@s3`. */
  readonly file_name: string
  /** Where it lies: `folder`, on a target, or on a stick. */
  readonly place: AnyPlace
  /** The folder, the directory, the address of the bucket, or the label of the stick with the path on it. */
  readonly address: string
  /** Of all that is in it: on a target, files that several have lie once. Null where nobody has read it yet. */
  readonly size: number | null
  readonly created_at: string
  readonly encrypted: boolean
  /** Null where it was put there by hand. */
  readonly packages: number | null
  readonly made_by: string | null
  /** When it was last tried out, and why that failed; null: never, or it did not. */
  readonly proved_at: string | null
  readonly proof_failed: string | null
}

/** How a target answered. Times are ISO 8601. */
export interface TargetView {
  readonly place: Place
  readonly address: string
  /** When it was last written to or tried; null: never. */
  readonly tried_at: string | null
  /** When that last went well, and why it did not the last time. */
  readonly done_at: string | null
  readonly trouble: string | null
  /** What speaks against it though it works. */
  readonly warning: string | null
}

/** What came of a backup in one place. */
export interface Outcome {
  readonly place: BackupPlace
  readonly address: string
  /** Null where it failed. */
  readonly file_name: string | null
  /** Bytes that were written: on a target, those that it did not have. */
  readonly written: number
  /** Why there is none. */
  readonly failed: string | null
}

/** Places of backups that are made: the folder of archives, and the targets. */
export const BACKUP_PLACES = ['folder', ...PLACES] as const
export type BackupPlace = (typeof BACKUP_PLACES)[number]
/** And those that are only read: a stick in the machine. */
export type AnyPlace = BackupPlace | 'medium'

const Backup = Type.Unsafe<BackupView>(
  Type.Object({
    file_name: Text,
    place: listed([...BACKUP_PLACES, 'medium']),
    address: Text,
    size: OrNull(Type.Integer()),
    created_at: Time,
    encrypted: Type.Boolean(),
    packages: OrNull(Type.Integer()),
    made_by: OrNull(Text),
    proved_at: OrNull(Time),
    proof_failed: OrNull(Text),
  }),
)
const Accepted = Type.Object({ status: Text, job_id: Text, message: Text })
const Target = Type.Unsafe<TargetView>(
  Type.Object({
    place: listed(PLACES),
    address: Text,
    tried_at: OrNull(Time),
    done_at: OrNull(Time),
    trouble: OrNull(Text),
    warning: OrNull(Text),
  }),
)
const PlaceOutcome = Type.Unsafe<Outcome>(
  Type.Object({
    place: listed(BACKUP_PLACES),
    address: Text,
    file_name: OrNull(Text),
    written: Type.Integer(),
    failed: OrNull(Text),
  }),
)
const Name = Type.String({ minLength: 1, maxLength: 160 })
const FileName = Type.Object({ file_name: Name })

/** Backups of the whole installation. */
export const backups = contract({
  'POST /backup/': {
    summary: 'Makes a backup now: database, settings, keys, audit log, documents and all packages, of one moment.',
    details:
      'It goes on as a job when the caller goes away; a second request meanwhile waits for the same one. It goes to each place that the settings name; one that fails does not stop the others. With `backup.passphrase` it is encrypted (age) and holds the secrets; without, it holds none in the clear.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    status: 201,
    reply: Type.Intersect([
      Backup,
      Type.Object({
        status: Type.String({ description: '`created`, or `partial` where a place failed.' }),
        message: Text,
        places: Type.Array(PlaceOutcome),
      }),
    ]),
    fails: ['backup_no_room', 'backup_nowhere', 'backup_target_failed'],
  },
  'GET /backup/': {
    summary: 'Lists backups, newest first: also those on sticks that are in the machine.',
    access: 'admin',
    reply: Type.Object({
      backups: Type.Array(Backup),
      total: Type.Integer(),
      targets: Type.Array(Target),
      folder: Text,
      to_folder: Type.Boolean({ description: 'Whether the next one is made there, too.' }),
      encrypts: Type.Boolean({ description: 'Whether the next one is encrypted.' }),
      undo: OrNull(
        Type.Object({ restored_at: Time, until: Time }, { description: 'The last restore, while it can be undone.' }),
      ),
    }),
  },
  'POST /backup/restore': {
    summary: 'Restores a backup over what is here.',
    details:
      'It is read and compared with its manifest, and its database is loaded beside the one of now; both go on as a job. Then the service stops for a moment (503 `maintenance` with `Retry-After`; trees are served meanwhile), and what was here is put aside for seven days: `POST /backup/restore/undo` goes back to it. What happens between the request and that moment is put aside, too. Accounts, passwords and keys are those of the backup then. Every session ends, and an API token that was revoked since the backup stays revoked.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    status: 202,
    body: Type.Object(
      {
        file_name: Name,
        passphrase: Type.Optional(
          Type.String({ maxLength: 1_000, description: 'Of an encrypted one; by default `backup.passphrase`.' }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Accepted,
    fails: ['backup_not_found', 'restore_under_way', ...MEDIUM_FAILS],
  },
  'POST /backup/restore/undo': {
    summary: 'Goes back to what was before the last restore. What was done since then is lost, and every session ends.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    status: 202,
    reply: Type.Object({ status: Text, message: Text }),
    fails: ['nothing_to_undo', 'restore_under_way'],
  },
  'GET /backup/{file_name}': {
    summary: 'Downloads an archive.',
    access: 'admin',
    params: FileName,
    reply: 'file',
    types: ['application/gzip', 'application/octet-stream'],
    fails: ['backup_not_found', 'backup_in_pieces', ...MEDIUM_FAILS],
  },
  'DELETE /backup/{file_name}': {
    summary: 'Deletes a backup.',
    access: 'admin',
    params: FileName,
    reply: Type.Object({ status: Text, message: Text }),
    fails: ['backup_not_found', 'backup_target_failed', 'backup_on_medium'],
  },
  'POST /backup/{file_name}/drill': {
    summary: 'Proves a backup: reads all of it and loads its database beside the one of now, which does not change.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    params: FileName,
    reply: Type.Intersect([Backup, Type.Object({ message: Text })]),
    fails: ['backup_not_found', 'backup_refused', 'backup_target_failed', ...MEDIUM_FAILS],
  },
  'POST /backup/{file_name}/preview': {
    summary: 'Shows what a backup holds beside what is here, and whether it would be restored. Nothing changes.',
    details:
      'By what the backup says of itself: its files are compared when it is proved or restored. An archive of an earlier release does not say it (422).',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    params: FileName,
    body: Type.Object(
      {
        passphrase: Type.Optional(
          Type.String({ maxLength: 1_000, description: 'Of an encrypted one; by default `backup.passphrase`.' }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Type.Object({
      created_at: Time,
      version: Text,
      parts: Type.Array(
        Type.Object({
          part: listed(Object.keys(COUNTED) as Counted[]),
          now: Type.Integer(),
          backup: Type.Integer(),
        }),
      ),
      schema: Type.Object({ now: Text, backup: Text, is: listed(['same', 'older', 'newer']) }),
      needs_mb: Type.Integer(),
      free_mb: Type.Integer(),
      refused: OrNull(Text),
      notes: Type.Array(Text),
    }),
    fails: ['backup_not_found', 'backup_refused', 'backup_target_failed', ...MEDIUM_FAILS],
  },
  'POST /backup/targets/{place}/try': {
    summary:
      'Tries a target: claims it for this installation, writes, reads and removes a file, and lists what is there.',
    access: 'admin',
    limit: { bucket: 'backup', perMinute: 10 },
    params: Type.Object({ place: listed(PLACES) }),
    reply: Type.Intersect([Target, Type.Object({ backups: Type.Integer(), message: Text })]),
    fails: ['backup_no_target', 'backup_target_failed'],
  },
})
