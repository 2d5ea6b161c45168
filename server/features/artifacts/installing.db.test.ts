import { describe, expect, test } from 'vitest'
import { artifactRoutes } from '../../../test/support/artifact-routes.ts'
import type { Stock } from '../../../test/support/test-catalog.ts'

let stock: Stock
const { call } = artifactRoutes(made => {
  stock = made
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
