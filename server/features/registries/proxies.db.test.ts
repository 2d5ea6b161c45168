import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Principal } from '../../core/access.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename } from '../../core/identity.ts'
import { createRepositories, type Repositories } from '../../core/repository.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import { listRemote, saveIndex, saveMissing, saveVerdicts } from '../../catalog/queries/remote-versions.ts'
import {
  findList,
  findRemoteTag,
  findSeen,
  noteSeen,
  saveList,
  saveRemoteTag,
  saveServed,
  saveYouth,
} from '../../catalog/queries/oci-remote.ts'
import { createDefinitions } from '../../files/definitions.ts'
import { MOST_UNANSWERED, noteUnanswered } from '../../catalog/queries/remote-unanswered.ts'
import { getFormat } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { createSecretBox, type SecretBox } from '../../lib/secret-box.ts'
import type { AskedNameView } from './proxy-contract.ts'
import { isOwned, ownersOf } from '../../registries/owned.ts'
import { openSecret } from '../../registries/remote/secret.ts'
import { visibleOf } from '../../registries/remote/remote.ts'
import { registryHandlers, type RegistryRouteDeps } from './handlers.ts'
import { proxyHandlers } from './proxy-handlers.ts'

const URL_OUTSIDE = 'https://registry.example/npm'

let stock: Stock
let repositories: Repositories
let box: SecretBox
let deps: RegistryRouteDeps
beforeEach(async () => {
  repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
  stock = await createStock({ trees: () => false, repositories })
  box = createSecretBox('x'.repeat(40))
  const { db, audit, outbox, clock, catalog, layout } = stock
  deps = {
    ...{ db, audit, outbox, clock, catalog, repositories, box },
    definitions: createDefinitions(db, layout),
    lock: createKeyedLock(),
    formats: ['npm', 'pypi', 'maven', 'oci'].map(getFormat),
    activeFormats: new Set(['npm']),
    settings: { now: () => ({ notifications: { allow_private_hosts: '10.1.0.0/16' } }) },
    clientFacts: async () => ({ url: 'https://repo.example', privateTrees: new Set() }),
  }
})
afterEach(() => stock.close())

const HANDLERS = { ...registryHandlers, ...proxyHandlers }
interface Ask {
  readonly params?: object
  readonly query?: object
  readonly body?: object
  readonly viewer?: Viewer
}
function call(
  key: keyof typeof HANDLERS,
  { params = {}, query = {}, body = {}, viewer = ALL_SEEING }: Ask = {},
): Promise<Record<string, unknown>> {
  const who: Principal = { kind: 'token', name: 'ada', role: 'admin', credential: 'x' }
  const input = { params, query, body, viewer, who, raw: { clientIp: '192.0.2.1' } }
  return (HANDLERS[key] as (deps: RegistryRouteDeps, input: unknown) => Promise<Record<string, unknown>>)(deps, input)
}
const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'taken',
    (error: unknown) => {
      const { code, facts } = error as { code?: string; facts?: { field?: string } }
      return code === undefined ? error : `${code} ${facts?.field ?? ''}`.trim()
    },
  )
const make = (name: string, more: object = {}) => call('POST /registries/', { body: { name, format: 'npm', ...more } })
const proxy = (name = 'outside', more: object = {}) =>
  make(name, { kind: 'proxy', upstream: { url: URL_OUTSIDE }, ...more })
const change = (name: string, body: object) => call('PATCH /registries/{name}', { params: { name }, body })
/** The secrets as they would go to an upstream; undefined: kept, but for another server. */
const secretsFor = async (url: string): Promise<(string | undefined)[]> =>
  (await stock.db.query<{ sealed: string }>('select sealed from registry_secret')).map(row =>
    openSecret(box, url, row.sealed),
  )
/** What the audit log says, oldest first. */
async function recorded(): Promise<string[]> {
  await stock.outbox.drain()
  const { items } = await stock.audit.search(ALL_SEEING, { page: 1, perPage: 50 })
  return items.map(({ detail }) => detail).toReversed()
}

test('a proxy is made with its rules, and its secret is shown nowhere', async () => {
  const made = await proxy('outside', {
    upstream: { url: `${URL_OUTSIDE}/`, user: 'ci', secret: 'hunter-2' },
    ...{ min_age_days: 7, age_from: 'first_seen' },
  })
  expect(made).toMatchObject({
    ...{ kind: 'proxy', upstream: { url: URL_OUTSIDE, user: 'ci', has_secret: true } },
    ...{ min_age_days: 7, age_from: 'first_seen', hidden: 0 },
  })
  expect(await secretsFor(URL_OUTSIDE)).toEqual(['hunter-2'])
  const said = await recorded()
  expect(said).toEqual([
    `Made a registry of the format npm. kind: hosted → proxy; upstream.url: (none) → ${URL_OUTSIDE}; upstream.user: (none) → ci; min_age_days: (none) → 7; age_from: (none) → first_seen; upstream.secret: (none) → ***.`,
  ])
  const kept = [made, repositories.need('outside'), await readFile(stock.layout.distributionsFile, 'utf8'), said]
  const rows = [
    await stock.db.query('select * from outbox'),
    await stock.db.query('select * from audit_pending'),
    await stock.db.query('select * from distribution_definition'),
    await stock.db.query('select * from registry_secret'),
  ]
  expect(JSON.stringify([kept, rows])).not.toContain('hunter-2')
})

test('a secret stays with its server, goes when that changes, and on demand', async () => {
  await proxy('outside', { upstream: { url: URL_OUTSIDE, secret: 'one' } })
  expect(await change('outside', { upstream: { url: `${URL_OUTSIDE}/deeper` } })).toMatchObject({ notes: [] })
  expect(await secretsFor(URL_OUTSIDE)).toEqual(['one'])
  // a process that does not know of the change yet sends nothing to the old server
  expect(await secretsFor('https://elsewhere.example')).toEqual([undefined])
  expect(await change('outside', { upstream: { url: 'https://elsewhere.example' } })).toMatchObject({
    upstream: { has_secret: false },
    notes: [expect.stringContaining('The secret was given for another server or user and is gone')],
  })
  expect(await secretsFor(URL_OUTSIDE)).toEqual([])
  await change('outside', { upstream: { url: 'https://elsewhere.example', secret: 'two' } })
  expect(await change('outside', { min_age_days: 3 })).toMatchObject({ upstream: { has_secret: true }, notes: [] })
  const gone = await change('outside', { upstream: { url: 'https://elsewhere.example', secret: null } })
  expect(gone).toMatchObject({ upstream: { has_secret: false }, min_age_days: 3, notes: [] })
  expect((await recorded()).slice(2)).toEqual([
    'outside: it takes packages. upstream.url: https://registry.example/npm/deeper → https://elsewhere.example; upstream.secret: *** → (none).',
    'outside: it takes packages. upstream.secret: (none) → ***.',
    'outside: it takes packages. min_age_days: (none) → 3.',
    'outside: it takes packages. upstream.secret: *** → (none).',
  ])
})

test('what an upstream said counts no more where a proxy reads elsewhere; what came in stays', async () => {
  await known()
  await stock.put({ format: 'npm', codename: 'outside', name: 'pad', version: '1.0.0', arch: 'any' })
  const rows = async (): Promise<unknown> => [
    await stock.db.query('select name from remote_name'),
    await stock.db.query('select version, is_listed from remote_version order by version'),
  ]
  const all = ['1.0.0', '2.0.0', '3.0.0', '4.0.0'].map(version => ({ version, is_listed: true }))
  await change('outside', { min_age_days: 3, upstream: { url: URL_OUTSIDE } })
  expect(await rows()).toEqual([[{ name: 'pad' }], all])
  await change('outside', { upstream: { url: 'https://registry.example/other' } })
  expect(await rows()).toEqual([[], all.map(one => ({ ...one, is_listed: false }))])
  const { total } = await call('GET /registries/{name}/hidden', { params: { name: 'outside' } })
  expect(total).toBe(0)
  const key = { codename: 'outside' as Codename, name: 'pad' }
  expect((await listRemote(stock.db, key, { format: 'npm' })).map(({ version }) => version)).toEqual(['1.0.0'])
  // what the new one lists is judged before clients get it, whatever was said of the version before
  await indexed(false)
  const again = (await listRemote(stock.db, key, { format: 'npm' })).map(({ version, hidden }) => [version, hidden])
  expect(again).toEqual([['1.0.0', null], ...['2.0.0', '3.0.0', '4.0.0'].map(version => [version, 'unjudged'])])
})

test('of images, too: tags keep what clients got by them, and a manifest is known again when it is seen again', async () => {
  await make('images', { format: 'oci', kind: 'proxy', upstream: { url: 'https://images.example' } })
  const key = { codename: 'images' as Codename, name: 'app' }
  const at = stock.clock.now()
  const seen = { digest: 'sha256:aa', arch: 'linux/amd64', publishedAt: undefined, facts: {} }
  await saveRemoteTag(stock.db, { ...key, tag: 'latest' }, { digest: 'sha256:aa', now: at })
  await saveServed(stock.db, { ...key, tag: 'latest' }, 'sha256:aa')
  await saveList(stock.db, { ...key, list: 'tags' }, { items: ['latest'], now: at })
  await noteSeen(stock.db, key, { ...seen, now: at })
  await saveYouth(stock.db, key, seen.digest, { said: 'It is young.', ripe_at: null })
  const hidden = async () => (await call('GET /registries/{name}/hidden', { params: { name: 'images' } })).total
  expect(await hidden()).toBe(1)
  await change('images', { upstream: { url: 'https://elsewhere.example' } })
  expect(await hidden()).toBe(0)
  expect(await findList(stock.db, { ...key, list: 'tags' })).toBeUndefined()
  expect(await findRemoteTag(stock.db, { ...key, tag: 'latest' })).toMatchObject({
    ...{ digest: null, served: ['sha256:aa'], checked_at: new Date(0) },
  })
  await noteSeen(stock.db, key, { ...seen, now: new Date(at.getTime() + 60_000) })
  expect(await findSeen(stock.db, key, seen.digest)).toMatchObject({ seen_at: at })
  expect(await hidden()).toBe(1)
})

test('of a group only the members that the caller may see are named', async () => {
  await make('ours')
  await proxy()
  await make('both', { kind: 'group', members: ['ours', 'outside'] })
  const seen = { params: { name: 'both' }, viewer: { hidden: ['ours'] } }
  expect(await call('GET /registries/{name}', seen)).toMatchObject({ members: ['outside'] })
  expect(await call('GET /registries/{name}', { params: { name: 'both' } })).toMatchObject({
    members: ['ours', 'outside'],
  })
})

test('versions of a proxy and a group have no tags or yanks of ours, and neither retires', async () => {
  await proxy()
  await stock.put({ format: 'npm', codename: 'outside', name: 'pad', version: '1.0.0', arch: 'any' })
  const of = { name: 'outside', package: 'pad', version: '1.0.0', tag: 'next' }
  const tag = { params: of, body: { version: '1.0.0' } }
  expect(await refusal(call('PUT /registries/{name}/packages/{package}/tags/{tag}', tag))).toBe(
    'registry_takes_no_uploads',
  )
  const yank = { params: of, body: { reason: 'Broken.' } }
  expect(await refusal(call('PUT /registries/{name}/packages/{package}/versions/{version}/yank', yank))).toBe(
    'registry_takes_no_uploads',
  )
  expect(await refusal(change('outside', { retired: true }))).toBe('bad_registry retired')
  expect(await change('outside', { retired: false })).toMatchObject({ retired: false })
})

test.each([
  [{ kind: 'proxy' }, 'upstream'],
  [{ kind: 'proxy', upstream: { url: 'http://169.254.169.254/' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: URL_OUTSIDE, user: 'a:b' } }, 'upstream.user'],
  [{ kind: 'proxy', upstream: { url: URL_OUTSIDE }, members: ['ours'] }, 'members'],
  [{ kind: 'proxy', upstream: { url: URL_OUTSIDE }, reserved: ['@ours/*'] }, 'reserved'],
  [{ kind: 'hosted', upstream: { url: URL_OUTSIDE } }, 'upstream'],
  [{ min_age_days: 7 }, 'min_age_days'],
  [{ kind: 'group' }, 'members'],
  [{ kind: 'group', members: ['nobody'] }, 'members'],
  [{ kind: 'group', members: ['python'] }, 'members'],
  [{ kind: 'group', members: ['ours', 'ours'] }, 'members'],
  [{ kind: 'group', members: ['all'] }, 'members'],
  [{ reserved: ['*'] }, 'reserved'],
  [{ kind: 'mirror' }, 'kind'],
])('%j is refused for its %s', async (wish, field) => {
  await make('ours')
  await make('python', { format: 'pypi' })
  await make('together', { kind: 'group', members: ['ours'] })
  const named = 'members' in wish && wish.members[0] === 'all' ? { ...wish, members: ['together'] } : wish
  expect(await refusal(make('another', named))).toBe(`bad_registry ${field}`)
})

test('a group keeps its members from being removed, and never becomes something else', async () => {
  await make('ours')
  await proxy()
  expect(await make('all-npm', { kind: 'group', members: ['ours', 'outside'], reserved: ['@ours/*'] })).toMatchObject({
    ...{ kind: 'group', members: ['ours', 'outside'], reserved: ['@ours/*'] },
  })
  expect(await refusal(call('DELETE /registries/{name}', { params: { name: 'ours' } }))).toBe('registry_is_member')
  expect(await refusal(change('all-npm', { upstream: { url: URL_OUTSIDE } }))).toBe('bad_registry upstream')
  await change('all-npm', { members: ['outside'] })
  await call('DELETE /registries/{name}', { params: { name: 'ours' } })
  expect(repositories.find('ours')).toBeUndefined()
})

test('names of a hosted registry are kept when their last version is gone, and go with it', async () => {
  await make('ours', { reserved: ['@ours/*'] })
  const owners = (name: string) => ownersOf({ db: stock.db, repositories }, { format: 'npm', name })
  const { manifest } = await stock.put({ format: 'npm', codename: 'ours', name: 'pad', version: '1.0.0', arch: 'any' })
  expect(isOwned(await owners('pad'))).toBe(true)
  expect(isOwned(await owners('PAD'))).toBe(true)
  expect(isOwned(await owners('@ours/anything'))).toBe(true)
  expect(isOwned(await owners('lodash'))).toBe(false)
  await stock.catalog.change({ kind: 'delete', ref: manifest.ref, why: 'a test' }, { name: 'ada' })
  expect((await owners('pad')).hosted.map(({ codename }) => codename)).toEqual(['ours'])
  await call('DELETE /registries/{name}', { params: { name: 'ours' } })
  expect(isOwned(await owners('pad'))).toBe(false)
})

async function known(): Promise<void> {
  await proxy()
  await indexed()
}

/** What an upstream says of `pad`, judged unless it is not to be. */
async function indexed(isJudged = true): Promise<void> {
  const key = { codename: 'outside' as Codename, name: 'pad' }
  const rows = ['1.0.0', '2.0.0', '3.0.0', '4.0.0'].map(version => ({
    version,
    arch: 'any',
    sort_key: getFormat('npm').versionKey(version),
    facts: {},
  }))
  async function* chunks() {
    yield JSON.stringify(rows)
  }
  const index = { about: {}, validators: {}, keys: rows.map(({ version }) => `${version}\tany`), chunks: chunks() }
  const now = stock.clock.now()
  await saveIndex(stock.db, key, { format: 'npm', now, revision: 'a', index })
  const verdict = (version: string, hidden: 'malicious' | 'blocked' | 'young' | null, ripe: number | null = null) => ({
    ...{ version, arch: 'any', hidden, said: hidden === null ? null : `It is ${hidden}.` },
    ripe_at: ripe === null ? null : new Date(now.getTime() + ripe),
  })
  const verdicts = [
    ...[verdict('1.0.0', null), verdict('2.0.0', 'blocked')],
    ...[verdict('3.0.0', 'young', 60_000), verdict('4.0.0', 'malicious')],
  ]
  if (isJudged) await saveVerdicts(stock.db, key, { revision: 'a', mark: 'b', verdicts })
}

test('what a proxy hides is listed with the reason, and what is here by its state', async () => {
  await known()
  await stock.put({
    format: 'npm',
    codename: 'outside',
    name: 'pad',
    version: '1.0.0',
    arch: 'any',
    state: 'pending_review',
  })
  await stock.put({ format: 'npm', codename: 'outside', name: 'pad', version: '2.0.0', arch: 'any' })
  const params = { name: 'outside' }
  const all = await call('GET /registries/{name}/hidden', { params })
  expect(all).toMatchObject({
    total: 3,
    hidden: [
      { version: '4.0.0', because: 'malicious', said: 'It is malicious.', waiver: null },
      { version: '3.0.0', because: 'young', said: 'It is young.', ripe_at: expect.any(String), status: null },
      {
        version: '1.0.0',
        because: 'here',
        status: 'pending_review',
        said: expect.stringContaining('waits for review'),
      },
    ],
  })
  expect(await call('GET /registries/{name}/hidden', { params, query: { because: 'young', q: 'PAD' } })).toMatchObject({
    total: 1,
  })
  expect(await call('GET /registries/{name}', { params })).toMatchObject({ hidden: 3, versions: 2, held: 1 })
  expect(await call('GET /registries/{name}/asked', { params })).toMatchObject({
    total: 1,
    asked: [{ package: 'pad', outcome: 'answered', versions: 4, said: null }],
  })
})

test('the list of what is hidden, and its number, say of each version what clients get', async () => {
  await proxy()
  await make('ours')
  const now = stock.clock.now()
  const key = { codename: 'outside' as Codename, name: 'pad' }
  const hour = (n: number): Date => new Date(now.getTime() + n * 3_600_000)
  const verdicts: readonly (readonly [string | null, Date | null])[] = [
    [null, null],
    ['malicious', null],
    ['blocked', null],
    ['review', null],
    ['young', null],
    ['young', hour(1)],
    ['young', hour(-1)],
    ['unjudged', null],
  ]
  let n = 0
  for (const [hidden, ripeAt] of verdicts)
    for (const state of [undefined, 'published', 'pending_review', 'quarantined', 'rejected'] as const)
      for (const isListed of [true, false]) {
        const version = `1.${n++}.0`
        await stock.db.query(
          `insert into remote_version (codename, name, version, arch, sort_key, seen_at, facts, is_listed, hidden, said, ripe_at)
          values ('outside', 'pad', $1, 'any', $2, $3, '{}', $4, $5, 'so', $6)`,
          [version, getFormat('npm').versionKey(version), now, isListed, hidden, ripeAt],
        )
        if (state !== undefined)
          await stock.put({ format: 'npm', codename: 'outside', name: 'pad', version, arch: 'any', state })
      }
  // as a group or another registry of the name would have it
  await stock.put({ format: 'npm', codename: 'ours', name: 'pad', version: '9.0.0', arch: 'any', state: 'quarantined' })
  const rows = await listRemote(stock.db, key, { format: 'npm' })
  const expected = rows.filter(row => visibleOf(row, now).is !== 'served').map(({ version }) => version)
  const { total, hidden } = await call('GET /registries/{name}/hidden', {
    params: { name: 'outside' },
    query: { per_page: 100 },
  })
  expect(expected.length).toBeGreaterThan(20)
  expect((hidden as { version: string }[]).map(({ version }) => version)).toEqual(expected.toReversed())
  expect(total).toBe(expected.length)
  expect(await call('GET /registries/{name}', { params: { name: 'outside' } })).toMatchObject({ hidden: total })
  const { registries } = await call('GET /registries/')
  expect(registries).toMatchObject([
    { name: 'ours', hidden: 0 },
    { name: 'outside', hidden: total },
  ])
  const page = { params: { name: 'outside' }, query: { per_page: 10, page: 2 } }
  expect((await call('GET /registries/{name}/hidden', page)).hidden).toEqual((hidden as unknown[]).slice(10, 20))
})

test('what a waiver lets through is hidden no more until it ends; what it does not is listed with it', async () => {
  await known()
  const params = { name: 'outside' }
  const waive = (version: string) =>
    call('PUT /registries/{name}/packages/{package}/versions/{version}/waiver', {
      params: { ...params, package: 'pad', version },
      body: { reason: 'A fix.', expires_in_days: 2 },
    })
  const hidden = async () => (await call('GET /registries/{name}/hidden', { params })).hidden as { version: string }[]
  await waive('3.0.0')
  expect((await hidden()).map(({ version }) => version)).toEqual(['4.0.0', '2.0.0'])
  await waive('2.0.0')
  expect(await refusal(waive('4.0.0'))).toBe('waiver_of_malicious')
  await stock.put({
    format: 'npm',
    codename: 'outside',
    name: 'pad',
    version: '2.0.0',
    arch: 'any',
    state: 'quarantined',
  })
  expect(await hidden()).toMatchObject([
    { version: '4.0.0', waiver: null },
    { version: '2.0.0', because: 'here', waiver: { reason: 'A fix.', by: 'ada', expires_at: expect.any(String) } },
  ])
  expect(await call('GET /registries/{name}', { params })).toMatchObject({ hidden: 2 })
  stock.clock.set(new Date(stock.clock.now().getTime() + 3 * 86_400_000).toISOString())
  expect(await hidden()).toMatchObject([{ version: '4.0.0' }, { version: '2.0.0', waiver: null }])
  expect(await call('GET /registries/{name}/waivers', { params })).toMatchObject({
    total: 2,
    waivers: [{ expired: true }, { expired: true }],
  })
})

test.each([
  ['npm', 'pad', '1.0.0', '1.0.0', 'taken'],
  ['npm', 'pad', '1.0.0', '9.9.9', 'taken'],
  ['npm', 'pad', '1.0.0', 'v1.0.0', 'bad_registry version'],
  ['npm', 'pad', '1.0.0', 'latest', 'bad_registry version'],
  ['pypi', 'pad', '1.0rc1', '1.0RC1', 'bad_registry version'],
  ['pypi', 'pad', '1.0', '1.0.0', 'bad_registry version'],
  ['pypi', 'pad', '1.0', '1.1', 'taken'],
  ['maven', 'com.x:pad', '1.0', '1.0.0', 'bad_registry version'],
  ['maven', 'com.x:pad', '1.0', '1.0', 'taken'],
  ['oci', 'app', `sha256:${'a'.repeat(64)}`, 'latest', 'bad_registry version'],
  ['oci', 'app', `sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`, 'taken'],
])('in %s, where %s %s is known, a waiver of %s is %s', async (format, name, there, version, is) => {
  await make('outside', { format, kind: 'proxy', upstream: { url: URL_OUTSIDE } })
  await stock.db.query(
    `insert into remote_version (codename, name, version, arch, sort_key, seen_at, facts, is_listed)
    values ('outside', $1, $2, 'any', $3, now(), '{}', true)`,
    [name, there, getFormat(format).versionKey(there)],
  )
  const given = call('PUT /registries/{name}/packages/{package}/versions/{version}/waiver', {
    params: { name: 'outside', package: name, version },
    body: { reason: 'A fix.', expires_in_days: 2 },
  })
  expect(await refusal(given)).toBe(is)
})

test('a waiver has a reason and an end, is on record, and is of proxies alone', async () => {
  await known()
  await make('ours')
  const at = { name: 'outside', package: 'pad', version: '3.0.0' }
  const path = 'PUT /registries/{name}/packages/{package}/versions/{version}/waiver' as const
  const given = await call(path, { params: at, body: { reason: ' The fix of CVE-1. ', expires_in_days: 7 } })
  expect(given).toMatchObject({
    ...{ package: 'pad', version: '3.0.0', reason: 'The fix of CVE-1.', by: 'ada', expired: false },
  })
  expect(await refusal(call(path, { params: at, body: { reason: '  ', expires_in_days: 7 } }))).toBe(
    'bad_registry reason',
  )
  expect(
    await refusal(call(path, { params: { ...at, name: 'ours' }, body: { reason: 'x', expires_in_days: 7 } })),
  ).toBe('not_a_proxy')
  expect(await call('GET /registries/{name}/waivers', { params: { name: 'outside' } })).toMatchObject({ total: 1 })
  const back = 'DELETE /registries/{name}/packages/{package}/versions/{version}/waiver' as const
  await call(back, { params: at })
  expect((await recorded()).slice(-2)).toEqual([
    expect.stringMatching(/^Let through until \d{4}-\d\d-\d\d although it is hidden: The fix of CVE-1\.$/),
    'No longer let through; what came in meanwhile stays as it is.',
  ])
  expect(await refusal(call(back, { params: at }))).toBe('waiver_not_found')
})

test('the lines for clients of a proxy publish nothing', async () => {
  await make('ours')
  await proxy()
  const lines = async (name: string) => {
    const { clients } = await call('GET /registries/{name}/setup', { params: { name } })
    return (clients as { publish?: string }[]).filter(({ publish }) => publish !== undefined).length
  }
  expect([(await lines('ours')) > 0, await lines('outside')]).toEqual([true, 0])
})

test('what was asked for and looks like a name of the house is marked for who sees its registry, and may be all that is listed', async () => {
  await proxy()
  await make('ours')
  await make('acme', { reserved: ['@acmecorp/*'] })
  await stock.put({ format: 'npm', codename: 'ours', name: 'ours-lib', version: '1.0.0', arch: 'any' })
  const names = ['ourslib', 'ours-lib', 'lodash', 'acmecorp-tools', 'ours-libs']
  for (const [n, name] of names.entries())
    await saveMissing(
      stock.db,
      { codename: 'outside' as Codename, name },
      { now: new Date(stock.clock.now().getTime() + n), revision: `${n}` },
    )
  const list = async (query: object, viewer?: Viewer) => {
    const ask = { params: { name: 'outside' }, query, ...(viewer === undefined ? {} : { viewer }) }
    const { total, asked } = await call('GET /registries/{name}/asked', ask)
    return [
      total,
      ...(asked as AskedNameView[]).map(({ package: name, looks_like: like }) =>
        like === null ? name : `${name} is like ${like.name} of ${like.registry}`,
      ),
    ]
  }
  const marked = [
    'ours-libs is like ours-lib of ours',
    'acmecorp-tools is like @acmecorp/* of acme',
    'ourslib is like ours-lib of ours',
  ]
  expect(await list({})).toEqual([5, marked[0], marked[1], 'lodash', 'ours-lib', marked[2]])
  expect(await list({ lookalike: true })).toEqual([3, ...marked])
  expect(await list({ lookalike: true, per_page: 1, page: 2 })).toEqual([3, marked[1]])
  expect(await list({ lookalike: true, q: 'LIB' })).toEqual([2, marked[0], marked[2]])
  expect(await list({ lookalike: true }, { hidden: ['ours'] })).toEqual([1, marked[1]])
  expect(await list({ lookalike: true, q: 'lodash' })).toEqual([0])
})

test('names that were asked for in vain are listed with what happened, and reserved ones to who sees what they belong to', async () => {
  await proxy()
  await make('ours')
  await stock.put({ format: 'npm', codename: 'ours', name: 'ours-lib', version: '1.0.0', arch: 'any' })
  const now = stock.clock.now()
  const at = (n: number): Date => new Date(now.getTime() + n)
  const key = (name: string) => ({ codename: 'outside' as Codename, name })
  const hostile = '<b>\u202Egnp.exe</b>'
  await noteUnanswered(stock.db, key('down'), { outcome: 'failed', said: 'It answered 500.', now: at(1) })
  await noteUnanswered(stock.db, key(hostile), { outcome: 'refused', said: 'It is no JSON.', now: at(2) })
  await noteUnanswered(stock.db, key('ours-lib'), { outcome: 'reserved', now: at(3) })
  await noteUnanswered(stock.db, key('gone'), { outcome: 'missing', now: at(4) })
  await saveMissing(stock.db, key('gone-too'), { now: at(5), revision: 'r' })
  const params = { name: 'outside' }
  const list = async (more: Ask = {}) => {
    const { total, asked } = await call('GET /registries/{name}/asked', { params, ...more })
    return [total, ...(asked as AskedNameView[]).map(({ package: name, outcome, said }) => [name, outcome, said])]
  }
  const others = [
    ['gone-too', 'missing', null],
    ['gone', 'missing', null],
  ]
  const failed = [
    [hostile, 'refused', 'It is no JSON.'],
    ['down', 'failed', 'It answered 500.'],
  ]
  expect(await list()).toEqual([5, ...others, ['ours-lib', 'reserved', null], ...failed])
  const blind = { viewer: { hidden: ['ours'] } }
  expect(await list(blind)).toEqual([4, ...others, ...failed])
  expect(await list({ ...blind, query: { q: 'ours-lib' } })).toEqual([0])
  await saveMissing(stock.db, key('down'), { now: at(6), revision: 'r' })
  expect((await list()).slice(0, 2)).toEqual([5, ['down', 'missing', null]])
  await call('DELETE /registries/{name}', { params })
  expect(await stock.db.query('select * from remote_unanswered')).toEqual([])
})

test('who asks for ever other names in vain fills no disk', async () => {
  await proxy()
  const now = stock.clock.now()
  await stock.db.query(
    `insert into remote_unanswered select 'outside', 'n' || n, 'reserved', null, $1::timestamptz + n * interval '1 ms'
    from generate_series(1, ${MOST_UNANSWERED}) n`,
    [now],
  )
  const last = new Date(now.getTime() + 2 * MOST_UNANSWERED)
  await noteUnanswered(stock.db, { codename: 'outside' as Codename, name: 'last' }, { outcome: 'reserved', now: last })
  expect(
    await stock.db.query(`select count(*)::int as n, bool_or(name = 'n1') as oldest, bool_or(name = 'last') as newest
      from remote_unanswered`),
  ).toEqual([{ n: MOST_UNANSWERED, oldest: false, newest: true }])
})

test('a secret is taken away, or set, without naming the address again; a new proxy needs one', async () => {
  const upstream = { url: URL_OUTSIDE, user: 'ci', secret: 'first' }
  await proxy('outside', { upstream })
  const sent = async () => (await call('GET /registries/{name}', { params: { name: 'outside' } })).upstream
  const known = { url: URL_OUTSIDE, user: 'ci' }
  await change('outside', { upstream: { secret: null } })
  expect(await sent()).toEqual({ ...known, has_secret: false })
  await change('outside', { upstream: { secret: 'second' } })
  expect(await sent()).toEqual({ ...known, has_secret: true })
  const { notes } = await change('outside', { upstream: { user: 'other' } })
  expect([await sent(), notes]).toEqual([{ url: URL_OUTSIDE, user: 'other', has_secret: false }, [expect.anything()]])
  expect(await refusal(make('more', { kind: 'proxy', upstream: { secret: 'x' } }))).toBe('bad_registry upstream.url')
})
