import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { request, type Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DAEMON_ENV, DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'

/** The first admin of every measurement. */
export const ADMIN = { username: 'admin', password: 'Correct-horse-9' } as const

/** Uploads are limited to 20 a minute for each client address, so there are many clients. */
const addressOf = (n: number): string => `198.18.${((n / 15) >> 8) & 255}.${Math.floor(n / 15) & 255}`

/** The daemon as `npm start` runs it, without npm. */
export interface Server {
  readonly url: URL
  readonly pid: number
  stop(): Promise<void>
}

const ROOT = join(import.meta.dirname, '..', '..')

export interface StartOptions {
  /** `npm` as people start it, with npm's own processes. */
  readonly by?: 'node' | 'npm'
  /** A free one by default. */
  readonly port?: number
  readonly env?: Readonly<Record<string, string>>
}

/** Starts it on a folder; resolves when it is ready. */
export async function startServer(
  root: string,
  { by = 'node', port = 0, env: more = {} }: StartOptions = {},
): Promise<Server> {
  const env = {
    ...DAEMON_ENV,
    PATH: process.env.PATH ?? '',
    ENV: 'test',
    REPOS_ROOT: root,
    PORT: String(port),
    LOG_LEVEL: 'warn',
    ...more,
  }
  const [command, args] =
    by === 'npm' ? ['npm', ['start']] : [process.execPath, [...DAEMON_FLAGS, join(ROOT, 'server', 'main.ts')]]
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      const [, ready] = /ready at (http:\/\/\S+)/.exec(chunk.toString()) ?? []
      if (ready !== undefined) resolve(ready)
    })
    child.once('exit', code => reject(new Error(`the daemon ended with ${code}`)))
  })
  return {
    url: new URL(url),
    pid: child.pid ?? 0,
    stop: async () => {
      const family = await familyOf(child.pid ?? 0)
      child.kill('SIGTERM')
      await ended
      while (family.some(pid => existsSync(`/proc/${pid}`))) await setTimeout(50) // npm may end first
    },
  }
}

export interface Sent {
  readonly path: string
  /** POST by default. */
  readonly method?: 'POST' | 'PATCH'
  readonly body: Buffer
  readonly type: string
  readonly token?: string
  readonly n?: number
  /** For the index to name what was uploaded. */
  readonly waits?: boolean
}

/** Sends one request below `/api/v1`, from the n-th client's address. */
export function send(
  { url }: Server,
  agent: Agent,
  { path, method = 'POST', body, type, token, n = 0, waits = false }: Sent,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        agent,
        host: url.hostname,
        port: url.port,
        path: `/api/v1${path}`,
        method,
        headers: {
          'Content-Type': type,
          'Content-Length': body.length,
          'X-Forwarded-For': addressOf(n),
          ...(waits ? {} : { Prefer: 'respond-async' }),
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        },
      },
      response => {
        let text = ''
        response
          .on('data', (chunk: Buffer) => {
            text += chunk.toString()
          })
          .on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    asked.on('error', reject).end(body)
  })
}

export const json = (value: unknown): Pick<Sent, 'body' | 'type'> => ({
  body: Buffer.from(JSON.stringify(value)),
  type: 'application/json',
})

/** An upload. */
export function formOf(name: string, bytes: Buffer, codename = 'jammy'): Pick<Sent, 'body' | 'type'> {
  const edge = 'gatehouse-bench'
  const head = `--${edge}\r\nContent-Disposition: form-data; name="distribution"\r\n\r\n${codename}\r\n--${edge}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`
  return {
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${edge}--\r\n`)]),
    type: `multipart/form-data; boundary=${edge}`,
  }
}

/**
 * User and system seconds of a process, its threads included, and of the children it has waited for. Source: proc(5),
 * /proc/pid/stat.
 */
async function cpuOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
}

/** A process and all that it started, the database's too. */
async function familyOf(pid: number): Promise<readonly number[]> {
  const all = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const parents = new Map<string, string>()
  for (const one of all)
    parents.set(
      one,
      (await readFile(`/proc/${one}/stat`, 'utf8').catch(() => '')).replace(/^.*\) /, '').split(' ')[1] ?? '',
    )
  const isOurs = (one: string): boolean =>
    one === String(pid) || (parents.has(one) && one !== '1' && isOurs(parents.get(one) ?? ''))
  return all.filter(isOurs).map(Number)
}

async function sumOver(pid: number, read: (pid: number) => Promise<number>): Promise<number> {
  let sum = 0
  for (const one of await familyOf(pid)) sum += await read(one).catch(() => 0) // ended meanwhile
  return sum
}

/** CPU seconds of a process and of all that it started. */
export const cpuOfFamily = (pid: number): Promise<number> => sumOver(pid, cpuOf)

/** What takes the CPU seconds: the threads of the process by their names, and what it started. */
export async function cpuByProcess(pid: number): Promise<ReadonlyMap<string, number>> {
  const shares = new Map<string, number>()
  const add = (name: string, seconds: number): void => void shares.set(name, (shares.get(name) ?? 0) + seconds)
  for (const one of await familyOf(pid)) {
    if (one !== pid) {
      const name = (await readFile(`/proc/${one}/comm`, 'utf8').catch(() => '')).trim()
      add(name, await cpuOf(one).catch(() => 0))
      continue
    }
    for (const thread of await readdir(`/proc/${pid}/task`)) {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => '')
      const [, name = ''] = /\((.*)\)/.exec(stat) ?? []
      const ticks = stat
        .replace(/^.*\) /, '')
        .split(' ')
        .slice(11, 13)
      add(thread === String(pid) ? 'main thread' : name, ticks.reduce((sum, one) => sum + Number(one), 0) / 100)
    }
  }
  return shares
}

/**
 * Memory in MB of a process and of all that it started: what they share counts once. Source: proc(5),
 * /proc/pid/smaps_rollup.
 */
export const memoryOfFamily = (pid: number): Promise<number> =>
  sumOver(
    pid,
    async one => Number(/^Pss: +(\d+)/m.exec(await readFile(`/proc/${one}/smaps_rollup`, 'utf8'))?.[1]) / 1024,
  )

/** Makes the first admin, or logs in as that one. @returns an access token */
export async function logIn(server: Server, agent: Agent): Promise<string> {
  await send(server, agent, {
    path: '/setup/',
    ...json({ admin_username: ADMIN.username, admin_password: ADMIN.password }),
  })
  const { access_token: token } = JSON.parse(
    (await send(server, agent, { path: '/auth/token', ...json(ADMIN) })).text,
  ) as { access_token: string }
  return token
}

/** Resolves when the tree of jammy names so many packages. */
export async function namedInTree({ url }: Server, packages: number): Promise<void> {
  const index = new URL('/repos/dists/jammy/main/binary-amd64/Packages', url)
  const named = async (): Promise<number> => (await (await fetch(index)).text()).split('Package: ').length - 1
  while ((await named()) < packages) await setTimeout(500)
}
