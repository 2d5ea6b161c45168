import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { spoolBytes } from '../../../test/support/packages.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { createRebuild } from '../../catalog/rebuild.ts'
import { addBlob } from '../../catalog/queries/oci.ts'
import { listBareNames, listNamesOf } from '../../catalog/queries/registry.ts'
import { listFiles, listHeldFiles } from '../../catalog/queries/registry-files.ts'
import type { Principal, Scope } from '../../core/access.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename } from '../../core/identity.ts'
import { createRepositories, type Repositories } from '../../core/repository.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import { createDefinitions } from '../../files/definitions.ts'
import type { Format } from '../../formats/format.ts'
import { getFormat } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { createSecretBox } from '../../lib/secret-box.ts'
import { registryHandlers, type RegistryRouteDeps } from './handlers.ts'

/** A format of the catalogue, as if its repositories were registries. */
const tiny: Format = {
  ...getFormat('deb'),
  complainTag: tag => (tag.startsWith('1') ? 'it begins as a version' : undefined),
  registryClient: {
    root: 'tiny',
    setups: (_, { address, needsToken }) => [
      {
        client: 'tiny',
        files: [],
        setup: [`tiny add ${address}`],
        install: 'tiny PACKAGE',
        notes: [String(needsToken)],
      },
    ],
  },
}

let stock: Stock
let repositories: Repositories
let deps: RegistryRouteDeps
beforeEach(async () => {
  repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
  stock = await createStock({ trees: () => false, repositories })
  const { db, audit, outbox, clock, catalog, layout } = stock
  deps = {
    ...{ db, audit, outbox, clock, catalog, repositories },
    definitions: createDefinitions(db, layout),
    box: createSecretBox('x'.repeat(40)),
    lock: createKeyedLock(),
    formats: [tiny],
    activeFormats: new Set(['deb']),
    settings: { now: () => ({ notifications: { allow_private_hosts: '' } }) },
    clientFacts: async () => ({ url: 'https://repo.example', privateTrees: new Set(['shut']) }),
  }
})
afterEach(() => stock.close())

interface Ask {
  readonly params?: Record<string, string>
  readonly query?: Record<string, unknown>
  readonly body?: Record<string, unknown>
  readonly viewer?: Viewer
  readonly scope?: Scope
}
async function call(key: keyof typeof registryHandlers, ask: Ask = {}): Promise<unknown> {
  const { params = {}, query = {}, body = {}, viewer = ALL_SEEING, scope } = ask
  const who: Principal = { kind: 'token', name: 'ada', role: 'admin', credential: 'x', ...(scope && { scope }) }
  const raw = { clientIp: '192.0.2.1' }
  return (registryHandlers[key] as (deps: RegistryRouteDeps, input: unknown) => unknown)(deps, {
    ...{ params, query, body, viewer, who, raw },
  })
}
const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'taken',
    (error: unknown) => (error as { code?: unknown }).code ?? error,
  )
const make = (name: string, more: Record<string, unknown> = {}): Promise<unknown> =>
  call('POST /registries/', { body: { name, format: 'deb', ...more } })
const put = (more: Parameters<Stock['put']>[0] = {}) => stock.put({ codename: 'ours', arch: 'any', ...more })

const TABLES = ['registry_upload', 'registry_waiting_tag', 'maven_arrived', 'maven_said', 'registry_blob']
const EMPTY = { packages: 0, versions: 0, held: 0, files: 0, bytes: 0 }
const OURS = {
  ...{ name: 'ours', format: 'deb', kind: 'hosted', label: 'ours', path: '/tiny/ours/' },
  ...{
    url: 'https://repo.example/tiny/ours',
    private: false,
    retired: false,
    mark: null,
    active: true,
    upstream: null,
    min_age_days: 0,
    age_from: 'upstream',
    hold_lookalikes: false,
    members: [],
    reserved: [],
    hidden: 0,
    require_signature: 'none',
    snapshots_kept: null,
  },
}

describe('a registry', () => {
  test('is made, is found again after a start, and is no distribution', async () => {
    expect(await make('ours')).toEqual({ ...OURS, ...EMPTY })
    expect(repositories.need('ours')).toMatchObject({ kind: 'registry', registry: { kind: 'hosted' }, archs: [] })
    expect(repositories.trees.find('ours')).toBeUndefined()
    const again = await createDefinitions(stock.db, stock.layout).load()
    expect(again).toEqual([JSON.parse(JSON.stringify(repositories.need('ours')))])
    expect(JSON.parse(await readFile(stock.layout.distributionsFile, 'utf8'))).toEqual(again)
    expect(stock.published).toEqual([])
  })
  test('comes back from its file when the database is lost', async () => {
    await make('ours', { label: 'Ours' })
    await stock.outbox.drain()
    await stock.db.query('delete from distribution_definition')
    await stock.db.query(`delete from outbox where key like 'distribution:%'`)
    expect(await createDefinitions(stock.db, stock.layout).load()).toMatchObject([
      { codename: 'ours', kind: 'registry' },
    ])
  })
  const refused: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['jammy', {}, 'distribution_exists'],
    ['ours', {}, 'distribution_exists'],
    ['tiny', {}, 'bad_registry'],
    ['token', {}, 'bad_registry'],
    ['pool', {}, 'bad_registry'],
    ['Ours', {}, 'bad_registry'],
    ['a..b', {}, 'bad_registry'],
    ['other', { format: 'rpm' }, 'bad_registry'],
    ['other', { format: 'none' }, 'bad_registry'],
    ['other', { label: 'a\u202eb' }, 'bad_registry'],
    ['other', { snapshots_kept: 3 }, 'bad_registry'],
  ]
  test.each(refused)('%s %j is refused: %s', async (name, more, code) => {
    await make('ours')
    expect(await refusal(make(name, more))).toBe(code)
    expect(repositories.registries()).toHaveLength(1)
  })
  test('of two that are made at once under one name, one is', async () => {
    const codes = await Promise.all([refusal(make('ours')), refusal(make('ours'))])
    expect(codes.toSorted()).toEqual(['distribution_exists', 'taken'])
  })
  test('is changed, and takes nothing while it is retired', async () => {
    await make('ours')
    const changed = await call('PATCH /registries/{name}', {
      params: { name: 'ours' },
      body: { label: 'Ours', retired: true },
    })
    expect(changed).toMatchObject({ label: 'Ours', retired: true })
    expect(await call('PATCH /registries/{name}', { params: { name: 'ours' }, body: {} })).toEqual(changed)
    expect(await refusal(call('PATCH /registries/{name}', { params: { name: 'jammy' }, body: {} }))).toBe(
      'registry_not_found',
    )
  })
  test('is removed only when it is empty, and never a distribution', async () => {
    await make('ours')
    const { manifest } = await put({ state: 'rejected' })
    const remove = (name: string) => refusal(call('DELETE /registries/{name}', { params: { name } }))
    expect([await remove('ours'), await remove('jammy')]).toEqual(['registry_in_use', 'registry_not_found'])
    await stock.catalog.change({ kind: 'delete', ref: manifest.ref, why: '' }, { name: 'ada' })
    expect([await remove('ours'), repositories.find('ours')]).toEqual(['taken', undefined])
  })
  test('leaves nothing to a later one of the name', async () => {
    const { db, pool } = stock
    const rows = async (): Promise<number[]> =>
      Promise.all(TABLES.map(async table => (await db.query(`select 1 from ${table}`)).length))
    const leave = async (codename: string): Promise<void> => {
      await db.query(
        `insert into registry_upload values ($1, $1, 'app', 'ada', 0, null, now());
        insert into registry_waiting_tag values ($1, 'app', 'latest', 'sha256:0', 'ada', now());
        insert into maven_said values ($1, 'g:a', '1', 'a-1.jar', 'sha1', '0', now());
        insert into maven_arrived values ($1, 'g:a', '1', 'a-1.jar', $1, 'ada', '', '', 1, '', '', '', now(), now(), null)`.replaceAll(
          '$1',
          `'${codename}'`,
        ),
      )
    }
    await stock.put({ name: 'app', bytes: 'shared' })
    const [spooled, shared] = [
      await spoolBytes(stock.layout.incoming, 'blob', Buffer.from('layer')),
      await spoolBytes(stock.layout.incoming, 'blob', Buffer.from('shared')),
    ]
    const own = spooled.blob
    await pool.add(spooled)
    for (const name of ['ours', 'other']) await leave(name)
    for (const blob of [own, shared.blob])
      await addBlob(db, { codename: 'ours' as Codename, name: 'app' }, blob, new Date())
    await make('ours') // what a request left that was under way when an earlier one was removed
    expect(await rows()).toEqual([1, 1, 1, 1, 0])
    await stock.outbox.drain()
    expect([await pool.has(own.sha256), await pool.has(shared.blob.sha256)]).toEqual(['nowhere', 'pool'])
    await leave('ours')
    await call('DELETE /registries/{name}', { params: { name: 'ours' } })
    expect(await rows()).toEqual([1, 1, 1, 1, 0])
  })
  test('keeps who may see it for a later one of the name, as the audit log does', async () => {
    const rule = { codename: 'ours', private: true, roles: ['auditor'], users: [], groups: [] }
    await stock.db.query(
      `insert into distribution_access (codename, private, roles, users, groups) values ('ours', true, '{auditor}', '{}', '{}')`,
    )
    await make('ours')
    await call('DELETE /registries/{name}', { params: { name: 'ours' } })
    await make('ours')
    expect(await stock.db.query('select codename, private, roles, users, groups from distribution_access')).toEqual([
      rule,
    ])
  })
  test('that is hidden is not there', async () => {
    await make('ours')
    const viewer = { hidden: ['ours'] }
    expect(await call('GET /registries/', { viewer })).toEqual({ registries: [] })
    for (const key of [
      'GET /registries/{name}',
      'GET /registries/{name}/setup',
      'GET /registries/{name}/packages',
      'GET /registries/{name}/packages/{package}/tags',
    ] as const)
      expect(await refusal(call(key, { params: { name: 'ours', package: 'app' }, viewer }))).toBe('registry_not_found')
  })
  test('says how its clients are set up', async () => {
    await make('shut')
    expect(await call('GET /registries/{name}/setup', { params: { name: 'shut' } })).toMatchObject({
      ...{ name: 'shut', url: 'https://repo.example/tiny/shut', token_place: 'YOUR_TOKEN' },
      clients: [{ setup: ['tiny add https://repo.example/tiny/shut'], notes: ['true'] }],
    })
  })
  test('each change is a line of the audit log', async () => {
    await make('ours')
    await call('PATCH /registries/{name}', { params: { name: 'ours' }, body: { label: 'Ours' } })
    await call('DELETE /registries/{name}', { params: { name: 'ours' } })
    await stock.outbox.drain()
    const { items } = await stock.audit.search(ALL_SEEING, { page: 1, perPage: 10 })
    expect(items.map(({ user, distribution, detail }) => [user, distribution, detail])).toEqual([
      ['ada', 'ours', 'Removed the registry of the format deb.'],
      ['ada', 'ours', 'Ours: it takes packages. label: ours → Ours.'],
      ['ada', 'ours', 'Made a registry of the format deb.'],
    ])
  })
})

describe('what it holds', () => {
  beforeEach(async () => {
    await make('ours')
    for (const version of ['1.9', '1.10', '1.2']) await put({ name: '@s/n', version, bytes: `n ${version}` })
    await put({ name: '@s/n', version: '2.0', state: 'pending_review', bytes: '123', others: { 'n.sig': '45' } })
    await put({ name: 'other', bytes: 'other' })
    await stock.put({ name: 'elsewhere' })
  })

  test('names with versions newest first, states, sizes and tags', async () => {
    const params = { name: 'ours', package: '@s/n', tag: 'latest' }
    const key = 'PUT /registries/{name}/packages/{package}/tags/{tag}'
    expect(await call(key, { params, body: { version: '1.10' } })).toMatchObject({
      tag: 'latest',
      version: '1.10',
      by: 'ada',
    })
    const page = (query: Record<string, unknown>) =>
      call('GET /registries/{name}/packages', { params: { name: 'ours' }, query })
    expect(await page({})).toMatchObject({
      ...{ name: 'ours', total: 2, page: 1, per_page: 50 },
      packages: [
        {
          ...{ name: '@s/n', versions: 4, published: 3, held: 1, files: 5 },
          newest: [
            { version: '2.0', arch: 'any', status: 'pending_review', bytes: 5 },
            { version: '1.10', status: 'published' },
            { version: '1.9' },
            { version: '1.2' },
          ],
          tags: [{ tag: 'latest', version: '1.10' }],
        },
        { name: 'other', versions: 1, bytes: 5, tags: [] },
      ],
    })
    expect(await page({ per_page: 1, page: 2 })).toMatchObject({ total: 2, packages: [{ name: 'other' }] })
    expect(await page({ q: 'S/N' })).toMatchObject({ total: 1, packages: [{ name: '@s/n' }] })
    expect(await call('GET /registries/{name}', { params: { name: 'ours' } })).toMatchObject({
      ...{ packages: 2, versions: 5, held: 1 },
    })
  })

  test('a version of several files is one, also where one of them is held', async () => {
    await put({ name: 'wheels', version: '1.0', arch: 'amd64', bytes: 'w1' })
    await put({ name: 'wheels', version: '1.0', arch: 'arm64', bytes: 'w2', state: 'pending_review' })
    await put({ name: 'wheels', version: '1.0', arch: 'any', bytes: 'w3', others: { 'w.sig': '45' } })
    await put({ name: 'wheels', version: '0.9', bytes: 'w4' })
    const params = { name: 'ours' }
    expect(await call('GET /registries/{name}/packages', { params, query: { q: 'wheels' } })).toMatchObject({
      packages: [{ name: 'wheels', versions: 2, published: 2, held: 1, files: 5, bytes: 10 }],
    })
    expect(await call('GET /registries/{name}', { params })).toMatchObject({
      ...{ packages: 3, versions: 7, held: 2, files: 11 },
    })
  })

  test('a tag names what clients get, and only that', async () => {
    const set = (version: string, more: Ask = {}, tag = 'next') =>
      refusal(
        call('PUT /registries/{name}/packages/{package}/tags/{tag}', {
          params: { name: 'ours', package: '@s/n', tag },
          body: { version },
          ...more,
        }),
      )
    const only = (codename: string): Ask => ({ scope: { uploadOnly: false, distributions: [codename] } })
    expect([await set('2.0'), await set('9'), await set('1.9', {}, '-x')]).toEqual([
      ...['tag_needs_served', 'version_not_found', 'bad_registry'],
    ])
    // what clients of the format would read otherwise, though any client could ask for it
    expect(await set('1.9', {}, '1.x')).toBe('bad_registry')
    expect([await set('1.9', only('jammy')), await set('1.9', only('ours'))]).toEqual(['outside_distribution', 'taken'])
    const tags = (name: string) =>
      call('GET /registries/{name}/packages/{package}/tags', { params: { name: 'ours', package: name } })
    expect([await tags('@s/n'), await tags('other'), await tags('elsewhere')]).toEqual([
      {
        ...{ name: 'ours', package: '@s/n' },
        tags: [{ tag: 'next', version: '1.9', by: 'ada', at: expect.stringMatching(/^\d{4}-/) }],
      },
      { name: 'ours', package: 'other', tags: [] },
      { name: 'ours', package: 'elsewhere', tags: [] },
    ])
    const drop = (): Promise<unknown> =>
      refusal(
        call('DELETE /registries/{name}/packages/{package}/tags/{tag}', {
          params: { name: 'ours', package: '@s/n', tag: 'next' },
        }),
      )
    expect([await drop(), await drop()]).toEqual(['taken', 'tag_not_found'])
  })

  test('protocols read the files of a name, oldest first, those that wait, and names', async () => {
    const of = { format: 'deb', codename: 'ours' as Codename, name: '@s/n' }
    const files = await listFiles<{ control: string }>(stock.db, ALL_SEEING, { ...of, facts: ['control'] })
    expect(files.map(({ version, state, held }) => [version, state, held?.state])).toEqual([
      ['1.2', 'published', undefined],
      ['1.9', 'published', undefined],
      ['1.10', 'published', undefined],
      ['2.0', 'pending_review', 'pending_review'],
    ])
    expect(files[3]).toMatchObject({ size: 3, beside: ['n.sig'], facts: { control: 'Package: @s/n\nVersion: 2.0' } })
    expect(await listFiles(stock.db, ALL_SEEING, { ...of, facts: [] })).toMatchObject([{ facts: {} }, {}, {}, {}])
    expect(await listHeldFiles(stock.db, ALL_SEEING, of)).toEqual([{ version: '2.0', path: '@s/n_2.0_any.deb' }])
    const names = await listNamesOf(stock.db, ALL_SEEING, { ...of, states: ['published'] }, { after: '@s/n', most: 9 })
    expect(names).toMatchObject([{ name: 'other', versions: 1 }])
    expect(await listBareNames(stock.db, ALL_SEEING, { ...of, after: '', most: 1 })).toEqual(['@s/n'])
    expect(await listBareNames(stock.db, ALL_SEEING, { ...of, after: '@s/n', most: 9 })).toEqual(['other'])
    const hidden = { hidden: ['ours'] }
    expect(await listFiles(stock.db, hidden, { ...of, facts: [] })).toEqual([])
    expect(await listHeldFiles(stock.db, hidden, of)).toEqual([])
    expect(await listBareNames(stock.db, hidden, { ...of, after: '', most: 9 })).toEqual([])
  })

  test('it is the same after the database was made again from the manifests', async () => {
    const params = { name: 'ours', package: '@s/n', tag: 'latest' }
    await call('PUT /registries/{name}/packages/{package}/tags/{tag}', { params, body: { version: '1.9' } })
    const ask = () => call('GET /registries/{name}/packages', { params: { name: 'ours' }, query: {} })
    const before = await ask()
    await stock.outbox.drain()
    for (const table of ['tag', 'package', 'artifact']) await stock.db.query(`delete from ${table}`)
    await createRebuild({ ...stock, hasTree: () => false })(ALL_SEEING, () => undefined)
    expect(await ask()).toEqual(before)
    expect(stock.published).toEqual([])
  })
})
