import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findMavens, mavenClient, type MavenClient, type Ran } from '../support/maven-clients.ts'
import { clientMetadata, startMavenRegistry, type MavenRegistry } from '../support/maven-registry.ts'
import { buildLibrary, buildPom, dependency } from '../support/packages-maven.ts'
import { startRegistryUpstream } from '../support/registry-upstream.ts'

const DEPLOY = 'org.apache.maven.plugins:maven-deploy-plugin:3.0.0:deploy-file'
const GET = 'org.apache.maven.plugins:maven-dependency-plugin:3.5.0:get'
const RESOLVE = 'org.apache.maven.plugins:maven-dependency-plugin:3.5.0:resolve'
const LONG_MS = 240_000
const KEPT = 2
/** Maven 4 tries again and says how often. */
const NOT_KNOWN = /401|too many authentication attempts/

const mavens = await findMavens()

describe.skipIf(mavens.length === 0)(
  'mvn (needs maven, with junit4 and the deploy and dependency plugins of Debian, or MAVEN_PLUGINS; MAVEN_HOMES names more)',
  () => {
    describe.each(mavens.length === 0 ? [{ version: 'none', program: '' }] : [...mavens])('Maven $version', program => {
      let maven: MavenRegistry
      let client: MavenClient

      beforeAll(async () => {
        maven = await startMavenRegistry({ snapshotsKept: KEPT })
        client = await mavenClient(program, ['org/example', 'org/app'])
      })
      afterAll(async () => {
        await maven.close()
        await client.close()
      })

      // Maven 4 reads nothing of what refuses an upload over the transport that it takes by itself
      const isFour = program.version.startsWith('4.')
      const saysWhy = isFour ? ['-Dmaven.resolver.transport=apache'] : []

      let files = 0
      const write = async (name: string, body: string | Buffer): Promise<string> => {
        const file = join(client.folder, `${files++}-${name}`)
        await writeFile(file, body)
        return file
      }
      const mvn = (args: readonly string[], token = maven.token): Promise<Ran> => client.run(args, token)
      async function deploy(
        artifact: string,
        version: string,
        { token, text = 'x', more = [] }: { token?: string; text?: string; more?: readonly string[] } = {},
      ): Promise<Ran> {
        const named = {
          url: maven.address,
          repositoryId: 'ours',
          file: await write(`${artifact}.jar`, buildLibrary({ 'about.txt': `${artifact} ${version} ${text}` })),
          groupId: 'org.example',
          artifactId: artifact,
          version,
          packaging: 'jar',
        }
        return mvn([DEPLOY, ...Object.entries(named).map(([key, value]) => `-D${key}=${value}`), ...more], token)
      }
      const get = (what: string, { token, from = 'ours' }: { token?: string; from?: string } = {}): Promise<Ran> =>
        mvn(
          [
            GET,
            `-DremoteRepositories=ours::default::${maven.daemon.url}/maven/${from}`,
            `-Dartifact=org.example:${what}`,
            '-Dtransitive=false',
          ],
          token,
        )
      /** What a project gets that wants a version in a range; `dependency:get` takes no range. */
      async function range(what: string): Promise<Ran> {
        const [artifact = '', version = ''] = what.split(':')
        const pom = await write(
          'pom.xml',
          `<project><modelVersion>4.0.0</modelVersion><groupId>org.app</groupId><artifactId>app</artifactId><version>1</version><packaging>pom</packaging>
<repositories><repository><id>ours</id><url>${maven.address}</url></repository></repositories>
<dependencies><dependency><groupId>org.example</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency></dependencies></project>`,
        )
        return mvn(['-f', pom, RESOLVE])
      }
      const ok = (ran: Ran): void => {
        expect(ran.code, ran.all).toBe(0)
      }
      const fails = (ran: Ran, why: RegExp): void => {
        expect(ran.code, ran.all).not.toBe(0)
        expect(ran.all).toMatch(why)
      }
      const got = (ran: Ran, path: string): Promise<Buffer> => readFile(join(ran.local, 'org/example', path))
      async function make(name: string, more: object): Promise<void> {
        const { status, text } = await maven.daemon.call('POST', '/registries/', {
          token: maven.token,
          body: { name, format: 'maven', ...more },
        })
        expect(status, text).toBe(201)
      }

      test(
        'deploys, resolves, and takes the newest of a range',
        async () => {
          ok(await deploy('lib', '1.0'))
          ok(await get('lib:1.0'))
          ok(await deploy('lib', '1.1'))
          const ranged = await range('lib:[1.0,2.0)')
          ok(ranged)
          expect(await got(ranged, 'lib/1.1/lib-1.1.jar')).toEqual(buildLibrary({ 'about.txt': 'lib 1.1 x' }))
          fails(
            await deploy('lib', '1.0', { text: 'other', more: saysWhy }),
            /409.*org\.example:lib 1\.0 is here already/,
          )
        },
        LONG_MS,
      )

      test(
        'deploys a snapshot again and again, resolves the last, and keeps the newest builds',
        async () => {
          for (const text of ['one', 'two', 'three']) {
            ok(await deploy('snap', '1.0-SNAPSHOT', { text }))
            const ran = await get('snap:1.0-SNAPSHOT')
            ok(ran)
            expect(await got(ran, 'snap/1.0-SNAPSHOT/snap-1.0-SNAPSHOT.jar')).toEqual(
              buildLibrary({ 'about.txt': `snap 1.0-SNAPSHOT ${text}` }),
            )
          }
          const { text } = await maven.get('org/example/snap/1.0-SNAPSHOT/maven-metadata.xml')
          expect(text).toContain('<buildNumber>3</buildNumber>')
          expect(new Set([...text.matchAll(/<value>([^<]+)</g)].map(([, one]) => one)).size).toBe(KEPT)
        },
        LONG_MS,
      )

      test(
        'sends files with classifiers, a signature and the checksums that are asked for',
        async () => {
          const sources = await write('s.jar', buildLibrary({ 'A.java': 'class A {}' }))
          const doc = await write('d.jar', buildLibrary({ 'index.html': '<html></html>' }))
          const signature = await write('a.asc', '-----BEGIN PGP SIGNATURE-----\n')
          const sums = 'SHA-512,SHA-256,SHA-1,MD5'
          ok(
            await deploy('many', '1.0', {
              more: [
                `-Dfiles=${sources},${doc},${signature}`,
                '-Dclassifiers=sources,javadoc,',
                '-Dtypes=jar,jar,jar.asc',
                `-Daether.checksums.algorithms=${sums}`,
                `-Daether.layout.maven2.checksumAlgorithms=${sums}`,
              ],
            }),
          )
          const at = 'org/example/many/1.0/many-1.0'
          for (const [end, file] of [
            ['-sources.jar', sources],
            ['-javadoc.jar', doc],
            ['.jar.asc', signature],
          ] as const)
            expect((await maven.get(`${at}${end}`)).text).toBe((await readFile(file)).toString())
          const ran = await get('many:1.0:jar:sources')
          ok(ran)
          expect(await got(ran, 'many/1.0/many-1.0-sources.jar')).toEqual(await readFile(sources))
        },
        LONG_MS,
      )

      test(
        'shows why a version is held, to who deploys and who reads; a range takes another',
        async () => {
          ok(await deploy('held', '1.0'))
          await maven.holds(true)
          try {
            fails(await deploy('held', '1.1', { more: saysWhy }), /422.*Held for review by Gatehouse/)
            if (isFour) fails(await deploy('held', '1.2'), /HTTP Status: 422/)
          } finally {
            await maven.holds(false)
          }
          fails(await get('held:1.1'), /403.*Held for review by Gatehouse/)
          const ranged = await range('held:[1.0,2.0)')
          ok(ranged)
          expect(ranged.all).toMatch(/org\.example:held:jar:1\.0:compile/)
          await maven.decide('org.example:held', '1.1', 'approve')
          ok(await get('held:1.1'))
        },
        LONG_MS,
      )

      test(
        'shows who is refused, and what is deleted or private',
        async () => {
          fails(await deploy('mine', '1.0', { token: 'svc_wrong' }), NOT_KNOWN)
          const reader = await maven.apiToken('reads', 'reader')
          fails(await deploy('mine', '1.0', { token: reader, more: saysWhy }), /403.*This needs uploader/)
          ok(await deploy('mine', '1.0'))
          await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: true } })
          fails(await get('mine:1.0', { token: '' }), NOT_KNOWN)
          fails(await get('mine:1.0', { token: 'svc_wrong' }), NOT_KNOWN)
          ok(await get('mine:1.0'))
          await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: false } })
          expect((await maven.send('DELETE', 'org/example/mine/1.0/', maven.token)).status).toBe(204)
          fails(await get('mine:1.0'), /Could not find artifact/)
        },
        LONG_MS,
      )

      test(
        'resolves through a proxy and a group, also once the upstream is gone; a name of the house is that of the house',
        async () => {
          const upstream = await startRegistryUpstream()
          try {
            for (const [artifact, version] of [
              ['far', '1.0'],
              ['house', '9.0'],
            ] as const) {
              const at = `/org/example/${artifact}`
              const begin = `${at}/${version}/${artifact}-${version}`
              upstream.put(`${begin}.jar`, { body: buildLibrary({ 'from.txt': 'outside' }) })
              upstream.put(`${begin}.pom`, { body: buildPom({ artifact, version }) })
              upstream.put(`${at}/maven-metadata.xml`, { body: clientMetadata('org.example', artifact, version) })
            }
            await maven.daemon.call('PATCH', '/settings/', {
              token: maven.token,
              body: { notifications: { allow_private_hosts: '127.0.0.1' } },
            })
            await make('outside', { kind: 'proxy', upstream: { url: upstream.url } })
            await make('every', { kind: 'group', members: ['outside', 'ours'] })
            ok(await deploy('house', '1.0'))
            ok(await get('far:1.0', { from: 'every' }))
            ok(await get('house:1.0', { from: 'every' }))
            fails(await get('house:9.0', { from: 'every' }), /Could not find artifact|404/)
          } finally {
            await upstream.close()
          }
          for (const from of ['outside', 'every']) {
            const ran = await get('far:1.0', { from })
            ok(ran)
            expect(await got(ran, 'far/1.0/far-1.0.jar')).toEqual(buildLibrary({ 'from.txt': 'outside' }))
          }
          fails(await get('house:9.0', { from: 'every' }), /Could not find artifact|404/)
        },
        LONG_MS,
      )

      // Debian has not all plugins that a build runs
      test.skipIf(process.env.MAVEN_PLUGINS === undefined)(
        'deploys a project of several modules, with their sources, twice; another gets what it needs by one of them (needs MAVEN_PLUGINS)',
        async () => {
          const at = join(client.folder, 'project')
          const parent = `<parent><groupId>org.example</groupId><artifactId>top</artifactId><version>1.0</version></parent>`
          const source = `<plugin><artifactId>maven-source-plugin</artifactId><version>3.3.1</version><executions><execution><goals><goal>jar-no-fork</goal></goals></execution></executions></plugin>`
          // before 3.0 it sends what is attached after the list of versions
          const deployed = `<plugin><artifactId>maven-deploy-plugin</artifactId><version>3.1.4</version></plugin>`
          await mkdir(join(at, 'one/src/main/resources'), { recursive: true })
          await mkdir(join(at, 'two/src/main/resources'), { recursive: true })
          await writeFile(
            join(at, 'pom.xml'),
            buildPom({
              artifact: 'top',
              packaging: 'pom',
              more: `<properties><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties><modules><module>one</module><module>two</module></modules>
<distributionManagement><repository><id>ours</id><url>${maven.address}</url></repository></distributionManagement><build><plugins>${source}${deployed}</plugins></build>`,
            }),
          )
          for (const [artifact, more] of [
            ['one', ''],
            ['two', `<dependencies>${dependency('org.example:one:1.0')}</dependencies>`],
          ] as const) {
            await writeFile(join(at, artifact, 'src/main/resources/about.txt'), artifact)
            await writeFile(join(at, artifact, 'pom.xml'), buildPom({ artifact, more: `${parent}${more}` }))
          }
          ok(await mvn(['-f', join(at, 'pom.xml'), 'deploy']))
          expect((await maven.get('org/example/two/1.0/two-1.0-sources.jar')).status).toBe(200)
          const ranged = await range('two:[1.0,2.0)')
          ok(ranged)
          expect(await readdir(join(ranged.local, 'org/example')).then(names => names.sort())).toEqual([
            'one',
            'top',
            'two',
          ])
          await writeFile(join(at, 'two/src/main/resources/about.txt'), 'other')
          fails(
            await mvn(['-f', join(at, 'pom.xml'), 'deploy', ...saysWhy]),
            /409.*org\.example:\w+ 1\.0 is here already/,
          )
        },
        LONG_MS,
      )
    })
  },
)
