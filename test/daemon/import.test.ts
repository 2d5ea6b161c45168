import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImportReply, ResolveReply } from '../../server/features/imports/contract.ts'
import { createAptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, type DebSpec } from '../support/packages.ts'
import { lacking } from '../support/tools.ts'
import { createVendorKey, type VendorKey } from '../support/upstream/key.ts'
import { serveUpstream, type Upstream } from '../support/upstream/serve.ts'
import { osvRecord, osvZip } from '../support/zip.ts'
import { writeAptTree } from '../support/upstream/trees.ts'

const noApt = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0

let it: Daemon
let folder: string
let upstream: Upstream
let key: VendorKey
let admin: string

const deb = (name: string, depends = '', more: Partial<DebSpec> = {}): DebSpec => ({
  name,
  version: '1.0',
  fields: depends === '' ? {} : { Depends: depends },
  ...more,
})
const PACKAGES = [
  deb('app', 'libapp (>= 1.0), mail-agent'),
  deb('libapp', 'libbase'),
  deb('libbase'),
  deb('postbox', 'libbase', { fields: { Depends: 'libbase', Provides: 'mail-agent' } }),
  deb('broken', 'nowhere (>= 3)'),
  deb('cut', 'libbase'),
  deb('app-beside', 'needs-cut'),
  deb('needs-cut', 'cut', { fields: { Depends: 'cut', Section: 'utils' } }),
]

const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
  it.call<Body>(method, path, { token: admin, ...(body === undefined ? {} : { body }) })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-import-'))
  ;[it, key] = await Promise.all([startDaemon(), createVendorKey()])
  admin = await it.setupAdmin()
  expect((await call('POST', '/distributions/init', {})).status).toBe(200)
  await writeAptTree(folder, PACKAGES, { key, date: new Date(Date.now() - 60_000) })
  upstream = await serveUpstream(folder)
  const settings = {
    notifications: { allow_private_hosts: '127.0.0.1' },
    import: { base: 'none' },
    sources: { 'bookworm': false, 'bookworm-updates': false, 'bookworm-security': false },
  }
  expect((await call('PATCH', '/settings/', settings)).status).toBe(200)
})
afterAll(async () => {
  await Promise.all([it.close(), upstream.close()])
  await rm(folder, { recursive: true, force: true })
})

const fates = ({ packages }: ImportReply): string[] => packages.map(({ name, status }) => `${name} ${status}`).sort()
const resolve = async (name: string): Promise<ResolveReply> =>
  (await call<ResolveReply>('GET', `/import/resolve/${name}?distribution=bookworm`)).body
const fetchNow = (body: object) => call<ImportReply>('POST', '/import/fetch', { distribution: 'bookworm', ...body })

describe('packages of another repository', () => {
  test('are unknown until its catalogue was synchronised', async () => {
    const early = await call('POST', '/import/fetch', { package: 'app', distribution: 'bookworm' })
    expect([early.status, early.body.code]).toEqual([424, 'catalogue_empty'])
    expect((await call('POST', '/import/keys', { public_key: key.publicKey })).status).toBe(201)
    const wish = { name: 'Elsewhere', type: 'apt', url: upstream.url, distribution: 'bookworm' }
    const keys = [key.fingerprint]
    expect((await call('POST', '/import/sources', { ...wish, architectures: ['amd64'], keys })).status).toBe(201)
    const synced = await it.call('POST', '/import/sources/elsewhere/sync', { token: admin })
    expect(synced.text).toContain('"count":8')
    const found = await call<{ results: { name: string }[] }>('GET', '/import/search?q=app')
    expect(found.body.results.map(({ name }) => name)).toEqual(['app', 'app-beside', 'libapp'])
  })

  test('are resolved with all they need, each after what it needs', async () => {
    const answer = await resolve('app')
    expect(answer.packages.map(({ name }) => name)).toEqual(['libbase', 'libapp', 'postbox', 'app'])
    expect(answer.packages.at(-1)).toMatchObject({ is_root: true, needs: [1, 2], source: 'elsewhere' })
    expect(answer).toMatchObject({ to_download: 4, already_in_repo: 0, unresolved: [], base: 'none' })
    // without vulnerability data nothing is foretold, and nothing reads as if it were fine
    expect(answer.packages.map(one => one.forecast)).toEqual([null, null, null, null])
    expect(answer.forecast).toMatchObject({ coverage: 'no_data', review: 0, block: 0 })
    expect(answer.forecast.message).toContain('nothing is known of these packages beforehand')
    expect((await resolve('broken')).unresolved).toMatchObject([{ needed_by: 'broken 1.0', group: 'nowhere (>= 3)' }])
    const missing = await call('GET', '/import/resolve/nothing?distribution=bookworm')
    expect([missing.status, missing.body.code]).toEqual([404, 'import_unknown'])
  })

  test('come in with what they need, and clients that know this repository alone install them', async () => {
    const { status, body } = await fetchNow({ package: 'app', group: 'the-app' })
    expect([status, body.status, fates(body)]).toEqual([
      200,
      'complete',
      ['app added', 'libapp added', 'libbase added', 'postbox added'],
    ])
    const snapshot = await call<{ source: object }>('GET', '/artifacts/app/versions/1.0/snapshot?distribution=bookworm')
    expect(snapshot.body).toMatchObject({ source: { import_method: 'internet', import_group: 'the-app' } })
    expect((await resolve('app')).packages.every(one => one.already_in_repo)).toBe(true)
    expect((await fetchNow({ package: 'app', group: 'the-app' })).body).toMatchObject({
      ...{ status: 'complete', message: 'All that was asked for is served here already.', packages: [] },
    })
    if (noApt) return
    const publicKey = (await it.call('GET', '/repos/gpg.key')).text
    const root = await createAptRoot({ source: `${it.url}/repos bookworm main`, key: publicKey })
    try {
      // at once: an import that has ended is served
      expect(await root.update()).toMatchObject({ code: 0 })
      expect(await root.install('app')).toMatchObject({ code: 0 })
      expect(await root.installedVersion('postbox')).toBe('1.0')
    } finally {
      await root.close()
    }
  })

  test('with a need that nobody has are held, and the answer says why', async () => {
    const { body } = await fetchNow({ name: 'broken' })
    expect(body).toMatchObject({ status: 'none', packages: [{ name: 'broken', status: 'pending_review' }] })
    expect(body.packages[0]?.why).toContain('nowhere (>= 3)')
    const needs = await call<{ install_blocked: boolean; dependencies: { upstream: string }[] }>(
      'GET',
      '/artifacts/broken/dependencies?distribution=bookworm',
    )
    expect(needs.body).toMatchObject({ install_blocked: true, dependencies: [{ upstream: 'unlisted' }] })
  })

  test('that are cut on their way hold what needs them; the lines of the job say it', async () => {
    upstream.rules({ match: /\/cut_1\.0/, fault: 'flip' })
    const streamed = await it.call('POST', '/import/fetch', {
      token: admin,
      body: { package: 'needs-cut', distribution: 'bookworm' },
      headers: { Accept: 'text/event-stream' },
    })
    upstream.rules()
    expect(streamed.text).toMatch(/^data: error\|cut 1\.0 \(amd64\) failed: /m)
    expect(streamed.text).toMatch(/^data: warning\|needs-cut 1\.0 \(amd64\) is held for review: It needs cut 1\.0/m)
    expect(streamed.text.endsWith('data: done|DONE\n\n')).toBe(true)
    // the next try brings what was cut
    expect(fates((await fetchNow({ package: 'cut' })).body)).toContain('cut added')
  })

  test('that an upload lacks are imported with it where it asks for that', async () => {
    await call('DELETE', '/import/groups/the-app?packages=true')
    const form = new FormData()
    form.append('distribution', 'bookworm')
    form.append('resolve', 'true')
    const own = await buildDeb({ name: 'own', version: '1.0', fields: { Depends: 'libapp, nothing-like-it' } })
    form.append('file', new Blob([new Uint8Array(own)]), 'own_1.0_amd64.deb')
    const sent = await it.call<{ dependencies_import: { job_id: string } }>('POST', '/upload/', {
      token: admin,
      form,
    })
    expect(sent.body).toMatchObject({ status: 'published' })
    expect(sent.body.dependencies_import).toEqual({
      job_id: expect.any(String),
      packages: ['libapp'],
      unlisted: ['nothing-like-it'],
    })
    const job = `/jobs/${sent.body.dependencies_import.job_id}`
    await expect.poll(async () => (await call(`GET`, job)).body.status, { timeout: 60_000 }).toBe('done')
    expect(JSON.stringify((await call('GET', job)).body.result)).toContain('libapp')
  })

  test('are found in a Dockerfile, and nothing is imported', async () => {
    const content =
      'FROM python:3.12-bookworm\nRUN apt-get update && apt-get install -y libbase=1.0 needs-cut nobody-has-it'
    const { status, body } = await call('POST', '/import/analyze-dockerfile', { content })
    const upstream = (section: string | null) => ({
      ...{ version: '1.0', section },
      size: expect.any(Number),
      source_id: expect.any(Number),
    })
    expect([status, body]).toEqual([
      200,
      {
        packages_found: [
          { name: 'libbase', status: 'available', pkg_manager: 'apt', upstream_info: upstream(null) },
          { name: 'needs-cut', status: 'importable', pkg_manager: 'apt', upstream_info: upstream('utils') },
          { name: 'nobody-has-it', status: 'unknown', pkg_manager: 'apt', upstream_info: null },
        ],
        ...{ total: 3, available: 1, missing: 2, importable: 1, unknown: 1, distribution: 'bookworm' },
        base_image: { pkg_manager: 'apt', distribution: 'bookworm' },
        note: null,
      },
    ])
    const other = await call('POST', '/import/analyze-dockerfile', { content: 'FROM scratch\nRUN apk add git' })
    expect(other.body).toMatchObject({ unknown: 1, base_image: { pkg_manager: 'apk', distribution: null } })
    expect(other.body.note).toContain('The image does not say which distribution it is made of')
    const empty = await call('POST', '/import/analyze-dockerfile', { content: ' \n' })
    expect([empty.status, empty.body.code]).toEqual([400, 'bad_request'])
    const large = await call('POST', '/import/analyze-dockerfile', { content: 'RUN x\n'.repeat(100_000) })
    expect(large.status).toBe(400)
  })

  test('go with their group, but for what others need', async () => {
    expect((await fetchNow({ package: 'app', group: 'again' })).body.status).toBe('complete')
    const { groups } = (await call<{ groups: { name: string; asked: string[] }[] }>('GET', '/import/groups')).body
    expect(groups.find(({ name }) => name === 'again')).toMatchObject({ asked: ['app'], distribution: 'bookworm' })
    const gone = await call<{ removed: string[]; kept: { package: string; why: string }[] }>(
      'DELETE',
      '/import/groups/again?packages=true',
    )
    expect(gone.body.removed).toContain('app 1.0 (amd64)')
    expect((await call('DELETE', '/import/groups/again')).body).toMatchObject({ code: 'import_group_not_found' })
    expect((await call('DELETE', '/import/groups/..%2Fpool')).status).toBe(400)
    // what is left says where it came from
    expect((await call('DELETE', '/import/sources/elsewhere')).body).toMatchObject({ code: 'import_source_used' })
    expect((await call('POST', '/import/batch', { packages: [], distribution: 'bookworm' })).status).toBe(400)
  })

  test('are told apart before they come by what the policy does for their known vulnerabilities', async () => {
    const fillers = Array.from({ length: 150 }, (_, n) =>
      osvRecord(`DEBIAN-CVE-2026-${20_000 + n}`, [['Debian:12', `filler${n}`, '']]),
    )
    const rated = { severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }] }
    const critical = osvRecord('DEBIAN-CVE-2026-1', [['Debian:12', 'needs-cut', '2.0']], rated)
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(osvZip([...fillers, critical]))]), 'all.zip')
    expect((await it.call('POST', '/security/database', { token: admin, form })).status).toBeLessThan(300)
    const { packages, forecast } = await resolve('app-beside')
    expect(packages.filter(one => !one.already_in_repo).map(one => [one.name, one.forecast])).toEqual([
      ['needs-cut', { action: 'block', worst: 'critical', findings: 1 }],
      ['app-beside', { action: 'allow', worst: null, findings: 0 }],
    ])
    expect(packages.filter(one => one.already_in_repo).map(one => one.forecast)).toEqual([null, null])
    expect(forecast).toMatchObject({ coverage: 'covered', review: 0, block: 1 })
    expect(forecast.message).toContain('looked at when its file is here')
  })
})
