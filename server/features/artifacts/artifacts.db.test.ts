import { describe, expect, test } from 'vitest'
import { artifactRoutes } from '../../../test/support/artifact-routes.ts'
import { codeOf } from '../../../test/support/routes.ts'
import type { Stock } from '../../../test/support/test-catalog.ts'
import type { Finding } from '../../core/findings.ts'

let stock: Stock
const { call, names } = artifactRoutes(made => {
  stock = made
})
const high: Finding = { id: 'CVE-2026-1', package: 'hello', severity: 'high', detected_by: ['osv'], fixed_in: '2.0' }

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
        mark: null,
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

  test('what a step of the gate held is found in every state, and what came in since', async () => {
    const scan = { step: 'vulnerabilities', outcome: 'warned', verdict: 'x', said: '', holds: true } as const
    await stock.put({ version: '1', reports: [scan] })
    await stock.put({ version: '2', state: 'quarantined', reports: [{ ...scan, step: 'scripts' }] })
    stock.clock.set('2026-03-02T00:00:00Z')
    await stock.put({ version: '3', state: 'quarantined', reports: [scan] })
    expect(await names({ gate: 'vulnerabilities:held' })).toEqual(['hello 3', 'hello 1'])
    expect(await names({ gate: 'vulnerabilities:passed' })).toEqual([])
    expect(await names({ since: '2026-03-02T00:00:00Z' })).toEqual(['hello 3'])
    expect(await names({ gate: 'vulnerabilities:held', state: 'published' })).toEqual(['hello 1'])
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
