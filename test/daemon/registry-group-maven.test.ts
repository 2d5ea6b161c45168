import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientMetadata } from '../support/maven-registry.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { startRegistryHouse } from '../support/registry-house.ts'
import type { RegistryUpstream } from '../support/registry-upstream.ts'

const house = await startRegistryHouse('maven')
const { daemon, token, upstream, second, must, make, left } = house

async function ask(path: string, { method = 'GET', body, as }: { method?: string; body?: Buffer; as?: string } = {}) {
  const response = await fetch(`${daemon.url}/maven/${path}`, {
    method,
    headers: as === undefined ? {} : { Authorization: `Bearer ${as}` },
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  })
  return { status: response.status, reason: response.statusText, text: await response.text() }
}

interface Release {
  readonly group?: string
  readonly artifact: string
  readonly version: string
  readonly packaging?: string
  readonly more?: string
}
const folderOf = ({ group = 'com.ours', artifact }: Release): string => `${group.replaceAll('.', '/')}/${artifact}`
function filesOf({ group = 'com.ours', artifact, version, packaging, more = '' }: Release): Record<string, Buffer> {
  const at = `${folderOf({ group, artifact, version })}/${version}/${artifact}-${version}`
  const pom = buildPom({ group, artifact, version, more, ...(packaging === undefined ? {} : { packaging }) })
  return { [`${at}.pom`]: pom, ...(packaging === 'pom' ? {} : { [`${at}.jar`]: buildLibrary({ 'a.txt': version }) }) }
}
async function deploy(registry: string, release: Release): Promise<void> {
  const { group = 'com.ours', artifact, version } = release
  const list = Buffer.from(clientMetadata(group, artifact, version))
  for (const [path, body] of [
    ...Object.entries(filesOf(release)),
    [`${folderOf(release)}/maven-metadata.xml`, list] as const,
  ]) {
    const { status, reason } = await ask(`${registry}/${path}`, { method: 'PUT', body, as: token })
    expect([path, status, reason]).toEqual([path, 201, expect.anything()])
  }
}
/** What a repository outside has. */
function outside(release: Release, at: RegistryUpstream = upstream): void {
  const { group = 'com.ours', artifact, version } = release
  for (const [path, body] of Object.entries(filesOf(release))) at.put(`/${path}`, { body })
  at.put(`/${folderOf(release)}/maven-metadata.xml`, { body: clientMetadata(group, artifact, version) })
}
const plugins = (...all: readonly (readonly [prefix: string, artifact: string])[]): string =>
  `<metadata><plugins>${all.map(([prefix, artifact]) => `<plugin><name>x</name><prefix>${prefix}</prefix><artifactId>${artifact}</artifactId></plugin>`).join('')}</plugins></metadata>`
const inList = (tag: string, { status, text }: { status: number; text: string }): readonly string[] | number =>
  status === 200 ? [...text.matchAll(new RegExp(`<${tag}>([^<]+)</${tag}>`, 'g'))].map(([, one = '']) => one) : status

beforeAll(async () => {
  await make('ours', { reserved: ['org.house.*'] })
  await make('hush')
  await make('outside', { kind: 'proxy', upstream: { url: upstream.url } })
  await make('second', { kind: 'proxy', upstream: { url: second.url } })
  await make('every', { kind: 'group', members: ['outside', 'second', 'hush', 'ours'] })
  await must('PUT', '/access/distributions/hush', { private: true, roles: ['admin'] })
})
afterAll(() => house.close())

describe('a name of the house', () => {
  test('has no versions but its own, in its list and by their files', async () => {
    await deploy('ours', { artifact: 'lib', version: '1.0' })
    outside({ artifact: 'lib', version: '9.0' })
    expect(inList('version', await ask('every/com/ours/lib/maven-metadata.xml'))).toEqual(['1.0'])
    expect((await ask('every/com/ours/lib/1.0/lib-1.0.jar')).status).toBe(200)
    for (const end of ['.jar', '.pom', '.jar.sha1', '-sources.jar'])
      expect((await ask(`every/com/ours/lib/9.0/lib-9.0${end}`)).status).toBe(404)
    for (const path of ['com/Ours/Lib/maven-metadata.xml', 'com/ours/LIB/9.0/LIB-9.0.jar'])
      expect([path, (await ask(`every/${path}`)).status]).toEqual([path, 404])
    expect((await ask('outside/com/ours/lib/9.0/lib-9.0.jar')).status).toBe(404)
    expect(left()).toEqual([])
  })

  test('that only a parent names, and only a pattern holds, is looked for nowhere', async () => {
    const parent = '<parent><groupId>org.house</groupId><artifactId>parent</artifactId><version>7</version></parent>'
    await deploy('ours', { artifact: 'child', version: '1.0', more: parent })
    outside({ group: 'org.house', artifact: 'parent', version: '7', packaging: 'pom' })
    const { status, reason } = await ask('every/org/house/parent/7/parent-7.pom')
    expect([status, reason]).toEqual([404, expect.stringContaining('org.house:parent belongs to this house')])
    expect(left()).toEqual([])
  })

  test('that was deleted, or may not be seen, is looked for nowhere', async () => {
    await deploy('ours', { artifact: 'gone', version: '1.0' })
    expect((await ask('ours/com/ours/gone/1.0/', { method: 'DELETE', as: token })).status).toBe(204)
    await deploy('hush', { artifact: 'hidden', version: '1.0' })
    for (const artifact of ['gone', 'hidden']) outside({ artifact, version: '2.0' })
    for (const artifact of ['gone', 'hidden'])
      for (const path of ['maven-metadata.xml', `2.0/${artifact}-2.0.pom`])
        expect((await ask(`every/com/ours/${artifact}/${path}`)).status).toBe(404)
    expect((await ask('every/com/ours/hidden/1.0/hidden-1.0.jar', { as: token })).status).toBe(200)
    expect(left()).toEqual([])
  })
})

describe('the list of a group', () => {
  test('names the plugins of all members, each by the word of who has it, with checksums of its own', async () => {
    const group = 'org.plug'
    await deploy('ours', { group, artifact: 'hi-maven-plugin', version: '1', packaging: 'maven-plugin' })
    await deploy('hush', { group, artifact: 'secret-maven-plugin', version: '1', packaging: 'maven-plugin' })
    upstream.put('/org/plug/maven-metadata.xml', {
      body: plugins(['evil', 'hi-maven-plugin'], ['secret', 'secret-maven-plugin'], ['run', 'run-maven-plugin']),
    })
    second.put('/org/plug/maven-metadata.xml', { body: plugins(['run', 'walk-maven-plugin'], ['go', 'go-plugin']) })
    const list = await ask('every/org/plug/maven-metadata.xml')
    expect(inList('prefix', list)).toEqual(['run', 'go', 'hi'])
    expect(inList('artifactId', list)).toEqual(['run-maven-plugin', 'go-plugin', 'hi-maven-plugin'])
    const sha1 = createHash('sha1').update(list.text).digest('hex')
    expect((await ask('every/org/plug/maven-metadata.xml.sha1')).text).toBe(sha1)
    left()
  })

  test('that is reserved as a whole is not named outside, by the group or by a proxy', async () => {
    upstream.put('/org/house/maven-metadata.xml', { body: plugins(['build', 'evil-maven-plugin']) })
    for (const registry of ['every', 'outside']) {
      const { status, reason } = await ask(`${registry}/org/house/maven-metadata.xml`)
      expect([registry, status, reason]).toEqual([registry, 404, expect.stringContaining('belongs to this house')])
    }
    const group = 'org.house'
    await deploy('ours', { group, artifact: 'build-maven-plugin', version: '1', packaging: 'maven-plugin' })
    expect(inList('prefix', await ask('every/org/house/maven-metadata.xml'))).toEqual(['build'])
    expect(left()).toEqual([])
  })
})

test('another name is the first upstream’s that has it, with every version and file', async () => {
  outside({ group: 'net.world', artifact: 'both', version: '1.0' })
  outside({ group: 'net.world', artifact: 'both', version: '9.0' }, second)
  outside({ group: 'net.world', artifact: 'late', version: '1.0' }, second)
  expect(inList('version', await ask('every/net/world/both/maven-metadata.xml'))).toEqual(['1.0'])
  expect((await ask('every/net/world/both/1.0/both-1.0.jar')).status).toBe(200)
  for (const path of ['9.0/both-9.0.pom', '9.0/both-9.0.jar', '1.0/both-1.0-sources.jar'])
    expect([path, (await ask(`every/net/world/both/${path}`)).status]).toEqual([path, 404])
  expect(second.asked()).toEqual([])
  expect(inList('version', await ask('every/net/world/late/maven-metadata.xml'))).toEqual(['1.0'])
  expect((await ask('every/net/world/late/1.0/late-1.0.pom')).status).toBe(200)
  const nobody = await ask('every/net/world/none/1.0/none-1.0.pom')
  expect([nobody.status, nobody.reason]).toEqual([404, expect.stringContaining('No member of the group every')])
})

test('nothing is deployed into it or deleted through it, and the reason says where to', async () => {
  for (const method of ['PUT', 'DELETE']) {
    const path = `every/com/ours/lib/1.0/${method === 'PUT' ? 'lib-1.0.jar' : ''}`
    const body = method === 'PUT' ? { body: Buffer.from('x') } : {}
    const { status, reason } = await ask(path, { method, as: token, ...body })
    expect([method, status, reason]).toEqual([method, 409, expect.stringContaining('Publish into hush or ours.')])
  }
  expect((await ask('every/com/ours/lib/1.0/lib-1.0.jar')).status).toBe(200)
})
