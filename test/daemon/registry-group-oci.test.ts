import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildImage, layerOf, sha256 } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { putImage } from '../support/oci-upstream.ts'
import { startRegistryHouse } from '../support/registry-house.ts'

const house = await startRegistryHouse('oci')
const { daemon, token: admin, upstream, second, must, make, left } = house

const at = (path: string, auth = '') => createOciClient(daemon.url, path, auth)
const asAdmin = (path: string) => at(path, `Bearer ${admin}`)
const imageOf = (text: string) => buildImage({ layers: [layerOf({ name: 'etc/said', body: text })], comment: text })
const basic = (token: string): string => `Basic ${Buffer.from(`person:${token}`).toString('base64')}`
async function exchange(scope: string, auth?: string): Promise<string> {
  const { status, json } = await at('x').ask('GET', `/v2/token?service=gatehouse&scope=${scope}`, {
    auth: auth ?? '',
  })
  expect(status).toBe(200)
  return `Bearer ${json<{ token: string }>().token}`
}
beforeAll(async () => {
  await make('ours', { reserved: ['house/*'] })
  await make('hush')
  await make('hub', { kind: 'proxy', upstream: { url: upstream.url } })
  await make('second', { kind: 'proxy', upstream: { url: second.url } })
  await make('every', { kind: 'group', members: ['hub', 'second', 'hush', 'ours'] })
  await must('PUT', '/access/distributions/hush', { private: true, roles: ['admin'] })
})
afterAll(() => house.close())

describe('a name of the house', () => {
  const own = imageOf('ours')
  const foreign = imageOf('theirs')

  test('is pulled from its owner alone: tags, digests, blobs and lists', async () => {
    expect((await asAdmin('ours/team/app').push(own, 'v1')).status).toBe(201)
    putImage(upstream, 'team/app', foreign, 'v1', 'v9')
    const { manifest, ask, base } = at('every/team/app')
    const got = await manifest('v1')
    expect([got.status, got.headers.get('docker-content-digest')]).toEqual([200, own.digest])
    expect((await ask('GET', `${base}/blobs/${sha256(own.config)}`)).bytes.equals(own.config)).toBe(true)
    expect((await ask('GET', `${base}/tags/list`)).json()).toEqual({ name: 'every/team/app', tags: ['v1'] })
    for (const path of [`manifests/v9`, `manifests/${foreign.digest}`])
      expect([path, (await ask('GET', `${base}/${path}`)).status]).toEqual([path, 404])
    // whoever sends no credential is asked for one, and learns no more
    const blob = `${base}/blobs/${sha256(foreign.config)}`
    expect((await ask('GET', blob)).status).toBe(401)
    expect((await asAdmin('every/team/app').ask('GET', blob)).status).toBe(404)
    expect((await ask('HEAD', `${base}/manifests/v9`)).status).toBe(404)
    expect((await ask('GET', `${base}/referrers/${foreign.digest}`)).status).toBeLessThan(500)
    expect(left()).toEqual([])
  })

  test('is the one that the request is answered for, wherever its words stand in the address', async () => {
    // a repository may be called as a part of the protocol
    expect((await asAdmin('ours/app').push(own, 'manifests')).status).toBe(201)
    putImage(upstream, 'app', foreign, 'manifests', 'tags')
    expect((await at('every/app').manifest('manifests')).headers.get('docker-content-digest')).toBe(own.digest)
    expect((await at('every/app').manifest('tags')).status).toBe(404)
    expect(left()).toEqual([])
  })

  test('that is reserved, hidden, or wrong is looked for nowhere', async () => {
    expect((await asAdmin('hush/secret').push(own, 'v1')).status).toBe(201)
    putImage(upstream, 'secret', foreign, 'v1')
    putImage(upstream, 'house/tool', foreign, 'v1')
    for (const name of ['secret', 'house/tool']) {
      const { status, error } = await at(`every/${name}`).manifest('v1')
      expect([name, status, error]).toEqual([
        name,
        404,
        { code: 'NAME_UNKNOWN', message: expect.stringContaining('belongs to this house') },
      ])
      expect(error.message).not.toContain('hush')
    }
    expect((await asAdmin('every/secret').manifest('v1')).status).toBe(200)
    expect((await at('every/Secret').manifest('v1')).status).toBe(400)
    expect(left()).toEqual([])
  })
})

test('another name is the first upstream’s that has it, with every tag', async () => {
  const [one, two] = [imageOf('one'), imageOf('two')]
  putImage(upstream, 'lib/both', one, 'v1')
  upstream.put('/v2/lib/both/tags/list?n=1000', { body: '{"name":"lib/both","tags":["v1"]}' })
  putImage(second, 'lib/both', two, 'v1', 'v2')
  putImage(second, 'lib/late', two, 'v1')
  // before anything of it is here, and after that
  for (const _ of ['before', 'after']) {
    expect((await at('every/lib/both').manifest('v2')).status).toBe(404)
    expect((await at('every/lib/both').manifest(two.digest)).status).toBe(404)
    expect((await at('every/lib/both').manifest('v1')).headers.get('docker-content-digest')).toBe(one.digest)
  }
  expect(second.asked()).toEqual([])
  expect((await at('every/lib/late').manifest('v1')).headers.get('docker-content-digest')).toBe(two.digest)
  const { ask, base } = at('every/lib/late')
  expect((await ask('GET', `${base}/blobs/${sha256(two.config)}`)).status).toBe(200)
  left()
})

describe('tokens of the exchange', () => {
  test('are asked for and given with the name of the group, and are good for it alone', async () => {
    await must('PUT', '/access/distributions/every', { private: true })
    const asked = await at('every/team/app').manifest('v1')
    expect([asked.status, asked.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('scope="repository:every/team/app:pull"'),
    ])
    const auth = await exchange('repository:every/team/app:pull', basic(admin))
    expect((await at('every/team/app', auth).manifest('v1')).status).toBe(200)
    expect((await at('every/secret', auth).manifest('v1')).status).toBe(401)
    expect((await at('ours/team/app', auth).manifest('v1')).status).toBe(401)
    const other = await exchange('repository:ours/team/app:pull', basic(admin))
    const wrong = await at('every/team/app', other).manifest('v1')
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('scope="repository:every/team/app:pull",error="insufficient_scope"'),
    ])
    await must('PUT', '/access/distributions/every', { private: false })
    expect((await at('every/team/app', await exchange('repository:every/team/app:pull')).manifest('v1')).status).toBe(
      200,
    )
  })
})

test('nothing is pushed into it, mounted or deleted through it, and the message says where to', async () => {
  const image = imageOf('pushed')
  const { ask, base, push } = asAdmin('every/team/app')
  await expect(push(image, 'v2')).rejects.toThrow('Publish into hush or ours.')
  for (const [method, path] of [
    ['PUT', 'manifests/v2'],
    ['DELETE', `manifests/${imageOf('ours').digest}`],
    ['DELETE', `blobs/${sha256(image.config)}`],
    ['POST', `blobs/uploads/?mount=${sha256(imageOf('ours').config)}&from=ours/team/app`],
  ] as const) {
    const { status, error } = await ask(method, `${base}/${path}`, { body: image.manifest })
    expect([method, path, status, error]).toEqual([
      method,
      path,
      409,
      { code: 'DENIED', message: expect.stringContaining('every is a group') },
    ])
  }
  // a push elsewhere that would mount from it uploads instead
  const begun = await asAdmin('ours/next').ask(
    'POST',
    `/v2/ours/next/blobs/uploads/?mount=${sha256(imageOf('theirs').config)}&from=every/team/app`,
  )
  expect(begun.status).toBe(202)
  expect((await at('every/team/app').manifest('v1')).status).toBe(200)
})
