import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BatchReply } from '../../server/features/uploads/batch-contract.ts'
import { writeDebs } from './publish-deb.ts'
import { cpuOfFamily, formOf, json, logIn, namedInTree, send, startServer, type Server } from './server.ts'
import { isInstalled, show, timedTool, type Figure } from './tools.ts'

const AT_ONCE = 8
/** Files in one request of the batch route, and how many such requests run beside one another. */
const IN_BATCH = 500
const BATCHES_AT_ONCE = 2

/** Sends all files; ends when each is decided. */
type Send = (server: Server, token: string, debs: string, names: readonly string[]) => Promise<void>

async function oneByOne(server: Server, token: string, debs: string, names: readonly string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const waiting = names.entries()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [n, name] of waiting) {
        const form = formOf(name, await readFile(join(debs, name)))
        const { status, text } = await send(server, agent, { path: '/upload/', token, n, ...form })
        if (status !== 201) throw new Error(`${name}: ${status} ${text.slice(0, 300)}`)
      }
    }),
  )
  agent.destroy()
}

async function inBatches(server: Server, token: string, debs: string, names: readonly string[]): Promise<void> {
  const starts = Array.from({ length: Math.ceil(names.length / IN_BATCH) }, (_, n) => n * IN_BATCH).values()
  await Promise.all(
    Array.from({ length: BATCHES_AT_ONCE }, async () => {
      for (const start of starts) {
        const form = new FormData()
        form.set('distribution', 'jammy')
        for (const name of names.slice(start, start + IN_BATCH))
          form.append('file', new Blob([new Uint8Array(await readFile(join(debs, name)))]), name)
        const answer = await fetch(new URL('/api/v1/upload/batch', server.url), {
          method: 'POST',
          headers: {
            'Authorization': `Bearer ${token}`,
            'Prefer': 'respond-async',
            'X-Forwarded-For': `198.18.0.${start / IN_BATCH}`,
          },
          body: form,
        })
        const { taken, stopped } = (await answer.json()) as BatchReply
        if (taken !== names.slice(start, start + IN_BATCH).length)
          throw new Error(`a batch: ${answer.status}, ${taken} taken ${JSON.stringify(stopped ?? '')}`)
      }
    }),
  )
}

async function ours(
  root: string,
  { debs, size, how, by }: { readonly debs: string; readonly size: number; readonly how: string; readonly by: Send },
): Promise<Figure> {
  const server = await startServer(join(root, `repos ${how}`))
  const agent = new Agent()
  try {
    const token = await logIn(server, agent)
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename: 'jammy' }) })
    const names = (await readdir(debs)).sort().slice(0, size)
    const [start, cpu] = [performance.now(), await cpuOfFamily(server.pid)]
    await by(server, token, debs, names)
    const decided = { wall: (performance.now() - start) / 1000, cpu: (await cpuOfFamily(server.pid)) - cpu }
    await namedInTree(server, size)
    const figure = { wall: (performance.now() - start) / 1000, cpu: (await cpuOfFamily(server.pid)) - cpu }
    console.log(
      `${size} packages, ${how}: received, examined and decided after ${show(decided)}; the rest is publication: served after ${show(figure)}, the database included`,
    )
    return figure
  } finally {
    agent.destroy()
    await server.stop()
  }
}

async function reprepro(root: string, size: number): Promise<Figure> {
  await mkdir(join(root, 'conf'), { recursive: true })
  await writeFile(
    join(root, 'conf/distributions'),
    'Codename: jammy\nArchitectures: amd64\nComponents: main\nDebIndices: Packages Release . .gz .xz\n',
  )
  return timedTool(
    `find debs -name '*.deb' | sort | head -n ${size} | xargs reprepro --silent -S utils -P optional --export=never -b . includedeb jammy && reprepro --silent -b . export jammy`,
    root,
  )
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

/** So many plain uploads are measured beside the batches. */
const PLAIN_UP_TO = 1_000

/**
 * So many packages through the batch route until the tree names them all, beside aptly and reprepro; and plain uploads,
 * eight at once: `npm run bench upload -- 10000`.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  let within = true
  for (const size of args.length === 0 ? [10_000] : args.map(Number)) {
    const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
    try {
      const debs = join(root, 'debs')
      await writeDebs(debs, 0, size)
      await ours(root, { debs, size: Math.min(size, PLAIN_UP_TO), how: `${AT_ONCE} at once`, by: oneByOne })
      const mine = await ours(root, { debs, size, how: `${IN_BATCH} in a request`, by: inBatches })
      for (const [tool, measure] of [
        ['aptly', aptly],
        ['reprepro', reprepro],
      ] as const) {
        if (!isInstalled(tool)) continue
        const theirs = await measure(root, size)
        console.log(
          `${size} packages, ${tool}, add and publish: ${show(theirs)}; we took ${(mine.wall / theirs.wall).toFixed(1)} times its wall, ${(mine.cpu / theirs.cpu).toFixed(1)} times its CPU`,
        )
        if (tool === 'aptly') within &&= mine.wall <= theirs.wall
      }
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  }
  return within
}
