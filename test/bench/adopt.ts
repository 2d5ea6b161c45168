import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { poolPath, writeAptIndex, type TreePackage } from '../support/apt-tree.ts'
import { buildDeb, controlText } from '../support/packages.ts'
import { nameOf } from './add-one.ts'
import { specOf } from './publish-deb.ts'
import { cpuByProcess, cpuOfFamily, json, logIn, namedInTree, send, startServer, type Server } from './server.ts'
import { isRun, type Measured } from './rows.ts'
import { isInstalled, show, timedTool, type Figure } from './tools.ts'

const LOOK_MS = 100

/** A tree as other tools write it: a pool, and an index of it. */
async function makeTree(root: string, size: number): Promise<void> {
  const packages: TreePackage[] = []
  for (let n = 0; n < size; n++) {
    const [name, bytes] = [nameOf(n), await buildDeb(specOf(n))]
    const path = poolPath(`${name}_1.0-1_amd64.deb`, name)
    await mkdir(join(root, dirname(path)), { recursive: true })
    await writeFile(join(root, path), bytes)
    packages.push({ path, bytes, control: controlText(specOf(n)) })
  }
  await writeAptIndex(root, packages)
}

async function ask<Answer>(server: Server, token: string, path: string): Promise<Answer> {
  const answer = await fetch(new URL(`/api/v1${path}`, server.url), { headers: { Authorization: `Bearer ${token}` } })
  return (await answer.json()) as Answer
}

interface Job {
  readonly status: string
  readonly error: { readonly message: string } | null
  readonly result: { readonly added: number; readonly message: string } | null
}

/** Resolves when the job has ended. */
async function ended(server: Server, token: string, id: string): Promise<Job> {
  for (;;) {
    const job = await ask<Job>(server, token, `/jobs/${id}`)
    if (!['queued', 'running'].includes(job.status)) return job
    await setTimeout(LOOK_MS)
  }
}

async function ours(root: string, tree: string, size: number): Promise<Figure> {
  const server = await startServer(join(root, 'repos'), { env: { IMPORT_ROOTS: root } })
  const agent = new Agent()
  try {
    const token = await logIn(server, agent)
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename: 'jammy' }) })
    const [start, cpu] = [performance.now(), await cpuOfFamily(server.pid)]
    const since = async (): Promise<Figure> => ({
      wall: (performance.now() - start) / 1000,
      cpu: (await cpuOfFamily(server.pid)) - cpu,
    })
    const before = await cpuByProcess(server.pid)
    const asked = await send(server, agent, {
      path: '/import/adopt',
      token,
      ...json({ path: tree, distribution: 'jammy' }),
    })
    if (asked.status !== 202) throw new Error(`${asked.status} ${asked.text}`)
    const { job_id: id } = JSON.parse(asked.text) as { readonly job_id: string }
    const job = await ended(server, token, id)
    if (job.result?.added !== size) throw new Error(`the job ended with ${JSON.stringify(job).slice(0, 2000)}`)
    const durable = await since()
    await namedInTree(server, size)
    const served = await since()
    const shares = await cpuByProcess(server.pid)
    console.log(
      `${size} packages adopted: examined, decided and durable after ${show(durable)}; served after ${show(served)}, the database included`,
    )
    const parts = [...shares].map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)] as const)
    console.log(
      `of it: ${parts
        .filter(([, seconds]) => seconds >= 0.05)
        .sort(([, a], [, b]) => b - a)
        .map(([name, seconds]) => `${name} ${seconds.toFixed(2)} s`)
        .join(', ')}`,
    )
    return served
  } finally {
    agent.destroy()
    await server.stop()
  }
}

async function aptly(root: string, tree: string): Promise<Figure> {
  await writeFile(
    join(root, 'aptly.conf'),
    JSON.stringify({ rootDir: join(root, 'aptly'), architectures: ['amd64'], skipLegacyPool: true }),
  )
  const tool = 'aptly -config=aptly.conf'
  return timedTool(
    `${tool} repo create -distribution=jammy -component=main r && ${tool} repo add r ${tree}/pool && ${tool} publish repo -skip-signing -skip-contents r`,
    root,
  )
}

async function reprepro(root: string, tree: string): Promise<Figure> {
  await mkdir(join(root, 'conf'), { recursive: true })
  await writeFile(
    join(root, 'conf/distributions'),
    'Codename: jammy\nArchitectures: amd64\nComponents: main\nDebIndices: Packages Release . .gz .xz\n',
  )
  return timedTool(
    `find ${tree}/pool -name '*.deb' | sort | xargs reprepro --silent -S utils -P optional --export=never -b . includedeb jammy && reprepro --silent -b . export jammy`,
    root,
  )
}

/** So many packages of a tree until they are served, beside aptly and reprepro. */
export async function measureAdoption(size: number): Promise<Measured> {
  const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
  const tree = join(root, 'tree')
  try {
    await makeTree(tree, size)
    const mine = await ours(root, tree, size)
    const others: string[] = []
    let isWithin: boolean | undefined
    for (const [tool, measure] of [
      ['aptly', aptly],
      ['reprepro', reprepro],
    ] as const) {
      if (!isInstalled(tool)) continue
      const theirs = await measure(root, tree)
      others.push(`${tool} ${theirs.wall.toFixed(1)} s, ${theirs.cpu.toFixed(1)} s of CPU`)
      console.log(
        `${size} packages, ${tool}, add and publish: ${show(theirs)}; we took ${(mine.wall / theirs.wall).toFixed(1)} times its wall, ${(mine.cpu / theirs.cpu).toFixed(1)} times its CPU`,
      )
      if (tool === 'aptly') isWithin = mine.wall <= theirs.wall
    }
    return [
      {
        what: `${size} small packages of a tree adopted and served; at most the time of aptly`,
        here: `${mine.wall.toFixed(1)} s, ${mine.cpu.toFixed(1)} s of CPU, PostgreSQL included`,
        beside: others.join('; '),
        ...(isWithin === undefined ? {} : { isWithin }),
      },
    ]
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** So many packages of a tree until they are served, beside aptly and reprepro: `npm run bench adopt -- 10000`. */
export async function run(args: readonly string[]): Promise<boolean> {
  let within = true
  for (const size of args.length === 0 ? [10_000] : args.map(Number))
    for (const one of await measureAdoption(size)) within = isRun(one) && one.isWithin !== false && within
  return within
}
