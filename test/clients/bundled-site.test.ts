import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findMavens, mavenClient } from '../support/maven-clients.ts'
import { createNpmHome, npmClient } from '../support/npm-clients.ts'
import { buildImage, buildIndex, layerOf } from '../support/oci-images.ts'
import { buildLibrary, buildPom, dependency } from '../support/packages-maven.ts'
import { buildWheel, wheelName, type PythonSpec } from '../support/packages-pypi.ts'
import { createPython, noPip } from '../support/python.ts'
import { registryCalls } from '../support/registry-publish.ts'
import { importBundle, type Installation, makeBundle, startHubAndSite } from '../support/sites.ts'
import { createSkopeo, noSkopeo, said } from '../support/skopeo.ts'

const REGISTRIES = { js: 'npm', py: 'pypi', libs: 'maven', img: 'oci' } as const
const RESOLVE = 'org.apache.maven.plugins:maven-dependency-plugin:3.5.0:resolve'
const LONG_MS = 240_000
const npm = npmClient('NPM_PROGRAM', 'npm') ?? ''
const mavens = await findMavens()

const amd64 = buildImage({ layers: [layerOf({ name: 'app', body: 'for amd64' })] })
const arm64 = buildImage({ layers: [layerOf({ name: 'app', body: 'for arm64' })], architecture: 'arm64' })
const index = buildIndex({ amd64, arm64 })
const library = buildLibrary({ 'about.txt': 'lib' })

/** Nothing was ever published there but by a bundle, and its registries reach nobody. */
describe('a site whose registries bundles alone fill', () => {
  let folder: string
  let hub: Installation
  let site: Installation

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-bundled-site-'))
    ;({ hub, site } = await startHubAndSite({ registries: REGISTRIES }))
    const there = registryCalls(hub.daemon, hub.token)
    await there.npm('js', { name: 'leaf', version: '1.0.0' })
    await there.npm('js', { name: '@ours/app', version: '1.0.0', json: { dependencies: { leaf: '^1.0.0' } } })
    const wheel = (spec: PythonSpec): Promise<void> =>
      there.pypi('py', { filename: wheelName(spec), bytes: buildWheel(spec) })
    await wheel({ name: 'our-base', version: '1.0' })
    await wheel({ name: 'our-app', version: '1.0', fields: { 'Requires-Dist': 'our-base>=1.0' } })
    const parent = `<parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1.0</version></parent>`
    await there.maven('libs', 'org.example:parent:1.0', { '.pom': buildPom({ artifact: 'parent', packaging: 'pom' }) })
    await there.maven('libs', 'org.example:base:1.0', {
      '.jar': library,
      '.pom': buildPom({ artifact: 'base', more: parent }),
    })
    await there.maven('libs', 'org.example:lib:1.0', {
      '.jar': library,
      '-sources.jar': buildLibrary({ 'A.java': 'class A {}' }),
      '.pom': buildPom({ more: `<dependencies>${dependency('org.example:base:1.0')}</dependencies>` }),
    })
    const image = there.oci('img', 'app/web')
    for (const one of [amd64, arm64]) expect((await image.push(one)).status).toBe(201)
    expect((await image.push(index, '1.0')).status).toBe(201)
    const made = await makeBundle(hub, { site: 'north', registries: Object.keys(REGISTRIES) }, folder)
    expect(await importBundle(site, made.path)).toMatchObject({
      result: { published: 10, held: 0, refused: 0, waits: 0 },
    })
    // whatever a client gets is there alone
    await hub.daemon.stop()
  }, LONG_MS)
  afterAll(async () => {
    await Promise.all([hub.daemon.close(), site.daemon.close()])
    await rm(folder, { recursive: true, force: true })
  })

  test.skipIf(noPip !== undefined)(`pip installs what came, with what it needs (${noPip ?? 'is here'})`, async () => {
    const client = await createPython()
    try {
      const ran = await client.pip('install', '-i', `${site.daemon.url}/pypi/py/simple/`, 'our-app')
      expect(ran.code, ran.out).toBe(0)
      expect(await client.value('our_app, our_base', 'our_app.VERSION, our_base.VERSION')).toBe('1.0 1.0')
    } finally {
      await client.close()
    }
  })

  test.skipIf(npm === '')('npm installs what came, with what it needs', async () => {
    const home = await createNpmHome({ registry: `${site.daemon.url}/npm/js` })
    try {
      const files = { 'package.json': JSON.stringify({ name: 'here', dependencies: { '@ours/app': '^1.0.0' } }) }
      const project = await home.project(files)
      const { code, all } = await home.run(npm, ['install', '--no-audit'], project)
      expect(code, all).toBe(0)
      const { version } = JSON.parse(await readFile(join(project, 'node_modules/leaf/package.json'), 'utf8')) as {
        version: string
      }
      expect(version).toBe('1.0.0')
    } finally {
      await home.close()
    }
  })

  test.skipIf(noSkopeo)('skopeo copies what came, each platform of it (needs skopeo)', async () => {
    const { skopeo, at, pull } = createSkopeo(
      () => folder,
      () => site.daemon.url,
    )
    const all = await pull('img/app/web:1.0', '--all')
    expect(all.code, said(all)).toBe(0)
    expect(all.manifest?.equals(index.manifest)).toBe(true)
    const one = await skopeo('--override-arch=arm64', 'inspect', '--tls-verify=false', at('img/app/web:1.0'))
    expect(one.code, said(one)).toBe(0)
    expect(JSON.parse(one.out)).toMatchObject({ Architecture: 'arm64' })
  })

  describe.skipIf(mavens.length === 0)('mvn (needs maven, as maven.test.ts does)', () => {
    test.each(mavens.length === 0 ? [{ version: 'none', program: '' }] : [...mavens])(
      'Maven $version takes the newest of a range of what came, with what it needs and its parent',
      async program => {
        const client = await mavenClient(program, ['org/example', 'org/app'])
        try {
          const pom = join(client.folder, 'pom.xml')
          await writeFile(
            pom,
            buildPom({
              group: 'org.app',
              packaging: 'pom',
              more: `<repositories><repository><id>ours</id><url>${site.daemon.url}/maven/libs</url></repository></repositories>
<dependencies>${dependency('org.example:lib:[1.0,2.0)')}</dependencies>`,
            }),
          )
          const ran = await client.run(['-f', pom, RESOLVE], '')
          expect(ran.code, ran.all).toBe(0)
          for (const file of ['lib/1.0/lib-1.0.jar', 'base/1.0/base-1.0.jar'])
            expect((await readFile(join(ran.local, 'org/example', file))).equals(library)).toBe(true)
          expect(await readFile(join(ran.local, 'org/example/parent/1.0/parent-1.0.pom'), 'utf8')).toContain('parent')
        } finally {
          await client.close()
        }
      },
      LONG_MS,
    )
  })
})
