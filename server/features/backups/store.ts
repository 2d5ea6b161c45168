import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ARCHIVE_NAME } from '../../backup/archive-manifest.ts'
import type { Queryable } from '../../db/db.ts'
import type { BackupView } from './contract.ts'

/** A backup that was made. */
export interface MadeBackup {
  readonly file_name: string
  readonly size: number
  readonly packages: number
  readonly files: number
  readonly encrypted: boolean
}

interface Row {
  readonly file_name: string
  readonly packages: number
  readonly made_by: string
  readonly proved_at: Date | null
  readonly proof_failed: string | null
}

/** `gatehouse_backup_20261123_043000` → the moment. */
function momentOf(fileName: string): string {
  const [, y, mo, d, h, mi, s] = /_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)/.exec(fileName) ?? []
  return `${y}-${mo}-${d}T${h}:${mi}:${s}.000Z`
}

/** What lies in the folder, with what is known of it, newest first. */
export async function listBackups(db: Queryable, folder: string): Promise<BackupView[]> {
  const rows = new Map(
    (await db.query<Row>('select file_name, packages, made_by, proved_at, proof_failed from backup')).map(row => [
      row.file_name,
      row,
    ]),
  )
  const names = (await readdir(folder).catch(() => [])).filter(name => ARCHIVE_NAME.test(name))
  const views = await Promise.all(
    names.map(async (name): Promise<BackupView> => {
      const row = rows.get(name)
      return {
        file_name: name,
        size: (await stat(join(folder, name))).size,
        created_at: momentOf(name),
        encrypted: name.endsWith('.age'),
        packages: row?.packages ?? null,
        made_by: row?.made_by ?? null,
        proved_at: row?.proved_at?.toISOString() ?? null,
        proof_failed: row?.proof_failed ?? null,
      }
    }),
  )
  return views.sort((a, b) => (a.file_name < b.file_name ? 1 : -1))
}

export async function noteBackup(db: Queryable, made: MadeBackup, by: string): Promise<void> {
  await db.query(
    `insert into backup (file_name, created_at, packages, files, encrypted, made_by) values ($1, $2, $3, $4, $5, $6)
    on conflict (file_name) do nothing`,
    [made.file_name, momentOf(made.file_name), made.packages, made.files, made.encrypted, by],
  )
}

/** @param failed  why it could not be restored; undefined: it could */
export async function noteProof(
  db: Queryable,
  {
    fileName,
    packages,
    files,
    at,
    failed,
  }: { fileName: string; packages: number; files: number; at: Date; failed: string | undefined },
): Promise<void> {
  await db.query(
    `insert into backup (file_name, created_at, packages, files, encrypted, made_by, proved_at, proof_failed)
    values ($1, $2, $3, $4, $5, 'unknown', $6, $7)
    on conflict (file_name) do update set proved_at = $6, proof_failed = $7`,
    [fileName, momentOf(fileName), packages, files, fileName.endsWith('.age'), at, failed ?? null],
  )
}

export async function removeBackup(db: Queryable, folder: string, fileName: string): Promise<void> {
  await rm(join(folder, fileName), { force: true })
  await db.query('delete from backup where file_name = $1', [fileName])
}

/**
 * Those that are to go: more than `count`, or older than `days` (0: any age). The newest one that was proved stays, and
 * so does the newest of all.
 */
export function surplusOf(
  all: readonly BackupView[],
  { count, days, now }: { readonly count: number; readonly days: number; readonly now: Date },
): readonly BackupView[] {
  const oldest = days === 0 ? '' : new Date(now.getTime() - days * 86_400_000).toISOString()
  const proved = all.find(one => one.proved_at !== null && one.proof_failed === null)
  return all.filter((one, n) => n > 0 && one !== proved && (n >= count || one.created_at < oldest))
}

/** What the health report says of backups. Times are ISO 8601. */
export interface BackupFacts {
  readonly count: number
  readonly last_backup: string | null
  /** When one was last restored in a drill. */
  readonly last_proved_restore: string | null
}

export async function readFacts(db: Queryable, folder: string): Promise<BackupFacts> {
  const [all, proved] = await Promise.all([listBackups(db, folder), lastProved(db)])
  return { count: all.length, last_backup: all[0]?.created_at ?? null, last_proved_restore: proved?.proved_at ?? null }
}

/** The last backup that was restored in a drill. */
async function lastProved(
  db: Queryable,
): Promise<{ readonly file_name: string; readonly proved_at: string } | undefined> {
  const row = await db.first<{ file_name: string; proved_at: Date }>(
    'select file_name, proved_at from backup where proved_at is not null and proof_failed is null order by proved_at desc limit 1',
  )
  return row && { file_name: row.file_name, proved_at: row.proved_at.toISOString() }
}

/** Whether a restore waits or is prepared now. */
export async function isRestoreAsked(db: Queryable): Promise<boolean> {
  const open = await db.first(`select 1 as one from job where kind = 'restore' and state in ('queued', 'running')`)
  return open !== undefined
}
