import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { b, expectShape, i, list, map, nil, obj, or, page, s, severities, SNAPSHOT, t } from '../../support/shapes.ts'

let daemon: Daemon
let token: string
let newest: Buffer
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  newest = await buildDeb({ name: 'hello', version: '1.10', fields: { Depends: 'nowhere' } })
  for (const content of [
    await buildDeb({ name: 'hello', version: '1.9' }),
    newest,
    await buildDeb({ name: 'other', version: '1' }),
  ])
    expect((await daemon.upload(content, { token })).body.status).toBe('published')
})
afterAll(() => daemon.close())

const VERSION = {
  arch: s,
  filename: s,
  sha256: s,
  size_bytes: i,
  imported_at: t,
  imported_by: s,
  status: s,
  distribution: s,
  deps_missing: list(s),
  cve_summary: or(severities, nil),
}
const STEPS = list(obj({ name: s, detail: s, passed: b, message: s }))

test.each([
  ['/artifacts/', page(obj({ name: s, latest_version: s, versions: list(s), ...VERSION, description: s, section: s }))],
  [
    '/artifacts/hello',
    obj({
      info: obj({ versions: map(obj(VERSION)), latest: s, description: s, section: s }),
      history: list(
        obj({
          timestamp: t,
          action: s,
          user: s,
          result: s,
          package: s,
          version: s,
          detail: s,
          validation_steps: STEPS,
          cve_status: s,
          repo_format: s,
        }),
      ),
      validation_steps: STEPS,
    }),
  ],
  ['/artifacts/hello/dependencies', obj({ package: s })],
  [
    '/artifacts/hello/versions',
    obj({ package: s, count: i, versions: list(obj({ version: s, ...VERSION, is_latest: b, pool_available: b })) }),
  ],
  ['/artifacts/hello/versions/1.10/snapshot', SNAPSHOT],
  [
    '/artifacts/hello/versions/compare?v1=1.9&v2=1.10',
    obj({ package: s, arch: s, v1: s, v2: s, v1_manifest: SNAPSHOT, v2_manifest: SNAPSHOT, diff: obj({}) }),
  ],
  [
    '/artifacts/admin/index',
    obj({
      version: i,
      updated_at: t,
      packages: map(obj({ versions: map(obj(VERSION)), latest: s, description: s, section: s })),
    }),
  ],
])('%s has the shape that existing clients read', async (path, shape) => {
  const answer = await get(path)
  expect(answer.status, answer.text).toBe(200)
  expectShape(answer.body, shape)
})

test('the versions of a name are listed newest first by its format, with the latest marked', async () => {
  expect((await get('/artifacts/hello/versions')).body).toMatchObject({
    package: 'hello',
    count: 2,
    versions: [
      { version: '1.10', is_latest: true, pool_available: true, deps_missing: ['nowhere'], imported_by: 'admin' },
      { version: '1.9', is_latest: false, pool_available: true, deps_missing: [], cve_summary: null },
    ],
  })
  expect((await get('/artifacts/none/versions')).status).toBe(404)
  expect(Object.keys((await get('/artifacts/admin/index')).body.packages as object)).toEqual(['hello', 'other'])
})

test('two versions are compared by what differs', async () => {
  expect((await get('/artifacts/hello/versions/compare?v1=1.9&v2=1.10')).body.diff).toMatchObject({
    changed: expect.arrayContaining([expect.objectContaining({ field: 'sha256' })]) as unknown,
    dependencies: { added: ['nowhere'], removed: [] },
    cves: { added: [], removed: [] },
  })
  expect((await get('/artifacts/hello/versions/compare?v1=1.9&v2=7')).status).toBe(404)
})

test('a served version is downloaded, a quarantined one is not', async () => {
  const path = `${daemon.url}/api/v1/artifacts/hello/versions/1.10/download`
  const answer = await fetch(path, { headers: { authorization: `Bearer ${token}` } })
  expect(Buffer.from(await answer.arrayBuffer()).equals(newest)).toBe(true)
  expect(answer.headers.get('content-length')).toBe(String(newest.length))
  await daemon.call('POST', '/security/packages/hello/1.10/quarantine', { token, body: {} })
  expect(await get('/artifacts/hello/versions/1.10/download')).toMatchObject({
    status: 409,
    body: { code: 'not_served' },
  })
  expect((await get('/artifacts/hello')).body).toMatchObject({
    latest: '1.9',
    info: { latest: '1.9', versions: { '1.10': { status: 'quarantined' } } },
    newer: { version: '1.10', status: 'quarantined' },
  })
  expect((await get('/artifacts/hello/versions')).body).toMatchObject({
    versions: [
      { version: '1.10', is_latest: false, pool_available: false },
      { version: '1.9', is_latest: true },
    ],
  })
})
