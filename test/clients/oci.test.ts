import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildImage, layerOf, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient, rootWithRegistries } from '../support/oci-registry.ts'
import { createSkopeo, noSkopeo, said } from '../support/skopeo.ts'
import { run } from '../support/tools.ts'

/** The specification's own program, ready to run. */
const conformance = process.env.CONFORMANCE

let daemon: Daemon
let root: string
let work: string
let admin: string
let token: string
const hold = (rule: 'hold' | 'warn') =>
  daemon.call('PATCH', '/settings/', { token: admin, body: { validation: { on_scanner_unavailable: rule } } })

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'gh-oci-client-'))
  root = await rootWithRegistries('ours', 'shut')
  daemon = await startDaemon({ root })
  admin = await daemon.setupAdmin()
  await hold('warn')
  const shut = await daemon.call('PUT', '/access/distributions/shut', { token: admin, body: { private: true } })
  expect(shut.status, shut.text).toBe(200)
  const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
    token: admin,
    body: { name: 'builds', role: 'maintainer' },
  })
  token = made.body.token
})
afterAll(async () => {
  await daemon.close()
  for (const folder of [work, root]) await rm(folder, { recursive: true, force: true })
})

const imageOf = (text: string, ...below: readonly Buffer[]): BuiltImage => {
  const layers = [...below, layerOf({ name: 'etc/said', body: text })]
  return buildImage({ layers, comment: text })
}

describe.skipIf(noSkopeo)('skopeo (needs skopeo)', () => {
  const creds = (secret = token): string => `person:${secret}`
  const { at, skopeo, pull, ...client } = createSkopeo(
    () => work,
    () => daemon.url,
  )
  const push = (image: BuiltImage, name: string, secret?: string) => client.push(image, name, creds(secret))

  test('pushes, pulls without a login, lists and deletes', async () => {
    const image = imageOf('first')
    const pushed = await push(image, 'ours/app/web:v1')
    expect(pushed.code, said(pushed)).toBe(0)
    const pulled = await pull('ours/app/web:v1')
    expect(pulled.code, said(pulled)).toBe(0)
    expect(pulled.manifest?.equals(image.manifest)).toBe(true)
    const listed = await skopeo('list-tags', '--tls-verify=false', at('ours/app/web'))
    expect(JSON.parse(listed.out)).toMatchObject({ Tags: ['v1'] })
    const gone = await skopeo('delete', '--tls-verify=false', '--creds', creds(), at('ours/app/web:v1'))
    expect(gone.code, said(gone)).toBe(0)
    expect((await pull('ours/app/web:v1')).code).not.toBe(0)
  })

  test('a layer that another image has is not sent again, also in another repository', async () => {
    const base = layerOf({ name: 'lib/base', body: createHash('sha512').update('base').digest('hex').repeat(100) })
    for (const [text, name] of [
      ['one', 'ours/one:v1'],
      ['two', 'ours/one:v2'],
      ['three', 'ours/two:v1'],
    ] as const) {
      const pushed = await push(imageOf(text, base), name)
      expect(pushed.code, said(pushed)).toBe(0)
    }
    expect((await pull('ours/two:v1')).code).toBe(0)
    const copied = await skopeo(
      ...['copy', '--src-tls-verify=false', '--dest-tls-verify=false', '--dest-creds', creds()],
      ...[at('ours/one:v1'), at('ours/three:v1')],
    )
    expect(copied.code, said(copied)).toBe(0)
    expect((await pull('ours/three:v1')).manifest?.equals(imageOf('one', base).manifest)).toBe(true)
  })

  test('whoever pulls what is held reads why, and the tag stays on the last good one', async () => {
    const [good, held] = [imageOf('good'), imageOf('held')]
    expect((await push(good, 'ours/held:latest')).code).toBe(0)
    await hold('hold')
    try {
      const pushed = await push(held, 'ours/held:latest')
      expect(pushed.code, said(pushed)).toBe(0)
      expect((await push(held, 'ours/held:next')).code).toBe(0)
    } finally {
      await hold('warn')
    }
    expect((await pull('ours/held:latest')).manifest?.equals(good.manifest)).toBe(true)
    const refused = await pull('ours/held:next')
    expect(refused.code).not.toBe(0)
    expect(said(refused)).toContain('Held for review by Gatehouse')
    const approved = await daemon.call('POST', `/security/packages/held/${held.digest}/decide`, {
      token: admin,
      body: { decision: 'approve', justification: 'Looked at it.' },
    })
    expect(approved.status, approved.text).toBe(200)
    expect((await pull('ours/held:latest')).manifest?.equals(held.manifest)).toBe(true)
  })

  test('what is refused says why', async () => {
    const hostile = buildImage({ layers: [layerOf({ name: '../../etc/passwd', body: 'x' })] })
    const refused = await push(hostile, 'ours/hostile:v1')
    expect(refused.code).not.toBe(0)
    expect(said(refused)).toContain('leads out of its folder')
  })

  test('a private registry wants a token, and a right one', async () => {
    expect((await push(imageOf('private'), 'shut/app:v1')).code).toBe(0)
    expect((await pull('shut/app:v1')).code).not.toBe(0)
    expect((await pull('shut/app:v1', '--src-creds', creds('svc_wrong'))).code).not.toBe(0)
    const pulled = await pull('shut/app:v1', '--src-creds', creds())
    expect(pulled.code, said(pulled)).toBe(0)
    const denied = await push(imageOf('private'), 'shut/app:v1', 'svc_wrong')
    expect(denied.code).not.toBe(0)
  })
})

describe('signatures', () => {
  test('as cosign names them are kept, by tag and as referrers', async () => {
    const { push, manifest } = createOciClient(daemon.url, 'ours/signed', `Bearer ${token}`)
    const image = imageOf('signed')
    expect((await push(image, 'v1')).status).toBe(201)
    const signature = imageOf(`signature of ${image.digest}`)
    const tag = `${image.digest.replace(':', '-')}.sig`
    expect((await push(signature, tag)).status).toBe(201)
    expect((await manifest(tag)).bytes.equals(signature.manifest)).toBe(true)
  })
})

describe.skipIf(conformance === undefined)('the conformance program (named by CONFORMANCE)', () => {
  test('finds no failure', { timeout: 300_000 }, async () => {
    const host = new URL(daemon.url).host
    const { code, out, err } = await run(conformance ?? '', [], {
      cwd: work,
      env: {
        ...{ OCI_ROOT_URL: daemon.url, OCI_NAMESPACE: 'ours/one-test', OCI_CROSSMOUNT_NAMESPACE: 'ours/other-test' },
        ...{ OCI_REGISTRY: host, OCI_TLS: 'disabled', OCI_REPO1: 'ours/one-test', OCI_REPO2: 'ours/other-test' },
        ...{ OCI_USERNAME: 'person', OCI_PASSWORD: token, OCI_DELETE_MANIFEST_BEFORE_BLOBS: '1' },
        // what the specification leaves open, and we do
        ...{ OCI_API_BLOBS_UPLOAD_CANCEL: 'true', OCI_API_BLOBS_DIGEST_HEADER: 'true' },
        ...{ OCI_API_MANIFESTS_DIGEST_HEADER: 'true' },
        ...{
          OCI_TEST_PULL: '1',
          OCI_TEST_PUSH: '1',
          OCI_TEST_CONTENT_DISCOVERY: '1',
          OCI_TEST_CONTENT_MANAGEMENT: '1',
        },
      },
    })
    expect(code, `${out}${err}`.slice(-4000)).toBe(0)
  })
})
