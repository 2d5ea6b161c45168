import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startRegistryUpstream } from '../../support/registry-upstream.ts'
import { json, logIn, send, startServer, type Server } from '../server.ts'
import { longestPause, type Place } from './figures.ts'
import { measureInstalls } from './npm.ts'
import { measurePulls } from './oci.ts'
import { measurePackument } from './packument.ts'
import { measurePages, writeWheels } from './pypi.ts'
import { startCraneRegistry, startDistribution, startPypiServer, startVerdaccio } from './rivals.ts'

/** The most that the main thread computes at a stretch, and the most memory while clients install or a list comes. */
const TARGET = { pauseMs: 50, memoryMb: 400 }

const REGISTRIES = [
  { name: 'ours', format: 'npm' },
  { name: 'ours-py', format: 'pypi' },
  { name: 'ours-images', format: 'oci' },
]

/** A daemon with the registries that are measured. */
async function startOurs(root: string, { upstream, pauses }: { upstream: string; pauses: string }) {
  const hook = pathToFileURL(join(import.meta.dirname, 'pauses.ts')).href
  const server = await startServer(root, {
    env: { GATEHOUSE_BENCH_PAUSES: pauses, NODE_OPTIONS: `--import ${hook}` },
  })
  const agent = new Agent()
  const token = await logIn(server, agent)
  const ask = async (path: string, body: object, method: 'POST' | 'PATCH' = 'POST'): Promise<void> => {
    const { status, text } = await send(server, agent, { path, method, token, ...json(body) })
    if (status >= 300) throw new Error(`${path} was answered with ${status} ${text.slice(0, 300)}`)
  }
  await ask('/settings/', { notifications: { allow_private_hosts: '127.0.0.1' } }, 'PATCH')
  for (const registry of REGISTRIES) await ask('/registries/', registry)
  await ask('/registries/', { name: 'outside', format: 'npm', kind: 'proxy', upstream: { url: upstream } })
  agent.destroy()
  const at = (path: string): Place => ({ called: 'gatehouse', base: new URL(path, server.url).href, server, token })
  return {
    server,
    npm: at('/npm/ours'),
    pypi: at('/pypi/ours-py'),
    oci: at('/v2/ours-images'),
    proxy: at('/npm/outside'),
  }
}

/**
 * Registries beside those of others that are on PATH (`verdaccio`, `pypi-server`, `docker-registry`, `crane`), on the
 * same packages in one run: `npm run bench registries [packages]`.
 */
export async function run([packages = '500']: readonly string[]): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), 'gh-bench-registries-'))
  const pauses = join(root, 'pauses')
  const upstream = await startRegistryUpstream()
  const stops: (() => Promise<void>)[] = [() => upstream.close()]
  const beside = (rival: Server | undefined, { called, path }: { called: string; path: string }): readonly Place[] => {
    if (rival === undefined) {
      console.log(`${called} is not on PATH: nothing beside it.`)
      return []
    }
    stops.push(() => rival.stop())
    return [{ called, base: new URL(path, rival.url).href.replace(/\/$/, ''), server: rival }]
  }
  try {
    const ours = await startOurs(join(root, 'repos'), { upstream: upstream.url, pauses })
    stops.push(() => ours.server.stop())
    const verdaccio = beside(await startVerdaccio(join(root, 'verdaccio')), { called: 'verdaccio', path: '/' })
    await longestPause(ours.server, pauses)
    const memory = await measureInstalls([ours.npm, ...verdaccio], Number(packages))
    const installing = await longestPause(ours.server, pauses)
    console.log(`  longest pause of our main thread while publishing and installing: ${installing.toFixed(1)} ms`)
    const wheels = join(root, 'wheels')
    await writeWheels(wheels, 1_000)
    const pypiserver = beside(await startPypiServer(wheels), { called: 'pypiserver', path: '/' })
    await measurePages([ours.pypi, ...pypiserver], 1_000)
    const distribution = beside(await startDistribution(join(root, 'distribution')), {
      called: 'distribution',
      path: '/v2',
    })
    const crane = beside(await startCraneRegistry(join(root, 'crane')), { called: 'crane registry', path: '/v2' })
    await measurePulls([ours.oci, ...distribution, ...crane])
    const reading = await measurePackument(ours.proxy, { upstream, pauses })
    return Math.max(installing, reading.pause) <= TARGET.pauseMs && Math.max(memory, reading.memory) <= TARGET.memoryMb
  } finally {
    for (const stop of stops.reverse()) await stop()
    await rm(root, { recursive: true, force: true })
  }
}
