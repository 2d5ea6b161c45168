import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { cpuOfFamily, formOf, json, logIn, send, startServer, type Server } from './server.ts'
import { isInstalled } from './tools.ts'

const AT_ONCE = 8
/** Processes beside the service that never rest. */
const BUSY = 4
/** One package in so many is a large one: between these sizes, in equal steps of the logarithm. */
const LARGE_EVERY = 25
const LARGE_BYTES = { from: 10e6, to: 200e6 }
/** So many are downloaded by one call of apt. */
const TOGETHER = 50
/** Of so many packages one is packed again, each time by the next of these. */
const REPACKED = 10
const COMPRESSIONS = ['gzip', 'zstd', 'none'] as const
const REPOSITORIES: Readonly<Record<string, string>> = {
  '.deb': 'jammy',
  '.rpm': 'opensuse-leap-15.6',
  '.apk': 'alpine3.22',
}

interface Available {
  readonly name: string
  readonly size: number
}

/** What apt offers, by size. */
function listAvailable(): Available[] {
  const { stdout } = spawnSync('apt-cache', ['dumpavail'], { encoding: 'utf8', maxBuffer: 1e9 })
  return stdout
    .split('\n\n')
    .flatMap(text => {
      const [, name] = /^Package: (\S+)$/m.exec(text) ?? []
      const [, size] = /^Size: (\d+)$/m.exec(text) ?? []
      return name === undefined || size === undefined ? [] : [{ name, size: Number(size) }]
    })
    .sort((a, b) => a.size - b.size)
}

/** Small ones as often as they are in the archive, and enough large ones. */
function choose(all: readonly Available[], count: number): string[] {
  const large = Math.floor(count / LARGE_EVERY)
  const { from, to } = LARGE_BYTES
  const sizes = Array.from({ length: large }, (_, n) => from * (to / from) ** (n / Math.max(1, large - 1)))
  const small = all.filter(({ size }) => size < from)
  return [
    ...Array.from({ length: count - large }, (_, n) => small[Math.floor((n * small.length) / (count - large))]),
    ...sizes.map(wanted => all.findLast(({ size }) => size <= wanted)),
  ].flatMap(one => one?.name ?? [])
}

async function download(folder: string, count: number): Promise<void> {
  const names = choose(listAvailable(), count)
  const fetched = (some: readonly string[]): boolean =>
    spawnSync('apt-get', ['-qq', 'download', ...some], { cwd: folder, stdio: 'ignore' }).status === 0
  for (let from = 0; from < names.length; from += TOGETHER) {
    const some = names.slice(from, from + TOGETHER)
    // one that the archive no longer has must not keep the others away
    if (!fetched(some)) for (const name of some) fetched([name])
  }
  const debs = (await readdir(folder)).sort()
  for (const [n, deb] of debs.filter((_, n) => n % REPACKED === 0).entries()) {
    const [from, to] = [join(folder, deb), join(folder, 'unpacked')]
    const packed = [...['-b', '--root-owner-group', `-Z${COMPRESSIONS[n % COMPRESSIONS.length]}`], to, `${from}.new`]
    const isDone = [['-R', from, to], packed].every(
      args => spawnSync('dpkg-deb', args, { stdio: 'ignore' }).status === 0,
    )
    if (isDone) await rename(`${from}.new`, from)
    await rm(to, { recursive: true, force: true })
  }
}

/** The compression of a .deb's files by the name of its last member. */
async function compressionOf(path: string): Promise<string> {
  if (extname(path) !== '.deb') return extname(path).slice(1)
  const members = spawnSync('ar', ['t', path], { encoding: 'utf8' }).stdout
  return /^data\.tar(?:\.(\w+))?$/m.exec(members)?.[1] ?? 'none'
}

interface Fate {
  readonly name: string
  readonly size: number
  readonly seconds: number
  readonly status: number
  readonly text: string
  /** How often the service asked to come again: as many large ones were being unpacked as it allows. */
  readonly asked: number
}

async function upload(server: Server, agent: Agent, token: string, path: string, n: number): Promise<Fate> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const form = formOf(name, await readFile(path), REPOSITORIES[extname(name)])
  const start = performance.now()
  for (let asked = 0; ; asked++) {
    const { status, text } = await send(server, agent, { path: '/upload/', token, n: n * 15, ...form })
    if (status !== 503)
      return { name, size: (await stat(path)).size, seconds: (performance.now() - start) / 1000, status, text, asked }
    await setTimeout(5_000)
  }
}

async function uploadAll(server: Server, folder: string): Promise<readonly Fate[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const token = await logIn(server, agent)
  for (const codename of Object.values(REPOSITORIES))
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename }) })
  const fates: Fate[] = []
  const waiting = (await readdir(folder)).filter(name => extname(name) in REPOSITORIES).entries()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [n, name] of waiting) fates.push(await upload(server, agent, token, join(folder, name), n))
    }),
  )
  agent.destroy()
  return fates
}

function tell(fates: readonly Fate[], compressions: readonly string[], cpu: number): void {
  const bytes = fates.reduce((sum, { size }) => sum + size, 0)
  const outcomes = Map.groupBy(fates, ({ status, text }) => {
    const { status: state, code } = JSON.parse(text) as { readonly status?: string; readonly code?: string }
    return `${status} ${state ?? code ?? ''}`
  })
  const slowest = fates.toSorted((a, b) => b.seconds - a.seconds).slice(0, 3)
  const counts = [...Map.groupBy(compressions, one => one)].map(([one, all]) => `${all.length} ${one}`)
  console.log(`${fates.length} packages, ${(bytes / 1e6).toFixed(0)} MB: ${counts.join(', ')}`)
  for (const [outcome, some] of outcomes) console.log(`  ${outcome}: ${some.length}`)
  console.log(`  ${cpu.toFixed(0)} s of CPU without clamd, ${((cpu * 1e9) / bytes).toFixed(0)} ms for each MB`)
  console.log(`  asked to come again: ${fates.reduce((sum, { asked }) => sum + asked, 0)} times`)
  for (const { name, size, seconds } of slowest)
    console.log(`  slowest: ${name}, ${(size / 1e6).toFixed(1)} MB, ${seconds.toFixed(0)} s`)
  for (const { name, status, text } of fates.filter(({ status }) => status >= 300))
    console.log(`  ${name}: ${status} ${text.slice(0, 400)}`)
}

/**
 * Real packages of every size and compression through the gate, eight at a time, while four other processes keep the
 * machine busy: `npm run bench gate -- 300`, or `-- FOLDER` for packages that lie there. False when one is refused.
 */
export async function run([of = '300']: readonly string[]): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
  const count = /^\d+$/.test(of) ? Number(of) : undefined
  const folder = count === undefined ? of : join(root, 'packages')
  let clamd: TestClamd | undefined
  const busy: ChildProcess[] = []
  try {
    if (count !== undefined) {
      if (!isInstalled('apt-get', 'apt-cache', 'dpkg-deb')) throw new Error('it needs apt and dpkg-deb, or a folder')
      await mkdir(folder)
      await download(folder, count)
    }
    for (let n = 0; n < BUSY; n++) busy.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
    if (hasClamd) clamd = await startClamd()
    const server = await startServer(join(root, 'repos'), {
      env: clamd === undefined ? {} : { CLAMD_SOCKET: clamd.address.socket },
    })
    try {
      const before = await cpuOfFamily(server.pid)
      const fates = await uploadAll(server, folder)
      const compressions = await Promise.all(fates.map(({ name }) => compressionOf(join(folder, name))))
      tell(fates, compressions, (await cpuOfFamily(server.pid)) - before)
      return fates.every(({ status }) => status < 300)
    } finally {
      await server.stop()
    }
  } finally {
    for (const one of busy) one.kill('SIGKILL')
    await clamd?.close()
    await rm(root, { recursive: true, force: true })
  }
}
