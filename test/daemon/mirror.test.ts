import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MirrorReport } from '../../server/imports/mirror/report.ts'
import { createAptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import type { DebSpec } from '../support/packages.ts'
import { lacking } from '../support/tools.ts'
import { createVendorKey, type VendorKey } from '../support/upstream/key.ts'
import { serveUpstream, type Upstream } from '../support/upstream/serve.ts'
import { writeAptTree } from '../support/upstream/trees.ts'

const noApt = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0
const END = { timeout: 120_000, interval: 200 }

let it: Daemon
let folder: string
let upstream: Upstream
let key: VendorKey
let admin: string

const deb = (name: string, version = '1.0', depends = ''): DebSpec => ({
  name,
  version,
  fields: { Section: name.startsWith('game') ? 'games' : 'net', ...(depends === '' ? {} : { Depends: depends }) },
})
const FIRST = [
  deb('app', '1.0', 'libapp (>= 1.0)'),
  deb('game', '1.0'),
  deb('libapp', '1.0'),
  ...Array.from({ length: 12 }, (_, n) => deb(`part${String(n).padStart(2, '0')}`)),
]
/** The next day: one is newer, one is new, one is gone. */
const SECOND = [...FIRST.filter(({ name }) => name !== 'part11'), deb('app', '1.1', 'libapp (>= 1.0)'), deb('zeal')]

const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
  it.call<Body>(method, path, { token: admin, ...(body === undefined ? {} : { body }) })

interface Job {
  readonly job_id: string
  readonly status: string
  readonly added_count: number
  readonly already_running: boolean
}

const served = async (): Promise<string[]> => {
  const { text } = await it.call('GET', '/repos/dists/bookworm/main/binary-amd64/Packages')
  return [...text.matchAll(/^Package: (\S+)\n(?:.*\n)*?Version: (\S+)/gm)]
    .map(([, name, version]) => `${name} ${version}`)
    .sort()
}
const start = async (query = ''): Promise<Job> => {
  const { status, body } = await call<Job>('POST', `/import/mirror/start/elsewhere${query}`)
  expect([status, body.status]).toEqual([200, 'running'])
  return body
}
async function ended(id: string): Promise<Job> {
  const look = async (): Promise<string> => (await call<Job>('GET', `/import/mirror/jobs/${id}`)).body.status
  await expect.poll(look, END).not.toBe('running')
  return (await call<Job>('GET', `/import/mirror/jobs/${id}`)).body
}
async function run(query = ''): Promise<MirrorReport> {
  const { job_id: id } = await start(query)
  expect(await ended(id)).toMatchObject({ status: 'done' })
  return report()
}
async function report(): Promise<MirrorReport> {
  const { body } = await call<{ sources: { id: string; report: MirrorReport }[] }>('GET', '/import/mirror/sources')
  return body.sources.find(({ id }) => id === 'elsewhere')?.report as MirrorReport
}
const filesFetched = (): string[] =>
  upstream.log.map(({ path }) => /([^/]+)\.deb$/.exec(path)?.[1]).filter(name => name !== undefined)

async function begin(): Promise<void> {
  it = await startDaemon()
  admin = await it.setupAdmin()
  expect((await call('POST', '/distributions/init', {})).status).toBe(200)
  const settings = {
    notifications: { allow_private_hosts: '127.0.0.1' },
    import: { base: 'none' },
    sources: { 'bookworm': false, 'bookworm-updates': false, 'bookworm-security': false },
    mirror: { min_free_disk_gb: 0 },
  }
  expect((await call('PATCH', '/settings/', settings)).status).toBe(200)
  expect((await call('POST', '/import/keys', { public_key: key.publicKey })).status).toBe(201)
  const wish = { name: 'Elsewhere', type: 'apt', url: upstream.url, distribution: 'bookworm' }
  const keys = [key.fingerprint]
  expect((await call('POST', '/import/sources', { ...wish, architectures: ['amd64'], keys })).status).toBe(201)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-mirror-'))
  key = await createVendorKey()
  const now = Date.now()
  await writeAptTree(join(folder, 'first'), FIRST, { key, date: new Date(now - 120_000) })
  await writeAptTree(join(folder, 'second'), SECOND, { key, date: new Date(now - 60_000) })
  upstream = await serveUpstream(join(folder, 'first'))
  await begin()
})
afterAll(async () => {
  await Promise.all([it.close(), upstream.close()])
  await rm(folder, { recursive: true, force: true })
})

describe('a mirrored source', () => {
  test('comes by its rule and within the bound, and the next run goes on there', async () => {
    const rule = { sections: ['!games'], newest: 1 }
    const changed = await call<{ rule: object }>('PATCH', '/import/mirror/sources/elsewhere', rule)
    expect(changed.body.rule).toMatchObject({ ...rule, names: [], security_only: false })
    const first = await run('?limit=3')
    expect(first).toMatchObject({ end: 'packages', added: 3, blocked: 0, errors: 0, synchronised: { state: 'ok' } })
    await expect.poll(served, END).toEqual(['app 1.0', 'libapp 1.0', 'part00 1.0'])
  })

  test('goes on after kill -9 in the middle: nothing twice, nothing lost', async () => {
    upstream.forget()
    upstream.rules({ match: /part06/, fault: 'stall' })
    const { job_id: id } = await start()
    await expect.poll(filesFetched, END).toContain('part06_1.0_amd64')
    // one of this source is the same one; one of another has to wait
    expect(await start()).toMatchObject({ job_id: id, already_running: true })
    const other = await call('POST', '/import/mirror/start/bookworm-backports')
    expect([404, 409]).toContain(other.status)
    await it.kill9()
    upstream.rules()
    await it.restart()
    admin = await it.setupAdmin()
    expect(await ended(id)).toMatchObject({ status: 'done', added_count: 11 })
    expect(await report()).toMatchObject({ end: 'complete', added: 11, errors: 0, remaining: 0 })
    await expect.poll(async () => (await served()).length, END).toBe(14)
    expect(await served()).not.toContain('game 1.0')
    const groups = await call<{ groups: { name: string; package_count: number }[] }>('GET', '/import/groups')
    expect(groups.body.groups).toMatchObject([{ name: 'mirror-elsewhere', package_count: 14 }])
  })

  test.skipIf(noApt)('is installed by apt from here alone', async () => {
    const publicKey = (await it.call('GET', '/repos/gpg.key')).text
    const root = await createAptRoot({ source: `${it.url}/repos bookworm main`, key: publicKey })
    try {
      await expect.poll(async () => (await root.update()).code, END).toBe(0)
      expect((await root.install('app', 'part11')).code).toBe(0)
      expect([await root.installedVersion('app'), await root.installedVersion('libapp')]).toEqual(['1.0', '1.0'])
    } finally {
      await root.close()
    }
  })

  test('that changed brings the difference alone; what is gone there is told and stays', async () => {
    upstream.serve(join(folder, 'second'))
    upstream.forget()
    const compared = await call<{ difference: object }>('GET', '/import/mirror/distributions/bookworm/compare')
    expect(compared.body.difference).toEqual({ new: 0, newer: 0, older: 0, changed: 0, gone: 0 })
    const brought = await run()
    expect(brought).toMatchObject({ end: 'complete', added: 2, skipped: 0, gone_count: 1 })
    expect(brought.gone).toMatchObject([{ name: 'part11', version: '1.0' }])
    expect(filesFetched().sort()).toEqual(['app_1.1_amd64', 'zeal_1.0_amd64'])
    await expect.poll(served, END).toContain('app 1.1')
    expect(await served()).toContain('part11 1.0')
    upstream.forget()
    expect(await run()).toMatchObject({ end: 'complete', added: 0 })
    expect(filesFetched()).toEqual([])
  })

  test('adds nothing to a frozen distribution, and the comparison tells what waits', async () => {
    const path = '/import/mirror/distributions/bookworm'
    const frozen = await call<{ frozen: object }>('POST', `${path}/freeze`, { reason: 'the release' })
    expect(frozen.body.frozen).toMatchObject({ reason: 'the release', frozen_by: 'admin' })
    expect((await call('POST', '/import/mirror/start/elsewhere')).body).toMatchObject({ code: 'mirror_frozen' })
    await call('PATCH', '/import/mirror/sources/elsewhere', { sections: [] })
    const compared = await call<{ difference: object; packages: object[] }>('GET', `${path}/compare`)
    expect(compared.body).toMatchObject({
      frozen: { reason: 'the release' },
      difference: { new: 1, newer: 0, older: 0, changed: 0, gone: 1 },
      packages: [
        { name: 'game', version: '1.0', here: null, standing: 'new' },
        { name: 'part11', version: '1.0', here: '1.0', standing: 'gone' },
      ],
    })
    expect((await call<{ frozen: null }>('DELETE', `${path}/freeze`)).body.frozen).toBeNull()
    expect(await run()).toMatchObject({ end: 'complete', added: 1 })
  })

  test('comes at night where it is switched on; the clock says when next', async () => {
    const bad = await call('POST', '/import/mirror/sources', { sources: { nowhere: true } })
    expect([bad.status, bad.body.code]).toEqual([400, 'mirror_source_unknown'])
    const on = await call('POST', '/import/mirror/sources', { sources: { elsewhere: true } })
    expect(on.body).toEqual({ sources: { elsewhere: true } })
    const schedule = await call('POST', '/import/mirror/schedule', { enabled: true, hour: 4, minute: 15 })
    expect(schedule.body).toMatchObject({ enabled: true, hour: 4, minute: 15, max_packages_per_run: 200 })
    expect(schedule.body['next_run']).toMatch(/^\d{4}-/)
    const wrong = await call('POST', '/import/mirror/schedule', { hour: 24 })
    expect(wrong.body).toMatchObject({ code: 'bad_setting' })
    const last = async () =>
      (await call<{ jobs: { job_id: string; source_id: string; status: string }[] }>('GET', '/import/mirror/jobs')).body
        .jobs[0]
    const before = (await last())?.job_id
    expect((await call('POST', '/schedule/mirror/run')).status).toBeLessThan(300)
    // the answer may come before the job of this run is there: the job before it is done, too
    await expect.poll(async () => (await last())?.job_id, END).not.toBe(before)
    await expect.poll(async () => (await last())?.status, END).toBe('done')
    expect(await report()).toMatchObject({ by: 'system', end: 'complete', added: 0 })
  })
})
