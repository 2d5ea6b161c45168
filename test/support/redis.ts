import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** A real redis-server on a port of its own, with a password and nothing on disk; it is not started yet. */
export interface TestRedis {
  readonly url: string
  readonly password: string
  start(): void
  /** SIGKILL; what it knew is gone. */
  kill(): Promise<void>
  close(): Promise<void>
}

/** Finds a free port and a folder for it. */
export async function createRedis(): Promise<TestRedis> {
  const password = 'Zq7secret'
  const folder = await mkdtemp(join(tmpdir(), 'gh-redis-'))
  const port = await freePort()
  let server: ChildProcess | undefined
  async function kill(): Promise<void> {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    const ended = new Promise(resolve => server?.once('exit', resolve))
    server.kill('SIGKILL')
    await ended
  }
  return {
    password,
    kill,
    url: `redis://:${password}@127.0.0.1:${port}`,
    start() {
      const options = [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--dir',
        folder,
        '--requirepass',
        password,
      ]
      server = spawn('redis-server', options, { stdio: 'ignore' })
    },
    close: async () => {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
