import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { createDb } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import { TEMPLATE } from './postgres.ts'

interface Cluster {
  readonly socket: string
  stop(): Promise<void>
}

/** Folder of Debian's server binaries, or undefined. */
function findDebianPostgres(): string | undefined {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root)
    ? readdirSync(root).filter(version => existsSync(join(root, version, 'bin', 'initdb')))
    : []
  return versions.length === 0 ? undefined : join(root, versions.sort((a, b) => Number(b) - Number(a))[0] ?? '', 'bin')
}

function must(command: string, args: readonly string[]): void {
  const done = spawnSync(command, args, { encoding: 'utf8', cwd: '/' })
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${done.stderr}`)
}

async function startDebian(folder: string): Promise<Cluster> {
  const bin = findDebianPostgres()
  if (bin === undefined)
    throw new Error("TEST_DATABASE=debian, but Debian's PostgreSQL is not installed: apt-get install postgresql")
  await chmod(folder, 0o755)
  const root = process.getuid?.() === 0
  const run = (...command: [string, ...string[]]): void =>
    root ? must('runuser', ['-u', 'postgres', '--', ...command]) : must(command[0], command.slice(1))
  if (root) must('chown', ['postgres', folder])
  run(
    join(bin, 'initdb'),
    '-D',
    join(folder, 'data'),
    '-U',
    'postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C.UTF-8',
    '--no-sync',
  )
  run(
    join(bin, 'pg_ctl'),
    '-D',
    join(folder, 'data'),
    '-s',
    '-w',
    '-l',
    join(folder, 'log'),
    '-o',
    `-k ${folder} -c listen_addresses= -c fsync=off -c max_connections=100`,
    'start',
  )
  return {
    socket: folder,
    stop: async () => run(join(bin, 'pg_ctl'), '-D', join(folder, 'data'), '-s', '-w', '-m', 'immediate', 'stop'),
  }
}

/** One PostgreSQL for a whole run: the embedded one, or Debian's with TEST_DATABASE=debian. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const kind = process.env.TEST_DATABASE === 'debian' ? 'debian' : 'embedded'
  const folder = await mkdtemp(join(tmpdir(), 'gh-test-'))
  const cluster: Cluster =
    kind === 'debian'
      ? await startDebian(folder)
      : await startEmbedded({ folder: join(folder, 'data'), durable: false })
  const admin = createDb({ socket: cluster.socket, database: 'postgres' }, { poolSize: 1 })
  await admin.query(`create database ${TEMPLATE}`)
  await admin.close()
  const template = createDb({ socket: cluster.socket, database: TEMPLATE })
  await migrate(template)
  await template.close()
  project.provide('postgres', { socket: cluster.socket, kind })
  return async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
