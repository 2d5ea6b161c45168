import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EICAR } from './packages.ts'

const CLAMD = ['/usr/sbin/clamd', '/usr/local/sbin/clamd'].find(path => existsSync(path))

/** False where Debian's `clamav-daemon` is not installed: such suites are skipped by name, never passed. */
export const hasClamd = CLAMD !== undefined

export interface TestClamd {
  readonly address: { readonly socket: string }
  /** SIGSTOP and SIGCONT: it accepts connections and says nothing. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

// no MaxScanTime: on a machine busy with other tests, a slow scan must not count as a package that cannot be scanned
const CONFIG = {
  MaxScanTime: '0',
  StreamMaxLength: '600M',
  MaxFileSize: '600M',
  MaxScanSize: '2000M',
  AlertExceedsMax: 'yes',
  MaxThreads: '4',
  ConcurrentDatabaseReload: 'yes',
}

/** It has two lines of signatures to read; long enough for a machine whose processors are all busy. */
const START_MS = 90_000

async function accepts(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    return await new Promise<boolean>(resolve => {
      socket.once('data', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.write('zPING\0')
    })
  } finally {
    socket.destroy()
  }
}

/**
 * Starts a real clamd on a unix socket with a database of two lines: EICAR as a whole file, and EICAR anywhere.
 * @param config lines of clamd.conf that differ from the ones above
 */
export async function startClamd(config: Partial<Record<keyof typeof CONFIG, string>> = {}): Promise<TestClamd> {
  if (CLAMD === undefined) throw new Error('clamd is not installed: apt-get install clamav-daemon')
  const folder = await mkdtemp(join(tmpdir(), 'clamd-'))
  const path = join(folder, 'clamd.sock')
  await mkdir(join(folder, 'db'))
  await mkdir(join(folder, 'tmp'))
  await writeFile(
    join(folder, 'db', 'local.hdb'),
    `${createHash('md5').update(EICAR).digest('hex')}:${EICAR.length}:Eicar-Test-Signature\n`,
  )
  await writeFile(join(folder, 'db', 'local.ndb'), `Eicar-Anywhere:0:*:${Buffer.from(EICAR).toString('hex')}\n`)
  const lines = {
    LogFile: join(folder, 'clamd.log'),
    LocalSocket: path,
    DatabaseDirectory: join(folder, 'db'),
    TemporaryDirectory: join(folder, 'tmp'),
    Foreground: 'yes',
    ...(process.getuid?.() === 0 ? { User: 'root' } : {}),
    ...CONFIG,
    ...config,
  }
  await writeFile(
    join(folder, 'clamd.conf'),
    Object.entries(lines)
      .map(([key, value]) => `${key} ${value}\n`)
      .join(''),
  )
  const child = spawn(CLAMD, ['-c', join(folder, 'clamd.conf')], { stdio: 'ignore' })
  const gone = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const until = Date.now() + START_MS
  while (!(await accepts(path))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`clamd did not start; see ${folder}/clamd.log`)
    await new Promise(resolve => setTimeout(resolve, 20)) // it tells nobody when it is ready
  }
  return {
    address: { socket: path },
    pause: () => {
      child.kill('SIGSTOP')
    },
    resume: () => {
      child.kill('SIGCONT')
    },
    async close() {
      child.kill('SIGKILL')
      await gone
      await rm(folder, { recursive: true, force: true })
    },
  }
}
