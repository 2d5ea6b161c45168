import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Principal } from '../../core/access.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../core/default-distributions.ts'
import type { Codename } from '../../core/identity.ts'
import { createRepositories, type Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { saveIndex, saveVerdicts } from '../../catalog/queries/remote-versions.ts'
import { createDefinitions } from '../../files/definitions.ts'
import { getFormat } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { createSecretBox, type SecretBox } from '../../lib/secret-box.ts'
import { isOwned, ownersOf } from '../../registries/owned.ts'
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
    clientFacts: async () => ({ url: 'https://repo.example', privateTrees: new Set() }),
  }
})
afterEach(() => stock.close())

const HANDLERS = { ...registryHandlers, ...proxyHandlers }
function call(
  key: keyof typeof HANDLERS,
  { params = {}, query = {}, body = {} }: { params?: object; query?: object; body?: object } = {},
): Promise<Record<string, unknown>> {
  const who: Principal = { kind: 'token', name: 'ada', role: 'admin', credential: 'x' }
  const input = { params, query, body, viewer: ALL_SEEING, who, raw: { clientIp: '192.0.2.1' } }
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
const sealed = async (): Promise<string[]> =>
  (await stock.db.query<{ sealed: string }>('select sealed from registry_secret')).map(row =>
    box.open(row.sealed).toString(),
  )

test('a proxy is made with its rules, and its secret is shown nowhere', async () => {
  const made = await proxy('outside', {
    upstream: { url: `${URL_OUTSIDE}/`, user: 'ci', secret: 'hunter-2' },
    ...{ min_age_days: 7, age_from: 'first_seen' },
  })
  expect(made).toMatchObject({
    ...{ kind: 'proxy', upstream: { url: URL_OUTSIDE, user: 'ci', has_secret: true } },
    ...{ min_age_days: 7, age_from: 'first_seen', hidden: 0 },
  })
  expect(await sealed()).toEqual(['hunter-2'])
  const kept = [made, repositories.need('outside'), await readFile(stock.layout.distributionsFile, 'utf8')]
  const audit = await stock.db.query('select * from outbox')
  expect(JSON.stringify([kept, audit])).not.toContain('hunter-2')
})

test('a secret stays with its server, goes when that changes, and on demand', async () => {
  await proxy('outside', { upstream: { url: URL_OUTSIDE, secret: 'one' } })
  await change('outside', { upstream: { url: `${URL_OUTSIDE}/deeper` } })
  expect(await sealed()).toEqual(['one'])
  await change('outside', { upstream: { url: 'https://elsewhere.example' } })
  expect(await sealed()).toEqual([])
  await change('outside', { upstream: { url: 'https://elsewhere.example', secret: 'two' } })
  expect(await change('outside', { min_age_days: 3 })).toMatchObject({ upstream: { has_secret: true } })
  const gone = await change('outside', { upstream: { url: 'https://elsewhere.example', secret: null } })
  expect(gone).toMatchObject({ upstream: { has_secret: false }, min_age_days: 3 })
})

test.each([
  [{ kind: 'proxy' }, 'upstream'],
  [{ kind: 'proxy', upstream: { url: 'file:///etc/passwd' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: 'https://me:pw@registry.example' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: 'https://registry.example/?a=1' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: 'https://registry.example/#a' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: 'https://0x7f.1/' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: 'registry.example' } }, 'upstream.url'],
  [{ kind: 'proxy', upstream: { url: 'https://registry.example/a b' } }, 'upstream.url'],
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
  const key = { codename: 'outside' as Codename, name: 'pad' }
  const rows = ['1.0.0', '2.0.0', '3.0.0', '4.0.0'].map(version => ({
    version,
    arch: 'any',
    sort_key: version,
    facts: {},
  }))
  async function* chunks() {
    yield JSON.stringify(rows)
  }
  const index = { about: {}, validators: {}, keys: rows.map(({ version }) => `${version}\tany`), chunks: chunks() }
  const now = stock.clock.now()
  await saveIndex(stock.db, key, { format: 'npm', now, revision: 'a', index })
  const verdict = (version: string, hidden: 'malicious' | 'blocked' | 'young', ripe: number | null = null) => ({
    ...{ version, arch: 'any', hidden, said: `It is ${hidden}.` },
    ripe_at: ripe === null ? null : new Date(now.getTime() + ripe),
  })
  const verdicts = [verdict('2.0.0', 'blocked'), verdict('3.0.0', 'young', 60_000), verdict('4.0.0', 'malicious')]
  await saveVerdicts(stock.db, key, { revision: 'a', mark: 'b', verdicts })
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
      {
        version: '1.0.0',
        because: 'here',
        status: 'pending_review',
        said: expect.stringContaining('waits for review'),
      },
      { version: '3.0.0', because: 'young', said: 'It is young.', ripe_at: expect.any(String), status: null },
      { version: '4.0.0', because: 'malicious', said: 'It is malicious.' },
    ],
  })
  expect(await call('GET /registries/{name}/hidden', { params, query: { because: 'young', q: 'PAD' } })).toMatchObject({
    total: 1,
  })
  expect(await call('GET /registries/{name}', { params })).toMatchObject({ hidden: 3, versions: 2, held: 1 })
  expect(await call('GET /registries/{name}/asked', { params })).toMatchObject({
    total: 1,
    asked: [{ package: 'pad', missing: false, versions: 4, said: null }],
  })
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
  expect(await refusal(call(back, { params: at }))).toBe('waiver_not_found')
})
