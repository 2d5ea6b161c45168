import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Codename } from '../../server/core/identity.ts'
import { createDb } from '../../server/db/db.ts'
import { DATABASE } from '../../server/db/embedded.ts'
import { findRunning } from '../../server/db/pid-file.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import {
  buildArtifact,
  buildImage,
  buildIndex,
  layerOf,
  sha256,
  sha512,
  type BuiltImage,
} from '../support/oci-images.ts'
import { createOciClient, type OciAnswer } from '../support/oci-registry.ts'
import { putImage, servedBytes } from '../support/oci-upstream.ts'
import { proxyRegistry, startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

let root: string
let upstream: RegistryUpstream
/** One for each test that cuts it off: a server that failed is left alone for a while. */
let spare: readonly RegistryUpstream[]
let daemon: Daemon
let token: string

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  spare = await Promise.all([1, 2, 3, 4].map(() => startRegistryUpstream()))
  root = await mkdtemp(join(tmpdir(), 'gh-oci-proxy-'))
  await defineRegistries(root, [
    hostedRegistry('ours', 'oci'),
    proxyRegistry('hub', 'oci', { url: upstream.url }),
    ...spare.map(({ url }, at) => proxyRegistry(`spare${at}`, 'oci', { url })),
    { ...hostedRegistry('all', 'oci'), registry: { kind: 'group', members: ['ours', 'hub', 'spare3'] as Codename[] } },
    proxyRegistry('slow', 'oci', { url: upstream.url, minAgeDays: 7 }),
    proxyRegistry('seen', 'oci', { url: upstream.url, minAgeDays: 7, ageFrom: 'first_seen' }),
  ])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  await settings({ notifications: { allow_private_hosts: '127.0.0.1' } })
  await settings({ validation: { on_scanner_unavailable: 'warn', clamav_scan: false } })
})
afterAll(async () => {
  await daemon.close()
  for (const one of [upstream, ...spare]) await one.close()
  await rm(root, { recursive: true, force: true })
})
beforeEach(() => {
  upstream.fail(undefined)
  upstream.forget()
})

const settings = async (body: object): Promise<void> => {
  const answer = await daemon.call('PATCH', '/settings/', { token, body })
  expect(answer.status, answer.text).toBe(200)
}
const client = (name: string, registry = 'hub', auth = '') => createOciClient(daemon.url, `${registry}/${name}`, auth)
const asAdmin = (name: string, registry = 'hub') => client(name, registry, `Bearer ${token}`)
const header = ({ headers }: OciAnswer, name: string): string => headers.get(name) ?? ''

/** Asks the daemon's own database. */
async function query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  const database = await findRunning(join(root, '.pg'))
  const db = createDb({ socket: database?.socket ?? '', database: DATABASE })
  try {
    return await db.query<Row>(sql, [...values])
  } finally {
    await db.close()
  }
}

/** From now on what upstreams said is so old that they are asked again. */
async function later(ms = 6 * 60_000): Promise<void> {
  for (const table of ['oci_remote_tag', 'oci_remote_list'])
    await query(
      `update ${table} set checked_at = checked_at - $1 * interval '1 ms', tried_at = tried_at - $1 * interval '1 ms'`,
      [ms],
    )
}

let n = 0
/** An image that no other test has. */
const imageOf = (...layers: readonly Buffer[]): BuiltImage => madeAt(undefined, ...layers)
const madeAt = (created: string | undefined, ...layers: readonly Buffer[]): BuiltImage =>
  buildImage({
    layers: [...layers, layerOf({ name: 'etc/n', body: String(n++) })],
    comment: `number ${n}`,
    ...(created === undefined ? {} : { created }),
  })
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
const worst = layerOf({ name: 'usr/lib/node_modules/worst/package.json', body: '{"name":"worst","version":"1.0.0"}' })
/** What came in of a version, by the console's route. */
const shown = async (name: string, digest: string, registry = 'hub') =>
  daemon.call<{ status: string; validation_steps?: unknown }>(
    'GET',
    `/artifacts/${encodeURIComponent(name)}/${encodeURIComponent(digest)}?distribution=${registry}`,
    { token },
  )

/** What is said of a name in the list of those that were asked for. */
async function outcomeOf(name: string): Promise<string | undefined> {
  const { body } = await daemon.call<{ asked: { package: string; outcome: string }[] }>(
    'GET',
    `/registries/hub/asked?q=${encodeURIComponent(name)}`,
    { token },
  )
  return body.asked.find(one => one.package === name)?.outcome
}

describe('an image', () => {
  test('comes in once, through the gate, and is served without its upstream from then on', async () => {
    const image = imageOf()
    putImage(upstream, 'app', image, 'v1')
    const got = await client('app').manifest('v1')
    expect([got.status, got.error]).toEqual([200, {}])
    expect(got.bytes.equals(image.manifest)).toBe(true)
    expect([header(got, 'content-type'), header(got, 'docker-content-digest'), header(got, 'warning')]).toEqual([
      image.mediaType,
      image.digest,
      '',
    ])
    const layer = image.layers[0] as Buffer
    const once = [
      'manifests/v1',
      `manifests/${image.digest}`,
      `blobs/${sha256(image.config)}`,
      `blobs/${sha256(layer)}`,
    ]
    expect(upstream.asked().toSorted()).toEqual(once.map(path => `/v2/app/${path}`).toSorted())
    upstream.fail(503)
    upstream.forget()
    const { base, ask, manifest } = client('app')
    for (const reference of ['v1', image.digest]) expect((await manifest(reference)).status, reference).toBe(200)
    expect((await ask('HEAD', `${base}/manifests/v1`)).status).toBe(200)
    expect((await ask('GET', `${base}/blobs/${sha256(layer)}`)).bytes.equals(layer)).toBe(true)
    // what did not change is asked for no more
    expect(upstream.asked()).toEqual([])
    expect((await shown('app', image.digest)).body).toMatchObject({ status: 'published' })
    const tagged = await daemon.call('GET', '/registries/hub/packages', { token })
    expect(tagged.body).toMatchObject({ packages: [{ name: 'app', tags: [{ tag: 'v1', version: image.digest }] }] })
  })

  test('that two ask for at once is fetched once', async () => {
    const image = imageOf()
    putImage(upstream, 'both', image, 'v1')
    const got = await Promise.all([1, 2, 3].map(() => client('both').manifest('v1')))
    expect(got.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(upstream.asked()).toHaveLength(4)
  })

  test('takes layers that another image brought, and none that a registry of the house has', async () => {
    const base = layerOf({ name: 'lib/base', body: `base ${n++}` })
    const secret = layerOf({ name: 'secret', body: 'of the house' })
    const private_ = buildImage({ layers: [secret], comment: 'private' })
    expect((await asAdmin('vault', 'ours').push(private_, 'v1')).status).toBe(201)
    const [one, two, thief] = [imageOf(base), imageOf(base), imageOf(secret)]
    putImage(upstream, 'one', one, 'v1')
    putImage(upstream, 'two', two, 'v1')
    putImage(upstream, 'thief', thief, 'v1')
    upstream.remove(`/v2/two/blobs/${sha256(base)}`)
    upstream.remove(`/v2/thief/blobs/${sha256(secret)}`)
    expect((await client('one').manifest('v1')).status).toBe(200)
    expect((await client('two').manifest('v1')).status).toBe(200)
    const { base: at, ask, manifest } = client('two')
    expect((await ask('GET', `${at}/blobs/${sha256(base)}`)).bytes.equals(base)).toBe(true)
    // whoever knows its digest does not get it by naming it
    const stolen = await client('thief').manifest('v1')
    expect([stolen.status, stolen.error.message]).toEqual([502, expect.stringContaining('does not give it')])
    expect((await client('thief').ask('GET', `/v2/hub/thief/blobs/${sha256(secret)}`)).status).toBe(404)
    expect((await manifest('v1')).status).toBe(200)
  })

  test('by SHA-512 is the same', async () => {
    const image = imageOf()
    putImage(upstream, 'long', image)
    upstream.put(`/v2/long/manifests/${sha512(image.manifest)}`, servedBytes(image.manifest, image.mediaType))
    const got = await client('long').manifest(sha512(image.manifest))
    expect([got.status, header(got, 'docker-content-digest')]).toEqual([200, sha512(image.manifest)])
    expect((await client('long').manifest(image.digest)).status).toBe(200)
  })

  test('that the upstream lacks is not asked for again at once', async () => {
    const { manifest } = client('nowhere')
    for (let times = 0; times < 2; times++) {
      const { status, error } = await manifest('v1')
      expect([status, error.code]).toEqual([404, 'MANIFEST_UNKNOWN'])
      expect(error.message).toContain('it has no nowhere:v1')
    }
    const absent = sha256(Buffer.from('absent'))
    for (let times = 0; times < 2; times++) expect((await manifest(absent)).error.code).toBe('MANIFEST_UNKNOWN')
    expect(upstream.asked()).toEqual(['/v2/nowhere/manifests/v1', `/v2/nowhere/manifests/${absent}`])
    expect(await outcomeOf('nowhere')).toBe('missing')
  })
})

test('another upstream is asked for what the one before did not have', async () => {
  const image = imageOf()
  const [, , , other] = spare as readonly [RegistryUpstream, RegistryUpstream, RegistryUpstream, RegistryUpstream]
  putImage(other, 'moving', image, 'v1')
  other.put('/v2/moving/tags/list?n=1000', { body: '{"tags":["v1"]}' })
  const change = async (method: string, path: string, more: object, url: string): Promise<void> => {
    const body = { ...more, upstream: { url } }
    const answer = await daemon.call(method, path, { token, body })
    expect(answer.status, answer.text).toBeLessThan(300)
  }
  const { base, ask, manifest } = client('moving', 'moving')
  await change('POST', '/registries/', { name: 'moving', format: 'oci', kind: 'proxy' }, upstream.url)
  for (const reference of ['v1', image.digest]) expect((await manifest(reference)).status, reference).toBe(404)
  expect((await ask('GET', `${base}/tags/list`)).status).toBe(404)
  await change('PATCH', '/registries/moving', {}, other.url)
  expect((await ask('GET', `${base}/tags/list`)).status).toBe(200)
  for (const reference of [image.digest, 'v1']) expect((await manifest(reference)).status, reference).toBe(200)
})

describe('what is refused', () => {
  beforeAll(async () => {
    const form = new FormData()
    const records = [
      osvRecord('GHSA-crit-crit-crit', [['npm', 'worst', '2.0.0']], { database_specific: { severity: 'CRITICAL' } }),
    ]
    form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
    expect((await daemon.call('POST', '/security/database', { token, form })).status).toBe(200)
  })

  test('is answered with the reason, its blobs are given to nobody, and it is not fetched again', async () => {
    const bad = imageOf(worst)
    putImage(upstream, 'bad', bad, 'v1')
    const { base, ask, manifest } = client('bad')
    for (const reference of ['v1', bad.digest]) {
      const { status, error } = await manifest(reference)
      expect([status, error.code]).toEqual([403, 'DENIED'])
      expect(error.message).toMatch(/^Quarantined by Gatehouse: GHSA-crit-crit-crit \(critical\)\. http/)
    }
    expect((await ask('HEAD', `${base}/manifests/v1`)).status).toBe(403)
    for (const one of [ask, asAdmin('bad').ask])
      expect((await one('GET', `${base}/blobs/${sha256(bad.config)}`)).status).toBe(403)
    expect(upstream.asked()).toHaveLength(5)
    // a person may think otherwise
    await decideVersion(daemon, {
      ...{ token, registry: 'hub', name: 'bad', version: bad.digest, arch: 'linux/amd64', action: 'approve' },
    })
    expect((await manifest('v1')).status).toBe(200)
    expect((await ask('GET', `${base}/blobs/${sha256(bad.config)}`)).status).toBe(200)
  })

  test('leaves a tag on the last good one, and says why', async () => {
    const [good, bad] = [imageOf(), imageOf(worst)]
    putImage(upstream, 'moved', good, 'latest')
    expect((await client('moved').manifest('latest')).status).toBe(200)
    putImage(upstream, 'moved', bad, 'latest')
    await later()
    const got = await client('moved').manifest('latest')
    expect([got.status, header(got, 'docker-content-digest')]).toEqual([200, good.digest])
    expect(header(got, 'warning')).toMatch(/^299 - "This is what latest named before\. Quarantined by Gatehouse: GHSA-/)
    expect((await client('moved').manifest(bad.digest)).status).toBe(403)
  })

  test('a waiver lets through what the policy blocks, before it came in', async () => {
    const bad = imageOf(worst)
    putImage(upstream, 'waived', bad, 'v1')
    const given = await daemon.call(
      'PUT',
      `/registries/hub/packages/waived/versions/${encodeURIComponent(bad.digest)}/waiver`,
      { token, body: { reason: 'It is for a test.', expires_in_days: 1 } },
    )
    expect(given.status, given.text).toBe(200)
    const got = await client('waived').manifest('v1')
    expect([got.status, got.error]).toEqual([200, {}])
    expect((await shown('waived', bad.digest)).body).toMatchObject({ status: 'published' })
  })

  test('an image that the format refuses is not here, and says why', async () => {
    const hostile = imageOf(layerOf({ name: '../../etc/passwd', body: 'x' }))
    putImage(upstream, 'hostile', hostile, 'v1')
    const { status, error } = await client('hostile').manifest('v1')
    expect([status, error.message]).toEqual([400, expect.stringContaining('leads out of its folder')])
    expect((await shown('hostile', hostile.digest)).status).toBe(404)
  })
})

describe('an upstream that lies', () => {
  test.each<[string, (image: BuiltImage) => void, RegExp]>([
    [
      'with other bytes for a digest',
      image => upstream.put(`/v2/lies/manifests/${image.digest}`, servedBytes(imageOf().manifest, image.mediaType)),
      /the digest of what came is sha256:/,
    ],
    [
      'with a layer that is cut',
      ({ layers: [layer = Buffer.alloc(0)] }) =>
        upstream.put(`/v2/lies/blobs/${sha256(layer)}`, { body: layer.subarray(0, -1) }),
      /it has \d+ bytes, its index says \d+/,
    ],
    [
      'with another layer of that size',
      ({ layers: [layer = Buffer.alloc(0)] }) =>
        upstream.put(`/v2/lies/blobs/${sha256(layer)}`, { body: Buffer.alloc(layer.length, 'x') }),
      /its SHA256 is/,
    ],
    [
      'with a page for people',
      ({ digest }) => {
        const page = Buffer.from('<html>Log in</html>')
        upstream.put('/v2/lies/manifests/v1', { body: page, type: 'text/html' })
        upstream.remove(`/v2/lies/manifests/${digest}`)
        upstream.put(`/v2/lies/manifests/${sha256(page)}`, { body: page, type: 'text/html' })
      },
      /it is no JSON/,
    ],
    [
      'with a manifest of 5 MB',
      ({ digest }) => upstream.put(`/v2/lies/manifests/${digest}`, { body: Buffer.alloc(5_000_000, ' ') }),
      /longer than 4 MiB/,
    ],
    [
      'with a realm on an address of metadata',
      ({ digest }) =>
        upstream.put(`/v2/lies/manifests/${digest}`, {
          ...{ status: 401, body: '' },
          headers: { 'WWW-Authenticate': 'Bearer realm="http://169.254.169.254/token"' },
        }),
      /No request is sent to 169\.254\.169\.254/,
    ],
  ])('%s is refused, and nothing stays', async (_, lie, why) => {
    const image = imageOf()
    putImage(upstream, 'lies', image, 'v1')
    lie(image)
    const { status, error } = await client('lies').manifest('v1')
    expect([502, 400]).toContain(status)
    expect(error.message).toMatch(why)
    expect((await shown('lies', image.digest)).status).toBe(404)
    expect(await readdir(join(root, 'incoming'))).toEqual([])
    await later()
  })
})

describe('a tag', () => {
  test('that moved is asked for with the digest that it had, and followed', async () => {
    const [first, second] = [imageOf(), imageOf()]
    putImage(upstream, 'tagged', first, 'latest')
    expect(header(await client('tagged').manifest('latest'), 'docker-content-digest')).toBe(first.digest)
    putImage(upstream, 'tagged', second, 'latest')
    // within five minutes nobody asks
    expect(header(await client('tagged').manifest('latest'), 'docker-content-digest')).toBe(first.digest)
    await later()
    upstream.forget()
    const asked = upstream.log.length
    expect(header(await client('tagged').manifest('latest'), 'docker-content-digest')).toBe(second.digest)
    expect([upstream.log[asked]?.method, upstream.log[asked]?.headers['if-none-match']]).toEqual([
      'HEAD',
      `"${first.digest}"`,
    ])
    await later()
    upstream.forget()
    expect((await client('tagged').manifest('latest')).status).toBe(200)
    expect(upstream.asked()).toEqual(['/v2/tagged/manifests/latest'])
  })

  test('is answered while the upstream fails, for seven days, and the answer says so', async () => {
    const [cut] = spare as readonly [RegistryUpstream]
    const image = imageOf()
    putImage(cut, 'stale', image, 'latest')
    const { manifest } = client('stale', 'spare0')
    expect((await manifest('latest')).status).toBe(200)
    await later()
    cut.fail(503)
    const stale = await manifest('latest')
    expect([stale.status, header(stale, 'warning')]).toEqual([200, '110 - "Response is Stale"'])
    await later(8 * 86_400_000)
    expect((await manifest('latest')).status).toBe(502)
    // known by its digest it needs no upstream
    expect((await manifest(image.digest)).status).toBe(200)
  })

  test('whose new image does not come names the one before', async () => {
    const [first, second] = [imageOf(), imageOf()]
    putImage(upstream, 'broken', first, 'latest')
    expect((await client('broken').manifest('latest')).status).toBe(200)
    putImage(upstream, 'broken', second, 'latest')
    upstream.remove(`/v2/broken/blobs/${sha256(second.config)}`)
    await later()
    const before = await client('broken').manifest('latest')
    expect([before.status, header(before, 'docker-content-digest')]).toEqual([200, first.digest])
    expect(header(before, 'warning')).toMatch(/^299 - "This is what latest named before\. .* does not give it/)
  })

  test('that the upstream removed names what it named', async () => {
    const image = imageOf()
    putImage(upstream, 'removed', image, 'v1')
    expect((await client('removed').manifest('v1')).status).toBe(200)
    upstream.remove('/v2/removed/manifests/v1')
    await later()
    const got = await client('removed').manifest('v1')
    expect([got.status, header(got, 'docker-content-digest')]).toEqual([200, image.digest])
    expect(header(got, 'warning')).toContain('The upstream has no removed:v1 any more.')
  })
})

describe('young images', () => {
  const hiddenOf = async (registry: string, name: string) =>
    (
      await daemon.call<{ hidden: { version: string; because: string; arch: string }[] }>(
        'GET',
        `/registries/${registry}/hidden?q=${name}`,
        { token },
      )
    ).body.hidden.map(({ version, because, arch }) => [version, because, arch])

  test('are hidden by the date of their builder, and a tag stays on the one before', async () => {
    const [old, young] = [madeAt(daysAgo(30)), madeAt(daysAgo(1))]
    putImage(upstream, 'aged', old, 'latest')
    expect((await client('aged', 'slow').manifest('latest')).status).toBe(200)
    putImage(upstream, 'aged', young, 'latest', 'next')
    await later()
    const got = await client('aged', 'slow').manifest('latest')
    expect([got.status, header(got, 'docker-content-digest')]).toEqual([200, old.digest])
    expect(header(got, 'warning')).toContain('Hidden by Gatehouse: It is younger than 7 days: published on')
    const refused = await client('aged', 'slow').manifest('next')
    expect([refused.status, refused.error.code]).toEqual([403, 'DENIED'])
    expect(refused.error.message).toContain(`#/registries?in=slow&view=hidden&q=aged`)
    // its layers were not fetched, and it is not asked for again
    const layer = young.layers[0] as Buffer
    expect(upstream.asked()).not.toContain(`/v2/aged/blobs/${sha256(layer)}`)
    upstream.forget()
    expect((await client('aged', 'slow').manifest(young.digest)).status).toBe(403)
    expect(upstream.asked()).toEqual([])
    expect(await hiddenOf('slow', 'aged')).toEqual([[young.digest, 'young', 'linux/amd64']])
    const waived = await daemon.call(
      'PUT',
      `/registries/slow/packages/aged/versions/${encodeURIComponent(young.digest)}/waiver`,
      { token, body: { reason: 'It is for a test.', expires_in_days: 1 } },
    )
    expect(waived.status, waived.text).toBe(200)
    expect(header(await client('aged', 'slow').manifest('latest'), 'docker-content-digest')).toBe(young.digest)
    expect(await hiddenOf('slow', 'aged')).toEqual([])
  })

  test('without a date, or with one that no image can have, are as old as they are known here', async () => {
    for (const [name, image] of [
      ['dateless', imageOf()],
      ['reproducible', madeAt('1970-01-01T00:00:00Z')],
    ] as const) {
      putImage(upstream, name, image, 'v1')
      const { status, error } = await client(name, 'slow').manifest('v1')
      expect([status, error.message], name).toEqual([403, expect.stringContaining('first seen on')])
    }
    const old = madeAt(daysAgo(30))
    putImage(upstream, 'unseen', old, 'v1')
    expect((await client('unseen', 'seen').manifest('v1')).error.message).toContain('first seen on')
  })

  test('an index is as old as its images say, and they come with it', async () => {
    const [amd64, arm64] = [madeAt(daysAgo(30)), madeAt(daysAgo(1))]
    const plain = buildIndex({ amd64, arm64 })
    putImage(upstream, 'many', amd64)
    putImage(upstream, 'many', arm64)
    putImage(upstream, 'many', plain, 'v1')
    expect((await client('many', 'slow').manifest('v1')).status).toBe(200)
    expect((await client('many', 'slow').manifest(arm64.digest)).status).toBe(200)
    const noted = buildIndex({ amd64 }, { annotations: { 'org.opencontainers.image.created': daysAgo(2) } })
    putImage(upstream, 'many', noted, 'v2')
    expect((await client('many', 'slow').manifest('v2')).error.message).toContain('published on')
  })

  test('what is about something that is served comes with it', async () => {
    const image = madeAt(daysAgo(30))
    const signature = imageOf()
    putImage(upstream, 'signed', image, 'v1')
    const tag = `${image.digest.replace(':', '-')}.sig`
    putImage(upstream, 'signed', signature, tag)
    expect((await client('signed', 'slow').manifest('v1')).status).toBe(200)
    expect((await client('signed', 'slow').manifest(tag)).status).toBe(200)
  })
})

describe('an index', () => {
  test('comes in without its images, which come when they are asked for, and its report says so', async () => {
    const [amd64, arm64] = [imageOf(), imageOf()]
    const index = buildIndex({ amd64, arm64 })
    for (const [one, ...tags] of [[amd64], [arm64], [index, 'v1']] as const) putImage(upstream, 'index', one, ...tags)
    expect((await client('index').manifest('v1')).bytes.equals(index.manifest)).toBe(true)
    expect(upstream.asked()).toEqual(['/v2/index/manifests/v1', `/v2/index/manifests/${index.digest}`])
    const { text } = await shown('index', index.digest)
    expect(text).toContain('Served here of the manifests that it names: 0 of 2.')
    expect(text).toContain('nothing is known of those that did not yet.')
    expect((await client('index').manifest(amd64.digest)).status).toBe(200)
    expect((await shown('index', arm64.digest)).status).toBe(404)
  })

  test('is held whole while an image of it is, as soon as that is known', async () => {
    const [amd64, arm64] = [imageOf(), imageOf(worst)]
    const index = buildIndex({ amd64, arm64 })
    for (const [one, ...tags] of [[amd64], [arm64], [index, 'v1']] as const) putImage(upstream, 'partly', one, ...tags)
    const { manifest } = client('partly')
    expect((await manifest('v1')).status).toBe(200)
    expect((await manifest(arm64.digest)).status).toBe(403)
    for (const reference of ['v1', index.digest]) {
      const { status, error } = await manifest(reference)
      expect([status, error.code]).toEqual([403, 'DENIED'])
      expect(error.message).toContain(
        `It names the manifest ${arm64.digest} (linux/arm64). Quarantined by Gatehouse: GHSA-`,
      )
    }
    expect((await manifest(amd64.digest)).status).toBe(200)
    await decideVersion(daemon, {
      ...{ token, registry: 'hub', name: 'partly', version: arm64.digest, arch: 'linux/amd64', action: 'approve' },
    })
    expect((await manifest('v1')).status).toBe(200)
  })
})

describe('lists', () => {
  const tagsOf = async (name: string, query = '') => {
    const { ask, base } = client(name)
    const { status, json, headers } = await ask('GET', `${base}/tags/list${query}`)
    return { status, headers, tags: json<{ tags?: string[] }>().tags }
  }
  const putTags = (name: string, tags: readonly string[]): void =>
    upstream.put(`/v2/${name}/tags/list?n=1000`, { body: JSON.stringify({ name, tags }) })

  test('of tags are those of the upstream without what is hidden, and with what is here', async () => {
    const [good, bad, gone] = [imageOf(), imageOf(worst), imageOf()]
    putImage(upstream, 'listed', good, 'good')
    putImage(upstream, 'listed', bad, 'bad')
    putImage(upstream, 'listed', gone, 'gone')
    putTags('listed', ['bad', 'good', 'unasked'])
    expect((await tagsOf('listed')).tags).toEqual(['bad', 'good', 'unasked'])
    for (const tag of ['good', 'bad', 'gone']) await client('listed').manifest(tag)
    upstream.forget()
    expect((await tagsOf('listed')).tags).toEqual(['gone', 'good', 'unasked'])
    expect(upstream.asked()).toEqual([])
    const part = await tagsOf('listed', '?n=2')
    expect([part.tags, part.headers.get('link')]).toEqual([
      ['gone', 'good'],
      '</v2/hub/listed/tags/list?n=2&last=good>; rel="next"',
    ])
    await later()
    putTags('listed', ['newer'])
    expect((await tagsOf('listed')).tags).toEqual(['gone', 'good', 'newer'])
    expect((await tagsOf('nothing-there')).status).toBe(404)
  })

  test('of tags are answered while the upstream fails', async () => {
    const [, cut] = spare as readonly [RegistryUpstream, RegistryUpstream]
    const [here, unlisted] = [imageOf(), imageOf()]
    putImage(cut, 'listed', here, 'here')
    putImage(cut, 'unlisted', unlisted, 'v1')
    cut.put('/v2/listed/tags/list?n=1000', { body: '{"tags":["here","there"]}' })
    const { ask, base, manifest } = client('listed', 'spare1')
    expect((await manifest('here')).status).toBe(200)
    expect((await client('unlisted', 'spare1').manifest('v1')).status).toBe(200)
    expect((await ask('GET', `${base}/tags/list`)).json()).toEqual({ name: 'spare1/listed', tags: ['here', 'there'] })
    await later()
    cut.fail(500)
    for (const [name, tags] of [
      ['listed', ['here', 'there']],
      // nobody asked for the list of this one, and what is here is known
      ['unlisted', ['v1']],
    ] as const) {
      const stale = await ask('GET', `/v2/spare1/${name}/tags/list`)
      expect([stale.json<{ tags: string[] }>().tags, header(stale, 'warning')]).toEqual([
        tags,
        '110 - "Response is Stale"',
      ])
    }
    expect((await ask('GET', '/v2/spare1/other/tags/list')).status).toBe(502)
  })

  test('of 100,000 tags are answered in parts', async () => {
    const tags = Array.from({ length: 100_000 }, (_, one) => `t${String(one).padStart(6, '0')}`)
    putTags('large', tags)
    const first = await tagsOf('large')
    expect([first.status, first.tags?.length, first.tags?.at(-1)]).toEqual([200, 10_000, 't009999'])
    expect((await tagsOf('large', '?n=3&last=t099997')).tags).toEqual(['t099998', 't099999'])
    putTags('larger', [...tags, 'one-more'])
    const refused = await tagsOf('larger')
    expect([refused.status, refused.tags]).toEqual([502, undefined])
  })

  test('of what is about an image come in through the gate, and are answered without the upstream then', async () => {
    const [, , cut] = spare as readonly [RegistryUpstream, RegistryUpstream, RegistryUpstream]
    const image = imageOf()
    const signature = buildArtifact('application/x-signature', Buffer.from('signed'), image)
    const sbom = buildArtifact('application/x-sbom', Buffer.from('{}'), image)
    const bad = { ...buildArtifact('application/x-bad', Buffer.from('never sent'), image), layers: [] }
    for (const [one, ...tags] of [[image, 'v1'], [signature], [sbom], [bad]] as const)
      putImage(cut, 'about', one, ...tags)
    const about = buildIndex({ a: signature, b: sbom, c: bad })
    const path = `/v2/about/referrers/${image.digest}`
    cut.put(path, servedBytes(about.manifest, about.mediaType))
    const { base, ask } = client('about', 'spare2')
    const referrers = async (query = ''): Promise<string[]> =>
      (await ask('GET', `${base}/referrers/${image.digest}${query}`))
        .json<{ manifests: { digest: string }[] }>()
        .manifests.map(({ digest }) => digest)
    // nothing is looked for about what is not here
    expect(await referrers()).toEqual([])
    expect(cut.asked()).toEqual([])
    expect((await client('about', 'spare2').manifest('v1')).status).toBe(200)
    expect(await referrers('?artifactType=application/x-sbom')).toEqual([sbom.digest])
    expect(await referrers()).toEqual([signature.digest, sbom.digest].toSorted())
    cut.fail(503)
    await later()
    expect(await referrers()).toEqual([signature.digest, sbom.digest].toSorted())
  })

  test('the catalogue names what came through', async () => {
    putImage(upstream, 'named', imageOf(), 'v1')
    const { ask, manifest } = asAdmin('named')
    expect((await manifest('v1')).status).toBe(200)
    const { repositories } = (await ask('GET', '/v2/_catalog')).json<{ repositories: string[] }>()
    expect(repositories).toContain('hub/named')
    // its tags were listed, and nothing of it came in
    expect(repositories).not.toContain('hub/large')
  })
})

describe('nobody', () => {
  test('publishes or deletes here, and reads why', async () => {
    const { base, ask, manifest } = asAdmin('kept')
    const image = imageOf()
    putImage(upstream, 'kept', image, 'v1')
    expect((await manifest('v1')).status).toBe(200)
    for (const [method, path] of [
      ['POST', `${base}/blobs/uploads/`],
      ['PUT', `${base}/manifests/v1`],
    ] as const) {
      const { status, error } = await ask(method, path, { body: image.manifest })
      expect([status, error.code], path).toEqual([409, 'DENIED'])
      expect(error.message).toContain('The registry hub is a proxy: nothing is published into it')
    }
    for (const path of ['manifests/v1', `blobs/${sha256(image.config)}`]) {
      const { status, error } = await ask('DELETE', `${base}/${path}`)
      expect([status, error.code], path).toEqual([405, 'UNSUPPORTED'])
      expect(error.message).toContain('reads through to another registry')
    }
    expect((await client('kept').ask('DELETE', `${base}/manifests/v1`)).status).toBe(401)
    expect((await manifest('v1')).status).toBe(200)
  })

  test('looks outside for a name of the house', async () => {
    const mine = imageOf()
    expect((await asAdmin('house/app', 'ours').push(mine, 'v1')).status).toBe(201)
    putImage(upstream, 'house/app', imageOf(), 'v1', 'v2')
    upstream.forget()
    const { base, ask, manifest } = client('house/app')
    for (const one of [
      manifest('v2'),
      ask('GET', `${base}/tags/list`),
      ask('GET', `${base}/referrers/${mine.digest}`),
    ]) {
      const { status, error } = await one
      expect(status).toBe(404)
      expect(error.message).toContain('house/app belongs to this house')
    }
    expect(upstream.asked()).toEqual([])
    expect(await outcomeOf('house/app')).toBe('reserved')
  })
})

test('a group answers from the first member that has an image, with what is about it', async () => {
  const [, , , second] = spare as readonly [RegistryUpstream, RegistryUpstream, RegistryUpstream, RegistryUpstream]
  const [mine, theirs] = [imageOf(), imageOf()]
  expect((await asAdmin('grouped/mine', 'ours').push(mine, 'v1')).status).toBe(201)
  putImage(upstream, 'grouped/mine', imageOf(), 'v1', 'v2')
  const signature = buildArtifact('application/x-signature', Buffer.from('signed'), theirs)
  putImage(second, 'grouped/theirs', theirs, 'v1')
  putImage(second, 'grouped/theirs', signature)
  const about = buildIndex({ a: signature })
  second.put(`/v2/grouped/theirs/referrers/${theirs.digest}`, servedBytes(about.manifest, about.mediaType))
  second.put('/v2/grouped/theirs/tags/list?n=1000', { body: '{"tags":["v1"]}' })
  const group = client('grouped/theirs', 'all')
  expect((await client('grouped/mine', 'all').manifest('v1')).bytes.equals(mine.manifest)).toBe(true)
  expect((await client('grouped/mine', 'all').manifest('v2')).status).toBe(404)
  expect((await group.manifest('v1')).bytes.equals(theirs.manifest)).toBe(true)
  const layer = theirs.layers[0] as Buffer
  expect((await group.ask('GET', `${group.base}/blobs/${sha256(layer)}`)).bytes.equals(layer)).toBe(true)
  expect((await group.ask('GET', `${group.base}/tags/list`)).json()).toEqual({
    name: 'all/grouped/theirs',
    tags: ['v1'],
  })
  const listed = await group.ask('GET', `${group.base}/referrers/${theirs.digest}`)
  expect(listed.json()).toMatchObject({ manifests: [{ digest: signature.digest }] })
  expect((await group.manifest('absent')).status).toBe(404)
})

test('a first pull that a power cut ends leaves nothing half, and goes on from the layers that came', async () => {
  const [small, large] = [layerOf({ name: 'a', body: `small ${n++}` }), layerOf({ name: 'b', body: `large ${n++}` })]
  const image = buildImage({ layers: [small, large], comment: 'cut' })
  putImage(upstream, 'cut', image, 'v1')
  upstream.put(`/v2/cut/blobs/${sha256(large)}`, { body: large.subarray(0, 10), hangs: true })
  const pulled = client('cut')
    .manifest('v1')
    .catch(() => undefined)
  const kept = async () => (await query("select sha256 from registry_blob where name = 'cut'")).length
  await expect.poll(kept).toBe(2)
  await expect.poll(() => upstream.asked()).toContain(`/v2/cut/blobs/${sha256(large)}`)
  await daemon.kill9()
  await pulled
  await daemon.restart()
  token = await daemon.setupAdmin()
  expect(await readdir(join(root, 'incoming'))).toEqual([])
  expect((await shown('cut', image.digest)).status).toBe(404)
  // what came waits for the gate, and goes out to nobody
  for (const one of [client('cut'), asAdmin('cut')])
    expect((await one.ask('GET', `${one.base}/blobs/${sha256(small)}`)).status).toBe(404)
  upstream.put(`/v2/cut/blobs/${sha256(large)}`, { body: large })
  upstream.forget()
  expect((await client('cut').manifest('v1')).status).toBe(200)
  expect(upstream.asked()).toEqual([`/v2/cut/manifests/${image.digest}`, `/v2/cut/blobs/${sha256(large)}`])
})
