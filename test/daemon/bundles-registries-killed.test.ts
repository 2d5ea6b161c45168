import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Failpoint } from '../../server/lib/failpoint.ts'
import { buildImage, buildIndex, layerOf, sha256 } from '../support/oci-images.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { registryCalls } from '../support/registry-publish.ts'
import { askImport, ended, importBundle, type Installation, makeBundle, startHubAndSite } from '../support/sites.ts'
import { run } from '../support/tools.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const REGISTRIES = { js: 'npm', py: 'pypi', libs: 'maven', img: 'oci' } as const
/** Where the process dies, each in a run of its own. */
const MOMENTS: readonly (Failpoint | `${Failpoint}#${number}`)[] = [
  'spool:before-done#2',
  'bundle:after-package#2',
  'catalog:before-commit#2',
  'manifest:before-write#2',
  'catalog:after-commit#2',
  'pool:before-rename#3',
  'manifest:after-write#2',
  'audit:before-append#2',
  'bundle:after-package#3',
]
const LIBRARIES = 12
const WHEELS = 6
const SCRIPTS = 4

const base = layerOf({ name: 'etc/base', body: 'shared by both' })
const amd64 = buildImage({ layers: [base, layerOf({ name: 'app', body: 'for amd64' })] })
const arm64 = buildImage({ layers: [base, layerOf({ name: 'app', body: 'for arm64' })], architecture: 'arm64' })
const index = buildIndex({ amd64, arm64 })
const ALL = LIBRARIES + WHEELS + SCRIPTS + 3

describe('a bundle with registries whose taking in is killed again and again', () => {
  let folder: string
  let hub: Installation
  let site: Installation
  let bundle: string
  let job: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-bundles-killed-'))
    ;({ hub, site } = await startHubAndSite({ registries: REGISTRIES, env: { LOG_LEVEL: 'error' } }))
    const there = registryCalls(hub.daemon, hub.token)
    for (let n = 0; n < LIBRARIES; n++)
      await there.maven('libs', `org.example:lib-${n}:1.0`, {
        '.jar': buildLibrary({ 'a.txt': String(n) }),
        '-sources.jar': buildLibrary({ 'A.java': `class A${n} {}` }),
        '.pom': buildPom({ artifact: `lib-${n}` }),
      })
    for (let n = 0; n < WHEELS; n++) {
      const spec = { name: `wheel-${n}`, version: '1.0' }
      await there.pypi('py', { filename: wheelName(spec), bytes: buildWheel(spec) })
    }
    for (let n = 0; n < SCRIPTS; n++) await there.npm('js', { name: `script-${n}`, version: '1.0.0' })
    const image = there.oci('img', 'app/web')
    for (const one of [amd64, arm64]) expect((await image.push(one)).status).toBe(201)
    expect((await image.push(index, '1.0')).status).toBe(201)
    const made = await makeBundle(hub, { site: 'north', registries: Object.keys(REGISTRIES) }, folder)
    expect(made.packages).toBe(ALL)
    bundle = made.path
  }, 180_000)
  afterAll(async () => {
    await Promise.all([hub.daemon.close(), site.daemon.close()])
    await rm(folder, { recursive: true, force: true })
  })

  const rows = async (): Promise<string[]> => {
    const { body } = await site.daemon.call<{ items: { name: string; version: string; architecture?: string }[] }>(
      'GET',
      '/packages/?state=published&per_page=200',
      { token: site.token },
    )
    return body.items.map(({ name }) => name).sort()
  }

  test('goes on after each restart, by itself, and each package is here once', { timeout: 600_000 }, async () => {
    const asked = await askImport(site, await readFile(bundle))
    expect(asked.status, asked.text).toBe(202)
    job = asked.body.job_id
    // whatever it was at
    await site.daemon.kill9()
    for (const moment of MOMENTS) {
      await site.daemon.restart({ GATEHOUSE_FAILPOINT: moment })
      await site.daemon.ended()
    }
    await site.daemon.restart()
    const done = await ended(site, job)
    expect(done, JSON.stringify(done.error)).toMatchObject({
      status: 'done',
      result: { refused: 0, held: 0, waits: 0 },
    })
    expect(await rows()).toHaveLength(ALL)
    expect(new Set(await rows()).size).toBe(LIBRARIES + WHEELS + SCRIPTS + 1)
  })

  test('taken in once more, everything is here already', async () => {
    const before = await rows()
    expect(await importBundle(site, bundle)).toMatchObject({
      status: 'done',
      result: { published: 0, already: ALL, held: 0, refused: 0, upstream_changed: 0, waits: 0 },
    })
    expect(await rows()).toEqual(before)
  })

  test('clients get the same bytes of all of it', async () => {
    const [there, here] = [registryCalls(hub.daemon, hub.token), registryCalls(site.daemon, site.token)]
    const files = [
      ...Array.from({ length: LIBRARIES }, (_, n) =>
        ['.jar', '-sources.jar', '.pom'].map(end => `/maven/libs/org/example/lib-${n}/1.0/lib-${n}-1.0${end}`),
      ).flat(),
      ...Array.from({ length: SCRIPTS }, (_, n) => `/npm/js/script-${n}/-/script-${n}-1.0.0.tgz`),
    ]
    for (const path of files) {
      const { status, bytes } = await here.get(path)
      expect([path, status, bytes.equals((await there.get(path)).bytes)]).toEqual([path, 200, true])
    }
    for (let n = 0; n < WHEELS; n++)
      expect((await here.get(`/pypi/py/simple/wheel-${n}/`)).text).toContain(`wheel_${n}-1.0-py3-none-any.whl`)
    const image = here.oci('img', 'app/web')
    expect((await image.manifest('1.0')).headers.get('docker-content-digest')).toBe(index.digest)
    for (const one of [amd64, arm64])
      for (const blob of [one.config, ...one.layers])
        expect((await image.ask('GET', `${image.base}/blobs/${sha256(blob)}`)).bytes.equals(blob)).toBe(true)
  })

  test('nothing is half or double: the audit has each once, no file is left over, and verify finds no difference', async () => {
    const { daemon, token } = site
    const { body } = await daemon.call<{ items: { package?: string; version?: string; result?: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=IMPORT&per_page=500',
      { token },
    )
    const names = body.items.map(line => `${line.package ?? ''} ${line.version ?? ''}`).filter(line => line !== ' ')
    expect(names.filter((one, at) => names.indexOf(one) !== at)).toEqual([])
    expect(names).toHaveLength(ALL)
    expect((await daemon.call('GET', '/artifacts/audit/integrity', { token })).body).toMatchObject({ ok: true })
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
    const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
      env: {
        REPOS_ROOT: daemon.root,
        ENV: 'test',
        ...(daemon.databaseUrl === undefined ? {} : { DATABASE_URL: daemon.databaseUrl }),
      },
    })
    expect((JSON.parse(out || err) as { differences: object[] }).differences).toEqual([])
  })
})
