import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Client } from 'pg'
import { BadArchive } from '../backup/archive-reader.ts'
import { printSigned } from '../backup/archive-signature.ts'
import { carryOut, decide, decideUndo, discardStaged, stageBackup } from '../backup/restore.ts'
import { isRestoreDecided, type RestoredBackup } from '../backup/restore-plan.ts'
import { namedSource } from '../backup/targets/named-source.ts'
import { connected } from '../db/connected.ts'
import { openClient, type DatabaseAddress } from '../db/db.ts'
import { startEmbedded } from '../db/embedded.ts'
import { EnvProblems, readEnv, type Env } from '../env.ts'
import { refuseJoined } from '../files/joined-root.ts'
import { lockRoot } from '../files/root-lock.ts'
import { armFailpoint } from '../lib/failpoint.ts'
import { openRoot } from '../files/root.ts'
import { space } from '../lib/disk-space.ts'
import { machineFaultOf } from '../lib/machine-faults.ts'

const USAGE = `npm run restore -- ARCHIVE [--passphrase-file FILE]
npm run restore -- --undo

Restores a backup into REPOS_ROOT and its database, while the service is stopped. ARCHIVE is a file, a directory that
backups are written to, or the address of a bucket (https://s3.example/bucket/prefix, with its keys in
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY): its newest backup, or the one whose name follows behind a slash. What is there is put aside for seven
days; --undo goes back to it. Either ends every session; API tokens that were revoked stay revoked. The passphrase of an encrypted archive is the first line of FILE, or stands in
GATEHOUSE_BACKUP_PASSPHRASE.
`

interface Wish {
  readonly archive: string | undefined
  readonly undo: boolean
  readonly passphrase: string
}

async function readWish(): Promise<Wish> {
  const { values, positionals } = parseArgs({
    options: { 'undo': { type: 'boolean', default: false }, 'passphrase-file': { type: 'string' } },
    allowPositionals: true,
  })
  const [archive, ...more] = positionals
  if (more.length > 0 || (archive === undefined) !== values.undo) throw new Error(USAGE)
  const file = values['passphrase-file']
  const passphrase =
    file === undefined
      ? (process.env['GATEHOUSE_BACKUP_PASSPHRASE'] ?? '')
      : ((await readFile(file, 'utf8')).split('\n')[0] ?? '')
  return { archive, undo: values.undo, passphrase }
}

/** In the audit log. */
const BY = 'npm run restore'
const WAY_OUT = 'Stop the service first: a restore replaces what it works on.'

/** The database, while nobody else runs on the root. */
async function openAlone(env: Env): Promise<{ readonly address: DatabaseAddress; close(): Promise<void> }> {
  await openRoot(env.reposRoot)
  const unlock = await lockRoot(env.reposRoot, WAY_OUT)
  try {
    await refuseJoined(env.reposRoot, undefined, { wayOut: WAY_OUT })
    if (env.databaseUrl !== undefined) return { address: { url: env.databaseUrl }, close: unlock }
    const embedded = await startEmbedded({ folder: `${env.reposRoot}/.pg` })
    return { address: embedded, close: () => embedded.stop().finally(unlock) }
  } catch (error) {
    await unlock()
    throw error
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function restoreFrom(env: Env, client: Client, { archive, passphrase }: Wish): Promise<RestoredBackup> {
  const { reposRoot: root, settingsKey } = env
  const { source, what, close } = await namedSource(archive ?? '', process.env)
  const { signal } = new AbortController()
  say(`restoring ${what}`)
  const staging = stageBackup({ root, source, passphrase, settingsKey, client, signal, say })
  const { backup, ...rest } = await staging.finally(close)
  const decided_at = new Date().toISOString()
  await decide(root, { do: 'restore', by: BY, decided_at, backup, ...rest })
  say('putting everything in its place')
  await carryOut(root, client)
  return backup
}

async function goBack(root: string, client: Client): Promise<void> {
  if (!(await decideUndo(root, client, { by: BY, at: new Date() })))
    throw new Error('There is nothing to go back to: no restore in the last seven days.')
  await carryOut(root, client)
  say('back to what was before the restore; start the service, and run npm run verify')
}

async function work(wish: Wish, env: Env, client: Client): Promise<void> {
  const root = env.reposRoot
  const earlier = await carryOut(root, client)
  if (earlier !== undefined) say(`the ${earlier.do} that was cut short is done now`)
  await discardStaged(root, client)
  if (wish.undo) {
    // it may have been what was cut short
    if (earlier?.do !== 'undo') await goBack(root, client)
    return
  }
  const done = await restoreFrom(env, client, wish)
  say(`restored: ${done.packages} packages of ${done.created_at}, ${done.files} files`)
  say(printSigned(done.signed))
  if (done.without_file > 0) say(`${done.without_file} packages have no file in the backup: npm run verify names them.`)
  if (!done.has_secrets && env.settingsKey === undefined)
    say(
      'The archive is not encrypted, so the secrets are not in it. Signing keys and stored passwords open with the SETTINGS_ENCRYPTION_KEY, or the .secrets folder, of the service that made it.',
    )
  say('Start the service: it publishes the trees. Then run npm run verify. --undo goes back.')
}

/** PostgreSQL may end when its own disk is full, and then says only that it is gone. */
const LEAST_FREE_BYTES = 16 * 1024 ** 2

/** The same error, in words where it is about the disk. */
async function aboutDisk(root: string, error: unknown): Promise<unknown> {
  // that says already what is missing
  if (error instanceof BadArchive) return error
  const { freeBytes } = await space(root)
  if (machineFaultOf(error) !== 'disk_full' && freeBytes >= LEAST_FREE_BYTES) return error
  return new Error(
    isRestoreDecided(root)
      ? `The disk of ${root} is full. The restore is decided: make room, then start the service or restore again, which does it to its end.`
      : `The disk of ${root} is full. Nothing was restored, and what was there is as it was. Make room, then restore again.`,
    { cause: error },
  )
}

async function run(wish: Wish): Promise<void> {
  const env = readEnv(process.env, process.cwd())
  const { address, close } = await openAlone(env)
  const open = (): Client => openClient(address, { queryTimeoutMs: Infinity })
  try {
    await connected(open, client => work(wish, env, client)).finally(close)
  } catch (error) {
    throw await aboutDisk(env.reposRoot, error)
  }
}

armFailpoint(process.env['GATEHOUSE_FAILPOINT'])
try {
  await run(await readWish())
} catch (error) {
  process.stderr.write(
    `${error instanceof EnvProblems ? error.problems.join('\n') : error instanceof Error ? error.message : String(error)}\n`,
  )
  process.exitCode = 1
}
