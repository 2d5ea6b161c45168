import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'
import { writeDebs } from './publish-deb.ts'
import { isInstalled, show, timedTool, type Figure } from './tools.ts'

const AT_ONCE = 8
const PASSWORD = 'Correct-horse-9'
/** Uploads are limited to 20 a minute for each client address, so there are many clients. */
const addressOf = (n: number): string => `198.18.${((n / 15) >> 8) & 255}.${Math.floor(n / 15) & 255}`

interface Server {
  readonly url: URL
  readonly pid: number
  stop(): Promise<void>
}

async function startServer(root: string): Promise<Server> {
  const entry = join(import.meta.dirname, '..', '..', 'server', 'main.ts')
  const env = { PATH: process.env.PATH ?? '', ENV: 'test', REPOS_ROOT: root, PORT: '0', LOG_LEVEL: 'warn' }
  const child = spawn(process.execPath, [...DAEMON_FLAGS, entry], { env, stdio: ['ignore', 'pipe', 'inherit'] })
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
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

interface Sent {
  readonly path: string
  readonly body: Buffer
  readonly type: string
  readonly token?: string
  readonly n?: number
}

function send(
  { url }: Server,
  agent: Agent,
  { path, body, type, token, n = 0 }: Sent,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        agent,
        host: url.hostname,
        port: url.port,
        path: `/api/v1${path}`,
        method: 'POST',
        headers: {
          'Content-Type': type,
          'Content-Length': body.length,
          'X-Forwarded-For': addressOf(n),
          'Prefer': 'respond-async',
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

const json = (value: unknown): Pick<Sent, 'body' | 'type'> => ({
  body: Buffer.from(JSON.stringify(value)),
  type: 'application/json',
})

function formOf(name: string, bytes: Buffer): Pick<Sent, 'body' | 'type'> {
  const edge = 'gatehouse-bench'
  const head = `--${edge}\r\nContent-Disposition: form-data; name="distribution"\r\n\r\njammy\r\n--${edge}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`
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

/** CPU of the database's processes, which are children of the launcher that the daemon started. */
async function cpuOfFamily(pid: number): Promise<number> {
  const all = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const parents = new Map<string, string>()
  for (const one of all)
    parents.set(
      one,
      (await readFile(`/proc/${one}/stat`, 'utf8').catch(() => '')).replace(/^.*\) /, '').split(' ')[1] ?? '',
    )
  const isOurs = (one: string): boolean =>
    one === String(pid) || (parents.has(one) && one !== '1' && isOurs(parents.get(one) ?? ''))
  let sum = 0
  for (const one of all.filter(isOurs)) sum += await cpuOf(Number(one)).catch(() => 0) // ended meanwhile
  return sum
}

async function ours(root: string, debs: string, size: number): Promise<Figure> {
  const server = await startServer(join(root, 'repos'))
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  try {
    await send(server, agent, { path: '/setup/', ...json({ admin_username: 'admin', admin_password: PASSWORD }) })
    const { access_token: token } = JSON.parse(
      (await send(server, agent, { path: '/auth/token', ...json({ username: 'admin', password: PASSWORD }) })).text,
    ) as { access_token: string }
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename: 'jammy' }) })
    const waiting = (await readdir(debs)).sort().slice(0, size).entries()
    const [start, cpu] = [performance.now(), await cpuOfFamily(server.pid)]
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const [n, name] of waiting) {
          const { status, text } = await send(server, agent, {
            path: '/upload/',
            token,
            n,
            ...formOf(name, await readFile(join(debs, name))),
          })
          if (status !== 201) throw new Error(`${name}: ${status} ${text.slice(0, 300)}`)
        }
      }),
    )
    const uploaded = (performance.now() - start) / 1000
    // an empty init answers when the tree says what the database says
    const named = async (): Promise<number> =>
      (await (await fetch(new URL('/repos/dists/jammy/main/binary-amd64/Packages', server.url))).text()).split(
        '\nPackage: ',
      ).length
    for (let seen = 0; seen < size;) seen = await named()
    const figure = { wall: (performance.now() - start) / 1000, cpu: (await cpuOfFamily(server.pid)) - cpu }
    console.log(
      `${size} packages, uploaded ${AT_ONCE} at once: accepted after ${uploaded.toFixed(1)} s, all published after ${show(figure)}, the database included`,
    )
    return figure
  } finally {
    agent.destroy()
    await server.stop()
  }
}

async function aptly(root: string, size: number): Promise<Figure> {
  await writeFile(
    join(root, 'aptly.conf'),
    JSON.stringify({ rootDir: join(root, 'aptly'), architectures: ['amd64'], skipLegacyPool: true }),
  )
  const tool = 'aptly -config=aptly.conf'
  return timedTool(
    `${tool} repo create -distribution=jammy -component=main r && find debs -name '*.deb' | sort | head -n ${size} | xargs ${tool} repo add r && ${tool} publish repo -skip-signing -skip-contents r`,
    root,
  )
}

/** So many packages through the API until the tree names them all: `npm run bench upload -- 10000`. */
export async function run(args: readonly string[]): Promise<boolean> {
  let within = true
  for (const size of args.length === 0 ? [10_000] : args.map(Number)) {
    const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
    try {
      await writeDebs(join(root, 'debs'), 0, size)
      const mine = await ours(root, join(root, 'debs'), size)
      if (!isInstalled('aptly')) continue
      const theirs = await aptly(root, size)
      console.log(
        `${size} packages, aptly add and publish: ${show(theirs)}; we took ${(mine.wall / theirs.wall).toFixed(1)} times its wall, ${(mine.cpu / theirs.cpu).toFixed(1)} times its CPU`,
      )
      within &&= mine.wall <= theirs.wall
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  }
  return within
}
