import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import { buildNpm, npmEntries, packNpm } from '../support/packages-npm.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

let daemon: Daemon
let root: string
let token: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-npm-raw-'))
  await defineRegistries(root, [hostedRegistry('ours', 'npm')])
  daemon = await startDaemon({ root })
  token = await daemon.setupAdmin()
  const set = await daemon.call('PATCH', '/settings/', {
    token,
    body: {
      validation: { clamav_scan: false, on_scanner_unavailable: 'warn', max_upload_size_mb: 20 },
      script_policy: { npm_install_script: 'review' },
    },
  })
  expect(set, set.text).toMatchObject({ status: 200 })
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

interface Reply {
  readonly status: number
  /** The text after the status. */
  readonly reason: string
  readonly headers: Headers
  readonly json: Record<string, never> & { readonly error?: string }
}
async function ask(method: string, path: string, body?: string | Buffer, headers: object = {}): Promise<Reply> {
  const response = await fetch(`${daemon.url}/npm/ours/${path}`, {
    method,
    headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body as string)) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    reason: response.statusText,
    headers: response.headers,
    json: (text.startsWith('{') ? JSON.parse(text) : { text }) as Reply['json'],
  }
}

type Doc = Record<string, unknown>
interface Published {
  readonly name: string
  readonly version?: string
  readonly bytes?: Buffer
  /** Changes the manifest of the version in the request. */
  readonly manifest?: Doc
  readonly document?: Doc
}
/** What npm sends to publish. */
function documentOf({ name, version = '1.0.0', bytes, manifest = {}, document = {} }: Published): string {
  const tarball = bytes ?? buildNpm({ name, version })
  return JSON.stringify({
    '_id': name,
    name,
    'dist-tags': { latest: version },
    'versions': {
      [version]: {
        name,
        version,
        dist: {
          shasum: createHash('sha1').update(tarball).digest('hex'),
          integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
          tarball: 'http://elsewhere.example/x.tgz',
        },
        ...manifest,
      },
    },
    '_attachments': {
      [`${name}-${version}.tgz`]: {
        content_type: 'application/octet-stream',
        data: tarball.toString('base64'),
        length: tarball.length,
      },
    },
    ...document,
  })
}
const at = (name: string): string => name.replace('/', '%2f')
const publish = (one: Published): Promise<Reply> => ask('PUT', at(one.name), documentOf(one))
async function publishOk(one: Published): Promise<void> {
  const reply = await publish(one)
  expect(reply.status, JSON.stringify(reply.json)).toBe(201)
}

describe('hostile requests to publish change nothing and say why', () => {
  const name = 'hostile'
  const b64 = (bytes: Buffer): Doc => ({
    _attachments: { 'hostile-1.0.0.tgz': { data: bytes.toString('base64'), length: bytes.length } },
  })
  const raw = (text: string) => () => text
  const doc = (change: Partial<Published>) => (): string => documentOf({ name, ...change })
  const good = buildNpm({ name, version: '1.0.0' })

  test.each<[string, () => string, number, RegExp]>([
    ['an empty body', raw(''), 400, /cut off/],
    ['no JSON', raw('name=a'), 400, /no JSON object/],
    ['a list', raw('[]'), 400, /no JSON object/],
    ['cut off', () => documentOf({ name }).slice(0, -200), 400, /cut off|base64/],
    ['something behind it', () => `${documentOf({ name })}{}`, 400, /behind its end/],
    ['nested 10,000 deep', raw(`{"name":"hostile","x":${'['.repeat(1e4)}${']'.repeat(1e4)}}`), 400, /200 deep/],
    ['a member twice', () => documentOf({ name }).replace('"name"', '"versions":{},"name"'), 400, /"versions" twice/],
    [
      '__proto__ as a version',
      doc({ document: { versions: JSON.parse('{"__proto__":{}}') as Doc } }),
      400,
      /not taken/,
    ],
    ['another name inside', doc({ document: { name: 'other' } }), 400, /about "hostile" by its address/],
    ['no version', doc({ document: { versions: {} } }), 400, /0 versions/],
    ['two versions', doc({ document: { versions: { '1.0.0': {}, '1.0.1': {} } } }), 400, /2 versions/],
    ['a version that is none', doc({ version: 'latest', bytes: good }), 400, /not taken/],
    [
      'two attachments',
      doc({
        document: { _attachments: { a: { data: good.toString('base64') }, b: { data: good.toString('base64') } } },
      }),
      400,
      /two packages/,
    ],
    ['data that is no base64', doc({ document: { _attachments: { a: { data: '@@@@' } } } }), 400, /not base64/],
    ['data that is a number', doc({ document: { _attachments: { a: { data: 7 } } } }), 400, /no text/],
    [
      'another length',
      doc({ document: { _attachments: { a: { data: good.toString('base64'), length: 1 } } } }),
      400,
      /says 1\./,
    ],
    ['another SHA-1', doc({ manifest: { dist: { shasum: 'a'.repeat(40) } } }), 400, /dist\.shasum/],
    ['another SHA-512', doc({ manifest: { dist: { integrity: 'sha512-AAAA' } } }), 400, /dist\.integrity/],
    ['one of two digests', doc({ manifest: { dist: { integrity: `sha1-AAAA sha512-AAAA` } } }), 400, /dist\.integrity/],
    ['a tag that reads as a range', doc({ document: { 'dist-tags': { '1.x': '1.0.0' } } }), 400, /The tag "1\.x"/],
    [
      'a tag __proto__',
      doc({ document: { 'dist-tags': JSON.parse('{"__proto__":"1.0.0"}') as Doc } }),
      400,
      /The tag "__proto__"/,
    ],
    ['a tag for another version', doc({ document: { 'dist-tags': { latest: '9.9.9' } } }), 400, /names "9\.9\.9"/],
    ['no tarball', doc({ document: b64(Buffer.from('hello')), manifest: { dist: {} } }), 422, /is refused/],
    [
      'another package in the tarball',
      doc({ bytes: buildNpm({ name: 'lodash', version: '1.0.0' }) }),
      400,
      /says lodash@1\.0\.0/,
    ],
    [
      'another version in the tarball',
      doc({ bytes: buildNpm({ name, version: '1.0.1' }) }),
      400,
      /says hostile@1\.0\.1/,
    ],
    [
      'a dependency that the request hides',
      doc({ bytes: buildNpm({ name, version: '1.0.0', json: { dependencies: { evil: '*' } } }) }),
      400,
      /dependencies: "evil" is "\*" in the tarball and nothing in the request/,
    ],
    [
      'a dependency that only the request has',
      doc({ manifest: { dependencies: { evil: '*' } } }),
      400,
      /"evil" is nothing in the tarball and "\*" in the request/,
    ],
    [
      'an install script that the request hides',
      doc({ bytes: buildNpm({ name, version: '1.0.0', json: { scripts: { postinstall: 'sh x' } } }) }),
      400,
      /scripts: "postinstall" is "sh x" in the tarball/,
    ],
    [
      'a command that the request hides',
      doc({ bytes: buildNpm({ name, version: '1.0.0', json: { bin: { node: 'x.js' } } }) }),
      400,
      /bin: "node"/,
    ],
    [
      'two package.json',
      doc({ bytes: packNpm([...npmEntries({ name, version: '1.0.0' }), ...npmEntries({ name, version: '6.6.6' })]) }),
      422,
      /two files package\.json/,
    ],
    [
      'a file outside',
      doc({ bytes: packNpm([...npmEntries({ name, version: '1.0.0' }), { name: 'package/../../x', body: '' }]) }),
      422,
      /leads out/,
    ],
    [
      'a symlink',
      doc({ bytes: packNpm([...npmEntries({ name, version: '1.0.0' }), { name: 'package/x', type: '2', link: '/' }]) }),
      422,
      /is a symlink/,
    ],
    ['a gzip in a gzip', doc({ bytes: gzipSync(good) }), 422, /is refused/],
    ['a manifest of 5 MB', doc({ manifest: { x: 'x'.repeat(5 * 2 ** 20) } }), 400, /larger than 4 MiB/],
    ['21 MB', doc({ bytes: Buffer.alloc(21 * 2 ** 20, 1), manifest: { dist: {} } }), 413, /20 MB/],
  ])('%s', async (_, body, status, said) => {
    const reply = await ask('PUT', name, body())
    expect([reply.status, reply.json.error]).toEqual([status, expect.stringMatching(said)])
    expect((await ask('GET', name)).status).toBe(404)
  })

  test.each(['Upper', '_x', '.x', 'a b', 'héllo', '%E2%80%AEx', 'node_modules', 'x'.repeat(215), '@ours/_x'])(
    'the name %s',
    async bad => {
      const plain = decodeURIComponent(bad)
      const reply = await ask('PUT', encodeURIComponent(plain), documentOf({ name: plain }))
      expect([reply.status, reply.json.error]).toEqual([400, expect.stringMatching(/is not allowed/)])
    },
  )

  test('nothing of them is left on the disk, and nobody’s prototype has changed', async () => {
    expect(await readdir(join(root, 'incoming'))).toEqual([])
    await publishOk({ name: 'after' })
    expect((await ask('GET', 'after')).json).not.toHaveProperty('polluted')
  })
})

describe('what is read', () => {
  test('a document in both forms, with its times, packed, and 304 for who has it', async () => {
    await publishOk({ name: 'read' })
    await publishOk({ name: 'read', version: '1.1.0' })
    const full = await ask('GET', 'read')
    expect(full.json).toMatchObject({
      '_id': 'read',
      'name': 'read',
      'description': 'The package read',
      'dist-tags': { latest: '1.1.0' },
      'versions': {
        '1.0.0': { dist: { tarball: `${daemon.url}/npm/ours/read/-/read-1.0.0.tgz` } },
        '1.1.0': { name: 'read', license: 'MIT' },
      },
      'time': { '1.0.0': expect.any(String), '1.1.0': expect.any(String), 'created': expect.any(String) },
    })
    const type = 'application/vnd.npm.install-v1+json'
    const short = await ask('GET', 'read', undefined, { Accept: `${type}; q=1.0, application/json; q=0.8` })
    expect(short.headers.get('content-type')).toBe(type)
    expect(short.headers.get('vary')).toContain('Accept')
    expect(Object.keys(short.json)).toEqual(['name', 'modified', 'dist-tags', 'time', 'versions'])
    expect(short.json.versions?.['1.0.0']).not.toHaveProperty('license')
    const etag = short.headers.get('etag') ?? ''
    const again = await ask('GET', 'read', undefined, {
      'Accept': type,
      'If-None-Match': etag,
      'Cache-Control': 'max-age=0',
    })
    expect(again.status).toBe(304)
    expect((await ask('GET', 'read', undefined, { 'If-None-Match': etag })).status).toBe(200)
    await publishOk({ name: 'read', version: '1.2.0' })
    expect(
      (await ask('GET', 'read', undefined, { 'Accept': type, 'If-None-Match': etag, 'Cache-Control': 'max-age=0' }))
        .status,
    ).toBe(200)
  })

  test('scoped names in all three spellings, a version, a tag, a file', async () => {
    await publishOk({ name: '@ours/x' })
    for (const path of ['@ours%2fx', '@ours%2Fx', '@ours/x', '%40ours%2fx'])
      expect((await ask('GET', path)).json, path).toMatchObject({ name: '@ours/x' })
    expect((await ask('GET', '@ours/x/1.0.0')).json).toMatchObject({ version: '1.0.0', _id: '@ours/x@1.0.0' })
    expect((await ask('GET', '@ours/x/latest')).json).toMatchObject({ version: '1.0.0' })
    expect((await ask('GET', '@ours/x/2.0.0')).status).toBe(404)
    const file = await fetch(`${daemon.url}/npm/ours/@ours/x/-/x-1.0.0.tgz`)
    expect(file.headers.get('cache-control')).toContain('immutable')
    expect(Buffer.from(await file.arrayBuffer())).toEqual(buildNpm({ name: '@ours/x', version: '1.0.0' }))
    for (const path of ['@ours/x/-/x-1.0.0.zip', '@ours/x/-/y-1.0.0.tgz', '@ours/x/-/x-.tgz', '@ours/x/-/..%2fx'])
      expect((await ask('GET', path)).status, path).toBeGreaterThanOrEqual(400)
  })

  test('the same bytes again are no second version, others are refused', async () => {
    await publishOk({ name: 'again' })
    const same = await publish({ name: 'again' })
    expect([same.status, same.headers.get('npm-notice')]).toEqual([200, expect.stringContaining('is here already')])
    const other = await publish({
      name: 'again',
      bytes: buildNpm({ name: 'again', version: '1.0.0', files: { x: 'y' } }),
    })
    expect([other.status, other.json.error]).toEqual([409, expect.stringContaining('exists with other bytes')])
  })

  test('a search finds by words of name, summary and keywords', async () => {
    await publishOk({
      name: 'findable',
      bytes: buildNpm({ name: 'findable', version: '1.0.0', json: { keywords: ['needle'], description: 'In hay' } }),
    })
    const names = async (text: string): Promise<unknown> =>
      ((await ask('GET', `-/v1/search?text=${text}`)).json.objects as unknown as { package: Doc }[]).map(
        one => one.package.name,
      )
    expect(await names('needle+hay')).toEqual(['findable'])
    expect(await names('needle+straw')).toEqual([])
  })

  test('a change of what somebody else changed meanwhile is refused', async () => {
    await publishOk({ name: 'raced' })
    const { _rev } = (await ask('GET', 'raced?write=true')).json
    await publishOk({ name: 'raced', version: '1.1.0' })
    expect((await ask('DELETE', `raced/-/raced-1.0.0.tgz/-rev/${String(_rev)}`)).status).toBe(409)
    expect(Object.keys((await ask('GET', 'raced')).json.versions ?? {})).toEqual(['1.0.0', '1.1.0'])
  })
})

test('publishing what was rejected is refused with why after the status, and the link in the body alone', async () => {
  const scripts = { postinstall: 'node x' }
  const one: Published = {
    name: 'rejected',
    bytes: buildNpm({ name: 'rejected', version: '1.0.0', json: { scripts } }),
    manifest: { scripts },
  }
  expect((await publish(one)).status).toBe(202)
  await decideVersion(daemon, { token, registry: 'ours', name: 'rejected', version: '1.0.0', action: 'reject' })
  const again = await publish(one)
  const said = 'Rejected by Gatehouse: It was looked at for this test.'
  const link = '/#/review?pick=rejected&version=1.0.0&in=ours&arch=any'
  expect([again.status, again.reason]).toEqual([403, said])
  expect(again.json.error).toMatch(said)
  expect(again.json.error?.endsWith(link)).toBe(true)
  expect(again.headers.get('npm-notice')).toBe(again.json.error)
})

test('a tag that came with a held version follows its approval, unless it was moved meanwhile', async () => {
  const scripts = { postinstall: 'node x' }
  const held = (version: string): Published => ({
    name: 'tags',
    version,
    bytes: buildNpm({ name: 'tags', version, json: { scripts } }),
    manifest: { scripts },
  })
  const latest = async (): Promise<unknown> => (await ask('GET', '-/package/tags/dist-tags')).json
  const approve = (version: string): Promise<void> =>
    decideVersion(daemon, { token, registry: 'ours', name: 'tags', version, action: 'approve' })
  const first = await publish(held('1.0.0'))
  expect([first.status, first.headers.get('npm-notice')]).toEqual([202, expect.stringContaining('Held for review')])
  expect(await latest()).toEqual({})
  await approve('1.0.0')
  expect(await latest()).toEqual({ latest: '1.0.0' })
  expect((await publish(held('1.1.0'))).status).toBe(202)
  expect((await ask('PUT', '-/package/tags/dist-tags/latest', '"1.1.0"')).status).toBe(409)
  await publishOk({ name: 'tags', version: '1.0.1' })
  await approve('1.1.0')
  expect(await latest()).toEqual({ latest: '1.0.1' })
})

describe('npm audit', () => {
  const bulk = (body: object): Promise<Reply> =>
    ask('POST', '-/npm/v1/security/advisories/bulk', gzipSync(JSON.stringify(body)), { 'Content-Encoding': 'gzip' })

  test('without data it is an error, never an answer', async () => {
    expect(await bulk({ vulnerable: ['1.0.0'] })).toMatchObject({
      status: 503,
      json: { error: expect.stringContaining('not known here') as string },
    })
  })

  test('is answered from the data that are loaded, without what was accepted', async () => {
    await publishOk({ name: 'vulnerable' })
    const filler = Array.from({ length: 150 }, (_, n) =>
      osvRecord(`GHSA-${n}`, [['npm', `filler${n}`, '1.0.0']], { aliases: [`CVE-2020-${20_000 + n}`] }),
    )
    const record = osvRecord('GHSA-aaaa-bbbb-cccc', [['npm', 'vulnerable', '2.0.0']], {
      aliases: ['CVE-2026-77777'],
      summary: 'It is broken',
      severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N' }],
    })
    const imported = await fetch(`${daemon.url}/api/v1/security/database`, {
      method: 'POST',
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
      body: new Uint8Array(osvZip([...filler, record])),
    })
    expect(imported.status, await imported.text()).toBe(200)
    const asked = { vulnerable: ['1.0.0', '1.5.0', '2.0.0'], fine: ['1.0.0'] }
    const [hit] = ((await bulk(asked)).json as unknown as Record<string, Doc[]>).vulnerable ?? []
    expect(hit).toMatchObject({
      title: 'CVE-2026-77777: It is broken',
      severity: 'high',
      vulnerable_versions: '<2.0.0',
    })
    const tree = {
      name: 'app',
      version: '1.0.0',
      dependencies: { a: { version: '1.0.0', dependencies: { vulnerable: { version: '1.5.0' } } } },
    }
    const quick = await ask('POST', '-/npm/v1/security/audits/quick', JSON.stringify(tree))
    expect(Object.values((quick.json as unknown as { advisories: Record<string, Doc> }).advisories)).toMatchObject([
      { module_name: 'vulnerable', severity: 'high', findings: [{ version: '1.5.0', paths: ['a>vulnerable'] }] },
    ])
    const accepted = await daemon.call('POST', '/security/packages/vulnerable/1.0.0/decide', {
      token,
      body: {
        distribution: 'ours',
        arch: 'any',
        decision: 'approve',
        justification: 'We do not call it.',
        cves: ['CVE-2026-77777'],
      },
    })
    expect(accepted.status, accepted.text).toBeLessThan(500)
    if (accepted.status === 200) expect((await bulk({ vulnerable: ['1.0.0'] })).json).toEqual({})
  })
})

test('a document of many versions is packed once and is small', async () => {
  for (let n = 0; n < 30; n++) await publishOk({ name: 'many', version: `1.0.${n}` })
  const packed = await fetch(`${daemon.url}/npm/ours/many`, { headers: { 'Accept-Encoding': 'gzip' } })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect(Object.keys(((await packed.json()) as { versions: Doc }).versions)).toHaveLength(30)
})
