import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hostedRegistry } from '../../../test/support/defined-registries.ts'
import { DISTRIBUTIONS } from '../../../test/support/repositories.ts'
import { createStock, type Item, type Stock } from '../../../test/support/test-catalog.ts'
import type { Codename } from '../../core/identity.ts'
import { createRepositories, type Distribution } from '../../core/repository.ts'
import { saveRemoteTag, saveServed } from '../../catalog/queries/oci-remote.ts'
import { FORMATS } from '../../formats/index.ts'
import { rotatedSeries } from '../../record/log-series.ts'
import { createCounting } from './count.ts'
import { readStats } from './stats.ts'

const codename = (text: string) => text as Codename
const group = (name: string, format: string, members: readonly string[]): Distribution => ({
  ...hostedRegistry(name, format),
  registry: { kind: 'group', members: members.map(codename) },
})
const proxy = (name: string, format: string): Distribution => ({
  ...hostedRegistry(name, format),
  registry: { kind: 'proxy' },
})
const REGISTRIES = [
  hostedRegistry('js', 'npm'),
  proxy('js-far', 'npm'),
  group('js-all', 'npm', ['js-far', 'js']),
  hostedRegistry('py', 'pypi'),
  hostedRegistry('mvn', 'maven'),
  proxy('mvn-far', 'maven'),
  hostedRegistry('img', 'oci'),
  proxy('img-far', 'oci'),
  group('img-all', 'oci', ['img', 'img-far']),
]
const repositories = createRepositories(DISTRIBUTIONS)
repositories.replace(REGISTRIES)

let stock: Stock
let folder: string
let log: string
beforeAll(async () => {
  stock = await createStock({ repositories })
  for (const one of REGISTRIES)
    await stock.db.query(
      `insert into distribution_definition (codename, definition, changed_by, changed_at) values ($1, $2, 'ada', now())`,
      [one.codename, JSON.stringify(one)],
    )
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  await stock.db.query(
    `truncate download_log, download_file, download_count, download_other, download_recent, download_shortened, oci_remote_tag`,
  )
  await heardOf('2026-01-01')
  stock.clock.set('2026-02-01T10:00:00Z')
  folder = await mkdtemp(join(tmpdir(), 'gh-downloads-'))
  log = join(folder, 'access.log')
  await writeFile(log, '')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The log told of a document of a registry on this day. */
const heardOf = (day: string, of = 'js') =>
  stock.db.query(`insert into download_other values ($1, 'index', $2, 1, 1)`, [day, of])
let made = 0
const line = (path: string, agent = 'npm/11.19.1 node/v24.21.0', status = 200): string =>
  `192.0.2.7 - - [10/Mar/2026:10:00:${String(made++ % 60).padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" ${status} 100 "-" "${agent}" "-" id-${made}\n`

async function fetch(...paths: readonly string[]): Promise<void> {
  await appendFile(log, paths.map(path => line(path)).join(''))
  await createCounting({
    db: stock.db,
    clock: stock.clock,
    layout: stock.layout,
    repositories,
    formats: FORMATS,
    series: async () => [await rotatedSeries(log)].filter(one => one !== undefined),
  }).run()
}
const stats = (hidden: readonly string[] = []) =>
  readStats(
    stock.db,
    { viewer: { hidden: hidden.map(codename) }, since: '2026-03-01' },
    { isWhole: true, isAvailable: true },
  )
/** `js left-pad 1.3.0: 2`, by name and version. */
async function versions(): Promise<readonly string[]> {
  const { per_version: rows } = await stats()
  return rows
    .map(({ distribution, name, version, downloads }) => `${distribution} ${name} ${version}: ${downloads}`)
    .sort()
}
async function archs(): Promise<readonly string[]> {
  const rows = await stock.db.query<{ one: string }>(`select name || ' ' || arch as one from download_file order by 1`)
  return rows.map(({ one }) => one)
}
const neverFetched = async (): Promise<readonly string[]> =>
  (await stats()).never_fetched.items.map(({ name, version, arch }) => `${name} ${version} ${arch}`).sort()
const put = (item: Item) => stock.put(item)
const js = (over: Item = {}) =>
  put({
    format: 'npm',
    codename: 'js',
    name: 'left-pad',
    version: '1.3.0',
    arch: 'any',
    filename: 'left-pad-1.3.0.tgz',
    ...over,
  })
const digest = (letter: string): string => `sha256:${letter.repeat(64)}`
const image = (version: string, over: Item = {}) =>
  put({
    format: 'oci',
    codename: 'img',
    name: 'app/web',
    version,
    arch: 'linux/amd64',
    filename: 'manifest.json',
    ...over,
  })
const tag = (name: string, version: string) =>
  stock.db.query(
    `insert into tag (format, codename, name, tag, version, set_by, set_at) values ('oci', 'img', 'app/web', $1, $2, 'ada', now())
    on conflict (format, codename, name, tag) do update set version = excluded.version`,
    [name, version],
  )

test('tarballs of npm count for their versions, in each spelling of a scope; documents do not', async () => {
  await js()
  await js({ name: '@s/n', version: '2.0.0', filename: 'n-2.0.0.tgz' })
  await js({ version: '1.2.0', filename: 'left-pad-1.2.0.tgz' })
  await fetch(
    '/npm/js/left-pad',
    '/npm/js/left-pad/-/left-pad-1.3.0.tgz',
    '/npm/js/left-pad/-/left-pad-1.3.0.tgz',
    '/npm/js/@s%2fn/-/n-2.0.0.tgz',
    '/npm/js/@s/n/-/n-2.0.0.tgz',
    '/npm/js/gone/-/gone-0.1.0.tgz',
  )
  expect(await versions()).toEqual(['js @s/n 2.0.0: 2', 'js gone 0.1.0: 1', 'js left-pad 1.3.0: 2'])
  expect(await archs()).toEqual(['@s/n any', '@s/n any', 'gone any', 'left-pad any'])
  expect(await neverFetched()).toEqual(['left-pad 1.2.0 any'])
  const { summary, requests, per_distribution: places } = await stats()
  expect(summary.per_format).toMatchObject({ npm: 5, deb: 0 })
  expect(summary.per_client_type).toMatchObject({ npm: 5, other: 0 })
  expect(requests.index).toBe(1)
  expect(places).toEqual([{ distribution: 'js', format: 'npm', downloads: 5, bytes: 500 }])
})

test('wheels and source releases of PyPI count for their files; what is read beside them does not', async () => {
  const py = (arch: string, filename: string) =>
    put({ format: 'pypi', codename: 'py', name: 'my-tool', version: '1.0', arch, filename })
  await py('py3-none-any', 'my_tool-1.0-py3-none-any.whl')
  await py('sdist', 'my_tool-1.0.tar.gz')
  await fetch(
    '/pypi/py/simple/my-tool/',
    '/pypi/py/files/my-tool/my_tool-1.0-py3-none-any.whl.metadata',
    '/pypi/py/files/my-tool/my_tool-1.0-py3-none-any.whl',
  )
  expect(await versions()).toEqual(['py my-tool 1.0: 1'])
  expect(await archs()).toEqual(['my-tool py3-none-any'])
  expect(await neverFetched()).toEqual(['my-tool 1.0 sdist'])
})

const MVN = '/maven/mvn/org/example'
test('one build of Maven counts a version once; of a parent the pom is the download', async () => {
  const mvn = (artifact: string, filename: string, others: Item['others'] = {}, over: Item = {}) =>
    put({ format: 'maven', codename: 'mvn', name: `org.example:${artifact}`, arch: 'any', filename, others, ...over })
  await mvn('lib', 'lib-1.0.jar', { 'lib-1.0.pom': 'p', 'lib-1.0-sources.jar': 's', 'lib-1.0-linux.jar': 'l' })
  await mvn('parent', 'parent-1.0.pom')
  await mvn('unused', 'unused-1.0.jar', { 'unused-1.0.pom': 'p' })
  const snapshot = '2.0-20261122.094857-2'
  await mvn('lib', `lib-${snapshot}.jar`, { [`lib-${snapshot}.pom`]: 'q' }, { version: snapshot })
  await fetch(
    `${MVN}/lib/1.0/lib-1.0.pom`,
    `${MVN}/lib/1.0/lib-1.0.pom.sha1`,
    `${MVN}/lib/1.0/lib-1.0.jar`,
    `${MVN}/lib/1.0/lib-1.0.jar.sha1`,
    `${MVN}/lib/1.0/lib-1.0-sources.jar`,
    `${MVN}/parent/1.0/parent-1.0.pom`,
    `${MVN}/unused/1.0/unused-1.0.pom`,
    `${MVN}/lib/maven-metadata.xml`,
    `${MVN}/lib/2.0-SNAPSHOT/lib-${snapshot}.pom`,
    `${MVN}/lib/2.0-SNAPSHOT/lib-${snapshot}.jar`,
    `${MVN}/gone/1.0/gone-1.0.pom`,
    `${MVN}/gone/1.0/gone-1.0.war`,
  )
  const counted = [
    'mvn org.example:gone 1.0: 1',
    'mvn org.example:lib 1.0: 1',
    `mvn org.example:lib ${snapshot}: 1`,
    'mvn org.example:parent 1.0: 1',
  ]
  expect(await versions()).toEqual(counted)
  expect((await stats()).recent.map(({ filename }) => filename).sort()).toEqual([
    'gone-1.0.war',
    'lib-1.0.jar',
    `lib-${snapshot}.jar`,
    'parent-1.0.pom',
  ])
  expect((await stats()).requests.index).toBe(8)
  // read anew, the poms beside jars are still none
  await fetch(`${MVN}/lib/1.0/lib-1.0.pom`, `${MVN}/parent/1.0/parent-1.0.pom`)
  expect(await versions()).toEqual([...counted.slice(0, 3), 'mvn org.example:parent 1.0: 2'])
  expect(await neverFetched()).toEqual(['org.example:unused 1.0 any'])
  // another artifact of the version is one, too
  await fetch(`${MVN}/lib/1.0/lib-1.0-linux.jar`)
  expect(await versions()).toContain('mvn org.example:lib 1.0: 2')
})

test('the last downloads are told also where a build reads many poms after them', async () => {
  await put({ format: 'maven', codename: 'mvn', name: 'org.example:lib', arch: 'any', filename: 'lib-1.0.jar' })
  const poms = Array.from({ length: 300 }, (_, n) => `${MVN}/dep${n}/1.0/dep${n}-1.0.pom`)
  await fetch(`${MVN}/lib/1.0/lib-1.0.jar`, ...poms)
  expect((await stats()).recent.map(({ filename }) => filename)).toEqual(['lib-1.0.jar'])
})

test('what a registry that reads through brought by its classifier counts for that part', async () => {
  const arch = 'sources.jar'
  await put({
    ...{ format: 'maven', codename: 'mvn-far', name: 'org.example:lib', arch, filename: 'lib-1.0-sources.jar' },
    others: { 'lib-1.0.pom': 'p' },
  })
  await fetch(
    '/maven/mvn-far/org/example/lib/1.0/lib-1.0.pom',
    '/maven/mvn-far/org/example/lib/1.0/lib-1.0-sources.jar',
  )
  expect([await versions(), await archs()]).toEqual([['mvn-far org.example:lib 1.0: 1'], [`org.example:lib ${arch}`]])
  expect(await neverFetched()).toEqual([])
})

test('an image that is fetched by a tag counts for what the tag named when the log was read', async () => {
  await image(digest('a'))
  await image(digest('b'), { arch: 'index' })
  await tag('latest', digest('a'))
  const at = '/v2/img/app/web'
  await fetch(`${at}/manifests/latest`, `${at}/manifests/${digest('a')}`, `${at}/blobs/${digest('c')}`)
  await tag('latest', digest('b'))
  await fetch(`${at}/manifests/latest`, `${at}/manifests/nowhere`)
  expect(await versions()).toEqual([
    'img app/web nowhere: 1',
    `img app/web ${digest('a')}: 2`,
    `img app/web ${digest('b')}: 1`,
  ])
  expect(await archs()).toEqual(['app/web ', 'app/web index', 'app/web linux/amd64', 'app/web linux/amd64'])
  expect(await neverFetched()).toEqual([])
})

test('of a registry that reads through, a tag counts for what clients got by it', async () => {
  await image(digest('d'), { codename: 'img-far', name: 'library/nginx' })
  const key = { codename: codename('img-far'), name: 'library/nginx', tag: '1' }
  await saveRemoteTag(stock.db, key, { digest: digest('e'), now: stock.clock.now() })
  await saveServed(stock.db, key, digest('d'))
  await fetch('/v2/img-far/library/nginx/manifests/1', '/v2/img-all/library/nginx/manifests/1')
  expect(await versions()).toEqual([`img-far library/nginx ${digest('d')}: 2`])
})

test('a group counts for the member that has the version, a hosted one first, else for itself', async () => {
  await js()
  await js({ codename: 'js-far' })
  await js({ codename: 'js-far', name: 'far-only', filename: 'far-only-1.3.0.tgz' })
  await fetch(
    '/npm/js-all/left-pad/-/left-pad-1.3.0.tgz',
    '/npm/js-all/far-only/-/far-only-1.3.0.tgz',
    '/npm/js-all/gone/-/gone-1.0.0.tgz',
  )
  const counted = ['js left-pad 1.3.0: 1', 'js-all gone 1.0.0: 1', 'js-far far-only 1.3.0: 1']
  expect(await versions()).toEqual(counted)
  // who may not see a member sees nothing of it
  const { per_version: seen, recent } = await stats(['js'])
  expect(JSON.stringify([seen, recent])).not.toContain('left-pad')
})

test('a group whose member changes counts for the new one from then on', async () => {
  const far = { codename: 'js-far', name: 'far-only', filename: 'far-only-1.3.0.tgz' }
  await js(far)
  await fetch('/npm/js-all/far-only/-/far-only-1.3.0.tgz')
  await js({ ...far, codename: 'js' })
  await fetch('/npm/js-all/far-only/-/far-only-1.3.0.tgz')
  expect(await versions()).toEqual(['js far-only 1.3.0: 1', 'js-far far-only 1.3.0: 1'])
})

test('of days before the log told of registries nobody knows what was never fetched', async () => {
  await js()
  await stock.db.query('truncate download_other')
  expect(await neverFetched()).toEqual([])
  await heardOf('2026-02-20', 'jammy')
  await heardOf('2026-03-01')
  expect(await neverFetched()).toEqual([])
  await heardOf('2026-02-28')
  expect(await neverFetched()).toEqual(['left-pad 1.3.0 any'])
})

test.each([
  '/npm/js/%zz/-/x-1.0.0.tgz',
  '/npm/js/x/-/y-1.0.0.tgz',
  '/npm/nowhere/x/-/x-1.0.0.tgz',
  '/npm/py/x/-/x-1.0.0.tgz',
  `/npm/js/${'x'.repeat(1_900)}/-/${'x'.repeat(40)}.tgz`,
  '/maven/mvn/a.jar',
  '/v2/img/UPPER/manifests/latest',
])('%s harms nothing', async path => {
  await fetch(path, '/npm/js/left-pad/-/left-pad-1.3.0.tgz')
  expect(await versions()).toContain('js left-pad 1.3.0: 1')
})
