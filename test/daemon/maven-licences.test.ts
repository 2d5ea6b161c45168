import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MOST_PARENTS } from '../../server/pipeline/inherited-licence.ts'
import { clientMetadata, startMavenRegistry, type Got, type MavenRegistry } from '../support/maven-registry.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'

let maven: MavenRegistry
let upstream: RegistryUpstream
beforeAll(async () => {
  maven = await startMavenRegistry()
  upstream = await startRegistryUpstream()
  await must('PATCH', '/settings/', { notifications: { allow_private_hosts: '127.0.0.1' } })
  await must('POST', '/registries/', {
    ...{ name: 'outside', format: 'maven', kind: 'proxy', upstream: { url: upstream.url } },
  })
  await policy('allow')
})
afterAll(async () => {
  await maven.close()
  await upstream.close()
})

async function must(method: string, path: string, body: object): Promise<void> {
  const { status, text } = await maven.daemon.call(method, path, { token: maven.token, body })
  expect(status, text).toBeLessThan(300)
}
const policy = (undeclared: 'allow' | 'review'): Promise<void> =>
  must('PATCH', '/settings/', {
    license_policy: { forbidden: 'AGPL-*', action: 'review', undeclared_action: undeclared },
  })

interface Wanted {
  /** Its name, and that of its parent where it has one; all are of version 1.0. */
  readonly is: string
  readonly parent?: string
  readonly licence?: string
  readonly packaging?: string
}
const pomOf = ({ is, parent, licence, packaging }: Wanted): Buffer =>
  buildPom({
    artifact: is,
    ...(packaging === undefined ? {} : { packaging }),
    more: [
      parent === undefined
        ? ''
        : `<parent><groupId>org.example</groupId><artifactId>${parent}</artifactId><version>1.0</version></parent>`,
      licence === undefined ? '' : `<licenses><license><name>${licence}</name></license></licenses>`,
    ].join(''),
  })
const filesOf = (wanted: Wanted): Record<string, Buffer> => ({
  ...(wanted.packaging === 'pom' ? {} : { '.jar': buildLibrary({ 'a.txt': wanted.is }) }),
  '.pom': pomOf(wanted),
})
const deploy = (wanted: Wanted): Promise<Got> =>
  maven.deploy({ artifact: wanted.is, version: '1.0', files: filesOf(wanted) })
const parent = (is: string, more: Omit<Wanted, 'is'> = {}): Promise<Got> => deploy({ is, packaging: 'pom', ...more })
/** What the answer says after its status. */
const said = ({ status, text }: Got): readonly [number, string] => [
  status,
  text === '' ? '' : (JSON.parse(text) as { detail: string }).detail,
]
const contains = (text: string) => expect.stringContaining(text) as string

describe('a pom that says no licence has that of its parent', () => {
  test('which is named with it where it is forbidden', async () => {
    await parent('free', { licence: 'MIT' })
    await parent('strict', { licence: 'GNU Affero General Public License v3' })
    await parent('middle', { parent: 'strict' })
    expect((await deploy({ is: 'of-free', parent: 'free' })).status).toBe(201)
    for (const [is, above] of [
      ['child', 'strict'],
      ['grandchild', 'middle'],
    ] as const)
      expect(said(await deploy({ is, parent: above }))).toEqual([
        422,
        contains(
          'Licence: AGPL-3.0-only, which its parent org.example:strict 1.0 declares, is on the list of forbidden licences.',
        ),
      ])
    const { body } = await maven.daemon.call<{ reports: { step: string; licence?: object }[] }>(
      'GET',
      '/artifacts/org.example:grandchild/1.0?distribution=ours',
      { token: maven.token },
    )
    expect(JSON.stringify(body)).toContain('which its parent org.example:strict 1.0 declares')
  })

  test('and its own alone where it says one', async () => {
    expect((await deploy({ is: 'own', parent: 'strict', licence: 'MIT' })).status).toBe(201)
    expect(said(await deploy({ is: 'own-strict', parent: 'free', licence: 'AGPL-3.0-only' }))).toEqual([
      422,
      contains('Licence: AGPL-3.0-only is on the list of forbidden licences.'),
    ])
  })

  test('and is not free where that is not known: a parent that is not here, a circle, too many of them', async () => {
    for (let n = 0; n <= MOST_PARENTS; n++)
      await parent(`level-${n}`, n === 0 ? { licence: 'MIT' } : { parent: `level-${n - 1}` })
    await parent('round', { parent: 'about' })
    await parent('about', { parent: 'round' })
    await parent('silent')
    await policy('review')
    try {
      const none = 'Licence: the package declares none, and what it inherits is not known: org.example:'
      for (const [above, why] of [
        ['nowhere', `${none}nowhere 1.0 is not in this registry.`],
        ['round', `${none}round 1.0 inherits from itself.`],
        [`level-${MOST_PARENTS}`, `${none}level-0 1.0 stands above more parents than are read.`],
        ['silent', 'Licence: the package declares none.'],
      ] as const)
        expect(said(await deploy({ is: `of-${above}`, parent: above }))).toEqual([422, contains(why)])
      expect((await deploy({ is: 'near', parent: `level-${MOST_PARENTS - 1}` })).status).toBe(201)
    } finally {
      await policy('allow')
    }
  })
})

describe('through a proxy', () => {
  function outside(wanted: Wanted): void {
    const at = `/org/example/${wanted.is}`
    for (const [end, body] of Object.entries(filesOf(wanted)))
      upstream.put(`${at}/1.0/${wanted.is}-1.0${end}`, { body })
    upstream.put(`${at}/maven-metadata.xml`, { body: clientMetadata('org.example', wanted.is, '1.0') })
  }
  async function jar(name: string): Promise<readonly [number, string]> {
    const answer = await fetch(`${maven.daemon.url}/maven/outside/org/example/${name}/1.0/${name}-1.0.jar`)
    const text = await answer.text()
    return [answer.status, answer.status === 200 ? '' : (JSON.parse(text) as { detail: string }).detail]
  }

  test('parents are fetched for it, also where the client asks for the jar alone', async () => {
    outside({ is: 'far-top', packaging: 'pom', licence: 'AGPL-3.0-or-later' })
    outside({ is: 'far-middle', packaging: 'pom', parent: 'far-top' })
    outside({ is: 'far', parent: 'far-middle' })
    expect(await jar('far')).toEqual([
      403,
      contains('Licence: AGPL-3.0-or-later, which its parent org.example:far-top 1.0 declares, is on the list'),
    ])
    // they are read and no packages here
    expect(
      (
        await maven.daemon.call('GET', '/artifacts/org.example:far-top/1.0?distribution=outside', {
          token: maven.token,
        })
      ).status,
    ).toBe(404)
  })

  test('one that the upstream lacks, and one of the house, are not known', async () => {
    await parent('house-top', { licence: 'MIT' })
    outside({ is: 'house-top', packaging: 'pom', licence: 'MIT' })
    outside({ is: 'orphan', parent: 'lost' })
    outside({ is: 'stranger', parent: 'house-top' })
    await policy('review')
    try {
      for (const [name, above] of [
        ['orphan', 'lost'],
        ['stranger', 'house-top'],
      ] as const)
        expect(await jar(name)).toEqual([403, contains(`org.example:${above} 1.0 is not in this registry.`)])
    } finally {
      await policy('allow')
    }
    expect(upstream.asked().filter(path => path.includes('house-top'))).toEqual([])
  })

  test('a parent that climbs out of its folder is asked for nowhere', async () => {
    const pom = buildPom({
      artifact: 'climber',
      more: '<parent><groupId>org.example</groupId><artifactId>top</artifactId><version>../../../secret</version></parent>',
    })
    outside({ is: 'climber' })
    upstream.put('/org/example/climber/1.0/climber-1.0.pom', { body: pom })
    upstream.forget()
    await jar('climber')
    expect(upstream.asked().filter(path => path.includes('secret') || path.includes('/top/'))).toEqual([])
  })

  test('one whose pom breaks off in the middle is not known, and what inherits from it comes', async () => {
    outside({ is: 'cut', packaging: 'pom', licence: 'MIT' })
    outside({ is: 'below-cut', parent: 'cut' })
    upstream.put('/org/example/cut/1.0/cut-1.0.pom', {
      body: pomOf({ is: 'cut' }).subarray(0, 40),
      headers: { 'Content-Length': '4000', 'Connection': 'close' },
    })
    expect(await jar('below-cut')).toEqual([200, ''])
    const own = await fetch(`${maven.daemon.url}/maven/outside/org/example/cut/1.0/cut-1.0.pom`)
    expect([own.status, await own.text()]).toEqual([502, contains('127.0.0.1')])
  })

  test('a parent that is a snapshot is asked for nowhere, as snapshots are', async () => {
    const pom = buildPom({
      artifact: 'of-snapshot',
      more: '<parent><groupId>org.example</groupId><artifactId>moving</artifactId><version>1.0-SNAPSHOT</version></parent>',
    })
    outside({ is: 'of-snapshot' })
    upstream.put('/org/example/of-snapshot/1.0/of-snapshot-1.0.pom', { body: pom })
    const metadata = clientMetadata('org.example', 'moving', '1.0')
    upstream.put('/org/example/moving/maven-metadata.xml', { body: metadata })
    upstream.put('/org/example/moving/1.0-SNAPSHOT/moving-1.0-SNAPSHOT.pom', {
      body: buildPom({ artifact: 'moving', version: '1.0-SNAPSHOT' }),
    })
    upstream.forget()
    expect(await jar('of-snapshot')).toEqual([200, ''])
    expect(upstream.asked().filter(path => path.includes('/moving/'))).toEqual([])
    const list = await fetch(`${maven.daemon.url}/maven/outside/org/example/moving/maven-metadata.xml`)
    expect(await list.text()).not.toContain('SNAPSHOT')
  })

  test('a circle ends', async () => {
    outside({ is: 'egg', packaging: 'pom', parent: 'hen' })
    outside({ is: 'hen', packaging: 'pom', parent: 'egg' })
    outside({ is: 'chick', parent: 'hen' })
    await policy('review')
    try {
      expect(await jar('chick')).toEqual([403, contains('inherits from itself.')])
    } finally {
      await policy('allow')
    }
  })
})
