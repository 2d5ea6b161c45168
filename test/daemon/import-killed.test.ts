import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImportResult } from '../../server/imports/run/import-work.ts'
import type { Failpoint } from '../../server/lib/failpoint.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import type { DebSpec } from '../support/packages.ts'
import { run } from '../support/tools.ts'
import { packageNames, readServedTree } from '../support/tree.ts'
import { createVendorKey } from '../support/upstream/key.ts'
import { serveUpstream, type Upstream } from '../support/upstream/serve.ts'
import { writeAptTree } from '../support/upstream/trees.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
/** Where the process dies, each in a run of its own; with the half of a file they are ten. */
const MOMENTS: readonly (Failpoint | `${Failpoint}#${number}`)[] = [
  'import:planned',
  'spool:before-done',
  'import:after-item#9',
  'catalog:before-commit#2',
  'catalog:after-commit#7',
  'manifest:before-write#4',
  'audit:before-append#3',
  'import:after-item#1',
  'pool:before-rename#5',
]
const ROOTS = 10
const HALF = 'part-6-4'

/** Ten programs with eight parts each, and a base of ten: a hundred. */
const needs = new Map<string, readonly string[]>()
for (let base = 0; base < 10; base++) needs.set(`base-${base}`, base === 0 ? [] : [`base-${base - 1}`])
for (let root = 0; root < ROOTS; root++) {
  const parts = Array.from({ length: 8 }, (_, at) => `part-${root}-${at}`)
  for (const [at, part] of parts.entries()) needs.set(part, [`base-${at + 2}`, ...parts.slice(at + 1, at + 2)])
  needs.set(`root-${root}`, parts.slice(0, 3))
}
const names = [...needs.keys()].sort()
const roots = names.filter(name => name.startsWith('root-'))

const packages = (): DebSpec[] =>
  [...needs].map(([name, depends]) => ({
    name,
    version: '1.0',
    fields: depends.length === 0 ? {} : { Depends: depends.join(', ') },
    ...(name === HALF ? { files: { 'usr/share/noise': randomBytes(300_000).toString('base64') } } : {}),
  }))

/** Everything below a package. */
function below(name: string, seen = new Set<string>()): Set<string> {
  for (const need of needs.get(name) ?? []) if (!seen.has(need)) below(need, seen.add(need))
  return seen
}

describe('an import of a hundred packages that is killed again and again', () => {
  let it: Daemon
  let folder: string
  let upstream: Upstream
  let token: string
  const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
    it.call<Body>(method, path, { token, ...(body === undefined ? {} : { body }) })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-import-'))
    const key = await createVendorKey()
    it = await startDaemon({ env: { LOG_LEVEL: 'error', JWT_EXPIRE_MINUTES: '600' } })
    token = await it.setupAdmin()
    expect((await call('POST', '/distributions/init', { codename: 'bookworm' })).status).toBe(200)
    await writeAptTree(folder, packages(), { key, date: new Date(Date.now() - 60_000) })
    upstream = await serveUpstream(folder)
    const settings = {
      notifications: { allow_private_hosts: '127.0.0.1' },
      import: { base: 'none' },
      sources: { 'bookworm': false, 'bookworm-updates': false, 'bookworm-security': false },
    }
    expect((await call('PATCH', '/settings/', settings)).status).toBe(200)
    expect((await call('POST', '/import/keys', { public_key: key.publicKey })).status).toBe(201)
    const wish = { name: 'Elsewhere', type: 'apt', url: upstream.url, distribution: 'bookworm' }
    const source = { ...wish, architectures: ['amd64'], keys: [key.fingerprint] }
    expect((await call('POST', '/import/sources', source)).status).toBe(201)
    expect((await call('POST', '/import/sources/elsewhere/sync')).text).toContain('"count":100')
  })
  afterAll(async () => {
    await Promise.all([it.close(), upstream.close()])
    await rm(folder, { recursive: true, force: true })
  })

  /** A program that clients see has all its parts beside it. */
  function expectWhole(seen: readonly string[]): void {
    const lacking = seen.filter(name => name.startsWith('root-') && [...below(name)].some(need => !seen.includes(need)))
    expect(lacking).toEqual([])
  }
  /** The live tree as the dead process left it. */
  const left = async (): Promise<string[]> =>
    packageNames(
      gunzipSync(await readFile(join(it.root, 'apt/dists/bookworm/main/binary-amd64/Packages.gz'))).toString(),
    )
  async function served(): Promise<string[]> {
    const { packages: seen, problems } = await readServedTree(it.url, 'bookworm')
    expect(problems).toEqual([])
    return seen.map(({ Package = '' }) => Package).sort()
  }
  const jobs = async () => (await call<{ items: { job_id: string }[] }>('GET', '/jobs?kind=import')).body.items
  const jobNow = async () =>
    (await call<{ status: string; result: ImportResult }>('GET', `/jobs/${(await jobs())[0]?.job_id ?? ''}`)).body

  test('goes on after each restart, by itself', { timeout: 900_000 }, async () => {
    await it.stop()
    const [first, ...others] = MOMENTS
    await it.restart({ GATEHOUSE_FAILPOINT: first })
    upstream.forget()
    const asked = call('POST', '/import/batch', { packages: roots, group: 'hundred', distribution: 'bookworm' })
    await Promise.all([it.ended(), asked.catch(() => undefined)])
    for (const moment of others) {
      await it.restart({ GATEHOUSE_FAILPOINT: moment })
      await it.ended()
      expectWhole(await left())
    }
    expect((await left()).length).toBeGreaterThan(10)
  })

  test('fetches the rest of a file that was cut off', { timeout: 300_000 }, async () => {
    upstream.rules({ match: new RegExp(HALF), fault: 'stall' })
    await it.restart()
    const downloads = join(it.root, '.imports')
    const halves = async (): Promise<number[]> =>
      Promise.all(
        (await readdir(downloads).catch((): string[] => []))
          .filter(name => name.endsWith('.part'))
          .map(async name => (await stat(join(downloads, name)).catch(() => ({ size: 0 }))).size),
      )
    await expect
      .poll(async () => Math.max(0, ...(await halves())), { timeout: 120_000, interval: 20 })
      .toBeGreaterThan(100_000)
    await it.kill9()
    expectWhole(await left())
    upstream.rules()
    await it.restart()
    await expect.poll(async () => (await jobNow()).status, { timeout: 240_000 }).toBe('done')
    const asked = upstream.log.filter(({ path }) => path.includes(HALF)).map(({ range }) => range)
    expect(asked).toEqual([undefined, expect.stringMatching(/^bytes=\d{6,}-$/)])
    // of each run only what was on its way is asked for again
    expect(upstream.log.length).toBeLessThan(names.length + 10 * 8)
  })

  test('ends with each of them here once', { timeout: 120_000 }, async () => {
    expect(await jobs()).toHaveLength(1)
    const { result } = await jobNow()
    expect(result.counts).toEqual({
      added: 100,
      already: 0,
      pending_review: 0,
      blocked: 0,
      upstream_changed: 0,
      failed: 0,
    })
    await expect.poll(served, { timeout: 60_000 }).toEqual(names)
    const { body } = await call<{ items: { package?: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=IMPORT&per_page=500',
    )
    expect(body.items.flatMap(({ package: name }) => (names.includes(name ?? '') ? [name] : [])).sort()).toEqual(names)
    expect((await call('GET', '/artifacts/audit/integrity')).body).toMatchObject({ ok: true })
    expect(await readdir(join(it.root, '.imports'))).toEqual([])
    expect(await readdir(join(it.root, 'incoming'))).toEqual([])
    const { groups } = (await call<{ groups: object[] }>('GET', '/import/groups')).body
    expect(groups).toMatchObject([{ name: 'hundred', package_count: 100, counts: { added: 100 } }])
    const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
      env: {
        REPOS_ROOT: it.root,
        ENV: 'test',
        ...(it.databaseUrl === undefined ? {} : { DATABASE_URL: it.databaseUrl }),
      },
    })
    expect((JSON.parse(out || err) as { differences: object[] }).differences).toEqual([])
  })
})
