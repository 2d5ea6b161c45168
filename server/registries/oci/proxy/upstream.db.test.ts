import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createFakeClock } from '../../../../test/support/clock.ts'
import { buildArtifact, buildImage, buildIndex, layerOf, sha256, sha512 } from '../../../../test/support/oci-images.ts'
import { onlyWith, putImage, servedBytes } from '../../../../test/support/oci-upstream.ts'
import { createTestDb } from '../../../../test/support/postgres.ts'
import {
  proxyRegistry,
  startRegistryUpstream,
  type RegistryUpstream,
} from '../../../../test/support/registry-upstream.ts'
import { layoutOf } from '../../../../test/support/repositories.ts'
import { createTestExchange } from '../../../../test/support/upstream/reach.ts'
import type { Db } from '../../../db/db.ts'
import { createSpool } from '../../../files/spool.ts'
import { createDigestThreads } from '../../../lib/digest.ts'
import { createSecretBox } from '../../../lib/secret-box.ts'
import { createBreaker } from '../../../outbound/exchange/breaker.ts'
import { sealSecret } from '../../remote/secret.ts'
import { createUpstream } from '../../remote/upstream.ts'
import { createUpstreamTokens } from './tokens.ts'
import { createOciUpstream, type FarRepository, type OciUpstream } from './upstream.ts'

const { signal } = new AbortController()
const threads = createDigestThreads({ threads: 1 })
const box = createSecretBox('a secret of this test alone')
const { exchange, close: closeExchange } = createTestExchange()

let db: Db
let closeDb: () => Promise<void>
let root: string
let upstream: RegistryUpstream
/** Another server: of tokens, or of blobs. */
let other: RegistryUpstream
let clock = createFakeClock()
let far: OciUpstream
let at: FarRepository

beforeAll(async () => {
  ;({ db, close: closeDb } = await createTestDb())
  root = await mkdtemp(join(tmpdir(), 'gh-oci-upstream-'))
  await mkdir(layoutOf(root).incoming, { recursive: true })
})
beforeEach(async () => {
  upstream = await startRegistryUpstream()
  other = await startRegistryUpstream()
  clock = createFakeClock()
  await db.query('truncate registry_secret')
  at = { registry: proxyRegistry('hub', 'oci', { url: upstream.url }), name: 'app' }
  const spool = createSpool({ layout: layoutOf(root), random: randomBytes, threads })
  const ways = createUpstream({ db, exchange, breaker: createBreaker(clock), box, spool })
  far = createOciUpstream({ upstream: ways, tokens: createUpstreamTokens({ upstream: ways, clock }) })
  return async () => {
    await upstream.close()
    await other.close()
  }
})
afterAll(async () => {
  closeExchange()
  await threads.close()
  await closeDb()
  await rm(root, { recursive: true, force: true })
})

const image = buildImage({ layers: [layerOf({ name: 'etc/said', body: 'far' })] })
const layer = image.layers[0] as Buffer
const described = (bytes: Buffer) => ({
  mediaType: 'application/octet-stream',
  digest: sha256(bytes),
  size: bytes.length,
})
const limits = { limitBytes: 2 ** 20, signal }
const authorizations = (seen: RegistryUpstream): (string | undefined)[] =>
  seen.log.map(({ headers }) => headers.authorization)
const questions = (seen: RegistryUpstream): string[] => seen.log.map(({ method, path }) => `${method} ${path}`)

async function withCredential(user: string | undefined): Promise<void> {
  await db.query('insert into registry_secret (codename, sealed) values ($1, $2)', [
    'hub',
    sealSecret(box, upstream.url, 's3cret'),
  ])
  const sent = user === undefined ? {} : { user }
  at = { ...at, registry: { ...at.registry, registry: { kind: 'proxy', upstream: { url: upstream.url, ...sent } } } }
}
const basic = `Basic ${Buffer.from('bot:s3cret').toString('base64')}`

/** From now on the manifest needs a token that `realm` gives out. */
function needToken(realm: string, given: object = { token: 'tok1' }): void {
  const challenge = `Bearer realm="${realm}",service="far.example",scope="repository:app:pull"`
  upstream.put('/v2/app/manifests/v1', onlyWith('Bearer tok1', challenge, servedBytes(image.manifest, image.mediaType)))
  other.put('/token?service=far.example&scope=repository%3Aapp%3Apull', { body: JSON.stringify(given) })
}

describe('tokens', () => {
  test('are got where the upstream says, with the credential of the registry, and kept as long as they last', async () => {
    await withCredential('bot')
    needToken(`${other.url}/token`, { access_token: 'tok1', expires_in: 100 })
    expect(await far.tag(at, 'v1', undefined, signal)).toEqual({ digest: image.digest })
    expect(questions(upstream)).toEqual(['HEAD /v2/app/manifests/v1', 'HEAD /v2/app/manifests/v1'])
    // the credential goes to the giver of tokens, and the token to the registry
    expect([authorizations(upstream), authorizations(other)]).toEqual([[undefined, 'Bearer tok1'], [basic]])
    clock.advance(79_000)
    await far.manifest(at, 'v1', signal)
    expect(other.log).toHaveLength(1)
    clock.advance(2_000)
    await far.manifest(at, 'v1', signal)
    expect([other.log.length, authorizations(upstream).slice(-2)]).toEqual([2, [undefined, 'Bearer tok1']])
  })

  test('are given to nobody, too', async () => {
    needToken(`${other.url}/token`)
    expect(await far.manifest(at, 'v1', signal)).toMatchObject({ digest: image.digest })
    expect(authorizations(other)).toEqual([undefined])
  })

  test('that end early are got anew', async () => {
    needToken(`${other.url}/token`)
    await far.manifest(at, 'v1', signal)
    const challenge = `Bearer realm="${other.url}/token",service="far.example",scope="repository:app:pull"`
    upstream.put(
      '/v2/app/manifests/v1',
      onlyWith('Bearer tok2', challenge, servedBytes(image.manifest, image.mediaType)),
    )
    other.put('/token?service=far.example&scope=repository%3Aapp%3Apull', { body: '{"token":"tok2"}' })
    expect(await far.manifest(at, 'v1', signal)).toMatchObject({ digest: image.digest })
  })

  test('a realm on an address of metadata is not asked', async () => {
    await withCredential('bot')
    needToken('http://169.254.169.254/latest/api/token')
    await expect(far.tag(at, 'v1', undefined, signal)).rejects.toMatchObject({
      code: 'outbound_refused',
      facts: { host: '169.254.169.254' },
    })
  })

  test('a realm that is reached in another way than its registry gets no credential', async () => {
    await withCredential('bot')
    needToken(`${other.url.replace('http:', 'https:')}/token`)
    await expect(far.tag(at, 'v1', undefined, signal)).rejects.toThrow(
      'it is reached by https and its registry is not, so the credential is not sent there',
    )
    expect(other.log).toEqual([])
  })

  test('a giver that redirects takes no credential along', async () => {
    await withCredential('bot')
    const third = await startRegistryUpstream()
    try {
      needToken(`${other.url}/token`)
      other.put('/token?service=far.example&scope=repository%3Aapp%3Apull', {
        ...{ status: 307, body: '' },
        headers: { Location: `${third.url}/stolen` },
      })
      third.put('/stolen', { body: '{"token":"tok1"}' })
      await far.manifest(at, 'v1', signal)
      expect([authorizations(other), authorizations(third)]).toEqual([[basic], [undefined]])
    } finally {
      await third.close()
    }
  })

  test.each([
    ['<html>Log in</html>', 'it is no JSON'],
    ['{"token":"a\\nb"}', 'it holds no token'],
    ['{}', 'it holds no token'],
    ['null', 'it holds no token'],
    [`{"token":"${'x'.repeat(70_000)}"}`, 'it is longer than 64 KiB'],
  ])('an answer %.20s is no token', async (body, why) => {
    needToken(`${other.url}/token`)
    other.put('/token?service=far.example&scope=repository%3Aapp%3Apull', { body })
    await expect(far.tag(at, 'v1', undefined, signal)).rejects.toThrow(why)
  })

  test('a giver that refuses is named, and whether a credential was sent', async () => {
    needToken(`${other.url}/token`)
    other.put('/token?service=far.example&scope=repository%3Aapp%3Apull', { status: 401, body: '' })
    await expect(far.tag(at, 'v1', undefined, signal)).rejects.toThrow('the registry has none')
    await withCredential('bot')
    await expect(far.tag(at, 'v1', undefined, signal)).rejects.toThrow('the credential of the registry may be wrong')
  })

  test('where none are wanted, the credential itself is sent, and only when it is asked for', async () => {
    await withCredential('bot')
    upstream.put(
      '/v2/app/manifests/v1',
      onlyWith(basic, 'Basic realm="x"', servedBytes(image.manifest, image.mediaType)),
    )
    await far.manifest(at, 'v1', signal)
    await far.manifest(at, 'v1', signal)
    expect(authorizations(upstream)).toEqual([undefined, basic, basic])
  })
})

describe('manifests', () => {
  test('a tag is asked with the digest that it had', async () => {
    putImage(upstream, 'app', image, 'v1')
    expect(await far.tag(at, 'v1', undefined, signal)).toEqual({ digest: image.digest })
    expect(await far.tag(at, 'v1', image.digest, signal)).toEqual({ digest: image.digest })
    const [first, second] = upstream.log
    expect([first?.method, second?.method, second?.headers['if-none-match']]).toEqual([
      'HEAD',
      'HEAD',
      `"${image.digest}"`,
    ])
    expect(first?.headers.accept).toContain('application/vnd.oci.image.index.v1+json')
    expect(await far.tag(at, 'v2', undefined, signal)).toMatchObject({ missing: 'absent' })
  })

  test('where a HEAD says no digest, or is not answered, the bytes say it', async () => {
    upstream.put('/v2/app/manifests/v1', { body: image.manifest, type: image.mediaType })
    expect(await far.tag(at, 'v1', undefined, signal)).toEqual({ digest: image.digest, bytes: image.manifest })
    upstream.put('/v2/app/manifests/v1', ({ method }) => ({
      ...servedBytes(image.manifest, image.mediaType),
      ...(method === 'HEAD' ? { status: 405 } : {}),
    }))
    expect(await far.tag(at, 'v1', undefined, signal)).toEqual({ digest: image.digest, bytes: image.manifest })
  })

  test('other bytes than a digest says are refused, by either algorithm', async () => {
    upstream.put(`/v2/app/manifests/${sha512(image.manifest)}`, servedBytes(image.manifest, image.mediaType))
    expect(await far.manifest(at, sha512(image.manifest), signal)).toMatchObject({ digest: image.digest })
    const wrong = sha256(Buffer.from('other'))
    upstream.put(`/v2/app/manifests/${wrong}`, servedBytes(image.manifest, image.mediaType))
    await expect(far.manifest(at, wrong, signal)).rejects.toMatchObject({ facts: { fault: 'wrong_digest' } })
  })

  test('of more than 4 MiB are refused before they are here whole', async () => {
    upstream.put('/v2/app/manifests/v1', { body: Buffer.alloc(5 * 2 ** 20, ' ') })
    await expect(far.manifest(at, 'v1', signal)).rejects.toMatchObject({ facts: { fault: 'too_large' } })
  })

  test.each([
    [404, 'absent'],
    [410, 'absent'],
    [401, 'denied'],
    [403, 'denied'],
  ])('an answer %i is no manifest: %s', async (status, missing) => {
    upstream.put('/v2/app/manifests/v1', { status, body: '' })
    expect(await far.manifest(at, 'v1', signal)).toMatchObject({ missing })
    expect(await far.tag(at, 'v1', undefined, signal)).toMatchObject({ missing })
  })

  test('a redirect to another server takes no token along', async () => {
    await withCredential(undefined)
    upstream.put('/v2/app/blobs/' + sha256(layer), ({ headers }) =>
      headers.authorization === undefined
        ? { status: 401, body: '', headers: { 'WWW-Authenticate': 'Basic realm="x"' } }
        : { status: 307, body: '', headers: { Location: `${other.url}/far-away` } },
    )
    other.put('/far-away', { body: layer })
    const file = await far.blob(at, described(layer), limits)
    expect([`sha256:${file.blob.sha256}`, authorizations(other)]).toEqual([sha256(layer), [undefined]])
    expect(authorizations(upstream)).toEqual([undefined, 'Bearer s3cret'])
    await file.discard()
  })
})

describe('blobs', () => {
  test.each([
    ['other bytes', Buffer.from(layer).fill(1, 5, 6), 'wrong_digest'],
    ['fewer bytes', layer.subarray(0, -1), 'wrong_digest'],
  ])('%s than their manifest says are refused, and nothing stays', async (_, body, fault) => {
    upstream.put(`/v2/app/blobs/${sha256(layer)}`, { body })
    await expect(far.blob(at, described(layer), limits)).rejects.toMatchObject({ facts: { fault } })
    expect(await readdir(layoutOf(root).incoming)).toEqual([])
  })

  test('that are larger than uploads may be are not asked for', async () => {
    await expect(far.blob(at, { ...described(layer), size: 2 ** 21 }, limits)).rejects.toThrow('larger than 1 MB')
    expect(upstream.log).toEqual([])
  })

  test('that a manifest names and the upstream lacks are its fault', async () => {
    await expect(far.blob(at, described(layer), limits)).rejects.toMatchObject({ facts: { fault: 'missing' } })
  })
})

describe('lists', () => {
  const list = (tags: unknown, link?: string) => ({
    body: JSON.stringify({ name: 'app', tags }),
    ...(link === undefined ? {} : { headers: { Link: link } }),
  })

  test('of tags are read in parts, and what is no tag is left out', async () => {
    upstream.put('/v2/app/tags/list?n=1000', list(['a', 'b', '-no', 7], '</v2/app/tags/list?last=b>; rel="next"'))
    upstream.put('/v2/app/tags/list?last=b', list(['b', 'c']))
    expect(await far.tags(at, signal)).toEqual(['a', 'b', 'c'])
    upstream.put('/v2/app/tags/list?n=1000', list(null))
    expect(await far.tags(at, signal)).toEqual([])
  })

  test('that never end, or lead away, are left', async () => {
    upstream.put('/v2/app/tags/list?n=1000', list(['a'], '</v2/app/tags/list?n=1000>; rel="next"'))
    expect(await far.tags(at, signal)).toEqual(['a'])
    expect(upstream.log).toHaveLength(2)
    upstream.put('/v2/app/tags/list?n=1000', list(['a'], `<${other.url}/more>; rel=next`))
    await expect(far.tags(at, signal)).rejects.toThrow('its next part is on another server')
  })

  test('hold 100,000 tags, and not one more', async () => {
    const many = Array.from({ length: 100_000 }, (_, n) => `t${n}`)
    upstream.put('/v2/app/tags/list?n=1000', list(many))
    expect(await far.tags(at, signal)).toHaveLength(100_000)
    upstream.put('/v2/app/tags/list?n=1000', list([...many, 'one-more']))
    await expect(far.tags(at, signal)).rejects.toThrow('it names more than 100000 tags')
    upstream.put('/v2/app/tags/list?n=1000', list([' '.repeat(17 * 2 ** 20)]))
    await expect(far.tags(at, signal)).rejects.toMatchObject({ facts: { fault: 'too_large' } })
    upstream.put('/v2/app/tags/list?n=1000', { body: '<html>' })
    await expect(far.tags(at, signal)).rejects.toThrow('it is no JSON')
  })

  test('of what is about an image are read, also where they are a tag', async () => {
    const signature = buildArtifact('application/x-signature', Buffer.from('signed'), image)
    const about = buildIndex({ any: signature })
    upstream.put(`/v2/app/referrers/${image.digest}`, servedBytes(about.manifest, about.mediaType))
    expect((await far.referrers(at, image.digest, signal)).map(({ digest }) => digest)).toEqual([signature.digest])
    upstream.remove(`/v2/app/referrers/${image.digest}`)
    expect(await far.referrers(at, image.digest, signal)).toEqual([])
    putImage(upstream, 'app', about, image.digest.replace(':', '-'))
    expect((await far.referrers(at, image.digest, signal)).map(({ digest }) => digest)).toEqual([signature.digest])
  })
})
