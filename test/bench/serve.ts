import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { DAEMON_ENV, DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'
import { freePort } from '../support/free-port.ts'
import { buildDeb } from '../support/packages.ts'
import type { Load, Received } from './load.ts'
import { writeDebs } from './publish-deb.ts'
import { isInstalled } from './tools.ts'

const PASSWORD = 'Correct-horse-9'
const SMALL_PACKAGES = 100
const ROUNDS = 2
const CONNECTIONS = [50, 500]
/** At least this part of nginx's figure. */
const TARGET = { small: 1 / 3, large: 0.8 }

/** One kind of request. `wrk` makes the small ones where it is installed. */
interface Kind {
  readonly name: string
  readonly path: string
  readonly size: 'small' | 'large'
  readonly isKnown?: true
}

interface Server {
  readonly name: string
  readonly port: number
  readonly pid: number
}

interface Figures {
  readonly perSecond: number
  readonly megabytes: number
  /** Seconds of CPU of the server in a second. */
  readonly cpu: number
}

/** User and system seconds of a process with its threads. Source: proc(5), /proc/pid/stat. */
async function cpuOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** The daemon as it is run: its log, one line for each request, goes into a file. */
async function startDaemon(root: string): Promise<{ readonly server: Server; readonly child: ChildProcess }> {
  const entry = join(import.meta.dirname, '..', '..', 'server', 'main.ts')
  const { PATH = '' } = process.env
  const env = { PATH, ...DAEMON_ENV, ENV: 'test', REPOS_ROOT: join(root, 'repos'), PORT: '0' }
  const log = openSync(join(root, 'daemon.log'), 'a')
  const child = spawn(process.execPath, [...DAEMON_FLAGS, entry], { env, stdio: ['ignore', 'pipe', log] })
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      const [, ready] = /ready at http:\/\/\S+:(\d+)/.exec(chunk.toString()) ?? []
      if (ready !== undefined) resolve(Number(ready))
    })
    child.once('exit', code => reject(new Error(`the daemon ended with ${code}`)))
  })
  return { server: { name: 'gatehouse', port, pid: child.pid ?? 0 }, child }
}

/** nginx as Debian ships it, with one worker, over the same files; it writes an access log, too. */
async function startNginx(root: string): Promise<{ readonly server: Server; readonly child: ChildProcess }> {
  const [folder, port, apt] = [join(root, 'nginx'), await freePort(), join(root, 'repos', 'apt')]
  await mkdir(folder)
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  await writeFile(
    join(folder, 'nginx.conf'),
    `worker_processes 1; daemon off; ${process.getuid?.() === 0 ? 'user root; ' : ''}pid ${folder}/pid; error_log ${folder}/error.log warn;
events { worker_connections 2048; }
http { types { text/plain txt; } default_type application/octet-stream; sendfile on; tcp_nopush on; access_log ${folder}/access.log combined;
${temps.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
server { listen 127.0.0.1:${port}; location /repos/ { alias ${apt}/; } } }`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', 'nginx.conf'], { stdio: 'ignore' })
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/repos/dists/jammy/InRelease`).catch(() => undefined)
    if (answer?.status === 200) break
    if (child.exitCode !== null) throw new Error('nginx did not start')
  }
  const [worker = ''] = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')).split(' ')
  return { server: { name: 'nginx', port, pid: Number(worker) }, child }
}

async function call(
  port: number,
  path: string,
  token: string,
  body: FormData | object,
): Promise<Record<string, unknown>> {
  const isForm = body instanceof FormData
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: 'POST',
    headers: {
      // uploads are limited for each client address
      'X-Forwarded-For': `198.18.${randomBytes(2).join('.')}`,
      ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
      ...(isForm ? {} : { 'Content-Type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Record<string, unknown>
}

/** A distribution with small packages, one of 100 KB and one of 100 MB. */
async function stock({ port }: Server, root: string): Promise<void> {
  await call(port, '/setup/', '', { admin_username: 'admin', admin_password: PASSWORD })
  const token = String((await call(port, '/auth/token', '', { username: 'admin', password: PASSWORD })).access_token)
  await call(port, '/distributions/init', token, { codename: 'jammy' })
  const upload = async (name: string, bytes: Buffer): Promise<void> => {
    const form = new FormData()
    form.set('distribution', 'jammy')
    form.set('file', new Blob([new Uint8Array(bytes)]), name)
    await call(port, '/upload/', token, form)
  }
  for (const [name, size] of [
    ['kilobytes', 100_000],
    ['megabytes', 100_000_000],
  ] as const)
    await upload(
      `${name}.deb`,
      await buildDeb({
        name,
        version: '1',
        arch: 'amd64',
        compression: 'none',
        files: { [`usr/lib/${name}`]: randomBytes(size) },
      }),
    )
  const debs = join(root, 'debs')
  await writeDebs(debs, 0, SMALL_PACKAGES)
  const waiting = (await readdir(debs)).values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const name of waiting) await upload(name, await readFile(join(debs, name)))
    }),
  )
}

/** The requests, once every package is in the index. */
async function kindsOf({ port }: Server): Promise<readonly Kind[]> {
  const base = '/repos/dists/jammy/main/binary-amd64'
  const index = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}${base}/Packages`)).text()
  let packages = await index()
  while (packages.split('Package: ').length <= SMALL_PACKAGES + 2) packages = await index()
  const release = await (await fetch(`http://127.0.0.1:${port}/repos/dists/jammy/InRelease`)).text()
  const [, hash = ''] = / ([0-9a-f]{64}) +\d+ main\/binary-amd64\/Packages\.gz$/m.exec(release) ?? []
  const file = (name: string): string =>
    `/repos/${new RegExp(`^Filename: (\\S+/${name}_\\S+)$`, 'm').exec(packages)?.[1]}`
  return [
    { name: 'InRelease, 200', path: '/repos/dists/jammy/InRelease', size: 'small' },
    { name: 'InRelease, 304', path: '/repos/dists/jammy/InRelease', size: 'small', isKnown: true },
    { name: 'Packages.gz by hash', path: `${base}/by-hash/SHA256/${hash}`, size: 'small' },
    { name: 'package of 100 KB', path: file('kilobytes'), size: 'small' },
    { name: 'package of 100 MB', path: file('megabytes'), size: 'large' },
  ]
}

function wrk({ port, path, headers, connections, ms }: Load): Promise<Received> {
  const lines = headers === '' ? [] : ['-H', headers.trim()]
  const child = spawn('wrk', [
    '-t1',
    `-c${connections}`,
    `-d${ms / 1000}s`,
    ...lines,
    `http://127.0.0.1:${port}${path}`,
  ])
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  return new Promise(resolve =>
    child.once('close', () => {
      const [, answers, bytes, unit = ''] = /(\d+) requests in [\d.]+s, ([\d.]+)(\w+) read/.exec(said) ?? []
      const scale = { KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 }[unit] ?? 1
      const odd = /Non-2xx or 3xx responses: (\d+)/.exec(said)?.[1]
      resolve({ answers: Number(answers), bytes: Number(bytes) * scale, odd })
    }),
  )
}

function ownClient(load: Load): Promise<Received> {
  const worker = new Worker(join(import.meta.dirname, 'load.ts'), { workerData: load })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

async function measure(server: Server, kind: Kind, connections: number): Promise<Figures> {
  const etag = (await fetch(`http://127.0.0.1:${server.port}${kind.path}`, { method: 'HEAD' })).headers.get('etag')
  const headers = kind.isKnown === true ? `If-None-Match: ${etag}\r\n` : ''
  const load: Load = { port: server.port, path: kind.path, headers, connections, ms: 3_000 }
  const [start, cpu] = [performance.now(), await cpuOf(server.pid)]
  const client = kind.size === 'small' && isInstalled('wrk') ? wrk : ownClient
  const { answers, bytes, odd } = await client(load)
  const seconds = (performance.now() - start) / 1000
  if (odd !== undefined) throw new Error(`${server.name} answered ${odd} for ${kind.path}`)
  return {
    perSecond: answers / seconds,
    megabytes: bytes / seconds / 1e6,
    cpu: ((await cpuOf(server.pid)) - cpu) / seconds,
  }
}

const best = (figures: readonly Figures[], by: keyof Figures): Figures =>
  figures.reduce((one, other) => (other[by] > one[by] ? other : one))

function line(
  kind: Kind,
  connections: number,
  [ours, theirs]: readonly [Figures, Figures],
): { readonly text: string; readonly ratio: number } {
  const by = kind.size === 'small' ? 'perSecond' : 'megabytes'
  const show = (figures: Figures): string =>
    `${(kind.size === 'small' ? `${Math.round(figures.perSecond)}/s` : `${Math.round(figures.megabytes)} MB/s`).padStart(10)} ${figures.cpu.toFixed(2)} CPU`
  const ratio = ours[by] / theirs[by]
  const perCpu = ours[by] / ours.cpu / (theirs[by] / theirs.cpu)
  return {
    text: `${kind.name.padEnd(20)} ${String(connections).padStart(4)}  ${show(ours)}  ${show(theirs)}  ${ratio.toFixed(2)}  ${perCpu.toFixed(2)}`,
    ratio,
  }
}

/** Requests a second and CPU beside nginx on the same tree, in turns: `npm run bench serve`. */
export async function run(): Promise<boolean> {
  if (!isInstalled('nginx')) {
    console.log('nginx is not installed: nothing to compare with.')
    return false
  }
  if (!isInstalled('wrk')) console.log('wrk is not installed: our own client asks, and is slower than nginx.')
  const root = await mkdtemp(join(tmpdir(), 'gh-bench-serve-'))
  const children: ChildProcess[] = []
  let within = true
  try {
    const daemon = await startDaemon(root)
    children.push(daemon.child)
    await stock(daemon.server, root)
    const nginx = await startNginx(root)
    children.push(nginx.child)
    console.log('request               conns          gatehouse                nginx      of nginx  per CPU second')
    for (const kind of await kindsOf(daemon.server))
      for (const connections of CONNECTIONS) {
        const [ours, theirs]: [Figures[], Figures[]] = [[], []]
        for (let round = 0; round < ROUNDS; round++) {
          ours.push(await measure(daemon.server, kind, connections))
          theirs.push(await measure(nginx.server, kind, connections))
        }
        const by = kind.size === 'small' ? 'perSecond' : 'megabytes'
        const { text, ratio } = line(kind, connections, [best(ours, by), best(theirs, by)])
        console.log(text)
        within &&= ratio >= TARGET[kind.size]
      }
    const memory = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${daemon.server.pid}/status`, 'utf8'))?.[1]
    console.log(`most memory of the daemon: ${Math.round(Number(memory) / 1024)} MB`)
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(children.filter(child => child.exitCode === null).map(child => once(child, 'exit')))
    await rm(root, { recursive: true, force: true })
  }
  return within
}
