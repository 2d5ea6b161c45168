import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import type { Server } from '../server.ts'
import { isInstalled } from '../tools.ts'

/** A registry of somebody else, as its makers start it, in a folder of its own; undefined: it is not on PATH. */
export type StartRival = (folder: string) => Promise<Server | undefined>

interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly port: number
  /** Answers once it is ready. */
  readonly path: string
}

async function start({ command, args, env = {}, port, path }: Program): Promise<Server> {
  const { PATH = '' } = process.env
  const child = spawn(command, args, { stdio: 'ignore', env: { PATH, ...env } })
  const url = new URL(`http://127.0.0.1:${port}`)
  while (
    !(await fetch(new URL(path, url)).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
    await setTimeout(100)
  }
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

/** verdaccio, where anybody publishes and nothing is asked elsewhere. */
export const startVerdaccio: StartRival = async folder => {
  if (!isInstalled('verdaccio')) return undefined
  const port = await freePort()
  const config = join(folder, 'config.yaml')
  await mkdir(folder, { recursive: true })
  await writeFile(
    config,
    `storage: ${folder}/storage\nmax_body_size: 100mb\nauth: { htpasswd: { file: ${folder}/htpasswd } }\nuplinks: {}\nlog: { type: file, path: ${folder}/log, level: warn }\npackages: { '**': { access: $all, publish: $all, unpublish: $all } }\n`,
  )
  const args = ['--config', config, '--listen', `127.0.0.1:${port}`]
  return start({ command: 'verdaccio', args, env: { HOME: folder }, port, path: '/-/ping' })
}

/** pypiserver over a folder of files, which are there before it starts. */
export const startPypiServer: StartRival = async folder => {
  if (!isInstalled('pypi-server')) return undefined
  const port = await freePort()
  const args = ['run', '-p', String(port), '-i', '127.0.0.1', '-P', '.', '-a', '.', '--disable-fallback', folder]
  return start({ command: 'pypi-server', args, port, path: '/simple/' })
}

/** The registry of the distribution project, as Debian packages it. */
export const startDistribution: StartRival = async folder => {
  if (!isInstalled('docker-registry')) return undefined
  const port = await freePort()
  const config = join(folder, 'config.yml')
  await mkdir(folder, { recursive: true })
  await writeFile(
    config,
    `version: 0.1\nlog: { level: warn, accesslog: { disabled: true } }\nstorage: { filesystem: { rootdirectory: ${folder}/data } }\nhttp: { addr: '127.0.0.1:${port}' }\n`,
  )
  return start({ command: 'docker-registry', args: ['serve', config], port, path: '/v2/' })
}

/** The registry that crane brings along, over a folder: in memory it would be measured without a disk. */
export const startCraneRegistry: StartRival = async folder => {
  if (!isInstalled('crane')) return undefined
  const port = await freePort()
  await mkdir(folder, { recursive: true })
  const args = ['registry', 'serve', '--address', `127.0.0.1:${port}`, '--disk', folder]
  return start({ command: 'crane', args, port, path: '/v2/' })
}
