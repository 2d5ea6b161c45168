import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildArtifact, buildImage, buildIndex, layerOf, sha256, sha512 } from '../support/oci-images.ts'
import { createOciClient, rootWithRegistries, type OciAnswer } from '../support/oci-registry.ts'

let daemon: Daemon
let root: string
let admin: string
const basic = (token: string): string => `Basic ${Buffer.from(`person:${token}`).toString('base64')}`

beforeAll(async () => {
  root = await rootWithRegistries('ours', 'other')
  daemon = await startDaemon({ root })
  admin = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token: admin, body: {} })
  // no engine looks at anything here
  await settings({ on_scanner_unavailable: 'warn' })
})
afterAll(async () => {
  await daemon.close()
  await rm(root, { recursive: true, force: true })
})

const client = (name: string, auth: string | undefined = `Bearer ${admin}`) =>
  createOciClient(daemon.url, `ours/${name}`, auth)
const imageOf = (text: string) => buildImage({ layers: [layerOf({ name: 'etc/said', body: text })], comment: text })
const header = ({ headers }: OciAnswer, name: string): string => headers.get(name) ?? ''
const pieces = { 'content-type': 'application/octet-stream' }
const settings = async (validation: Record<string, unknown>) => {
  const { status, text } = await daemon.call('PATCH', '/settings/', { token: admin, body: { validation } })
  expect(status, text).toBe(200)
}

describe('tokens', () => {
  test('the root asks everybody to log in, and says where', async () => {
    const { ask } = client('app', '')
    const { status, headers, error } = await ask('GET', '/v2/')
    expect([status, error.code]).toEqual([401, 'UNAUTHORIZED'])
    expect(headers.get('www-authenticate')).toBe(`Bearer realm="${daemon.url}/v2/token",service="gatehouse"`)
  })

  test('a push asks for a token with its own scope, which then is good for it alone', async () => {
    const { base, ask } = client('app', '')
    const asked = await ask('POST', `${base}/blobs/uploads/`)
    expect(asked.status).toBe(401)
    expect(header(asked, 'www-authenticate')).toContain('scope="repository:ours/app:pull,push"')
    const exchange = await ask('GET', '/v2/token?service=gatehouse&scope=repository:ours/app:pull,push&account=x', {
      auth: basic(admin),
    })
    expect(exchange.status).toBe(200)
    const { token, access_token, expires_in } = exchange.json<{
      token: string
      access_token: string
      expires_in: number
    }>()
    expect([access_token, expires_in]).toEqual([token, 300])
    expect(token).not.toContain(admin)
    const auth = `Bearer ${token}`
    expect((await ask('GET', '/v2/', { auth })).status).toBe(200)
    expect((await ask('POST', `${base}/blobs/uploads/`, { auth })).status).toBe(202)
    const elsewhere = await ask('POST', '/v2/ours/elsewhere/blobs/uploads/', { auth })
    expect(elsewhere.status).toBe(401)
    expect(header(elsewhere, 'www-authenticate')).toContain('error="insufficient_scope"')
    // a token for a token would outlive the first
    expect((await ask('GET', '/v2/token?scope=repository:ours/app:pull', { auth })).status).toBe(401)
  })

  test('a token ends with the one that it was given for', async () => {
    const { base, ask } = client('app', '')
    const made = await daemon.call<{ token: string; id: string }>('POST', '/auth/api-tokens', {
      token: admin,
      body: { name: 'builds', role: 'uploader' },
    })
    const given = await ask('GET', '/v2/token?scope=repository:ours/app:pull,push,delete', {
      auth: basic(made.body.token),
    })
    const auth = `Bearer ${given.json<{ token: string }>().token}`
    expect((await ask('POST', `${base}/blobs/uploads/`, { auth })).status).toBe(202)
    // an uploader may not delete, and no other token would help
    expect((await ask('DELETE', `${base}/manifests/x`, { auth })).error.code).toBe('DENIED')
    expect((await daemon.call('DELETE', `/auth/api-tokens/${made.body.id}`, { token: admin })).status).toBe(200)
    for (const method of ['GET', 'HEAD']) expect((await ask(method, '/v2/', { auth })).status).toBe(401)
    expect((await ask('POST', `${base}/blobs/uploads/`, { auth })).status).toBe(401)
    expect((await ask('GET', '/v2/token', { auth: basic(made.body.token) })).status).toBe(401)
  })

  test('forged and foreign tokens are refused', async () => {
    const { ask } = client('app', '')
    for (const auth of [
      'Bearer a.b.c.d.e',
      'Bearer eyJhbGciOiJkaXIifQ..AAAA.AAAA.AAAA',
      'Basic x',
      'Bearer svc_nobody',
    ])
      expect((await ask('GET', '/v2/', { auth })).status, auth).toBe(401)
  })

  test('an open registry is read by whoever asks for a token without a name', async () => {
    const { push, base } = client('open')
    const image = imageOf('open to all')
    expect((await push(image, 'v1')).status).toBe(201)
    const { ask } = client('open', '')
    const { token } = (await ask('GET', '/v2/token?scope=repository:ours/open:pull')).json<{ token: string }>()
    expect((await ask('GET', `${base}/manifests/v1`, { auth: `Bearer ${token}` })).status).toBe(200)
    expect((await ask('PUT', `${base}/manifests/v1`, { auth: `Bearer ${token}` })).status).toBe(401)
  })
})

describe('blobs', () => {
  const bytes = Buffer.from('some bytes of a blob, 0123456789')
  const digest = sha256(bytes)

  test('in one request, and read in parts', async () => {
    const { base, ask, pushBlob } = client('blobs')
    const pushed = await pushBlob(bytes)
    expect([pushed.status, header(pushed, 'location'), header(pushed, 'docker-content-digest')]).toEqual([
      201,
      `${base}/blobs/${digest}`,
      digest,
    ])
    const head = await ask('HEAD', `${base}/blobs/${digest}`)
    expect([head.status, header(head, 'content-length'), header(head, 'docker-content-digest')]).toEqual([
      200,
      String(bytes.length),
      digest,
    ])
    const got = await ask('GET', `${base}/blobs/${digest}`)
    expect([got.status, got.bytes.equals(bytes)]).toEqual([200, true])
    const part = await ask('GET', `${base}/blobs/${digest}`, { headers: { range: 'bytes=5-9' } })
    expect([part.status, part.bytes.toString()]).toEqual([206, 'bytes'])
    expect((await ask('GET', `${base}/blobs/${digest}`, { headers: { range: 'bytes=5000-' } })).status).toBe(416)
    expect([200, 416]).toContain(
      (await ask('GET', `${base}/blobs/${digest}`, { headers: { range: 'bytes=500-0' } })).status,
    )
    // by the other algorithm, too
    expect((await ask('GET', `${base}/blobs/${sha512(bytes)}`)).bytes.equals(bytes)).toBe(true)
    expect((await ask('GET', `${base}/blobs/${sha256(Buffer.from('absent'))}`)).error.code).toBe('BLOB_UNKNOWN')
  })

  test('nobody else reads what no manifest names yet, and whoever has no credential is asked for one', async () => {
    const { base } = client('blobs')
    const stranger = client('blobs', '')
    for (const each of [digest, sha256(Buffer.from('absent'))]) {
      const answer = await stranger.ask('GET', `${base}/blobs/${each}`)
      expect([answer.status, header(answer, 'www-authenticate')]).toEqual([
        401,
        expect.stringMatching(/^Bearer realm=.*scope="repository:ours\/blobs:pull"/),
      ])
    }
    const exchange = await stranger.ask('GET', '/v2/token?scope=repository:ours/blobs:pull')
    const nobody = client('blobs', `Bearer ${exchange.json<{ token: string }>().token}`)
    expect((await nobody.ask('GET', `${base}/blobs/${digest}`)).status).toBe(404)
  })

  test('in pieces, in order, with and without Content-Range, and what is here is told', async () => {
    const { base, ask } = client('pieces')
    const begun = await ask('POST', `${base}/blobs/uploads/`)
    expect([begun.status, header(begun, 'range')]).toEqual([202, '0-0'])
    const at = header(begun, 'location')
    const first = await ask('PATCH', at, {
      body: bytes.subarray(0, 10),
      headers: { ...pieces, 'content-range': '0-9' },
    })
    expect([first.status, header(first, 'range'), header(first, 'location')]).toEqual([202, '0-9', at])
    for (const range of ['0-9', '11-20', '5-2', 'x', '-1-3'])
      expect(
        (await ask('PATCH', at, { body: bytes.subarray(0, 10), headers: { ...pieces, 'content-range': range } }))
          .status,
        range,
      ).toBe(416)
    // it says more than comes
    expect(
      (await ask('PATCH', at, { body: bytes.subarray(10, 12), headers: { ...pieces, 'content-range': '10-19' } }))
        .status,
    ).toBe(416)
    const told = await ask('GET', at)
    expect([told.status, header(told, 'range')]).toEqual([204, '0-9'])
    expect((await ask('PATCH', at, { body: bytes.subarray(10, 20), headers: pieces })).status).toBe(202)
    const done = await ask('PUT', `${at}?digest=${digest}`, {
      body: bytes.subarray(20),
      headers: { ...pieces, 'content-range': `20-${bytes.length - 1}` },
    })
    expect([done.status, header(done, 'location')]).toEqual([201, `${base}/blobs/${digest}`])
    expect((await ask('GET', `${base}/blobs/${digest}`)).bytes.equals(bytes)).toBe(true)
    expect((await ask('GET', at)).error.code).toBe('BLOB_UPLOAD_UNKNOWN')
  })

  test('an upload is ended, and is nobody else’s', async () => {
    const { base, ask } = client('ended')
    const at = header(await ask('POST', `${base}/blobs/uploads/`), 'location')
    expect((await ask('GET', at.replace('/ended/', '/others/'))).status).toBe(404)
    expect((await ask('DELETE', at)).status).toBe(204)
    expect((await ask('PUT', `${at}?digest=${digest}`, { body: bytes })).error.code).toBe('BLOB_UPLOAD_UNKNOWN')
    for (const id of ['x', '..%2f..', 'a'.repeat(36)])
      expect([400, 404], id).toContain((await ask('GET', `${base}/blobs/uploads/${id}`)).status)
  })

  test('a wrong digest keeps nothing', async () => {
    const { base, ask } = client('wrong')
    const wrong = sha256(Buffer.from('others'))
    const refused = await ask('POST', `${base}/blobs/uploads/?digest=${wrong}`, { body: bytes })
    expect([refused.status, refused.error.code]).toEqual([400, 'DIGEST_INVALID'])
    const at = header(await ask('POST', `${base}/blobs/uploads/`), 'location')
    for (const bad of ['', '?digest=', '?digest=md5:aa', `?digest=${wrong.toUpperCase()}`])
      expect((await ask('PUT', `${at}${bad}`, { body: bytes })).error.code, bad).toBe('DIGEST_INVALID')
    expect((await ask('PUT', `${at}?digest=${wrong}`, { body: bytes })).error.code).toBe('DIGEST_INVALID')
    expect((await ask('HEAD', `${base}/blobs/${digest}`)).status).toBe(404)
  })

  test('mounted from a neighbour; what is not there is uploaded', async () => {
    const { base, ask } = client('mounted')
    const mounted = await ask('POST', `${base}/blobs/uploads/?mount=${digest}&from=ours/pieces`)
    expect([mounted.status, header(mounted, 'location')]).toEqual([201, `${base}/blobs/${digest}`])
    expect((await ask('GET', `${base}/blobs/${digest}`)).bytes.equals(bytes)).toBe(true)
    for (const from of ['ours/nothing', 'nowhere/pieces', 'jammy/pieces', '../ours/pieces', ''])
      expect((await ask('POST', `${base}/blobs/uploads/?mount=${digest}&from=${from}`)).status, from).toBe(202)
    // of another registry only what is published
    const far = await ask('POST', `/v2/other/app/blobs/uploads/?mount=${digest}&from=ours/pieces`)
    expect(far.status).toBe(202)
  })

  test('too large are refused in words, in one request and in pieces, and what is here stays', async () => {
    const { base, ask, pushBlob } = client('large')
    const large = Buffer.alloc(3 * 1024 * 1024, 'x')
    const at = header(await ask('POST', `${base}/blobs/uploads/`), 'location')
    expect((await ask('PATCH', at, { body: bytes, headers: pieces })).status).toBe(202)
    const { max_upload_size_mb: before } = (
      await daemon.call<{ validation: { max_upload_size_mb: number } }>('GET', '/settings/', { token: admin })
    ).body.validation
    await settings({ max_upload_size_mb: 1 })
    try {
      for (const refused of [await ask('PATCH', at, { body: large, headers: pieces }), await pushBlob(large)]) {
        expect([refused.status, refused.error.code]).toEqual([413, 'SIZE_INVALID'])
        expect(refused.error.message).toContain('larger than 1 MB')
      }
    } finally {
      await settings({ max_upload_size_mb: before })
    }
    expect(header(await ask('GET', at), 'range')).toBe(`0-${bytes.length - 1}`)
    expect((await ask('PUT', `${at}?digest=${digest}`)).status).toBe(201)
    const manifest = await ask('PUT', `${base}/manifests/v1`, { body: Buffer.alloc(5 * 1024 * 1024, ' ') })
    expect([manifest.status, manifest.error.code]).toEqual([413, 'SIZE_INVALID'])
  })

  test('deleted while no manifest names it', async () => {
    const { base, ask, push } = client('deleted')
    const image = imageOf('deleted')
    expect((await push(image, 'v1')).status).toBe(201)
    const named = await ask('DELETE', `${base}/blobs/${sha256(image.config)}`)
    expect([named.status, named.error.code]).toEqual([405, 'UNSUPPORTED'])
    expect((await ask('DELETE', `${base}/manifests/${image.digest}`)).status).toBe(202)
    expect((await ask('DELETE', `${base}/blobs/${sha256(image.config)}`)).status).toBe(202)
    expect((await ask('HEAD', `${base}/blobs/${sha256(image.config)}`)).status).toBe(404)
    expect((await ask('DELETE', `${base}/blobs/${sha256(image.config)}`)).status).toBe(404)
  })
})

describe('manifests', () => {
  test('come back as they were, by tag and by either digest', async () => {
    const { base, ask, push, manifest } = client('app')
    const image = imageOf('first')
    const pushed = await push(image, 'v1')
    expect([pushed.status, header(pushed, 'location'), header(pushed, 'docker-content-digest')]).toEqual([
      201,
      `${base}/manifests/${image.digest}`,
      image.digest,
    ])
    expect(pushed.headers.get('warning')).toBeNull()
    for (const reference of ['v1', image.digest, sha512(image.manifest)]) {
      const got = await manifest(reference)
      expect([got.status, header(got, 'content-type'), got.bytes.equals(image.manifest)], reference).toEqual([
        200,
        image.mediaType,
        true,
      ])
      expect(header(got, 'docker-content-digest')).toBe(reference === 'v1' ? image.digest : reference)
      const head = await ask('HEAD', `${base}/manifests/${reference}`)
      expect([head.status, header(head, 'content-length'), header(head, 'content-type')]).toEqual([
        200,
        String(image.manifest.length),
        image.mediaType,
      ])
      expect((await manifest(reference, { headers: { 'if-none-match': header(got, 'etag') } })).status).toBe(304)
    }
    const blob = await client('app', '').ask('GET', `${base}/blobs/${sha256(image.layers[0] ?? Buffer.alloc(0))}`)
    expect(blob.status).toBe(200)
    // the same again, and under the other digest
    expect((await push(image, 'v1')).status).toBe(201)
    expect((await push(image, sha512(image.manifest))).status).toBe(201)
    expect((await manifest('absent')).error.code).toBe('MANIFEST_UNKNOWN')
    expect((await client('nothing').manifest('v1')).error.code).toBe('NAME_UNKNOWN')
  })

  test('of Docker, too, and an index of what is here', async () => {
    const { push, manifest } = client('docker')
    const layer = layerOf({ name: 'a', body: 'docker' })
    const docker = buildImage({
      layers: [layer],
      manifest: { mediaType: 'application/vnd.docker.distribution.manifest.v2+json' },
    })
    expect((await push(docker, 'v2s2')).status).toBe(201)
    expect(header(await manifest('v2s2'), 'content-type')).toBe(docker.mediaType)
    const index = buildIndex({ amd64: docker })
    expect((await push(index, 'all')).status).toBe(201)
    expect((await manifest('all')).bytes.equals(index.manifest)).toBe(true)
    const sparse = await push(buildIndex({ amd64: docker, arm64: imageOf('never pushed') }))
    expect([sparse.status, sparse.error.code]).toEqual([404, 'MANIFEST_BLOB_UNKNOWN'])
    const nested = buildIndex({ amd64: index })
    expect((await push(nested, 'nested')).status).toBe(201)
  })

  test('without their blobs are refused, and nothing is tagged', async () => {
    const { base, ask, manifest } = client('lacking')
    const image = imageOf('lacking')
    const { status, error } = await ask('PUT', `${base}/manifests/v1`, {
      body: image.manifest,
      headers: { 'content-type': image.mediaType },
    })
    expect([status, error.code]).toEqual([404, 'MANIFEST_BLOB_UNKNOWN'])
    expect(error.message).toContain(sha256(image.config))
    expect((await manifest('v1')).status).toBe(404)
  })

  test.each<
    [
      string,
      (image: ReturnType<typeof imageOf>) => { body: Buffer | string; type?: string; reference?: string },
      string,
    ]
  >([
    [
      'another digest than their own',
      ({ manifest }) => ({ body: manifest, reference: sha256(Buffer.from('x')) }),
      'DIGEST_INVALID',
    ],
    ['another SHA-512', ({ manifest }) => ({ body: manifest, reference: sha512(Buffer.from('x')) }), 'DIGEST_INVALID'],
    [
      'a type that is not theirs',
      ({ manifest }) => ({ body: manifest, type: 'application/vnd.docker.distribution.manifest.v2+json' }),
      'MANIFEST_INVALID',
    ],
    ['no JSON', () => ({ body: '{' }), 'MANIFEST_INVALID'],
    [
      'schema 1',
      () => ({ body: '{"schemaVersion":1}', type: 'application/vnd.docker.distribution.manifest.v1+json' }),
      'MANIFEST_INVALID',
    ],
    [
      'more than 4 MiB',
      ({ manifest }) => ({ body: Buffer.concat([manifest, Buffer.alloc(4 * 2 ** 20, ' ')]) }),
      'SIZE_INVALID',
    ],
    [
      'a wrong size of a blob',
      ({ manifest }) => ({ body: manifest.toString().replace(/"size":\d+/, '"size":7') }),
      'SIZE_INVALID',
    ],
    [
      'ten thousand layers',
      ({ manifest }) => {
        const one = JSON.parse(manifest.toString()) as { layers: unknown[] }
        return { body: JSON.stringify({ ...one, layers: Array.from({ length: 10_000 }, () => one.layers[0]) }) }
      },
      'MANIFEST_INVALID',
    ],
    ['a tag of 129 characters', ({ manifest }) => ({ body: manifest, reference: 'a'.repeat(129) }), 'MANIFEST_INVALID'],
    ['a tag that begins with a dot', ({ manifest }) => ({ body: manifest, reference: '.hidden' }), 'MANIFEST_INVALID'],
  ])('with %s are refused', async (_, change, code) => {
    const { base, ask, pushBlob } = client('refused')
    const image = imageOf('refused')
    for (const blob of [image.config, ...image.layers]) await pushBlob(blob)
    const { body, type = image.mediaType, reference = 'v1' } = change(image)
    const answer = await ask('PUT', `${base}/manifests/${reference}`, { body, headers: { 'content-type': type } })
    expect([answer.status >= 400 && answer.status < 500, answer.error.code], answer.error.message).toEqual([true, code])
    expect((await ask('GET', `${base}/tags/list`)).status).toBe(404)
  })

  test('of hostile layers are refused with the reason', async () => {
    const { push, base, ask } = client('hostile')
    for (const [layer, why] of [
      [layerOf({ name: '../../etc/passwd', body: 'x' }), /leads out/],
      [layerOf({ name: 'dev/mem', type: '3' }), /device node/],
    ] as const) {
      const { status, error } = await push(buildImage({ layers: [layer] }), 'v1')
      expect([status, error.code]).toEqual([400, 'MANIFEST_INVALID'])
      expect(error.message).toMatch(why)
    }
    expect((await ask('GET', `${base}/tags/list`)).status).toBe(404)
  })

  test('two pushes of one at once are one version', async () => {
    const one = client('twice')
    const image = imageOf('twice')
    const answers = await Promise.all([one.push(image, 'a'), one.push(image, 'b'), one.push(image, 'a')])
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect((await one.ask('GET', `${one.base}/tags/list`)).json()).toEqual({ name: 'ours/twice', tags: ['a', 'b'] })
  })

  test('names that are none are refused', async () => {
    const { ask } = client('app')
    for (const name of ['App', 'a%00b', 'a..b', `${'a'.repeat(201)}`, '-a', 'a%2f%2fb'])
      expect((await ask('GET', `/v2/ours/${name}/manifests/v1`)).status, name).toBe(400)
    expect((await ask('GET', '/v2/absent/app/manifests/v1')).status).toBe(404)
    expect((await ask('GET', '/v2/ours/app/anything/else')).status).toBe(404)
    expect((await ask('PATCH', '/v2/ours/app/manifests/v1')).status).toBe(405)
  })
})

describe('lists', () => {
  test('tags by pages, in the order of their names', async () => {
    const { base, ask, push } = client('tags')
    const image = imageOf('tags')
    for (const tag of ['b', 'a', 'C', '1.10', '1.9']) expect((await push(image, tag)).status).toBe(201)
    const all = ['1.10', '1.9', 'C', 'a', 'b']
    expect((await ask('GET', `${base}/tags/list`)).json()).toEqual({ name: 'ours/tags', tags: all })
    const first = await ask('GET', `${base}/tags/list?n=2`)
    expect(first.json()).toMatchObject({ tags: all.slice(0, 2) })
    expect(header(first, 'link')).toBe(`<${base}/tags/list?n=2&last=1.9>; rel="next"`)
    const last = await ask('GET', `${base}/tags/list?n=5&last=1.9`)
    expect([last.json<{ tags: string[] }>().tags, last.headers.get('link')]).toEqual([all.slice(2), null])
    expect((await ask('GET', `${base}/tags/list?n=0`)).json()).toMatchObject({ tags: [] })
    expect((await ask('GET', `${base}/tags/list?n=-1`)).status).toBe(400)
    expect((await ask('DELETE', `${base}/manifests/C`)).status).toBe(202)
    expect((await ask('GET', `${base}/manifests/C`)).status).toBe(404)
    // the digest takes every tag with it
    expect((await ask('DELETE', `${base}/manifests/${image.digest}`)).status).toBe(202)
    expect((await ask('GET', `${base}/tags/list`)).status).toBe(404)
  })

  test('what is about a manifest, by its kind', async () => {
    const { base, ask, push } = client('referred')
    const image = imageOf('referred')
    const signature = buildArtifact('application/vnd.dev.cosign.artifact.sig.v1+json', Buffer.from('signed'), image, {
      by: 'us',
    })
    const bill = buildArtifact('application/spdx+json', Buffer.from('{}'), image)
    // before the image itself
    const pushed = await push(signature)
    expect([pushed.status, header(pushed, 'oci-subject')]).toEqual([201, image.digest])
    expect((await push(bill)).status).toBe(201)
    expect((await push(image, 'v1')).status).toBe(201)
    const all = await ask('GET', `${base}/referrers/${image.digest}`)
    expect([all.status, header(all, 'content-type')]).toEqual([200, 'application/vnd.oci.image.index.v1+json'])
    expect(
      all
        .json<{ manifests: { digest: string }[] }>()
        .manifests.map(({ digest }) => digest)
        .sort(),
    ).toEqual([signature.digest, bill.digest].sort())
    const some = await ask(
      'GET',
      `${base}/referrers/${image.digest}?artifactType=application/vnd.dev.cosign.artifact.sig.v1%2Bjson`,
    )
    expect(header(some, 'oci-filters-applied')).toBe('artifactType')
    expect(some.json()).toMatchObject({
      manifests: [
        {
          digest: signature.digest,
          size: signature.manifest.length,
          artifactType: 'application/vnd.dev.cosign.artifact.sig.v1+json',
          annotations: { by: 'us' },
        },
      ],
    })
    expect((await ask('GET', `${base}/referrers/${sha256(Buffer.from('none'))}`)).json()).toMatchObject({
      manifests: [],
    })
    expect((await ask('GET', `${base}/referrers/x`)).error.code).toBe('DIGEST_INVALID')
  })

  test('every repository that the caller sees, after a login', async () => {
    const { ask } = client('app')
    const all = (await ask('GET', '/v2/_catalog')).json<{ repositories: string[] }>().repositories
    expect(all).toContain('ours/app')
    expect(all).toEqual(all.toSorted())
    const first = await ask('GET', '/v2/_catalog?n=1')
    expect(first.json()).toEqual({ repositories: all.slice(0, 1) })
    expect(header(first, 'link')).toContain('rel="next"')
    expect((await client('app', '').ask('GET', '/v2/_catalog')).status).toBe(401)
  })
})

describe('held', () => {
  test('a push succeeds, the person reads why, and the tag moves when it is approved', async () => {
    const { base, ask, push, manifest } = client('held')
    const [good, held] = [imageOf('good'), imageOf('held')]
    expect((await push(good, 'latest')).status).toBe(201)
    await settings({ on_scanner_unavailable: 'hold' })
    try {
      const pushed = await push(held, 'latest')
      expect(pushed.status).toBe(201)
      expect(header(pushed, 'warning')).toMatch(/^299 - "Held for review by Gatehouse: .+"$/)
      expect((await push(buildIndex({ amd64: held }), 'index')).status).toBe(201)
    } finally {
      await settings({ on_scanner_unavailable: 'warn' })
    }
    expect((await manifest('latest')).bytes.equals(good.manifest)).toBe(true)
    const refused = await manifest(held.digest)
    expect([refused.status, refused.error.code]).toEqual([403, 'DENIED'])
    expect(refused.error.message).toMatch(/^Held for review by Gatehouse: .+#\/review\?pick=held/)
    expect((await ask('HEAD', `${base}/manifests/${held.digest}`)).status).toBe(404)
    expect((await manifest('index')).error.code).toBe('DENIED')
    expect((await ask('GET', `${base}/tags/list`)).json()).toMatchObject({ tags: ['latest'] })
    const layer = sha256(held.layers[0] ?? Buffer.alloc(0))
    expect((await client('held', '').ask('GET', `${base}/blobs/${layer}`)).error.code).toBe('DENIED')
    const approved = await daemon.call('POST', `/security/packages/held/${held.digest}/decide`, {
      token: admin,
      body: { decision: 'approve', justification: 'Looked at it.' },
    })
    expect(approved.status, approved.text).toBe(200)
    expect((await manifest('latest')).bytes.equals(held.manifest)).toBe(true)
    expect((await client('held', '').ask('GET', `${base}/blobs/${layer}`)).status).toBe(200)
  })
})

describe('quarantine', () => {
  test('bytes that only refused versions have are given to nobody, also when they are sent again', async () => {
    const [bad, again] = [client('bad'), client('again')]
    const image = imageOf('bad')
    expect((await bad.push(image, 'v1')).status).toBe(201)
    const layer = image.layers[0] ?? Buffer.alloc(0)
    const { status, text } = await daemon.call('POST', `/security/packages/bad/${image.digest}/quarantine`, {
      token: admin,
      body: { reason: 'It is not what it says.' },
    })
    expect(status, text).toBe(200)
    expect((await bad.manifest('v1')).error).toMatchObject({ code: 'DENIED' })
    expect((await bad.ask('GET', `${bad.base}/blobs/${sha256(layer)}`)).error.code).toBe('DENIED')
    expect((await again.pushBlob(layer)).status).toBe(201)
    expect((await again.ask('GET', `${again.base}/blobs/${sha256(layer)}`)).error.code).toBe('DENIED')
  })
})

describe('a crash', () => {
  test('an upload goes on behind the last piece that came whole', async () => {
    const { base, ask } = client('crash')
    const bytes = Buffer.from('a'.repeat(1000))
    const at = header(await ask('POST', `${base}/blobs/uploads/`), 'location')
    expect((await ask('PATCH', at, { body: bytes.subarray(0, 600), headers: pieces })).status).toBe(202)
    await daemon.kill9()
    await daemon.restart()
    expect(header(await ask('GET', at), 'range')).toBe('0-599')
    expect((await ask('PATCH', at, { body: bytes.subarray(600), headers: pieces })).status).toBe(202)
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    expect((await ask('PUT', `${at}?digest=${digest}`)).status).toBe(201)
    expect((await ask('GET', `${base}/blobs/${digest}`)).bytes.equals(bytes)).toBe(true)
  })
})
