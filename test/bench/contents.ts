import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { DAEMON_ENV, DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'
import type { Contents } from '../../server/contents/component.ts'
import { createReading } from '../../server/contents/reading.ts'
import { buildDeb, spoolPath, type DebSpec } from '../support/packages.ts'
import { buildZip } from '../support/zip.ts'
import { nameOf } from './add-one.ts'
import { specOf } from './publish-deb.ts'
import { cpuOfFamily, formOf, json, logIn, send, startServer, type Server } from './server.ts'
import { isInstalled, show, timed, timedTool } from './tools.ts'

const UPLOADS = 300
const MOST_MEMORY_MB = 300
/** A child that reads one file and says how much memory it took: `contents --read FILE`. */
const READ = '--read'

async function read(path: string, folder: string): Promise<Contents> {
  const { signal } = new AbortController()
  const reading = createReading({ incoming: folder, cpuSeconds: () => 120 })
  return reading({ format: 'deb', file: await spoolPath(path) }, signal)
}

const names = ({ components, unopened }: Contents): string =>
  `${components.length} components, ${unopened.length} files not opened`

/** One package, read alone, and its unpacked files read by syft. */
async function compare(path: string, folder: string): Promise<void> {
  const megabytes = spawnSync('sh', ['-c', `dpkg-deb --fsys-tarfile '${path}' | wc -c`], { encoding: 'utf8' })
  const size = Number(megabytes.stdout) / 1e6
  let found: Contents | undefined
  const ours = await timed(async () => {
    found = await read(path, folder)
  })
  const each = `${((ours.cpu / Math.max(size, 0.001)) * 1000).toFixed(1)} ms of CPU for each MB`
  console.log(
    `${basename(path)}, ${size.toFixed(1)} MB unpacked\n  read  ${show(ours)}, ${each}; ${found === undefined ? '' : names(found)}`,
  )
  if (!isInstalled('syft')) return
  const unpacked = await mkdtemp(join(folder, 'files-'))
  spawnSync('dpkg-deb', ['-x', path, unpacked])
  const list = join(folder, 'syft.json')
  const theirs = timedTool(`SYFT_CHECK_FOR_APP_UPDATE=false syft -q -o syft-json=${list} dir:${unpacked}`, folder)
  const count = spawnSync('grep', ['-o', '"foundBy":', list], { encoding: 'utf8' }).stdout.split('\n').length - 1
  console.log(`  syft  ${show(theirs)}, ${(theirs.cpu / ours.cpu).toFixed(1)} times our CPU; ${count} components`)
  await rm(unpacked, { recursive: true })
}

/** @returns CPU seconds of all uploads, published */
async function upload(server: Server, agent: Agent, token: string, from: number): Promise<number> {
  const bodies = await Promise.all(
    Array.from({ length: UPLOADS }, async (_, n) =>
      formOf(`${nameOf(from + n)}.deb`, await buildDeb(specOf(from + n))),
    ),
  )
  const cpu = await cpuOfFamily(server.pid)
  for (const [n, body] of bodies.entries()) {
    const { status, text } = await send(server, agent, { path: '/upload/', token, n: from + n, ...body })
    if (status !== 201) throw new Error(`an upload was answered with ${status} ${text.slice(0, 300)}`)
  }
  return (await cpuOfFamily(server.pid)) - cpu
}

/** Small packages with the vulnerability step, which reads contents, and without it. */
async function uploads(folder: string): Promise<void> {
  const server = await startServer(join(folder, 'repos'))
  const agent = new Agent({ keepAlive: true })
  try {
    const token = await logIn(server, agent)
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename: 'jammy' }) })
    const scan = async (grype_scan: boolean): Promise<void> => {
      const answer = await fetch(new URL('/api/v1/settings', server.url), {
        method: 'PATCH',
        headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ validation: { grype_scan } }),
      })
      if (!answer.ok) throw new Error(await answer.text())
    }
    const cost = { with: 0, without: 0 }
    await upload(server, agent, token, 0) // until the code is compiled
    for (let round = 1; round < 5; round++) {
      await scan(round % 2 === 0)
      cost[round % 2 === 0 ? 'with' : 'without'] += await upload(server, agent, token, round * UPLOADS)
    }
    const each = (seconds: number): string => `${((seconds / (2 * UPLOADS)) * 1000).toFixed(2)} ms`
    console.log(
      `upload of a small .deb, CPU each: ${each(cost.with)} with the vulnerability step, ${each(cost.without)} without it (${(cost.with / cost.without).toFixed(2)} times)`,
    )
  } finally {
    agent.destroy()
    await server.stop()
  }
}

const jar = (name: string, body: Buffer): DebSpec => ({
  name,
  version: '1.0',
  compression: 'none',
  files: { [`opt/${name}.jar`]: body },
})

/** Each within one package: they must end in seconds, with a reason. */
function bombs(): Readonly<Record<string, DebSpec>> {
  const zeros = Buffer.alloc(64 * 2 ** 20)
  const packed = deflateRawSync(zeros)
  const many = buildZip(Array.from({ length: 60_000 }, (_, n) => ({ name: `a/${n}.class`, body: '', stored: true })))
  let nested: Buffer = buildZip([{ name: 'zeros.jar', body: zeros }])
  for (let n = 0; n < 12; n++) nested = buildZip([{ name: `${n}.jar`, body: nested }])
  const asar = Buffer.alloc(16)
  asar.writeUInt32LE(4, 0)
  asar.writeUInt32LE(0xffff_fff8, 4)
  asar.writeUInt32LE(0xffff_fff4, 8)
  asar.writeUInt32LE(0xffff_fff0, 12)
  const tarball = gzipSync(Buffer.alloc(256 * 2 ** 20))
  return {
    'zip of zeros': jar(
      'zeros',
      buildZip(Array.from({ length: 50 }, (_, n) => ({ name: `${n}.jar`, body: zeros.subarray(0, 32 * 2 ** 20) }))),
    ),
    'archives in archives': jar('nested', nested),
    'many entries': jar('many', many),
    'raw deflate behind a zip header': jar('raw', Buffer.concat([Buffer.from('PK\x03\x04'), packed])),
    'tar.gz of zeros': {
      name: 'tarball',
      version: '1.0',
      compression: 'none',
      files: { 'opt/zeros.tar.gz': tarball },
    },
    'asar with a header past its end': {
      name: 'asar',
      version: '1.0',
      compression: 'none',
      files: { 'opt/app.asar': asar },
    },
  }
}

async function defuse(folder: string): Promise<void> {
  for (const [what, spec] of Object.entries(bombs())) {
    const path = join(folder, `${spec.name}.deb`)
    await writeFile(path, await buildDeb(spec))
    let found: Contents | undefined
    const figure = await timed(async () => {
      found = await read(path, folder)
    })
    const why = [found?.cut, ...(found?.unopened ?? []).map(one => `${one.path}: ${one.why}`)].filter(
      one => one !== undefined,
    )
    console.log(
      `${what}: ${show(figure)}; ${why[0] ?? 'read to its end'}${why.length > 1 ? ` And ${why.length - 1} more.` : ''}`,
    )
  }
}

/** A jar of 500 MB with jars in it, read by a process of its own. */
async function fatJar(folder: string): Promise<boolean> {
  const inner = Array.from({ length: 25 }, (_, n) => ({
    name: `BOOT-INF/lib/part-${n}-1.0.jar`,
    body: buildZip([{ name: 'a.bin', body: randomBytes(20 * 2 ** 20), stored: true }]),
    stored: true,
  }))
  const path = join(folder, 'fat.deb')
  await writeFile(path, await buildDeb(jar('fat', buildZip(inner))))
  const done = spawnSync(
    process.execPath,
    [...DAEMON_FLAGS, join(import.meta.dirname, 'main.ts'), 'contents', READ, path, folder],
    {
      encoding: 'utf8',
      env: { ...process.env, ...DAEMON_ENV },
    },
  )
  console.log(`jar of ${25 * 20} MB: ${done.stdout.trim()}${done.status === 0 ? '' : done.stderr}`)
  return done.status === 0
}

async function readAlone([path = '', folder = '']: readonly string[]): Promise<boolean> {
  const found = await read(path, folder)
  // the most of this program: the figure of the system counts what the process was before it became one
  const memory = Number(/^VmHWM:\s+(\d+)/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1]) / 1024
  console.log(`${memory.toFixed(0)} MB of memory at most, at most ${MOST_MEMORY_MB}; ${names(found)}`)
  return memory <= MOST_MEMORY_MB
}

/**
 * What it costs to read what lies inside packages, beside syft on the same files, where it is installed:
 * `npm run bench contents -- FILE.deb …`; what it adds to small uploads; what bombs and a large jar take.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  if (args[0] === READ) return readAlone(args.slice(1))
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-'))
  try {
    await mkdir(join(folder, 'incoming'))
    for (const path of args) await compare(path, folder)
    await defuse(folder)
    const isWithin = await fatJar(folder)
    await uploads(folder)
    return isWithin
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
