import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { SecurityReport } from '../../server/imports/security/report.ts'
import { createAptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, type DebSpec } from '../support/packages.ts'
import { lacking } from '../support/tools.ts'
import { createVendorKey, type VendorKey } from '../support/upstream/key.ts'
import { serveUpstream, type Upstream } from '../support/upstream/serve.ts'
import { writeAptTree } from '../support/upstream/trees.ts'

const noApt = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0
const END = { timeout: 120_000, interval: 200 }
const PARTS = Array.from({ length: 8 }, (_, n) => `part${n}`)

let it: Daemon
let folder: string
let main: Upstream
let secure: Upstream
let key: VendorKey
let admin: string
let receiver: Server
let received: Record<string, unknown>[]

const deb = (name: string, version = '1.0', depends = '', more: Partial<DebSpec> = {}): DebSpec => ({
  ...{ name, version },
  fields: depends === '' ? {} : { Depends: depends },
  ...more,
})
const MAIN = [deb('web'), deb('risky'), deb('broken'), deb('lost'), deb('idle'), ...PARTS.map(name => deb(name))]
/** One has a new dependency, one is held by the policy, one needs what nobody has, the file of one is gone. */
const SECURE = [
  deb('web', '1.0+deb12u1', 'libweb (>= 2.0)'),
  deb('libweb', '2.0'),
  deb('risky', '2.0', '', { files: { 'usr/bin/risky': { content: '#!/bin/sh\n', mode: 0o4755 } } }),
  deb('broken', '2.0', 'nowhere'),
  deb('lost', '2.0'),
  deb('idle', '0.9'),
  deb('mine', '2.0'),
]

const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
  it.call<Body>(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
const served = async (): Promise<string[]> => {
  const { text } = await it.call('GET', '/repos/dists/bookworm/main/binary-amd64/Packages')
  return [...text.matchAll(/^Package: (\S+)\n(?:.*\n)*?Version: (\S+)/gm)].map(
    ([, name, version]) => `${name} ${version}`,
  )
}
async function start(body: object = {}): Promise<{ job_id: string; already_running: boolean }> {
  const answer = await call<{ job_id: string; already_running: boolean }>('POST', '/import/security-updates/run', body)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
async function ended(id: string): Promise<SecurityReport & { message: string }> {
  const look = async (): Promise<unknown> => (await call('GET', `/jobs/${id}`)).body['status']
  await expect.poll(look, END).toBe('done')
  return (await call<SecurityReport & { message: string }>('GET', `/import/security-updates/runs/${id}`)).body
}
const run = async (): Promise<SecurityReport & { message: string }> => ended((await start()).job_id)
const named = (report: SecurityReport, of: 'came' | 'held' | 'missing'): string[] =>
  report.parts.flatMap(part => part[of].map(({ name, version, standing }) => `${name} ${version} ${standing}`))
const messages = (): Record<string, unknown>[] => received.filter(({ event }) => event === 'sync.finished')
const filesFetched = (): string[] =>
  secure.log.map(({ path }) => /([^/]+)\.deb$/.exec(path)?.[1]).filter(name => name !== undefined)

async function sourceFrom(name: string, { url }: Upstream, security: boolean): Promise<void> {
  const wish = { name, type: 'apt', url, distribution: 'bookworm', architectures: ['amd64'], security }
  const added = await call('POST', '/import/sources', { ...wish, keys: [key.fingerprint] })
  expect(added.status, added.text).toBe(201)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-security-'))
  key = await createVendorKey()
  const now = Date.now()
  await writeAptTree(join(folder, 'main'), MAIN, { key, date: new Date(now - 180_000) })
  await writeAptTree(join(folder, 'first'), SECURE, { key, date: new Date(now - 120_000) })
  const next = [...SECURE, ...PARTS.map(name => deb(name, '2.0'))]
  await writeAptTree(join(folder, 'second'), next, { key, date: new Date(now - 60_000) })
  main = await serveUpstream(join(folder, 'main'))
  secure = await serveUpstream(join(folder, 'first'))
  received = []
  receiver = createServer((req, res) => {
    let text = ''
    req.on('data', (part: Buffer) => (text += part.toString()))
    req.on('end', () => {
      received.push(JSON.parse(text) as Record<string, unknown>)
      res.end('ok')
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  it = await startDaemon()
  admin = await it.setupAdmin()
  expect((await call('POST', '/distributions/init', {})).status).toBe(200)
  const settings = {
    notifications: {
      allow_private_hosts: '127.0.0.1',
      webhook_enabled: true,
      webhook_url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
      webhook_min_packages: 2,
    },
    import: { base: 'none' },
    script_policy: { setuid_file: 'review' },
    sources: { 'bookworm': false, 'bookworm-updates': false, 'bookworm-security': false },
    mirror: { min_free_disk_gb: 0 },
  }
  expect((await call('PATCH', '/settings/', settings)).status).toBe(200)
  expect((await call('POST', '/import/keys', { public_key: key.publicKey })).status).toBe(201)
  await sourceFrom('Main', main, false)
  await sourceFrom('Secure', secure, true)
  await call('POST', '/import/sync/start/main')
  await vi.waitFor(async () => {
    const { body } = await call<{ jobs: unknown[] }>('GET', '/import/sync/jobs/active')
    expect(body.jobs).toEqual([])
  }, END)
  const packages = MAIN.map(({ name }) => name)
  const imported = await call('POST', '/import/batch', { packages, distribution: 'bookworm' })
  expect(imported.status, imported.text).toBe(200)
  expect(
    (await it.upload(await buildDeb(deb('mine', '1.0+corp1')), { token: admin, distribution: 'bookworm' })).status,
  ).toBe(201)
})
afterAll(async () => {
  await Promise.all([it.close(), main.close(), secure.close()])
  receiver.closeAllConnections()
  receiver.close()
  await rm(folder, { recursive: true, force: true })
})

describe('security updates of what is published', () => {
  test('come with what they need, are held by the policy, or are missing, each with the reason', async () => {
    secure.rules({ match: /lost_2\.0/, fault: 'status', status: 404 })
    const report = await run()
    expect(named(report, 'came')).toEqual(['libweb 2.0 published', 'web 1.0+deb12u1 published'])
    expect(named(report, 'held')).toEqual(['broken 2.0 pending_review', 'risky 2.0 pending_review'])
    expect(named(report, 'missing')).toEqual(['mine 2.0 own_build', 'lost 2.0 failed'])
    expect(report).toMatchObject({ by: 'admin', end: 'complete', result: 'partial' })
    expect(report.message).toBe('Security updates for bookworm: 2 published, 2 held, 2 missing.')
    const [broken, risky] = report.parts[0]?.held ?? []
    expect([broken?.why, risky?.why]).toEqual([expect.stringContaining('nowhere'), expect.stringContaining('setuid')])
    await expect.poll(served, END).toContain('web 1.0+deb12u1')
    expect(await served()).toEqual(expect.arrayContaining(['web 1.0', 'libweb 2.0', 'risky 1.0', 'mine 1.0+corp1']))
    expect(await served()).not.toContain('risky 2.0')
  })

  test('are told by webhook and in the audit log, once', async () => {
    await expect.poll(messages, END).toHaveLength(1)
    expect(messages()[0]).toMatchObject({
      ...{ source: 'security updates', result: 'success', packages: 4 },
      updates: {
        came: [{ name: 'libweb' }, { name: 'web', version: '1.0+deb12u1', distribution: 'bookworm' }],
        held: [{ name: 'broken' }, { name: 'risky' }],
        missing: [{ name: 'mine' }, { name: 'lost' }],
      },
    })
    const { text } = await call('GET', '/artifacts/audit/logs?action=SECURITY_SYNC')
    expect(text).toContain('"PARTIAL"')
    expect(text).toContain('Security updates for bookworm: 2 published, 2 held, 0 blocked, 1 failed.')
  })

  test.skipIf(noApt)('are what apt upgrades to, from here alone', async () => {
    const publicKey = (await it.call('GET', '/repos/gpg.key')).text
    const root = await createAptRoot({ source: `${it.url}/repos bookworm main`, key: publicKey })
    try {
      await expect.poll(async () => (await root.update()).code, END).toBe(0)
      expect((await root.install('web=1.0', 'risky')).code).toBe(0)
      expect((await root.install('web')).code).toBe(0)
      expect([await root.installedVersion('web'), await root.installedVersion('libweb')]).toEqual([
        '1.0+deb12u1',
        '2.0',
      ])
      expect(await root.installedVersion('risky')).toBe('1.0')
    } finally {
      await root.close()
    }
  })

  test('in the next run bring what failed, and go on after kill -9: nothing twice, nothing lost', async () => {
    secure.serve(join(folder, 'second'))
    secure.forget()
    secure.rules({ match: /part5_2\.0/, fault: 'stall' })
    const { job_id: id } = await start()
    await expect.poll(filesFetched, END).toContain('part5_2.0_amd64')
    expect(await start()).toEqual(expect.objectContaining({ job_id: id, already_running: true }))
    const { body } = await call<{ running: object }>('GET', '/import/security-updates')
    expect(body.running).toMatchObject({ job_id: id, cancelling: false })
    await it.kill9()
    secure.rules()
    await it.restart()
    admin = await it.setupAdmin()
    const report = await ended(id)
    const parts = PARTS.map(name => `${name} 2.0 published`)
    expect(named(report, 'came')).toEqual(['lost 2.0 published', ...parts])
    expect(named(report, 'held')).toEqual(['broken 2.0 pending_review', 'risky 2.0 pending_review'])
    await expect.poll(served, END).toContain('part7 2.0')
    const { body: all } = await call<{ runs: { job_id: string; came_count: number }[] }>(
      'GET',
      '/import/security-updates/runs',
    )
    expect(all.runs).toMatchObject([
      { job_id: id, came_count: 9, held_count: 2, missing_count: 1 },
      { came_count: 2, held_count: 2, missing_count: 2 },
    ])
  })

  test('come at night: the clock asks for one run, and what is there to do is told before', async () => {
    const available = await call<{ distributions: object[] }>('GET', '/import/security-updates/available')
    expect(available.body.distributions).toMatchObject([
      { codename: 'bookworm', waiting: 0, held: 2, left_out: 1, updates: [{}, {}, {}] },
    ])
    expect((await call('POST', '/schedule/security-updates/run')).status).toBeLessThan(300)
    const last = async () =>
      (await call<{ last_run: SecurityReport | null }>('GET', '/import/security-updates')).body.last_run
    await expect.poll(async () => (await last())?.by, END).toBe('system')
    expect(await last()).toMatchObject({ end: 'complete', result: 'partial', came_count: 0 })
    const { body } = await call('GET', '/import/security-updates')
    expect(body).toMatchObject({
      schedule: { enabled: true, hour: 3, minute: 0, own_builds: false },
      running: null,
      distributions: [{ codename: 'bookworm', sources: ['secure'], never_synchronised: [], frozen: false }],
      not_covered: [],
    })
    // nothing new: no message
    expect(messages()).toHaveLength(2)
  })

  test('for what no source covers are refused, with the way out', async () => {
    const other = await call('POST', '/import/security-updates/run', { distribution: 'trixie' })
    expect([other.status, other.body['code']]).toEqual([409, 'security_no_source'])
    expect((await call('GET', '/import/security-updates/runs/0badcafe')).body['code']).toBe('security_run_not_found')
  })
})
