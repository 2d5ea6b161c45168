import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeDebs } from './publish-deb.ts'
import { cpuOfFamily, formOf, json, logIn, send, startServer } from './server.ts'
import { isInstalled, show, timedTool, type Figure } from './tools.ts'

const AT_ONCE = 8

async function ours(root: string, debs: string, size: number): Promise<Figure> {
  const server = await startServer(join(root, 'repos'))
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  try {
    const token = await logIn(server, agent)
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
