import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientMetadata, startMavenRegistry, type MavenRegistry } from '../support/maven-registry.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { startRegistryUpstream } from '../support/registry-upstream.ts'
import { findProgram, run } from '../support/tools.ts'

const LONG_MS = 240_000
const gradle = findProgram('gradle')

describe.skipIf(gradle === undefined)('gradle (needs the Debian package gradle)', () => {
  let maven: MavenRegistry
  let work: string
  let runs = 0

  beforeAll(async () => {
    maven = await startMavenRegistry()
    work = await mkdtemp(join(tmpdir(), 'gh-gradle-'))
  })
  afterAll(async () => {
    await maven.close()
    await rm(work, { recursive: true, force: true })
  })

  type Ran = { readonly code: number | null; readonly all: string; readonly project: string }
  /** A project of its own, of somebody who has fetched nothing yet. */
  async function build(task: string, script: string): Promise<Ran> {
    const project = join(work, String(runs++))
    await mkdir(project)
    await writeFile(join(project, 'settings.gradle'), `rootProject.name = 'app'\n`)
    await writeFile(join(project, 'build.gradle'), script)
    const own = ['--no-daemon', '--gradle-user-home', join(project, 'home'), '--project-dir', project]
    const { code, out, err } = await run(gradle ?? 'gradle', [...own, task], { cwd: project })
    return { code, all: `${out}${err}`, project }
  }
  const repository = (token: string, name = 'ours'): string =>
    `repositories { maven { url '${maven.daemon.url}/maven/${name}'
      ${token === '' ? '' : `credentials { username 'x'; password '${token}' }`} } }`
  /** What is published; Debian's Gradle 4.4.1 can do that over files alone. */
  async function publish(version: string, text = version): Promise<number> {
    const { status } = await maven.deploy({
      version,
      files: {
        '.jar': buildLibrary({ 'about.txt': text }),
        '.pom': buildPom({ version: version.replace(/-\d{8}\.\d{6}-\d+$/, '-SNAPSHOT') }),
        '-sources.jar': buildLibrary({ 'A.java': 'class A {}' }),
        '.module': '{"formatVersion": "1.1"}',
      },
    })
    return status
  }
  const fetched = (what: string, { token = '', from = 'ours' } = {}): Promise<Ran> =>
    build(
      'fetch',
      `${repository(token, from)}
configurations { wanted }
dependencies { wanted 'org.example:${what}' }
task fetch(type: Copy) { from configurations.wanted; into 'got' }`,
    )
  const ok = (ran: Ran): void => {
    expect(ran.code, ran.all).toBe(0)
  }
  const fails = (ran: Ran, why: RegExp): void => {
    expect(ran.code, ran.all).not.toBe(0)
    expect(ran.all).toMatch(why)
  }
  const got = (ran: Ran): Promise<readonly string[]> => readdir(join(ran.project, 'got'))

  test(
    'takes the newest of a range, and the sources of a version',
    async () => {
      for (const version of ['1.0', '1.1']) expect(await publish(version)).toBe(201)
      const ran = await fetched('lib:[1.0,2.0)')
      ok(ran)
      expect(await got(ran)).toEqual(['lib-1.1.jar'])
      const sources = await fetched('lib:1.0:sources')
      ok(sources)
      expect(await got(sources)).toEqual(['lib-1.0-sources.jar'])
    },
    LONG_MS,
  )

  test(
    'gets the newest build of a snapshot',
    async () => {
      for (const n of [1, 2]) expect(await publish(`3.0-20261122.09485${n}-${n}`)).toBe(201)
      const ran = await fetched('lib:3.0-SNAPSHOT')
      ok(ran)
      const [jar = ''] = await got(ran)
      const newest = buildLibrary({ 'about.txt': '3.0-20261122.094852-2' })
      expect((await readFile(join(ran.project, 'got', jar))).equals(newest)).toBe(true)
    },
    LONG_MS,
  )

  test(
    'shows why a version is held, and what is private',
    async () => {
      await maven.holds(true)
      try {
        expect(await publish('4.0')).toBe(422)
      } finally {
        await maven.holds(false)
      }
      fails(await fetched('lib:4.0'), /403.*Held for review by Gatehouse/)
      await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: true } })
      try {
        fails(await fetched('lib:1.0'), /401/)
        fails(await fetched('lib:1.0', { token: 'svc_wrong' }), /401/)
        ok(await fetched('lib:1.0', { token: maven.token }))
      } finally {
        await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: false } })
      }
    },
    LONG_MS,
  )

  test(
    'resolves through a group also once the upstream is gone',
    async () => {
      const upstream = await startRegistryUpstream()
      const must = async (method: string, path: string, body: object): Promise<void> => {
        const { status, text } = await maven.daemon.call(method, path, { token: maven.token, body })
        expect(status, text).toBeLessThan(300)
      }
      try {
        const at = '/org/example/far'
        upstream.put(`${at}/1.0/far-1.0.jar`, { body: buildLibrary() })
        upstream.put(`${at}/1.0/far-1.0.pom`, { body: buildPom({ artifact: 'far' }) })
        upstream.put(`${at}/maven-metadata.xml`, { body: clientMetadata('org.example', 'far', '1.0') })
        await must('PATCH', '/settings/', { notifications: { allow_private_hosts: '127.0.0.1' } })
        const proxy = { format: 'maven', kind: 'proxy', upstream: { url: upstream.url } }
        await must('POST', '/registries/', { name: 'outside', ...proxy })
        await must('POST', '/registries/', {
          ...{ name: 'every', format: 'maven', kind: 'group', members: ['outside', 'ours'] },
        })
        ok(await fetched('far:1.+', { from: 'every' }))
      } finally {
        await upstream.close()
      }
      const ran = await fetched('far:1.0', { from: 'every' })
      ok(ran)
      expect(await readFile(join(ran.project, 'got/far-1.0.jar'))).toEqual(buildLibrary())
    },
    LONG_MS,
  )
})
