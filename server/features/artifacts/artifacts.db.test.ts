import { hasTree } from '../../formats/index.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { createRebuild } from '../../catalog/rebuild.ts'
import type { Finding } from '../../core/findings.ts'
import { createPool } from '../../files/pool.ts'
import { getFormat } from '../../formats/index.ts'
import { artifacts } from './contract.ts'
import { artifactHandlers, type ArtifactDeps } from './handlers.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { repositories } from '../../../test/support/repositories.ts'

let stock: Stock
let deps: ArtifactDeps
beforeAll(async () => {
  stock = await createStock()
  const { db, catalog, audit } = stock
  deps = {
    db,
    catalog,
    audit,
    formats: getFormat,
    repositories,
    rebuild: createRebuild({ ...stock, hasTree }),
    clientFacts: async () => ({ url: 'http://repo.example:8000' }),
    pool: createPool({ layout: stock.layout, clock: stock.clock }),
    clock: stock.clock,
  }
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const { call } = createCaller(artifacts, artifactHandlers, () => deps)
const high: Finding = { id: 'CVE-2026-1', package: 'hello', severity: 'high', detected_by: ['osv'], fixed_in: '2.0' }
const names = async (query: Record<string, unknown>): Promise<string[]> =>
  (await call('GET /packages/', { query })).items.map(item => `${item.name} ${item.version}`)

describe('GET /packages/', () => {
  test('an empty repository answers an empty page', async () => {
    expect(await call('GET /packages/')).toEqual({ items: [], total: 0, page: 1, per_page: 50, pages: 0 })
  })

  test('a package is one item, with both vocabularies and no path', async () => {
    await stock.put({ findings: [high], by: 'bob' })
    const { items } = await call('GET /packages/')
    expect(items).toEqual([
      {
        name: 'hello',
        version: '1.0',
        arch: 'amd64',
        distribution: 'jammy',
        format: 'deb',
        kind: 'binary',
        status: 'published',
        cve_status: 'approved',
        severity: 'high',
        findings: 1,
        warned: false,
        scanned: false,
        filename: 'hello_1.0_amd64.deb',
        size: expect.any(Number),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        summary: 'about hello',
        uploaded_by: 'bob',
        source: 'upload',
        created_at: '2026-03-01T10:00:00.000Z',
        updated_at: '2026-03-01T10:00:00.000Z',
      },
    ])
    expect(JSON.stringify(items)).not.toContain(stock.layout.root)
  })

  test('versions come newest first by the format, not by text', async () => {
    for (const version of ['1.9', '1.10', '1.10~rc1', '1:0.1']) await stock.put({ version })
    expect(await names({})).toEqual(['hello 1:0.1', 'hello 1.10', 'hello 1.10~rc1', 'hello 1.9'])
  })

  test('quarantined and rejected packages are listed only when asked for', async () => {
    for (const [n, state] of (['published', 'pending_review', 'quarantined', 'rejected'] as const).entries())
      await stock.put({ version: `${n}`, state })
    expect(await names({})).toEqual(['hello 1', 'hello 0'])
    expect(await names({ state: 'quarantined' })).toEqual(['hello 2'])
    expect(await names({ status: 'rejected' })).toEqual(['hello 3'])
  })

  test('sources and debug symbols have their kind, and lists filter by it', async () => {
    await stock.put()
    await stock.put({ arch: 'source', kind: 'source' })
    await stock.put({ name: 'hello-dbgsym', kind: 'debug' })
    const kinds = async (kind: string): Promise<unknown> => [
      (await call('GET /packages/', { query: { kind } })).items.map(one => `${one.name} ${one.arch} ${one.kind}`),
      (await call('GET /artifacts/', { query: { kind } })).items.map(one => one.name),
    ]
    expect(await kinds('binary')).toEqual([['hello amd64 binary'], ['hello']])
    expect(await kinds('source')).toEqual([['hello source source'], ['hello']])
    expect(await kinds('debug')).toEqual([['hello-dbgsym amd64 debug'], ['hello-dbgsym']])
    const { versions } = await call('GET /artifacts/{name}', { params: { name: 'hello' } })
    expect(versions.map(({ arch, kind }) => [arch, kind])).toEqual([
      ['amd64', 'binary'],
      ['source', 'source'],
    ])
  })

  test('distribution, page and order are cut in the database', async () => {
    for (let n = 1; n <= 5; n++) await stock.put({ name: `p${n}`, codename: n === 3 ? 'noble' : 'jammy' })
    expect(await names({ distribution: 'noble' })).toEqual(['p3 1.0'])
    expect(await names({ distribution: 'nowhere' })).toEqual([])
    const page = await call('GET /packages/', { query: { page: 2, per_page: 2, sort: '-name' } })
    expect([page.items.map(item => item.name), page.total, page.pages, page.page]).toEqual([['p3', 'p2'], 5, 3, 2])
    expect((await call('GET /packages/', { query: { page: 9, per_page: 2 } })).items).toEqual([])
  })

  test.each<[string, string[]]>([
    ['ssl', ['ssl 1.0', 'ssl-tools 1.0', 'libssl 1.0', 'other 1.0']],
    ['SSL', ['ssl 1.0', 'ssl-tools 1.0', 'libssl 1.0', 'other 1.0']],
    ['s', ['ssl 1.0', 'ssl-tools 1.0', 'libssl 1.0', 'other 1.0']],
    ['%', ['a_b%c 1.0']],
    ['_', ['a_b%c 1.0']],
    ['\\', []],
    ['a_b', ['a_b%c 1.0']],
    ['axb', []],
    ["'", []],
    ['  ssl ', ['ssl 1.0', 'ssl-tools 1.0', 'libssl 1.0', 'other 1.0']],
    ['nothing', []],
  ])('searching %j finds the exact name first, then beginnings, then the rest', async (q, expected) => {
    for (const name of ['libssl', 'ssl-tools', 'ssl', 'a_b%c']) await stock.put({ name, summary: 'x' })
    await stock.put({ name: 'other', summary: 'speaks SSL' })
    expect(await names({ q })).toEqual(expected)
    expect(await names({ search: q })).toEqual(expected)
    expect(
      (await call('GET /artifacts/', { query: { search: q } })).items.map(item => `${item.name} ${item.latest}`),
    ).toEqual(expected)
  })
})

describe('GET /artifacts/', () => {
  test('an artifact is one item with its versions, newest first, and the worst of their states', async () => {
    await stock.put({ version: '1.9' })
    await stock.put({ version: '1.10', state: 'pending_review', findings: [high] })
    await stock.put({ version: '1.9', codename: 'noble' })
    await stock.put({ name: 'zlib' })
    const { items, total } = await call('GET /artifacts/')
    expect(total).toBe(2)
    expect(items[0]).toMatchObject({
      name: 'hello',
      format: 'deb',
      latest: '1.9',
      latest_version: '1.9',
      status: 'published',
      cve_status: 'approved',
      newer: { version: '1.10', status: 'pending_review' },
      security_status: 'pending_review',
      severity: 'high',
      distributions: ['jammy', 'noble'],
      versions_total: 2,
    })
    expect(items[0]?.packages.map(one => `${one.version} ${one.distribution} ${one.status}`)).toEqual([
      '1.10 jammy pending_review',
      '1.9 jammy published',
      '1.9 noble published',
    ])
    expect(items[1]).toMatchObject({ name: 'zlib', security_status: 'approved', severity: null })
  })

  test('a filter by state or distribution keeps artifacts that have such a package', async () => {
    await stock.put({ name: 'a', state: 'quarantined' })
    await stock.put({ name: 'b', codename: 'noble' })
    expect(
      (await call('GET /artifacts/', { query: { state: 'quarantined' } })).items.map(item => [
        item.name,
        item.security_status,
      ]),
    ).toEqual([['a', 'blocked']])
    expect((await call('GET /artifacts/', { query: { distribution: 'noble' } })).items.map(item => item.name)).toEqual([
      'b',
    ])
  })
})

describe('GET /artifacts/{name}', () => {
  test('the detail has every version with reports and findings of the gate', async () => {
    await stock.put({
      findings: [high],
      state: 'pending_review',
      reports: [
        { step: 'antivirus', outcome: 'unavailable', verdict: 'unavailable', said: 'clamd does not answer' },
        { step: 'vulnerabilities', outcome: 'warned', verdict: 'findings', said: '1 finding', findings: [high] },
        {
          step: 'dependencies',
          outcome: 'warned',
          verdict: 'missing',
          said: 'one is missing',
          missing: ['libfoo (>= 1)'],
        },
      ],
    })
    const detail = await call('GET /artifacts/{name}', { params: { name: 'hello' } })
    expect(detail).toMatchObject({
      name: 'hello',
      latest: '1.0',
      description: 'All about hello.',
      versions_total: 1,
      security_status: 'pending_review',
    })
    expect(detail.versions[0]).toMatchObject({
      status: 'pending_review',
      manifest_status: 'pending_review',
      cve_status: 'pending_review',
      provides: ['hello (= 1.0)'],
      pipeline: { antivirus: 'unavailable', cve_scan: 'findings', gpg: 'not_run', dependencies: 'missing' },
      cves: [{ id: 'CVE-2026-1', severity: 'high', detected_by: ['osv'], fixed_version: '2.0' }],
      validation: {
        passed: true,
        cve_status: 'pending_review',
        deps_missing: ['libfoo (>= 1)'],
        steps: [
          { name: 'antivirus', passed: false, warning: true, verdict: 'unavailable', message: 'clamd does not answer' },
          { name: 'vulnerabilities', passed: true, warning: true },
          { name: 'dependencies', passed: true, detail: 'missing: libfoo (>= 1)' },
        ],
      },
    })
    expect([detail.validation, detail.cves]).toEqual([detail.versions[0]?.validation, detail.versions[0]?.cves])
    expect(JSON.stringify(detail)).not.toContain(stock.layout.root)
  })

  test('a version with several files lists them all; one with a single file answers as in release 0.1', async () => {
    const { manifest } = await stock.put({ version: '2.0', others: { 'hello_2.0.orig.tar.gz': 'orig' } })
    await stock.put({ version: '1.0' })
    const detail = (version: string) => call('GET /artifacts/{name}/{version}', { params: { name: 'hello', version } })
    const [first, second] = manifest.files
    expect(await detail('2.0')).toMatchObject({
      filename: 'hello_2.0_amd64.deb',
      sha256: first.blob.sha256,
      size: first.blob.size,
      files: [
        { path: 'hello_2.0_amd64.deb', size: first.blob.size, sha256: first.blob.sha256 },
        { path: 'hello_2.0.orig.tar.gz', size: 4, sha256: second?.blob.sha256 },
      ],
    })
    expect(await detail('1.0')).not.toHaveProperty('files')
  })

  test('of a version that exists more than once the published one is answered, with the others as variants', async () => {
    await stock.put({ version: '1:2.0~rc1+b1', state: 'quarantined', codename: 'focal' })
    await stock.put({ version: '1:2.0~rc1+b1', codename: 'noble' })
    const params = { name: 'hello', version: '1:2.0~rc1+b1' }
    expect(await call('GET /artifacts/{name}/{version}', { params })).toMatchObject({
      distribution: 'noble',
      status: 'published',
      variants: [{ distribution: 'focal', arch: 'amd64', status: 'quarantined' }],
    })
    expect(await call('GET /artifacts/{name}/{version}', { params, query: { distribution: 'focal' } })).toMatchObject({
      status: 'quarantined',
      cve_status: 'blocked',
      variants: [],
    })
  })

  test('an unknown package or version is 404, with the reason', async () => {
    await stock.put()
    expect(await codeOf(call('GET /artifacts/{name}', { params: { name: 'nothing' } }))).toBe('package_not_found')
    expect(await codeOf(call('GET /artifacts/{name}/{version}', { params: { name: 'nothing', version: '1.0' } }))).toBe(
      'package_not_found',
    )
    expect(await codeOf(call('GET /artifacts/{name}/{version}', { params: { name: 'hello', version: '1' } }))).toBe(
      'version_not_found',
    )
    expect(await codeOf(call('GET /artifacts/{name}/install', { params: { name: 'nothing' } }))).toBe(
      'package_not_found',
    )
    expect(
      await codeOf(call('GET /artifacts/{name}/dependencies', { params: { name: 'hello' }, query: { version: '2' } })),
    ).toBe('version_not_found')
    expect(await codeOf(call('DELETE /artifacts/{name}', { params: { name: 'nothing' } }))).toBe('package_not_found')
    expect(await codeOf(call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '2' } }))).toBe(
      'version_not_found',
    )
  })
})

describe('dependencies and install', () => {
  const dependenciesOf = (name: string) => call('GET /artifacts/{name}/dependencies', { params: { name } })

  test('a need is met by name and version, by a virtual name, or by an alternative', async () => {
    await stock.put({ name: 'libfoo', version: '2.0', provides: [{ name: 'foo-api', version: '3' }, { name: 'mta' }] })
    await stock.put({
      name: 'app',
      depends: [
        [{ name: 'libfoo', op: '>=', version: '1.5' }],
        [{ name: 'foo-api', op: '=', version: '3' }],
        [{ name: 'mta' }],
        [{ name: 'nowhere' }, { name: 'libfoo' }],
      ],
    })
    expect(await dependenciesOf('app')).toMatchObject({
      all_satisfied: true,
      missing: [],
      install_blocked: false,
      dependencies: [
        { need: 'libfoo (>= 1.5)', status: 'satisfied', by: { name: 'libfoo', version: '2.0' } },
        { status: 'satisfied' },
        { status: 'satisfied' },
        { need: 'nowhere | libfoo', status: 'satisfied' },
      ],
    })
  })

  test('a package that is too old, in another distribution, or unversioned does not satisfy a dependency', async () => {
    await stock.put({ name: 'libfoo', version: '1.0', provides: [{ name: 'mta' }] })
    await stock.put({ name: 'libbar', codename: 'noble' })
    await stock.put({
      name: 'app',
      depends: [
        [{ name: 'libfoo', op: '>', version: '1.0' }],
        [{ name: 'libbar' }],
        [{ name: 'mta', op: '>=', version: '1' }],
      ],
    })
    expect(await dependenciesOf('app')).toMatchObject({
      all_satisfied: false,
      missing: ['libfoo (> 1.0)', 'libbar', 'mta (>= 1)'],
      install_blocked: false,
    })
  })

  test('a package meets needs for its own architecture, and one for all those for that of the distribution', async () => {
    await stock.put({ name: 'libfoo', arch: 'amd64', provides: [{ name: 'foo-api' }] })
    await stock.put({ name: 'libdoc', arch: 'all' })
    const needs = (arch: string) => ['libfoo', 'foo-api', 'libdoc'].map(name => [{ name, arch }])
    await stock.put({
      name: 'app',
      depends: [...needs('amd64'), ...needs('i386'), ...needs('any'), ...needs('native')],
    })
    expect(await dependenciesOf('app')).toMatchObject({
      all_satisfied: false,
      // that some may be of any architecture is for those to say: Multi-Arch: allowed
      missing: ['libfoo:i386', 'foo-api:i386', 'libdoc:i386', 'libfoo:any', 'foo-api:any', 'libdoc:any'],
    })
  })

  test('what is there for another architecture alone meets no need; one for all counts everywhere', async () => {
    await stock.put({ name: 'libamd', arch: 'amd64' })
    await stock.put({ name: 'libarm', arch: 'arm64' })
    await stock.put({ name: 'libdoc', arch: 'all' })
    const depends = ['libamd', 'libarm', 'libdoc'].map(name => [{ name }])
    await stock.put({ name: 'app', arch: 'arm64', depends })
    expect(await dependenciesOf('app')).toMatchObject({ all_satisfied: false, missing: ['libamd'] })
    // what is for all needs one machine on which it can be installed
    await stock.put({ name: 'docs', arch: 'all', depends: [[{ name: 'libarm' }], [{ name: 'libdoc' }]] })
    expect(await dependenciesOf('docs')).toMatchObject({ all_satisfied: true })
    await stock.put({ name: 'both', arch: 'all', depends: [[{ name: 'libarm' }], [{ name: 'libamd' }]] })
    expect(await dependenciesOf('both')).toMatchObject({ all_satisfied: false, missing: ['libarm'] })
  })

  test('a dependency that only a held package would satisfy blocks the installation', async () => {
    await stock.put({ name: 'libfoo', state: 'quarantined' })
    await stock.put({ name: 'app', depends: [[{ name: 'libfoo' }]] })
    expect(await dependenciesOf('app')).toMatchObject({
      all_satisfied: false,
      missing: [],
      install_blocked: true,
      dependencies: [{ status: 'blocked', by: { name: 'libfoo', status: 'quarantined' } }],
    })
    await stock.put({ name: 'libfoo', version: '0.9' })
    expect(await dependenciesOf('app')).toMatchObject({
      all_satisfied: true,
      install_blocked: false,
      dependencies: [{ status: 'satisfied', by: { version: '0.9' } }],
    })
    await stock.put({
      name: 'held',
      state: 'pending_review',
      provides: [{ name: 'own' }],
      depends: [[{ name: 'own' }]],
    })
    expect(await dependenciesOf('held')).toMatchObject({ all_satisfied: true, install_blocked: true })
  })

  test('the install answer sets up the client and installs', async () => {
    await stock.put()
    const install = await call('GET /artifacts/{name}/install', { params: { name: 'hello' } })
    expect(install).toMatchObject({
      name: 'hello',
      version: '1.0',
      distribution: 'jammy',
      installable: true,
      client_line: 'deb [signed-by=/etc/apt/keyrings/gatehouse.asc] http://repo.example:8000/repos jammy main',
    })
    expect(install.command).toContain('hello')
    expect(install.commands['apt']).toEqual([...install.setup, install.command])
    expect(install.setup.join('\n')).toContain('http://repo.example:8000/repos/gpg.key')
  })

  test('a source is fetched, debug symbols come from their component, and what is built stays the first answer', async () => {
    await stock.put()
    await stock.put({ arch: 'source', kind: 'source', version: '1.1' })
    await stock.put({ name: 'hello-dbgsym', kind: 'debug' })
    const answer = (name: string, query = {}) => call('GET /artifacts/{name}/install', { params: { name }, query })
    expect((await answer('hello')).command).toBe('apt-get install hello=1.0')
    const source = await answer('hello', { arch: 'source' })
    expect(source.command).toBe('apt-get source hello=1.1')
    expect(source.setup.join('\n')).toContain('Types: deb-src')
    const debug = await answer('hello-dbgsym')
    expect(debug.command).toBe('apt-get install hello-dbgsym=1.0')
    expect(debug.commands['apt']?.join('\n')).toContain('Components: main/debug')
  })
})

describe('what a package says of itself follows its newest served version', () => {
  const listed = async (query = {}) =>
    (await call('GET /artifacts/', { query })).items.map(one => [one.name, one.latest, one.status, one.newer])
  const told = async (query = {}) => {
    const { latest, latest_version, status, newer } = await call('GET /artifacts/{name}', {
      params: { name: 'hello' },
      query,
    })
    expect(latest_version).toBe(latest)
    return ['hello', latest, status, newer]
  }
  const install = (query = {}) => call('GET /artifacts/{name}/install', { params: { name: 'hello' }, query })

  test('a newer one that is held or rejected stands beside it', async () => {
    await stock.put({ version: '1.9' })
    for (const state of ['pending_review', 'quarantined', 'rejected'] as const) {
      await stock.put({ version: '1.10', state })
      const expected = ['hello', '1.9', 'published', { version: '1.10', status: state }]
      expect([await listed(), await told()]).toEqual([[expected], expected])
      expect((await install()).command).toBe('apt-get install hello=1.9')
      await call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.10' } })
    }
    expect(await told()).toEqual(['hello', '1.9', 'published', null])
  })

  test('without any the newest speaks, and no install command is answered', async () => {
    await stock.put({ version: '1.0', state: 'quarantined' })
    await stock.put({ version: '2.0', state: 'pending_review' })
    const expected = ['hello', '2.0', 'pending_review', null]
    expect([await listed(), await told()]).toEqual([[expected], expected])
    await expect(install()).rejects.toMatchObject({
      code: 'not_served',
      message: 'hello 2.0 is pending_review in jammy: no client finds it until it is approved. No version is served.',
    })
  })

  test('a version that is asked for and not served is refused with the one that is', async () => {
    await stock.put({ version: '1.0' })
    await stock.put({ version: '2.0', state: 'quarantined' })
    await expect(install({ version: '2.0' })).rejects.toMatchObject({
      code: 'not_served',
      message: 'hello 2.0 is quarantined in jammy: no client finds it until it is approved. 1.0 is served.',
    })
  })

  test('in several distributions it is that of the one that is asked for', async () => {
    await stock.put({ version: '1.0' })
    await stock.put({ version: '2.0', codename: 'noble' })
    await stock.put({ version: '3.0', codename: 'noble', state: 'pending_review' })
    const newer = { version: '3.0', status: 'pending_review' }
    expect([await listed(), await told()]).toEqual([
      [['hello', '2.0', 'published', newer]],
      ['hello', '2.0', 'published', newer],
    ])
    const jammy = ['hello', '1.0', 'published', null]
    expect([await listed({ distribution: 'jammy' }), await told({ distribution: 'jammy' })]).toEqual([[jammy], jammy])
    expect((await install({ distribution: 'jammy' })).version).toBe('1.0')
    expect((await install()).version).toBe('2.0')
  })

  test('lists are narrowed by it with status, and by any version with state', async () => {
    await stock.put({ name: 'served', version: '1.0' })
    await stock.put({ name: 'served', version: '2.0', state: 'pending_review' })
    await stock.put({ name: 'held', state: 'pending_review' })
    await stock.put({ name: 'both', state: 'pending_review' })
    await stock.put({ name: 'both', codename: 'noble' })
    const names = async (query: object) => (await listed(query)).map(([name]) => name)
    expect(await names({ status: 'published' })).toEqual(['both', 'served'])
    expect(await names({ status: 'pending_review' })).toEqual(['held'])
    expect(await names({ status: 'pending_review', distribution: 'jammy' })).toEqual(['both', 'held'])
    expect(await names({ status: 'pending_review', q: 'both' })).toEqual([])
    expect(await names({ state: 'pending_review' })).toEqual(['both', 'held', 'served'])
  })

  test('a restricted account is told by what it may see', async () => {
    await stock.put({ version: '1.0' })
    await stock.put({ version: '2.0', codename: 'noble' })
    await stock.put({ version: '1.5', state: 'rejected' })
    const viewer = { hidden: ['noble'] }
    const newer = { version: '1.5', status: 'rejected' }
    for (const query of [{}, { q: 'hello' }, { status: 'published' }])
      expect((await call('GET /artifacts/', { query, viewer })).items).toMatchObject([
        { latest: '1.0', status: 'published', newer, distribution: 'jammy', versions: ['1.5', '1.0'] },
      ])
    expect(await call('GET /artifacts/{name}', { params: { name: 'hello' }, viewer })).toMatchObject({
      latest: '1.0',
      newer,
      versions_total: 2,
    })
  })
})

describe('deleting', () => {
  test('a version in several distributions is deleted in the named one or with all, never without a word', async () => {
    for (const codename of ['jammy', 'noble', 'focal']) await stock.put({ codename })
    await stock.put({ arch: 'arm64' })
    const remove = (query = {}) =>
      call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.0' }, query })
    for (const query of [{}, { all: false }, { arch: 'amd64' }])
      await expect(remove(query)).rejects.toMatchObject({
        code: 'ambiguous_version',
        message:
          'hello 1.0 exists more than once (focal, jammy, noble). Say which is meant: distribution names one, all=true means each.',
      })
    expect(await names({})).toHaveLength(4)
    const where = async (query: object) =>
      (await remove(query)).deleted.map(one => `${one.distribution} ${one.arch}`).sort()
    expect(await where({ distribution: 'jammy' })).toEqual(['jammy amd64', 'jammy arm64'])
    expect(await where({ all: true })).toEqual(['focal amd64', 'noble amd64'])
  })

  test('a version in one distribution needs no more than its name, of whatever architectures', async () => {
    await stock.put()
    await stock.put({ arch: 'arm64' })
    const { deleted } = await call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.0' } })
    expect(deleted.map(({ arch }) => arch).sort()).toEqual(['amd64', 'arm64'])
  })

  test('one version is deleted, the others stay, and the distribution is published again', async () => {
    await stock.put({ version: '1.0' })
    await stock.put({ version: '2.0' })
    await stock.outbox.drain()
    stock.published.length = 0
    expect(await call('DELETE /artifacts/{name}/{version}', { params: { name: 'hello', version: '1.0' } })).toEqual({
      status: 'deleted',
      published: true,
      deleted: [{ name: 'hello', version: '1.0', arch: 'amd64', distribution: 'jammy', format: 'deb' }],
    })
    expect(await names({})).toEqual(['hello 2.0'])
    expect(stock.published).toContain('jammy')
    const {
      items: [line],
    } = await stock.audit.search(ALL_SEEING, { page: 1, perPage: 1, action: 'DELETE' })
    expect(line).toMatchObject({
      user: 'mae',
      package: 'hello',
      version: '1.0',
      distribution: 'jammy',
      result: 'SUCCESS',
      ip: '192.0.2.7',
    })
  })

  test('all versions are deleted in every distribution, unless the query narrows it', async () => {
    for (const codename of ['jammy', 'noble'])
      for (const version of ['1.0', '2.0']) await stock.put({ version, codename })
    await stock.put({ name: 'hello-doc' })
    expect(
      (await call('DELETE /artifacts/{name}', { params: { name: 'hello' }, query: { distribution: 'noble' } })).deleted,
    ).toHaveLength(2)
    expect(
      (await call('DELETE /artifacts/{name}', { params: { name: 'hello' } })).deleted
        .map(one => `${one.version} ${one.distribution}`)
        .sort(),
    ).toEqual(['1.0 jammy', '2.0 jammy'])
    expect(await names({})).toEqual(['hello-doc 1.0'])
  })

  test('two deletions at once delete each package once and both succeed or find nothing', async () => {
    for (let n = 0; n < 6; n++) await stock.put({ version: `${n}` })
    const both = await Promise.allSettled(
      [1, 2].map(() => call('DELETE /artifacts/{name}', { params: { name: 'hello' } })),
    )
    const deleted = both.flatMap(one => (one.status === 'fulfilled' ? one.value.deleted.map(ref => ref.version) : []))
    expect(deleted.sort()).toEqual(['0', '1', '2', '3', '4', '5'])
  })
})

test('sync-index brings back what the manifests say, and writes it down', async () => {
  await stock.put()
  await stock.outbox.drain()
  await stock.db.query('delete from package')
  await stock.db.query('delete from artifact')
  expect(await call('POST /artifacts/admin/sync-index')).toEqual({
    status: 'ok',
    manifests: 1,
    added: 1,
    changed: 0,
    removed: 0,
    unreadable: 0,
  })
  expect(await names({})).toEqual(['hello 1.0'])
  expect((await stock.audit.search(ALL_SEEING, { page: 1, perPage: 1 })).items[0]).toMatchObject({
    action: 'SYNC_INDEX',
    result: 'SUCCESS',
    user: 'mae',
  })
})
