import { lookup } from 'node:dns/promises'
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createAptRoot } from '../support/apt.ts'
import { machineSuites, type MachineSuite } from '../support/machine-archive.ts'
import { findProgram, mustRun, run as runProgram } from '../support/tools.ts'
import { stanzasOf } from './closure-check.ts'
import { debianIndexes } from './debian-index.ts'
import { logIn, startServer, type Server } from './server.ts'

const CODENAME = 'bookworm'
const ROOTS = ['nginx', 'postgresql-15', 'libreoffice-calc']
const LOOK_MS = 500

type Call = <Body>(method: string, path: string, body?: object) => Promise<Body>

function caller(server: Server, token: string): Call {
  return async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const answer = await fetch(new URL(`/api/v1${path}`, server.url), {
      method,
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json', 'Prefer': 'respond-async' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`)
    return JSON.parse(text) as Body
  }
}

interface SourceView {
  readonly key: string
  readonly keys: readonly { readonly name: string }[]
}

/** The suites of this machine as the only sources of the distribution, by the vendor's keys that come with it. */
async function addSources(call: Call, suites: readonly MachineSuite[]): Promise<void> {
  await call('POST', '/distributions/init', { codename: CODENAME })
  const { sources } = await call<{ sources: readonly SourceView[] }>('GET', '/import/sources')
  const builtin = suites.map(({ suite }) => suite)
  const hosts = [...new Set(suites.map(({ url }) => new URL(url).hostname))]
  const addresses = await Promise.all(hosts.map(async host => (await lookup(host)).address))
  await call('PATCH', '/settings/', {
    import: { base: 'none' },
    // a mirror of one's own network is as good
    notifications: { allow_private_hosts: addresses.join(',') },
    sources: Object.fromEntries(builtin.map(key => [key, false])),
  })
  for (const { url, suite, components, arch } of suites) {
    const keys = sources.find(({ key }) => key === suite)?.keys.map(({ name }) => name) ?? []
    const place = { type: 'apt', url, suite, components, architectures: [arch], keys }
    const { key } = await call<SourceView>('POST', '/import/sources', {
      ...place,
      name: `machine ${suite}`,
      distribution: CODENAME,
      security: suite.endsWith('-security'),
    })
    const { job_id: id } = await call<{ job_id: string }>('POST', `/import/sync/start/${key}`)
    const { error, result } = await ended<{ added: number; failed: number }>(call, id)
    console.log(`${suite}: ${result?.added} packages listed, ${result?.failed} failed ${error?.message ?? ''}`)
  }
}

interface Imported {
  readonly counts: Readonly<Record<string, number>>
  readonly packages: readonly (Readonly<Record<'name' | 'version' | 'arch' | 'status', string>> & {
    readonly why: string | null
  })[]
}

interface Job<Result> {
  readonly status: string
  readonly error: { readonly message: string } | null
  readonly result: Result | null
}

async function ended<Result>(call: Call, id: string): Promise<Job<Result>> {
  for (;;) {
    const job = await call<Job<Result>>('GET', `/jobs/${id}`)
    if (!['queued', 'running'].includes(job.status)) return job
    await setTimeout(LOOK_MS)
  }
}

async function importAll(call: Call, group: string, packages: readonly string[]): Promise<boolean> {
  const start = performance.now()
  const { job_id: id } = await call<{ job_id: string }>('POST', '/import/batch', {
    packages,
    group,
    distribution: CODENAME,
    base: 'none',
  })
  const { status, error, result } = await ended<Imported>(call, id)
  const seconds = ((performance.now() - start) / 1000).toFixed(0)
  console.log(`${group}: ${status} after ${seconds} s, ${JSON.stringify(result?.counts)} ${error?.message ?? ''}`)
  const others = result?.packages.filter(one => !['added', 'already'].includes(one.status)) ?? []
  for (const { name, version, arch, status: state, why } of others) {
    console.log(`  ${name} ${state}: ${why}`)
    if (state !== 'pending_review') return false
    // as an admin would: Debian's own base-passwd writes the first accounts
    const decision = { decision: 'approve', justification: 'part of a minimal system', distribution: CODENAME, arch }
    await call('POST', `/security/packages/${name}/${encodeURIComponent(version)}/decide`, decision)
  }
  return status === 'done'
}

/** What apt of an empty machine fetches for a package that it knows from this repository alone. */
async function fetchByApt(server: Server, key: string, name: string): Promise<boolean> {
  const apt = await createAptRoot({ source: `${server.url.href}repos ${CODENAME} main`, key })
  const updated = await apt.update()
  const { code, err } = await apt.install('--download-only', name)
  const files = await readdir(join(apt.folder, 'var/cache/apt/archives'))
  const fetched = files.filter(file => file.endsWith('.deb')).length
  console.log(`${name}: apt of an empty machine ends with ${code}, ${fetched} packages fetched ${updated.err}${err}`)
  await apt.close()
  return code === 0 && fetched > 0
}

/** Makes a machine from this repository alone, and installs everything in it. */
async function installByApt(
  server: Server,
  { folder, key, names }: { readonly folder: string; readonly key: string; readonly names: readonly string[] },
): Promise<boolean> {
  const root = join(folder, 'machine')
  const keyring = join(folder, 'key.gpg')
  await writeFile(`${keyring}.asc`, key)
  await mustRun('gpg', ['--dearmor', '--output', keyring, `${keyring}.asc`])
  const repository = `${server.url.href}repos`
  const made = await runProgram('debootstrap', [
    `--keyring=${keyring}`,
    '--variant=minbase',
    CODENAME,
    root,
    repository,
  ])
  console.log(`debootstrap from this repository: ${made.code} ${made.out.split('\n').slice(-3).join(' ')}`)
  if (made.code !== 0) return false
  await copyFile(keyring, join(root, 'etc/apt/trusted.gpg.d/here.gpg'))
  await writeFile(join(root, 'etc/apt/sources.list'), `deb ${repository} ${CODENAME} main\n`)
  // nothing is started in there
  await writeFile(join(root, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const env = { DEBIAN_FRONTEND: 'noninteractive', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  const inside = (...words: readonly string[]) => runProgram('chroot', [root, ...words], { env })
  const updated = await inside('apt-get', 'update')
  let isWhole = updated.code === 0
  for (const name of names) {
    const { code, out, err } = await inside('apt-get', 'install', '-y', '--no-install-recommends', name)
    const state = (await inside('dpkg-query', '-W', '-f', '${db:Status-Abbrev} ${Version}', name)).out
    console.log(
      `${name}: apt-get install ends with ${code}, dpkg says ${state} ${code === 0 ? '' : out.slice(-2000) + err}`,
    )
    isWhole &&= code === 0 && state.startsWith('ii')
  }
  const { out } = await inside('sh', '-c', 'dpkg --audit; dpkg -l | grep -c ^ii; apt-get check')
  console.log(`in the machine: ${out.trim().replaceAll('\n', '; ')}`)
  return isWhole
}

/** What debootstrap takes for a machine: what is essential or required, and what it names itself. */
function baseNames(): readonly string[] {
  const isBase = (text: string): boolean => /^(Essential: yes|Priority: required)$/m.test(text)
  const stanzas = debianIndexes().flatMap(text => stanzasOf(text.toString()))
  return [
    ...new Set([...stanzas.filter(({ text }) => isBase(text)).map(({ name }) => name), 'apt', 'usr-is-merged']),
  ].sort()
}

/**
 * Packages of Debian imported with all that they need through a running service, and installed from it alone by
 * debootstrap and apt: `npm run bench import-install [names]`. Needs root, and the indexes that `apt-get update`
 * brings.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const suites = machineSuites()
  if (suites.length === 0) {
    console.log('not run: apt of this machine reads no Debian suite')
    return true
  }
  const names = args.length === 0 ? ROOTS : args
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-import-'))
  const server = await startServer(join(folder, 'repos'), { env: { JWT_EXPIRE_MINUTES: '600' } })
  const agent = new Agent()
  try {
    const call = caller(server, await logIn(server, agent))
    await addSources(call, suites)
    let isWhole = true
    for (const name of names) isWhole = (await importAll(call, name, [name])) && isWhole
    const key = await (await fetch(new URL('/repos/gpg.key', server.url))).text()
    for (const name of names) isWhole = (await fetchByApt(server, key, name)) && isWhole
    if (findProgram('debootstrap') === undefined) {
      console.log('not installed: debootstrap is not here')
      return isWhole
    }
    isWhole = (await importAll(call, 'base', baseNames())) && isWhole
    return (await installByApt(server, { folder, key, names })) && isWhole
  } finally {
    agent.destroy()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
