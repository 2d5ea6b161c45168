import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { DAEMON_ENV, DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'
import { createDb } from '../../server/db/db.ts'
import { findRunning } from '../../server/db/pid-file.ts'

export interface DaemonOptions {
  /** More environment variables; an undefined one is taken away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** What to run instead of `server/main.ts`. */
  readonly entry?: string
  /** An existing REPOS_ROOT, which is then kept at the end. */
  readonly root?: string
}

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
  readonly text: string
}

export interface CallOptions {
  readonly token?: string
  readonly body?: unknown
  readonly form?: FormData
  readonly headers?: Readonly<Record<string, string>>
  /** The client's address as the limits see it; a new one for each call unless given. */
  readonly ip?: string
}

/** The fields of an upload's answer that tests look at. */
export interface Uploaded {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly status: string
  readonly sha256: string
  readonly [more: string]: unknown
}

export interface UploadOptions {
  readonly token: string
  readonly filename?: string
  readonly distribution?: string
  readonly ip?: string
}

/** The real daemon as a process group of its own. */
export interface Daemon {
  readonly url: string
  readonly root: string
  readonly pid: number
  /** Undefined where the daemon brings its own. */
  readonly databaseUrl: string | undefined
  /** What it wrote, newest last; the first megabyte is kept. */
  log(): string
  /** `/health` and the trees as they are; everything that begins with neither of them is below `/api/v1`. */
  call<Body = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>
  upload(content: Buffer, options: UploadOptions): Promise<Answer<Uploaded>>
  /** Creates the first admin, or logs in as that one. @returns an access token */
  setupAdmin(): Promise<string>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  /** SIGINT to everything in its process group, as a terminal does; resolves with the exit code. */
  ctrlC(): Promise<number | null>
  /** SIGKILL to it and to its database, as a power cut would be. */
  kill9(): Promise<void>
  /** Resolves when it has ended, by itself or by a signal. */
  ended(): Promise<void>
  /** Starts it again on the same folder, database and port. */
  restart(env?: DaemonOptions['env']): Promise<void>
  /** Stops it and removes its folder. */
  close(): Promise<void>
}

export const ADMIN = { username: 'admin', password: 'Correct-horse-9' } as const

const READY = /Gatehouse is ready at (http:\/\/\S+)/
const READY_MS = 60_000
const LOG_LIMIT = 1_000_000

let addresses = 0
/** A client address that no other call had: 198.18.0.0/15 is set aside for such tests (RFC 2544). */
export function nextAddress(): string {
  addresses = (addresses + 1) % (1 << 17)
  return `198.${18 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`
}

/** A database of its own in Debian's PostgreSQL when the run is about that; otherwise the daemon brings its own. */
async function databaseUrl(): Promise<string | undefined> {
  // projects without a cluster have none
  const cluster = inject('postgres') as ReturnType<typeof inject<'postgres'>> | undefined
  if (cluster?.kind !== 'debian') return undefined
  const database = `d_${randomBytes(8).toString('hex')}`
  const admin = createDb({ socket: cluster.socket, database: 'postgres' }, { poolSize: 1 })
  await admin.query(`create database ${database}`)
  await admin.close()
  return `postgres://postgres@localhost/${database}?host=${encodeURIComponent(cluster.socket)}`
}

interface Running {
  readonly child: ChildProcess
  readonly url: string
  readonly ended: Promise<number | null>
  log(): string
}

/** @throws with the end of its log when it ends before it is ready */
async function launch(entry: string, env: Record<string, string>): Promise<Running> {
  const child = spawn(process.execPath, [...DAEMON_FLAGS, entry], {
    env: { ...DAEMON_ENV, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    const deadline = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the daemon was not ready in ${READY_MS / 1000} s:\n${log.slice(-3000)}`))
    }, READY_MS)
    const take = (chunk: Buffer): void => {
      if (log.length < LOG_LIMIT) log += chunk.toString()
      const ready = READY.exec(log)
      if (ready === null) return
      clearTimeout(deadline)
      resolve(ready[1] ?? '')
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(deadline)
      reject(new Error(`the daemon ended with ${code ?? signal}:\n${log.slice(-3000)}`))
    })
  })
  return { child, url, ended, log: () => log }
}

const isAtRoot = (path: string): boolean =>
  /^\/(api|repos|apk|health|metrics|openapi\.json|docs|redoc|internal|webhooks|incoming)\b/.test(path) || path === '/'

async function request<Body>(base: string, method: string, path: string, options: CallOptions): Promise<Answer<Body>> {
  const { token, body, form, headers = {}, ip = nextAddress() } = options
  const response = await fetch(`${base}${isAtRoot(path) ? '' : '/api/v1'}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      'X-Forwarded-For': ip,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(form !== undefined ? { body: form } : body !== undefined ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true && text !== ''
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : {}) as Body, text }
}

/** Starts the real `server/main.ts` on a free port over a folder of its own; resolves when it is ready. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const root = options.root ?? (await mkdtemp(join(tmpdir(), 'gh-daemon-')))
  const entry = options.entry ?? join(import.meta.dirname, '..', '..', 'server', 'main.ts')
  const url = await databaseUrl()
  let port = '0'
  const environment = (more: DaemonOptions['env'] = {}): Record<string, string> => {
    const { PATH = '', HOME = '/root', TMPDIR } = process.env
    const all = {
      PATH,
      HOME,
      TMPDIR,
      ENV: 'test',
      REPOS_ROOT: root,
      HOST: '127.0.0.1',
      PORT: port,
      LOG_LEVEL: 'warn',
      DATABASE_URL: url,
      ...options.env,
      ...more,
    }
    return Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
  }
  let running = await launch(entry, environment())
  port = new URL(running.url).port // the same one after a restart

  function signalGroup(pid: number, signal: NodeJS.Signals): void {
    try {
      process.kill(-pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  async function kill9(): Promise<void> {
    const database = await findRunning(join(root, '.pg'))
    for (const pid of [running.child.pid ?? 0, ...(database === undefined ? [] : [database.pid])])
      signalGroup(pid, 'SIGKILL')
    await running.ended
  }

  const call: Daemon['call'] = (method, path, callOptions = {}) => request(running.url, method, path, callOptions)
  async function stop(): Promise<number | null> {
    running.child.kill('SIGTERM')
    return running.ended
  }
  return {
    get url() {
      return running.url
    },
    get pid() {
      return running.child.pid ?? 0
    },
    root,
    call,
    stop,
    ctrlC: () => {
      signalGroup(running.child.pid ?? 0, 'SIGINT')
      return running.ended
    },
    kill9,
    databaseUrl: url,
    log: () => running.log(),
    ended: async () => {
      await running.ended
    },
    upload: (content, { token, filename = 'package.deb', distribution = 'jammy', ip }) => {
      const form = new FormData()
      form.set('file', new Blob([new Uint8Array(content)]), filename)
      form.set('distribution', distribution)
      return call<Uploaded>('POST', '/upload/', { token, form, ...(ip === undefined ? {} : { ip }) })
    },
    setupAdmin: async () => {
      await call('POST', '/setup/', { body: { admin_username: ADMIN.username, admin_password: ADMIN.password } })
      const login = await call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })
      if (login.status !== 200) throw new Error(`no admin: ${login.status} ${login.text}`)
      return login.body.access_token
    },
    restart: async env => {
      running = await launch(entry, environment(env))
    },
    close: async () => {
      if (running.child.exitCode === null && running.child.signalCode === null) await stop()
      if (options.root === undefined) await rm(root, { recursive: true, force: true })
    },
  }
}
