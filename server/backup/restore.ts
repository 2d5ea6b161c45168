import { createReadStream, existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import type { Client } from 'pg'
import { fail } from '../core/errors.ts'
import { createLayout } from '../files/layout.ts'
import { space } from '../lib/disk-space.ts'
import { failpoint } from '../lib/failpoint.ts'
import { inLanes } from '../lib/in-lanes.ts'
import { createVulndbLayout, useNewest } from '../vulndb/store/layout.ts'
import { BadArchive, type ReadArchive } from './archive-reader.ts'
import { checkSignature } from './archive-signature.ts'
import { quoted, type DumpHeader } from './dump.ts'
import { loadDump } from './load.ts'
import {
  analyze,
  awaySince,
  claimRestore,
  dropFresh,
  listAway,
  listBlobs,
  schemaExists,
  schemaNames,
  swapBack,
  swapSchemas,
} from './restore-database.ts'
import { refuseForeignSecrets } from './restore-secrets.ts'
import type { BackupSource } from './source.ts'
import { settleAudit, type AuditFate } from './restore-audit.ts'
import { awayFolder, dropAside, putInPlace, refuseMounted, takeBack } from './restore-places.ts'
import {
  isRestoreDecided,
  readPlan,
  STAGING,
  writeOutcome,
  writePlan,
  type Plan,
  type RestoredBackup,
} from './restore-plan.ts'

/** A restore on its way. */
export interface Staging {
  readonly root: string
  readonly source: BackupSource
  readonly passphrase: string
  /** SETTINGS_ENCRYPTION_KEY of the service. */
  readonly settingsKey: string | undefined
  /** A connection of its own, connected. */
  readonly client: Client
  readonly signal: AbortSignal
  /** What is being done, for people. */
  readonly say: (line: string) => Promise<void> | void
  readonly told?: (bytes: number) => void
}

const DAYS_KEPT = 7
const LANES = 32
const DAY_MS = 86_400_000

const rowsFrom =
  (folder: string) =>
  async (table: string): Promise<Readable> => {
    const path = join(folder, 'database', `${table}.copy.zst`)
    await stat(path).catch(error => {
      throw new BadArchive(`The archive lacks the rows of ${table}.`, error)
    })
    return createReadStream(path).pipe(createZstdDecompress())
  }

/** @throws BadArchive where the archive says two different things of its database */
async function headerIn(folder: string, { manifest }: ReadArchive): Promise<DumpHeader> {
  const header = JSON.parse(await readFile(join(folder, 'database', 'tables.json'), 'utf8')) as DumpHeader
  if (JSON.stringify(header) !== JSON.stringify(manifest.database))
    throw new BadArchive('The archive says two different things of its database.')
  return header
}

/** @throws BadArchive where the disk lacks room for a second copy of everything */
export async function refuseFull(root: string, size: number): Promise<void> {
  const { freeBytes } = await space(root)
  const needs = size * 1.1
  if (freeBytes < needs)
    throw new BadArchive(
      `The archive needs ${Math.ceil(needs / 1e6)} MB beside what is there, and ${Math.floor(freeBytes / 1e6)} MB are free in ${root}. Make room, then restore again.`,
    )
}

/** Packages whose file is not among the staged ones. */
async function countWithoutFile(client: Client, schema: string, staging: string): Promise<number> {
  // trees are not staged: no path of one is asked for
  const layout = createLayout(staging, () => '')
  let missing = 0
  await inLanes(LANES, await listBlobs(client, schema), async digest => {
    const places = [layout.blob(digest), layout.quarantined(digest)]
    const found = await Promise.all(places.map(path => stat(path).catch(() => undefined)))
    if (found.every(one => one === undefined)) missing++
  })
  return missing
}

/** Whether nobody else restores; then others are kept away until the connection ends. */
const isAlone = async (root: string, client: Client): Promise<boolean> =>
  (await claimRestore(client)) && !isRestoreDecided(root)

async function refuseSecond(root: string, client: Client): Promise<void> {
  if (!(await isAlone(root, client))) fail('restore_under_way', {})
}

/** Removes what was prepared and not decided. */
export async function discardStaged(root: string, client: Client): Promise<void> {
  if ((await readPlan(root)) !== undefined) return
  await dropFresh(client)
  await rm(join(root, STAGING), { recursive: true, force: true })
}

/**
 * Prepares a restore: reads all of the backup, compares it with its manifest, and loads its database beside the one of
 * now. Nothing that anybody uses changes.
 * @returns what `decide` needs. @throws restore_under_way, BadArchive, and the errors of disk and database; then
 * nothing of it is left
 */
export async function stageBackup({
  root,
  source,
  passphrase,
  settingsKey,
  client,
  signal,
  say,
  told,
}: Staging): Promise<{
  readonly fresh: string
  readonly away: string
  readonly staged: readonly string[]
  readonly audit: AuditFate
  readonly backup: RestoredBackup
}> {
  await refuseSecond(root, client)
  await refuseMounted(root)
  await refuseFull(root, await source.sizeBytes(passphrase))
  const staging = join(root, STAGING)
  await discardStaged(root, client)
  await mkdir(staging, { mode: 0o700 })
  try {
    await say('reading the backup and comparing it with its manifest')
    const read = await source.read({ passphrase, to: staging, signal, told: (_, bytes) => told?.(bytes) })
    const signed = await checkSignature(read, { staged: staging, root })
    await refuseForeignSecrets({ staged: staging, root }, settingsKey)
    await useNewest(createVulndbLayout(createLayout(staging, () => '')))
    const header = await headerIn(staging, read)
    failpoint('restore:read')
    const { name, created_at, packages, files, has_secrets } = read.manifest
    const { fresh, away } = schemaNames(new Date())
    await say(`loading ${packages} packages into the database`)
    await client.query('begin')
    try {
      await loadDump(client, fresh, header, rowsFrom(staging), signal)
      signal.throwIfAborted()
      await client.query('commit')
    } catch (error) {
      await client.query('rollback').catch(() => undefined)
      throw error
    }
    await analyze(client, fresh, header)
    const without_file = await countWithoutFile(client, fresh, staging)
    const audit = await settleAudit({ root, staged: staging, client, fresh })
    const staged = await readdir(staging)
    return {
      ...{ fresh, away, staged, audit },
      backup: { name, created_at, packages, files: files.length, has_secrets, signed, without_file },
    }
  } catch (error) {
    await discardStaged(root, client).catch(() => undefined) // the first error says more
    throw error
  }
}

/** From here on the restore is done to its end, by whoever starts on this root. @throws restore_under_way */
export async function decide(root: string, plan: Plan): Promise<void> {
  failpoint('restore:before-decision')
  await writePlan(root, plan)
}

/** The last restore can be taken back until then. Times are ISO 8601. */
export interface Undoable {
  readonly away: string
  readonly restored_at: string
  readonly until: string
}

/** The newest restore that can be taken back. @param schemas  those that are put aside, oldest first */
export function undoableOf(schemas: readonly string[]): Undoable | undefined {
  const away = schemas.at(-1)
  if (away === undefined) return undefined
  const restored_at = awaySince(away)
  return { away, restored_at, until: new Date(Date.parse(restored_at) + DAYS_KEPT * DAY_MS).toISOString() }
}

/** From here on the last restore is taken back. @returns false where there is none. @throws restore_under_way */
export async function decideUndo(
  root: string,
  client: Client,
  { by, at }: { readonly by: string; readonly at: Date },
): Promise<boolean> {
  await refuseSecond(root, client)
  const undoable = undoableOf(await listAway(client))
  if (undoable === undefined) return false
  const { away } = undoable
  const keeps_audit = !existsSync(join(awayFolder(root, away), 'audit'))
  await decide(root, { do: 'undo', by, decided_at: at.toISOString(), away, keeps_audit })
  return true
}

async function swapDatabase(client: Client, plan: Plan): Promise<void> {
  const isAway = await schemaExists(client, plan.away)
  if (plan.do === 'undo') {
    if (isAway) await swapBack(client, plan.away, { keepsAudit: plan.keeps_audit === true })
    return
  }
  if (isAway) return // an earlier attempt
  if (!(await schemaExists(client, plan.fresh)))
    throw new Error(
      `The restore of ${plan.backup.name} was decided, and this database has not what it loaded. Set DATABASE_URL to the database that the restore began with.`,
    )
  const { fresh, away, audit } = plan
  await swapSchemas(client, { fresh, away, keepsAudit: audit === 'kept' }, () => failpoint('restore:before-commit'))
}

/**
 * Does a restore that was decided, to its end, while nobody else works on the root and its database. May be done again
 * from any point. @returns what was done; undefined where nothing was decided
 */
export async function carryOut(root: string, client: Client): Promise<Plan | undefined> {
  const plan = await readPlan(root)
  if (plan === undefined) return undefined
  await swapDatabase(client, plan)
  failpoint('restore:after-commit')
  if (plan.do === 'restore') await putInPlace(root, plan)
  else await takeBack(root, plan.away)
  await writeOutcome(root, { plan, done_at: new Date().toISOString(), followed: false })
  await rm(join(root, STAGING), { recursive: true, force: true })
  return plan
}

/** Removes what was before restores that are more than seven days old. */
async function forgetBefore(root: string, client: Client, now: Date): Promise<void> {
  const oldest = new Date(now.getTime() - DAYS_KEPT * DAY_MS).toISOString()
  for (const name of await listAway(client)) {
    if (awaySince(name) > oldest) continue
    await client.query(`drop schema ${quoted(name)} cascade`)
    await dropAside(root, name)
  }
}

/** Removes what restores left, where none is under way. */
export async function sweepRestores(root: string, client: Client, now: Date): Promise<void> {
  if (!(await isAlone(root, client))) return
  await forgetBefore(root, client, now)
  await discardStaged(root, client)
}

/**
 * Proves a backup: reads all of it, and loads its database in a schema of its own, which is taken back at the end.
 * Nothing changes. @throws BadArchive, and the errors of disk and database
 */
export async function rehearse({
  source,
  passphrase,
  client,
  scratch,
  root,
  signal,
}: Pick<Staging, 'source' | 'passphrase' | 'client' | 'root' | 'signal'> & { readonly scratch: string }): Promise<
  Omit<RestoredBackup, 'without_file'>
> {
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true, mode: 0o700 })
  try {
    const read = await source.read({ passphrase, to: scratch, signal })
    const signed = await checkSignature(read, { staged: scratch, root })
    const header = await headerIn(scratch, read)
    await client.query('begin')
    try {
      await loadDump(client, 'backup_drill', header, rowsFrom(scratch), signal)
    } finally {
      await client.query('rollback')
    }
    const { name, created_at, packages, files, has_secrets } = read.manifest
    return { name, created_at, packages, files: files.length, has_secrets, signed }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
