import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ARCHIVE_NAME } from '../../backup/archive-manifest.ts'
import { targetsOf, type Place, type Target } from '../../backup/targets/places.ts'
import type { Queryable } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import { readMedia } from '../../machine/media.ts'
import type { Settings } from '../../settings/store.ts'
import type { BackupView, TargetView } from './contract.ts'
import { listTargets } from './target-rows.ts'

/** A backup that was made in one place. */
export interface MadeBackup {
  readonly file_name: string
  readonly size: number
  readonly packages: number
  readonly files: number
  readonly encrypted: boolean
}

interface Row {
  readonly file_name: string
  readonly place: Place | 'folder'
  readonly size: number | null
  readonly encrypted: boolean
  readonly packages: number
  readonly files: number
  readonly made_by: string
  readonly proved_at: Date | null
  readonly proof_failed: string | null
}

/** What is needed to know which backups there are, and where. */
export interface BackupPlaces {
  readonly db: Queryable
  readonly layout: Pick<Layout, 'backups' | 'root'>
  readonly settings: Pick<Settings, 'now'>
  /** MEDIA_FOLDER: where sticks are mounted. */
  readonly mediaFolder?: string | undefined
}

/** The targets that the settings name now. */
export function targetsNow({ layout, settings }: Pick<BackupPlaces, 'layout' | 'settings'>): Target[] {
  const { backup, notifications } = settings.now()
  return targetsOf(backup, { root: layout.root, allow: notifications.allow_private_hosts })
}

/** `gatehouse_backup_20261123_043000` → the moment. */
export function momentOf(fileName: string): string {
  const [, y, mo, d, h, mi, s] = /_(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)/.exec(fileName) ?? []
  return `${y}-${mo}-${d}T${h}:${mi}:${s}.000Z`
}

/** What a row knows; of backups that others put there nothing. */
function known(row: Row | undefined): Pick<BackupView, 'packages' | 'made_by' | 'proved_at' | 'proof_failed'> {
  const isOurs = row !== undefined && row.files > 0
  return {
    packages: isOurs ? row.packages : null,
    made_by: isOurs ? row.made_by : null,
    proved_at: row?.proved_at?.toISOString() ?? null,
    proof_failed: row?.proof_failed ?? null,
  }
}

/** A name with the stick: an id has no @, and what comes before it no other. */
export const onMediumName = (path: string, medium: string): string => `${basename(path)}@${medium}`

/** Archives on sticks; of those with one name the newest. */
async function listOnMedia(mediaFolder: string | undefined, rows: ReadonlyMap<string, Row>): Promise<BackupView[]> {
  const views = (await readMedia(mediaFolder)).flatMap(({ id, label, files }) =>
    files
      .filter(({ kind }) => kind === 'backup')
      .map(({ path, size }): BackupView => ({
        file_name: onMediumName(path, id),
        place: 'medium',
        address: `${label}:/${path}`,
        size,
        created_at: momentOf(path),
        encrypted: path.endsWith('.age'),
        ...known(rows.get(onMediumName(path, id))),
      })),
  )
  return [...new Map(views.toReversed().map(view => [view.file_name, view])).values()]
}

/**
 * The backups, newest first: archives that lie in the folder, snapshots that the targets of the settings had when they
 * were last asked, and archives on sticks.
 */
export async function listBackups(places: BackupPlaces): Promise<BackupView[]> {
  const { db, layout } = places
  const all = await db.query<Row>(
    `select file_name, place, size::float8 as size, encrypted, packages, files, made_by, proved_at, proof_failed
    from backup`,
  )
  const rows = new Map(all.map(row => [row.file_name, row]))
  const names = (await readdir(layout.backups).catch(() => [])).filter(name => ARCHIVE_NAME.test(name))
  const archives = names.map(async (name): Promise<BackupView> => ({
    file_name: name,
    place: 'folder',
    address: layout.backups,
    size: (await stat(join(layout.backups, name))).size,
    created_at: momentOf(name),
    encrypted: name.endsWith('.age'),
    ...known(rows.get(name)),
  }))
  // rows of a target that the settings named before are of another address
  const asked = (await listTargets(db, targetsNow(places))).filter(({ tried_at: at }) => at !== null)
  const snapshots = all.flatMap((row): BackupView[] => {
    const target = asked.find(({ place }) => place === row.place)
    if (target === undefined) return []
    const { file_name, size, encrypted } = row
    const { place, address } = target
    return [{ file_name, place, address, size, created_at: momentOf(file_name), encrypted, ...known(row) }]
  })
  const onMedia = await listOnMedia(places.mediaFolder, rows)
  const order = (one: BackupView): string => `${one.created_at}${one.place === 'folder' ? 1 : 0}${one.file_name}`
  return [...(await Promise.all(archives)), ...snapshots, ...onMedia].sort((a, b) => (order(a) < order(b) ? 1 : -1))
}

export async function noteBackup(
  db: Queryable,
  made: MadeBackup,
  { by, place }: { readonly by: string; readonly place: Place | 'folder' },
): Promise<void> {
  const { file_name: name, packages, files, encrypted, size } = made
  await db.query(
    `insert into backup (file_name, created_at, packages, files, encrypted, made_by, place, size)
    values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (file_name) do nothing`,
    [name, momentOf(name), packages, files, encrypted, by, place, place === 'folder' ? null : size],
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
    on conflict (file_name) do update set proved_at = $6, proof_failed = $7,
      packages = greatest(backup.packages, $3), files = greatest(backup.files, $4)`,
    [fileName, momentOf(fileName), packages, files, /\.age(?:@|$)/.test(fileName), at, failed ?? null],
  )
}

/** Forgets a backup that is gone. */
export async function forgetBackup(db: Queryable, fileName: string): Promise<void> {
  await db.query('delete from backup where file_name = $1', [fileName])
}

/**
 * Those of one place that are to go: more than `count`, or older than `days` (0: any age). The newest one that was
 * proved stays, and so does the newest of all.
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
  /** False where a place failed the last time. */
  readonly ok: boolean
  readonly count: number
  readonly last_backup: string | null
  /** When one was last restored in a drill. */
  readonly last_proved_restore: string | null
  readonly targets: readonly TargetView[]
}

export async function readFacts(places: BackupPlaces): Promise<BackupFacts> {
  const { db } = places
  const [all, proved, targets] = await Promise.all([
    // one on a stick is no backup that was made
    listBackups({ ...places, mediaFolder: undefined }),
    lastProved(db),
    listTargets(db, targetsNow(places)),
  ])
  return {
    ok: targets.every(({ trouble }) => trouble === null),
    count: all.length,
    last_backup: all[0]?.created_at ?? null,
    last_proved_restore: proved?.proved_at ?? null,
    targets,
  }
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

/** A restore that waits or is prepared now. */
export const findOpenRestore = (
  db: Queryable,
): Promise<{ readonly file_name: string; readonly has_passphrase: boolean } | undefined> =>
  db.first(
    `select request->>'file_name' as file_name, request ? 'passphrase' as has_passphrase
    from job where kind = 'restore' and state in ('queued', 'running') limit 1`,
  )
