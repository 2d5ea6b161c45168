import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startMavenRegistry, type MavenRegistry } from '../support/maven-registry.ts'
import { buildLibrary } from '../support/packages-maven.ts'
import { run } from '../support/tools.ts'

// where Debian's packages of Maven's plugins lie; MAVEN_PLUGINS names another repository
const DEBIAN = '/usr/share/maven-repo'
const plugins = process.env.MAVEN_PLUGINS ?? `file://${DEBIAN}`
const has = (plugin: string): boolean =>
  process.env.MAVEN_PLUGINS !== undefined || existsSync(`${DEBIAN}/org/apache/maven/plugins/${plugin}`)
const isReady =
  (await run('mvn', ['--version']).catch(() => ({ code: 1 }))).code === 0 &&
  ['maven-deploy-plugin', 'maven-dependency-plugin'].every(has) &&
  // the dependency plugin of Debian needs it and does not ask for it
  (process.env.MAVEN_PLUGINS !== undefined || existsSync(`${DEBIAN}/junit/junit`))
const DEPLOY = 'org.apache.maven.plugins:maven-deploy-plugin:3.0.0:deploy-file'
const GET = 'org.apache.maven.plugins:maven-dependency-plugin:3.5.0:get'
const RESOLVE = 'org.apache.maven.plugins:maven-dependency-plugin:3.5.0:resolve'
const LONG_MS = 120_000

describe.skipIf(!isReady)(
  'mvn (needs maven, with junit4 and the deploy and dependency plugins of Debian, or MAVEN_PLUGINS)',
  () => {
    let maven: MavenRegistry
    let work: string
    let homes = 0

    beforeAll(async () => {
      maven = await startMavenRegistry()
      work = await mkdtemp(join(tmpdir(), 'gh-mvn-'))
    })
    afterAll(async () => {
      await maven.close()
      await rm(work, { recursive: true, force: true })
    })

    type Ran = { readonly code: number | null; readonly all: string }
    /** A client of its own, which has fetched nothing yet. */
    async function mvn(args: readonly string[], token: string | undefined = maven.token): Promise<Ran> {
      const home = join(work, String(homes++))
      await mkdir(home)
      const server =
        token === ''
          ? ''
          : `<servers><server><id>ours</id><username>x</username><password>${token}</password></server></servers>`
      await writeFile(
        join(home, 'settings.xml'),
        `<settings><localRepository>${home}/local</localRepository>${server}<mirrors><mirror><id>plugins</id><mirrorOf>central</mirrorOf><url>${plugins}</url></mirror></mirrors></settings>`,
      )
      const { code, out, err } = await run('mvn', ['-B', '-s', join(home, 'settings.xml'), ...args], { cwd: home })
      return { code, all: `${out}${err}` }
    }
    async function deploy(artifact: string, version: string, token?: string, text = 'x'): Promise<Ran> {
      const file = join(work, `${artifact}-${homes}.jar`)
      await writeFile(file, buildLibrary({ 'about.txt': `${artifact} ${version} ${text}` }))
      const named = {
        url: maven.address,
        repositoryId: 'ours',
        file,
        groupId: 'org.example',
        artifactId: artifact,
        version,
        packaging: 'jar',
      }
      return mvn([DEPLOY, ...Object.entries(named).map(([key, value]) => `-D${key}=${value}`)], token)
    }
    const get = (what: string, token?: string): Promise<Ran> =>
      mvn(
        [
          GET,
          `-DremoteRepositories=ours::default::${maven.address}`,
          `-Dartifact=org.example:${what}`,
          '-Dtransitive=false',
        ],
        token,
      )
    /** What a project gets that wants a version in a range; `dependency:get` takes no range. */
    async function range(what: string): Promise<Ran> {
      const [artifact = '', version = ''] = what.split(':')
      const pom = join(work, `range-${homes}.xml`)
      await writeFile(
        pom,
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

    test(
      'deploys, resolves, and takes the newest of a range',
      async () => {
        ok(await deploy('lib', '1.0'))
        ok(await get('lib:1.0'))
        ok(await deploy('lib', '1.1'))
        const ranged = await range('lib:[1.0,2.0)')
        ok(ranged)
        expect(await readFile(join(work, String(homes - 1), 'local/org/example/lib/1.1/lib-1.1.jar'))).toEqual(
          buildLibrary({ 'about.txt': 'lib 1.1 x' }),
        )
        fails(await deploy('lib', '1.0', undefined, 'other'), /409 org\.example:lib 1\.0 is here already/)
      },
      LONG_MS,
    )

    test(
      'deploys a snapshot twice, and resolves the second',
      async () => {
        ok(await deploy('snap', '1.0-SNAPSHOT', undefined, 'one'))
        ok(await deploy('snap', '1.0-SNAPSHOT', undefined, 'two'))
        ok(await get('snap:1.0-SNAPSHOT'))
        expect(
          await readFile(join(work, String(homes - 1), 'local/org/example/snap/1.0-SNAPSHOT/snap-1.0-SNAPSHOT.jar')),
        ).toEqual(buildLibrary({ 'about.txt': 'snap 1.0-SNAPSHOT two' }))
      },
      LONG_MS,
    )

    test(
      'shows why a version is held, to who deploys and who reads; a range takes another',
      async () => {
        ok(await deploy('held', '1.0'))
        await maven.holds(true)
        fails(await deploy('held', '1.1'), /422 Held for review by Gatehouse/)
        await maven.holds(false)
        fails(await get('held:1.1'), /403 Held for review by Gatehouse/)
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
        fails(await deploy('mine', '1.0', 'svc_wrong'), /401/)
        fails(await deploy('mine', '1.0', await maven.apiToken('reads', 'reader')), /403 This needs uploader/)
        ok(await deploy('mine', '1.0'))
        await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: true } })
        fails(await get('mine:1.0', ''), /401/)
        ok(await get('mine:1.0'))
        await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: false } })
        expect((await maven.send('DELETE', 'org/example/mine/1.0/', maven.token)).status).toBe(204)
        fails(await get('mine:1.0'), /Could not find artifact/)
      },
      LONG_MS,
    )
  },
)
