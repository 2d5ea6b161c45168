import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { buildNpm } from '../support/packages-npm.ts'

interface Stats {
  readonly summary: Record<string, unknown>
  readonly per_package: readonly Record<string, unknown>[]
  readonly per_version: readonly Record<string, unknown>[]
  readonly requests: Record<string, number>
}

const NPM = { 'User-Agent': 'npm/11.19.1 node/v24.21.0 linux x64 workspaces/false' }

let daemon: Daemon
let token: string
let path: string
beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  const bytes = await buildDeb({ name: 'hello', version: '1.0', arch: 'amd64' })
  expect((await daemon.upload(bytes, { token })).status).toBe(201)
  const packages = '/repos/dists/jammy/main/binary-amd64/Packages'
  await vi.waitFor(async () => expect((await daemon.call('GET', packages)).text).toContain('Filename: '), 10_000)
  path = `/repos/${/^Filename: (\S+)$/m.exec((await daemon.call('GET', packages)).text)?.[1]}`
})
afterAll(() => daemon.close())

async function stats(): Promise<Stats> {
  return (await daemon.call<Stats & Record<string, unknown>>('GET', '/downloads/stats?days=7', { token })).body
}

test('what clients fetch from this service is counted, by package, over kill -9 and a new start', async () => {
  const agent = { 'User-Agent': 'Debian APT-HTTP/1.3 (2.6.1)' }
  for (let n = 0; n < 3; n++) expect((await daemon.call('GET', path, { headers: agent })).status).toBe(200)
  const { headers } = await daemon.call('HEAD', path, { headers: agent })
  const known = { 'If-None-Match': headers.get('etag') ?? '' }
  expect((await daemon.call('GET', path, { headers: { ...agent, ...known } })).status).toBe(304)
  // the process dies while it counts: in the transaction, before it is kept
  await daemon.stop()
  await daemon.restart({ GATEHOUSE_FAILPOINT: 'downloads:before-commit' })
  await daemon.call('GET', '/downloads/stats', { token }).catch(() => undefined)
  await daemon.ended()
  await daemon.kill9()
  await daemon.restart()
  const counted = await stats()
  expect(counted.summary).toMatchObject({
    total_downloads: 3,
    unique_packages: 1,
    unique_clients: 3,
    per_format: { deb: 3, rpm: 0, apk: 0 },
    log_available: true,
  })
  expect(counted.per_package).toMatchObject([{ name: 'hello', downloads: 3, versions: ['1.0'], format: 'deb' }])
  expect(counted.requests).toMatchObject({ download: 3, head: 1, not_modified: 1 })
})

test('what clients fetch from a registry and through a group is counted from the same list', async () => {
  const make = (body: object) => daemon.call('POST', '/registries/', { token, body })
  expect((await make({ name: 'js', format: 'npm' })).status).toBe(201)
  expect((await make({ name: 'js-every', format: 'npm', kind: 'group', members: ['js'] })).status).toBe(201)
  const bytes = buildNpm({ name: '@team/pad', version: '1.0.0' })
  const sent = await daemon.upload(bytes, { token, distribution: 'js', filename: 'pad-1.0.0.tgz' })
  expect(sent.status, sent.text).toBe(201)
  for (const registry of ['js', 'js', 'js-every']) {
    const document = await fetch(`${daemon.url}/npm/${registry}/@team%2fpad`, { headers: NPM })
    const { versions } = (await document.json()) as { versions: Record<string, { dist: { tarball: string } }> }
    const tarball = await fetch(versions['1.0.0']?.dist.tarball ?? '', { headers: NPM })
    expect(Buffer.from(await tarball.arrayBuffer()).equals(bytes)).toBe(true)
  }
  await daemon.stop()
  await daemon.restart()
  const { summary, per_version: rows } = await stats()
  expect(summary).toMatchObject({ per_format: { deb: 3, npm: 3 }, per_client_type: { npm: 3 } })
  expect(rows).toContainEqual(
    expect.objectContaining({ name: '@team/pad', version: '1.0.0', distribution: 'js', format: 'npm', downloads: 3 }),
  )
})

test('a setting names the log of a web server, which is counted instead', async () => {
  const log = join(daemon.root, 'logs', 'nginx-access.log')
  await appendFile(
    log,
    `192.0.2.1 - - [${new Date().toUTCString().replace(/^\w+, (\d\d) (\w+) (\d+) (\S+) GMT$/, '$1/$2/$3:$4 +0000')}] "GET ${path} HTTP/1.1" 200 7 "-" "curl/8"\n`,
  )
  const set = (value: string) =>
    daemon.call('PATCH', '/settings/', { token, body: { downloads: { access_log: value } } })
  expect((await set('/etc/shadow')).status).toBe(422)
  expect((await set(log)).status).toBe(200)
  await daemon.stop()
  await daemon.restart()
  const own = (await readdir(join(daemon.root, 'logs'))).filter(name => name.startsWith('trees-'))
  expect(own).toHaveLength(1)
  expect((await stats()).summary).toMatchObject({ total_downloads: 7, per_client_type: { apt: 3, npm: 3, curl: 1 } })
})
