import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion, defineRegistries, hostedRegistry } from '../support/defined-registries.ts'
import {
  createImageClient,
  IMAGE_PROGRAMS,
  noImageProgram,
  type ImageClient,
  type Moved,
} from '../support/image-clients.ts'
import { buildImage, buildIndex, layerOf, type BuiltImage } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { said } from '../support/skopeo.ts'

/** A registry of somebody else, and the service that clients know. */
let far: Daemon
let daemon: Daemon
let work: string
let admin: string
let token: string
const clients: ImageClient[] = []

const settings = async (one: Daemon, secret: string, body: object): Promise<void> => {
  const { status, text } = await one.call('PATCH', '/settings/', { token: secret, body })
  expect(status, text).toBe(200)
}
const onUnavailable = (rule: 'hold' | 'warn'): Promise<void> =>
  settings(daemon, admin, { validation: { on_scanner_unavailable: rule } })
async function make(body: object): Promise<void> {
  const made = await daemon.call('POST', '/registries/', { token: admin, body: { format: 'oci', ...body } })
  expect(made.status, made.text).toBe(201)
}

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'gh-image-programs-'))
  const [farRoot, root] = [join(work, 'far'), join(work, 'root')]
  await defineRegistries(farRoot, [hostedRegistry('lib', 'oci')])
  await defineRegistries(root, [hostedRegistry('ours', 'oci'), hostedRegistry('shut', 'oci')])
  ;[far, daemon] = await Promise.all([startDaemon({ root: farRoot }), startDaemon({ root })])
  const quiet = { validation: { on_scanner_unavailable: 'warn', clamav_scan: false } }
  await settings(far, await far.setupAdmin(), quiet)
  admin = await daemon.setupAdmin()
  await settings(daemon, admin, { ...quiet, notifications: { allow_private_hosts: '127.0.0.1' } })
  const shut = await daemon.call('PUT', '/access/distributions/shut', { token: admin, body: { private: true } })
  expect(shut.status, shut.text).toBe(200)
  const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
    token: admin,
    body: { name: 'builds', role: 'maintainer' },
  })
  token = made.body.token
  await make({ name: 'hub', kind: 'proxy', upstream: { url: `${far.url}/lib` } })
  await make({ name: 'every', kind: 'group', members: ['ours', 'hub'] })
})
afterEach(async () => {
  for (const one of clients.splice(0)) await one.close()
})
afterAll(async () => {
  await daemon.close()
  await far.close()
  await rm(work, { recursive: true, force: true })
})

/** Under which images are pushed that are held. */
const TAGS = ['latest', 'next'] as const
const imageOf = (text: string, architecture?: string): BuiltImage =>
  buildImage({
    layers: [layerOf({ name: 'etc/said', body: text })],
    comment: text,
    ...(architecture === undefined ? {} : { architecture }),
  })

describe.each(IMAGE_PROGRAMS)('%s', program => {
  const why = noImageProgram(program)
  const storing = program === 'podman' || program === 'buildah'
  async function client(secret?: string): Promise<ImageClient> {
    const made = await createImageClient(program, daemon.url)
    clients.push(made)
    if (secret !== undefined) {
      const login = await made.login(secret)
      expect(login.code, said(login)).toBe(0)
    }
    return made
  }

  describe.skipIf(why !== undefined)(why ?? 'a round trip', () => {
    test('pushes, pulls without a login, by tag and digest, moves a tag, lists, removes', async () => {
      const [builder, reader] = [await client(token), await client()]
      const name = `ours/${program}/app`
      const first = await builder.push(imageOf(`${program} one`), `${name}:latest`)
      expect(first.digest, said(first)).toBeDefined()
      expect((await reader.pull(`${name}:latest`)).digest).toBe(first.digest)
      const second = await builder.push(imageOf(`${program} two`), `${name}:latest`)
      expect(second.digest, said(second)).not.toBe(first.digest)
      expect((await reader.pull(`${name}:latest`)).digest).toBe(second.digest)
      expect((await reader.pull(`${name}@${first.digest}`)).digest).toBe(first.digest)
      expect((await builder.push(imageOf(`${program} one`), `${name}:v1`)).digest).toBe(first.digest)
      const listed = await reader.tags(name)
      // buildah lists none
      if (program !== 'buildah') expect(said(listed)).toMatch(/latest[\s\S]*v1/)
      if (builder.remove === undefined) return
      const removed = await builder.remove(`${name}:latest`)
      expect(removed.code, said(removed)).toBe(0)
      expect((await reader.pull(`${name}:latest`)).code).not.toBe(0)
      expect((await reader.pull(`${name}:v1`)).digest).toBe(first.digest)
    })

    test('takes what it needs of an index of two platforms', async () => {
      const images = [imageOf(`${program} amd`), imageOf(`${program} arm`, 'arm64')] as const
      const index = buildIndex({ amd64: images[0], arm64: images[1] })
      const name = `ours/${program}/many`
      const { push } = createOciClient(daemon.url, name, `Bearer ${token}`)
      for (const [image, tag] of [
        [images[0], 'amd'],
        [images[1], 'arm'],
        [index, 'v1'],
      ] as const)
        expect((await push(image, tag)).status).toBe(201)
      const pulled = await (await client()).pull(`${name}:v1`)
      expect(pulled.code, said(pulled)).toBe(0)
      // some take one platform, and name the index all the same
      expect([index.digest, images[0].digest], said(pulled)).toContain(pulled.digest)
    })

    test.skipIf(storing)('pushes an index with its images', async () => {
      const images = [imageOf(`${program} here`), imageOf(`${program} there`, 'arm64')] as const
      const index = buildIndex({ amd64: images[0], arm64: images[1] })
      const name = `ours/${program}/both:v1`
      const pushed = await (await client(token)).push(index, name, images)
      expect(pushed.code, said(pushed)).toBe(0)
      const { manifest } = createOciClient(daemon.url, `ours/${program}/both`)
      for (const reference of ['v1', index.digest, images[0].digest, images[1].digest])
        expect((await manifest(reference)).status, reference).toBe(200)
    })

    test('whoever pulls what is held reads why, and the tag stays on the last good one', async () => {
      const name = `ours/${program}/held`
      const [builder, reader] = [await client(token), await client()]
      const good = await builder.push(imageOf(`${program} good`), `${name}:latest`)
      await onUnavailable('hold')
      const held: Moved[] = []
      try {
        for (const tag of ['latest', 'next'])
          held.push(await builder.push(imageOf(`${program} ${tag}`), `${name}:${tag}`))
      } finally {
        await onUnavailable('warn')
      }
      // oras sends the manifest by its digest and the tag after it, which is refused with the reason while it is held
      const tagsLater = program === 'oras'
      const codes = held.map(({ code }) => code)
      expect(codes, held.map(said).join('')).toEqual(tagsLater ? [1, 1] : [0, 0])
      if (tagsLater || program === 'crane') expect(held.map(said).join('')).toContain('Held for review by Gatehouse')
      expect((await reader.pull(`${name}:latest`)).digest).toBe(good.digest)
      const [version = '', next = ''] = tagsLater
        ? TAGS.map(tag => imageOf(`${program} ${tag}`).digest)
        : held.map(({ digest }) => digest)
      const refused = await reader.pull(tagsLater ? `${name}@${next}` : `${name}:next`)
      expect(refused.code).not.toBe(0)
      expect(said(refused)).toContain('Held for review by Gatehouse')
      const decided = { token: admin, registry: 'ours', name: `${program}/held`, arch: 'linux/amd64', version }
      await decideVersion(daemon, { ...decided, action: 'approve' })
      if (tagsLater) await builder.push(imageOf(`${program} latest`), `${name}:latest`)
      expect((await reader.pull(`${name}:latest`)).digest).toBe(version)
    })

    // podman and buildah unpack an image first, and would refuse it themselves
    test.skipIf(storing)('what is refused says why', async () => {
      const layers = [
        layerOf({ name: `etc/${program}`, body: 'x' }),
        layerOf({ name: 'dev/null', type: '3', body: '' }),
      ]
      const refused = await (await client(token)).push(buildImage({ layers }), `ours/${program}/hostile:v1`)
      expect(refused.code).not.toBe(0)
      expect(said(refused)).toContain('is a device node')
    })

    test('a private registry wants a token, and a right one', async () => {
      const [builder, stranger] = [await client(token), await client()]
      const name = `shut/${program}/app:v1`
      const pushed = await builder.push(imageOf(`${program} private`), name)
      expect(pushed.code, said(pushed)).toBe(0)
      expect((await stranger.pull(name)).code).not.toBe(0)
      expect((await builder.pull(name)).digest).toBe(pushed.digest)
      // some try a credential when they keep it, others when they use it
      await stranger.login('svc_wrong')
      expect((await stranger.pull(name)).code).not.toBe(0)
      expect((await stranger.push(imageOf(`${program} denied`), name)).code).not.toBe(0)
      expect((await builder.pull(name)).digest).toBe(pushed.digest)
    })

    test('through a group: what is ours from here, and what is not from elsewhere', async () => {
      const image = imageOf(`${program} far`)
      const farToken = await far.setupAdmin()
      const { push } = createOciClient(far.url, `lib/${program}/far`, `Bearer ${farToken}`)
      expect((await push(image, 'v1')).status).toBe(201)
      const ours = await (await client(token)).push(imageOf(`${program} ours`), `ours/${program}/own:v1`)
      const reader = await client()
      const pulled = await reader.pull(`every/${program}/far:v1`)
      expect(pulled.digest, said(pulled)).toBe(image.digest)
      expect((await reader.pull(`every/${program}/own:v1`)).digest).toBe(ours.digest)
      expect((await reader.pull(`every/${program}/own:v2`)).code).not.toBe(0)
    })
  })
})

describe('with the registry elsewhere gone', () => {
  beforeAll(async () => {
    await far.stop()
  })
  test.each(IMAGE_PROGRAMS.filter(each => noImageProgram(each) === undefined))(
    '%s pulls again what came through before',
    async program => {
      const reader = await createImageClient(program, daemon.url)
      clients.push(reader)
      const pulled = await reader.pull(`hub/${program}/far:v1`)
      expect(pulled.digest, said(pulled)).toBe(imageOf(`${program} far`).digest)
    },
  )
})
