import { createReadStream, existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, statfs, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import type { Client } from 'pg'
import { fsyncFolder, writeAtomic } from '../lib/atomic.ts'
import { failpoint } from '../lib/failpoint.ts'
import { BadArchive, type ReadArchive } from './archive-reader.ts'
import { quoted, type DumpHeader } from './dump.ts'
import { loadDump } from './load.ts'
import type { BackupSource } from './source.ts'

/** What a restore has done, or what a rehearsal would do. */
export interface Restored {
  readonly name: string
  readonly created_at: string
  readonly packages: number
  readonly files: number
  /** Whether the secrets came with it. */
  readonly has_secrets: boolean
  /** The schema that was before, kept for going back; undefined where nothing was there. */
  readonly before: string | undefined
}

export interface RestoreOptions {
  readonly root: string
  readonly source: BackupSource
  readonly passphrase: string
  /** A connection of its own, connected. */
  readonly client: Client
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

const STAGING = '.restore'
/** Whether a restore was begun and not ended. */
export const isRestoring = (root: string): boolean => existsSync(join(root, STAGING))

/** What a restore replaces. Trees go, too: the next start publishes them from the pool. */
const PLACES = [
  'pool',
  'quarantine',
  'manifests',
  'documents',
  'audit',
  'security',
  'keyring',
  '.secrets',
  'settings.json',
  'distributions.json',
  'trees',
  'apt',
  'rpm',
  'apk',
  'gpg.key',
] as const
const AWAY = /^before_restore_\d{14}$/

/** What is to be done with the files once the database is restored; written before that. */
interface Plan {
  /** The schema of before: it is there if, and only if, the database was restored. */
  readonly away: string
  readonly has_secrets: boolean
  /** What was staged: where it is gone, it was put in its place. */
  readonly staged: readonly string[]
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const rowsFrom =
  (folder: string) =>
  async (table: string): Promise<Readable> => {
    const path = join(folder, 'database', `${table}.copy.zst`)
    if (!(await exists(path))) throw new BadArchive(`The archive lacks the rows of ${table}.`)
    return createReadStream(path).pipe(createZstdDecompress())
  }

async function headerIn(folder: string): Promise<DumpHeader> {
  return JSON.parse(await readFile(join(folder, 'database', 'tables.json'), 'utf8')) as DumpHeader
}

/** @throws BadArchive where the disk lacks room for a second copy of everything */
async function refuseFull(root: string, source: BackupSource, passphrase: string): Promise<void> {
  const { bavail, bsize } = await statfs(root)
  const needs = (await source.sizeBytes(passphrase)) * 1.1
  if (bavail * bsize < needs)
    throw new BadArchive(
      `The archive needs ${Math.ceil(needs / 1e6)} MB beside what is there, and ${Math.floor((bavail * bsize) / 1e6)} MB are free in ${root}. Make room, then restore again.`,
    )
}

/** Files of before lie here until somebody goes back, or seven days are over. */
const awayFolder = (root: string, away: string): string => join(root, `.${away}`)

/** Puts staged files in their places, and what was there aside. May be done again from any point. */
async function place(root: string, { away, has_secrets, staged: wanted }: Plan): Promise<void> {
  const staging = join(root, STAGING)
  const aside = awayFolder(root, away)
  await mkdir(aside, { recursive: true, mode: 0o700 })
  for (const name of PLACES) {
    if (name === '.secrets' && !has_secrets) continue
    const [here, staged, before] = [join(root, name), join(staging, name), join(aside, name)]
    const isStaged = await exists(staged)
    if (wanted.includes(name) && !isStaged) continue // an earlier attempt put it there
    if ((await exists(here)) && !(await exists(before))) await rename(here, before)
    failpoint('restore:between-places')
    if (isStaged) await rename(staged, here)
  }
  await fsyncFolder(root)
  await rm(staging, { recursive: true, force: true })
}

async function schemaExists(client: Client, name: string): Promise<boolean> {
  return (await client.query('select 1 from pg_namespace where nspname = $1', [name])).rowCount === 1
}

/**
 * Ends a restore that was cut short: finishes it where the database was restored, otherwise removes what it prepared.
 * @returns what was done; undefined where there was none
 */
export async function finishRestore(root: string, client: Client): Promise<'finished' | 'undone' | undefined> {
  const staging = join(root, STAGING)
  if (!(await exists(staging))) return undefined
  const text = await readFile(join(staging, 'plan.json'), 'utf8').catch(() => undefined)
  const plan = text === undefined ? undefined : (JSON.parse(text) as Plan)
  if (plan !== undefined && (await schemaExists(client, plan.away))) {
    await place(root, plan)
    return 'finished'
  }
  await rm(staging, { recursive: true, force: true })
  return 'undone'
}

/** The tables of one schema take the place of those of now, which go to another; in the caller's transaction. */
async function swapSchemas(client: Client, fresh: string, away: string): Promise<void> {
  await client.query(`alter schema public rename to ${quoted(away)}`)
  await client.query(`alter schema ${quoted(fresh)} rename to public`)
  const { rows } = await client.query<{ name: string }>(
    `select extname as name from pg_extension where extnamespace = $1::regnamespace and extrelocatable`,
    [away],
  )
  for (const { name } of rows) await client.query(`alter extension ${quoted(name)} set schema public`)
}

function checkRead(read: ReadArchive, header: DumpHeader): void {
  if (JSON.stringify(header) !== JSON.stringify(read.manifest.database))
    throw new BadArchive('The archive says two different things of its database.')
}

/**
 * Restores an archive into a root on which nobody runs. All of it is read and compared with its manifest, and its
 * database loaded beside the one of now, before anything changes; a failure leaves everything as it was.
 * @throws BadArchive, and the errors of disk and database
 */
export async function restore({ root, source, passphrase, client, signal, say }: RestoreOptions): Promise<Restored> {
  await refuseFull(root, source, passphrase)
  const staging = join(root, STAGING)
  await rm(staging, { recursive: true, force: true })
  await mkdir(staging, { mode: 0o700 })
  try {
    say('reading the archive and comparing it with its manifest')
    const read = await source.read({ passphrase, to: staging, signal })
    const { manifest } = read
    const header = await headerIn(staging)
    checkRead(read, header)
    failpoint('restore:read')
    const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
    const plan: Plan = {
      away: `before_restore_${stamp}`,
      has_secrets: manifest.has_secrets,
      staged: await readdir(staging),
    }
    await client.query('begin')
    try {
      say(`loading ${manifest.packages} packages into the database`)
      await loadDump(client, `restore_${stamp}`, header, rowsFrom(staging))
      await swapSchemas(client, `restore_${stamp}`, plan.away)
      await writeAtomic(join(staging, 'plan.json'), JSON.stringify(plan))
      failpoint('restore:before-commit')
      await client.query('commit')
    } catch (error) {
      await client.query('rollback').catch(() => undefined)
      throw error
    }
    failpoint('restore:after-commit')
    say('putting the files in their places')
    await place(root, plan)
    const { name, created_at, packages, files, has_secrets } = manifest
    return { name, created_at, packages, files: files.length, has_secrets, before: plan.away }
  } catch (error) {
    if ((await finishRestore(root, client).catch(() => undefined)) !== 'finished') throw error
    throw new Error('The restore was finished, but did not end well.', { cause: error })
  }
}

/** Goes back to what was before the last restore. @returns the name of its schema, or undefined where there was none */
export async function undoRestore(root: string, client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string }>('select nspname as name from pg_namespace')
  const [away] = rows
    .map(({ name }) => name)
    .filter(name => AWAY.test(name))
    .sort()
    .reverse()
  if (away === undefined) return undefined
  const aside = awayFolder(root, away)
  await client.query('begin')
  await swapSchemas(client, away, 'restore_undone')
  await client.query('drop schema restore_undone cascade')
  await client.query('commit')
  for (const name of await readdir(aside).catch(() => [])) {
    await rm(join(root, name), { recursive: true, force: true })
    await rename(join(aside, name), join(root, name))
  }
  await rm(aside, { recursive: true, force: true })
  return away
}

/** Removes what was before restores that are more than seven days old. */
export async function forgetBefore(root: string, client: Client, now: Date): Promise<void> {
  const oldest = new Date(now.getTime() - 7 * 86_400_000).toISOString().replace(/\D/g, '').slice(0, 14)
  const { rows } = await client.query<{ name: string }>('select nspname as name from pg_namespace')
  for (const { name } of rows) {
    if (!AWAY.test(name) || name.slice(-14) > oldest) continue
    await client.query(`drop schema ${quoted(name)} cascade`)
    await rm(awayFolder(root, name), { recursive: true, force: true })
  }
}

/**
 * Proves an archive: reads all of it, and loads its database in a schema of its own, which is taken back at the end.
 * Nothing changes. @throws BadArchive, and the errors of disk and database
 */
export async function rehearse({
  source,
  passphrase,
  client,
  scratch,
  signal,
}: Pick<RestoreOptions, 'source' | 'passphrase' | 'client' | 'signal'> & {
  readonly scratch: string
}): Promise<Restored> {
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true, mode: 0o700 })
  try {
    const read = await source.read({ passphrase, to: scratch, signal })
    const header = await headerIn(scratch)
    checkRead(read, header)
    await client.query('begin')
    try {
      await loadDump(client, 'backup_drill', header, rowsFrom(scratch))
    } finally {
      await client.query('rollback')
    }
    const { name, created_at, packages, files, has_secrets } = read.manifest
    return { name, created_at, packages, files: files.length, has_secrets, before: undefined }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
