import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { buildDeb } from '../support/packages.ts'
import { nameOf } from './add-one.ts'
import { specOf } from './publish-deb.ts'
import {
  cpuOfFamily,
  formOf,
  json,
  logIn,
  memoryOfFamily,
  namedInTree,
  send,
  startServer,
  type Server,
} from './server.ts'
import { makeStockedRoot } from './stocked-root.ts'

const AT_ONCE = 8
const UPLOADS = 400
/** Threads and connections that are not used end within a minute. */
const REST_MS = 75_000
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

interface Line {
  readonly what: string
  readonly value: number
  readonly unit: string
  /** Undefined: only shown. */
  readonly budget?: { readonly atMost: number } | { readonly atLeast: number }
  readonly more?: string
}

function isWithin({ value, budget }: Line): boolean {
  if (budget === undefined) return true
  return 'atMost' in budget ? value <= budget.atMost : value >= budget.atLeast
}

function print(line: Line): boolean {
  const { what, value, unit, budget, more } = line
  const wanted =
    budget === undefined ? '' : 'atMost' in budget ? `, at most ${budget.atMost}` : `, at least ${budget.atLeast}`
  const told = more === undefined ? '' : `; ${more}`
  console.log(`${isWithin(line) ? 'ok  ' : 'OVER'} ${what}: ${value.toFixed(1)} ${unit}${wanted}${told}`)
  return isWithin(line)
}

/** Seconds until requests are served, and until the port answered; CPU seconds of all processes until then. */
async function timedStart(root: string): Promise<{ server: Server; ready: number; heard: number; cpu: number }> {
  const [start, port] = [performance.now(), await freePort()]
  let heard = 0
  const starting = startServer(root, { port })
  const listening = (async () => {
    while (heard === 0) {
      const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined)
      if (answer?.ok === true) heard = (performance.now() - start) / 1000
      else await setTimeout(20)
    }
  })()
  const server = await starting
  const ready = (performance.now() - start) / 1000
  await listening
  return { server, ready, heard, cpu: await cpuOfFamily(server.pid) }
}

/** New packages, eight at once, each answered when it is durable, or when the index names it. */
async function upload(server: Server, from: number, waits: boolean): Promise<readonly Line[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const token = await logIn(server, agent)
  const bodies = await Promise.all(
    Array.from({ length: UPLOADS }, async (_, n) =>
      formOf(`${nameOf(from + n)}.deb`, await buildDeb(specOf(from + n))),
    ),
  )
  const waiting = bodies.entries()
  const [start, cpu] = [performance.now(), await cpuOfFamily(server.pid)]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [n, body] of waiting) {
        const { status, text } = await send(server, agent, { path: '/upload/', token, n: from + n, waits, ...body })
        if (status !== 201) throw new Error(`an upload was answered with ${status} ${text.slice(0, 300)}`)
      }
    }),
  )
  const wall = (performance.now() - start) / 1000
  await namedInTree(server, from + UPLOADS)
  const spent = (await cpuOfFamily(server.pid)) - cpu
  agent.destroy()
  const how = waits ? 'wait for the index' : 'do not wait for the index'
  return [
    { what: `${AT_ONCE} clients upload and ${how}`, value: UPLOADS / wall, unit: 'a second', budget: { atLeast: 40 } },
    {
      ...{ what: 'CPU of each, its share of publications included', value: (spent / UPLOADS) * 1000, unit: 'ms' },
      budget: { atMost: 15 },
    },
  ]
}

/** As a console would: lists, a search, a detail, a health report. */
async function browse(server: Server): Promise<void> {
  const agent = new Agent()
  const token = await logIn(server, agent)
  agent.destroy()
  for (const path of [
    '/artifacts/',
    '/packages/?q=bench',
    `/artifacts/${nameOf(1)}`,
    '/dashboard/stats',
    '/distributions/',
  ])
    await fetch(new URL(`/api/v1${path}`, server.url), { headers: { Authorization: `Bearer ${token}` } })
  await fetch(new URL('/health', server.url))
}

async function idleMemory(root: string, packages: number): Promise<readonly Line[]> {
  const server = await startServer(root, { by: 'npm' })
  await browse(server)
  await upload(server, packages, false)
  await setTimeout(REST_MS)
  const all = await memoryOfFamily(server.pid)
  await server.stop()
  const bare = await startServer(root)
  await browse(bare)
  await setTimeout(REST_MS)
  const more = `${(await memoryOfFamily(bare.pid)).toFixed(1)} MB without npm, after a start`
  await bare.stop()
  return [{ what: 'memory of all processes when idle', value: all, unit: 'MB', budget: { atMost: 200 }, more }]
}

async function rebuild(root: string): Promise<Line> {
  await rm(join(root, '.pg'), { recursive: true })
  const { server, ready, heard, cpu } = await timedStart(root)
  const agent = new Agent()
  await send(server, agent, { path: '/setup/', ...json({}) })
  agent.destroy()
  await server.stop()
  return {
    ...{
      what: 'database made again from the manifests, and published',
      value: ready,
      unit: 's',
      budget: { atMost: 30 },
    },
    more: `the port answered after ${heard.toFixed(1)} s; ${cpu.toFixed(1)} s of CPU`,
  }
}

async function verify(root: string): Promise<Line> {
  const start = performance.now()
  const done = spawnSync(process.execPath, [VERIFY], { env: { ...process.env, REPOS_ROOT: root, ENV: 'test' } })
  if (done.status !== 0) throw new Error(`verify found differences: ${done.stdout.toString().slice(-500)}`)
  const value = (performance.now() - start) / 1000
  return { what: 'npm run verify beside the service', value, unit: 's', budget: { atMost: 30 } }
}

/** @param like  a published folder of `stocked-root`, copied instead of making one */
async function prepare(root: string, packages: number, like: string | undefined): Promise<void> {
  if (like === undefined) return makeStockedRoot(root, packages)
  spawnSync('cp', ['-a', `${like}/.`, root])
  for (const folder of ['trees', 'apt']) await rm(join(root, folder), { recursive: true })
}

/**
 * What a repository of so many packages costs: `npm run bench scale -- 20000`, or with a folder that `stocked-root`
 * made. Takes ten minutes.
 */
export async function run([size = '20000', like]: readonly string[]): Promise<boolean> {
  const packages = Number(size)
  const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
  const results: boolean[] = []
  try {
    await prepare(root, packages, like)
    const first = await timedStart(root)
    await namedInTree(first.server, packages)
    const spent = await cpuOfFamily(first.server.pid)
    const more = `${spent.toFixed(1)} s of CPU, the start included`
    print({ what: `${packages} packages; first publication`, value: first.ready, unit: 's', more })
    await first.server.stop()
    await (await timedStart(root)).server.stop() // files and code are in memory from here on
    const { server, ready, heard, cpu } = await timedStart(root)
    results.push(
      print({
        ...{ what: 'restart until every request is served', value: ready, unit: 's', budget: { atMost: 3 } },
        more: `the port answered after ${heard.toFixed(1)} s; ${cpu.toFixed(1)} s of CPU`,
      }),
    )
    for (const [n, waits] of [false, true].entries())
      for (const line of await upload(server, packages + n * UPLOADS, waits)) results.push(print(line))
    results.push(print(await verify(root)))
    await server.stop()
    for (const line of await idleMemory(root, packages + 2 * UPLOADS)) results.push(print(line))
    results.push(print(await rebuild(root)))
    return results.every(Boolean)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
