import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decideVersion } from '../support/defined-registries.ts'
import { listNpm } from '../support/npm-upstream.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { startRegistryHouse } from '../support/registry-house.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

const house = await startRegistryHouse('npm')
const { daemon, token, upstream, second, must, make, left } = house

const call = (method: string, path: string, body?: object) =>
  daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })

interface Got {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}
async function ask(path: string, { method = 'GET', body, as }: { method?: string; body?: string; as?: string } = {}) {
  const response = await fetch(`${daemon.url}/npm/${path}`, {
    method,
    headers: {
      ...(as === undefined ? {} : { Authorization: `Bearer ${as}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, text: await response.text(), headers: response.headers } satisfies Got
}
const versionsOf = ({ status, text }: Got): readonly string[] | number =>
  status === 200 ? Object.keys((JSON.parse(text) as { versions: object }).versions) : status
const versions = async (path: string, as?: string) => versionsOf(await ask(path, as === undefined ? {} : { as }))

async function publish(registry: string, name: string, version: string, more: object = {}): Promise<void> {
  const bytes = buildNpm({ name, version, ...more })
  const answer = await daemon.upload(bytes, { token, distribution: registry, filename: `x-${version}.tgz` })
  expect(answer.status, answer.text).toBeLessThan(300)
}

beforeAll(async () => {
  await make('ours', { reserved: ['@house/*'] })
  await make('later')
  await make('hush')
  await make('outside', { kind: 'proxy', upstream: { url: upstream.url } })
  await make('second', { kind: 'proxy', upstream: { url: second.url } })
  await make('every', {
    kind: 'group',
    members: ['outside', 'second', 'hush', 'later', 'ours'],
    reserved: ['@group/*'],
  })
  await must('PUT', '/access/distributions/hush', { private: true, roles: ['admin'] })
})
afterAll(() => house.close())

describe('a name of the house', () => {
  test('is its first owner’s alone, whatever a later member or the world has of it', async () => {
    await publish('ours', 'both-have', '3.0.0')
    await publish('later', 'both-have', '1.0.0')
    listNpm(upstream, 'both-have', { versions: [{ version: '99.0.0' }] })
    left()
    expect(await versions('every/both-have')).toEqual(['1.0.0'])
    expect((await ask('every/both-have/3.0.0')).status).toBe(404)
    expect((await ask('every/both-have/-/both-have-3.0.0.tgz')).status).toBe(404)
    expect((await ask('every/both-have/-/both-have-99.0.0.tgz')).status).toBe(404)
    expect(left()).toEqual([])
  })

  test('is the same in other letters, with a scope, and in every spelling of its address', async () => {
    await publish('ours', '@team/lib', '1.0.0')
    for (const name of ['@team/lib', '@team%2flib', '@team%2Flib', '@Team/LIB', '@TEAM%2flib', 'Both-Have'])
      await ask(`every/${name}`)
    expect(await versions('every/@team%2flib')).toEqual(['1.0.0'])
    expect(await versions('every/@Team%2flib')).toBe(404)
    for (const path of ['-/package/@team%2flib/dist-tags', '-/npm/v1/attestations/@team/lib@1.0.0'])
      await ask(`every/${path}`)
    expect(left()).toEqual([])
  })

  test('that is reserved and nowhere is looked for nowhere, and the answer says why', async () => {
    for (const name of ['@house/plan', '@House%2fplan', '@group/x']) {
      const { status, text } = await ask(`every/${name}`)
      expect([name, status, text]).toEqual([name, 404, expect.stringContaining('belongs to this house')])
    }
    expect(left()).toEqual([])
  })

  test('that a caller may not see is 404 for that one, and asked for nowhere else', async () => {
    await publish('hush', 'secret-plan', '1.0.0')
    listNpm(upstream, 'secret-plan', { versions: [{ version: '2.0.0' }] })
    const { status, text } = await ask('every/secret-plan')
    expect([status, text.includes('hush')]).toEqual([404, false])
    expect((await ask('every/secret-plan/-/secret-plan-2.0.0.tgz')).status).toBe(404)
    expect(await versions('every/secret-plan', token)).toEqual(['1.0.0'])
    expect(left()).toEqual([])
  })

  test('has addresses below the group', async () => {
    const { text } = await ask('every/@team%2flib')
    expect(text).toContain(`"tarball":"${daemon.url}/npm/every/@team/lib/-/lib-1.0.0.tgz"`)
    expect((await ask('every/@team/lib/-/lib-1.0.0.tgz')).status).toBe(200)
  })

  test('that is held says so, and is asked for nowhere else', async () => {
    await publish('ours', 'waits', '1.0.0')
    await decideVersion(daemon, { token, registry: 'ours', name: 'waits', version: '1.0.0', action: 'quarantine' })
    listNpm(upstream, 'waits', { versions: [{ version: '2.0.0' }] })
    const { status, text } = await ask('every/waits/-/waits-1.0.0.tgz')
    expect([status, text]).toEqual([403, expect.stringContaining('Quarantined by Gatehouse')])
    expect(left()).toEqual([])
  })

  test('that was taken in from outside before belongs to the one who publishes it from then on', async () => {
    listNpm(upstream, 'turned', { versions: [{ version: '1.0.0' }] })
    expect((await ask('every/turned/-/turned-1.0.0.tgz')).status).toBe(200)
    await publish('ours', 'turned', '0.1.0')
    left()
    expect(await versions('every/turned')).toEqual(['0.1.0'])
    expect((await ask('every/turned/-/turned-1.0.0.tgz')).status).toBe(404)
    expect((await ask('outside/turned')).status).toBe(404)
    expect(left()).toEqual([])
  })
})

describe('another name', () => {
  test('is the first upstream’s that has it, with every version and file', async () => {
    listNpm(upstream, 'shared', { versions: [{ version: '1.0.0' }] })
    listNpm(second, 'shared', { versions: [{ version: '1.0.0' }, { version: '9.0.0' }] })
    left()
    expect(await versions('every/shared')).toEqual(['1.0.0'])
    const { status, text } = await ask('every/shared/-/shared-9.0.0.tgz')
    expect([status, text]).toEqual([404, expect.stringContaining('9.0.0 of shared in the registry outside')])
    expect((await ask('every/shared/9.0.0')).status).toBe(404)
    expect(second.asked()).toEqual([])
    left()
  })

  test('goes on where it is missing', async () => {
    listNpm(second, 'only-second', { versions: [{ version: '1.0.0' }] })
    expect(await versions('every/only-second')).toEqual(['1.0.0'])
    const { status, text } = await ask('every/nobody-has-it')
    expect([status, text]).toEqual([404, expect.stringContaining('No member of the group every')])
    left()
  })

  test('that an upstream has and this house hides is not looked for at the next', async () => {
    listNpm(upstream, 'too-new', { versions: [{ version: '1.0.0', at: new Date().toISOString() }] })
    listNpm(second, 'too-new', { versions: [{ version: '1.0.0' }] })
    await must('PATCH', '/registries/outside', { min_age_days: 7 })
    left()
    expect(await versions('every/too-new')).toEqual([])
    expect((await ask('every/too-new/-/too-new-1.0.0.tgz')).status).toBe(403)
    expect(second.asked()).toEqual([])
    await must('PATCH', '/registries/outside', { min_age_days: 0 })
    left()
  })
})

test('a search lists the names of all members in order, each by the word of who answers for it', async () => {
  listNpm(upstream, 'findable-outside', { versions: [{ version: '5.0.0' }] })
  listNpm(second, 'findable-twice', { versions: [{ version: '2.0.0' }] })
  await ask('every/findable-outside/-/findable-outside-5.0.0.tgz')
  await ask('second/findable-twice/-/findable-twice-2.0.0.tgz')
  listNpm(upstream, 'findable-twice', { versions: [{ version: '1.0.0' }] })
  await ask('outside/findable-twice/-/findable-twice-1.0.0.tgz')
  await publish('hush', 'findable-hush', '1.0.0')
  await publish('ours', 'findable', '1.0.0')
  await publish('later', 'findable', '2.0.0')
  // it came through before it was ours
  listNpm(upstream, 'findable-turned', { versions: [{ version: '7.0.0' }] })
  await ask('every/findable-turned/-/findable-turned-7.0.0.tgz')
  await publish('ours', 'findable-turned', '0.1.0')
  const search = async (query: string, as?: string) => {
    const { text, headers } = await ask(`every/-/v1/search?${query}`, as === undefined ? {} : { as })
    const { objects, total } = JSON.parse(text) as {
      objects: { package: { name: string; version: string } }[]
      total: number
    }
    const found = objects.map(({ package: one }) => `${one.name} ${one.version}`)
    return { found, total, said: headers.get('npm-notice') }
  }
  const all = ['findable 2.0.0', 'findable-outside 5.0.0', 'findable-twice 1.0.0', 'findable-turned 0.1.0']
  expect(await search('text=findable')).toEqual({
    ...{ found: all, total: 4 },
    said: expect.stringContaining('came through'),
  })
  expect((await search('text=findable&size=2&from=1')).found).toEqual(all.slice(1, 3))
  expect((await search('text=findable', token)).found).toContain('findable-hush 1.0.0')
  expect((await search('text=findable', token)).total).toBe(5)
})

test('an audit is one answer, with what was accepted by who answers for a name', async () => {
  await must('PATCH', '/settings/', { cve_policy: { high: 'allow' } })
  const form = new FormData()
  const records = ['audit-ours', 'audit-outside'].map(name =>
    osvRecord(`GHSA-${name === 'audit-ours' ? 'ours' : 'outs'}-aaaa-aaaa`, [], {
      affected: [{ package: { ecosystem: 'npm', name }, versions: ['1.0.0'] }],
      database_specific: { severity: 'HIGH' },
    }),
  )
  form.set('file', new Blob([new Uint8Array(osvZip(records))]), 'all.zip')
  const imported = await daemon.call('POST', '/security/database', { token, form })
  expect(imported.status, imported.text).toBe(200)
  listNpm(upstream, 'audit-ours', { versions: [{ version: '1.0.0' }] })
  listNpm(upstream, 'audit-outside', { versions: [{ version: '1.0.0' }] })
  for (const name of ['audit-ours', 'audit-outside'])
    expect((await ask(`outside/${name}/-/${name}-1.0.0.tgz`)).status).toBe(200)
  const accept = async (registry: string, name: string, id: string): Promise<void> => {
    const answer = await call('POST', `/security/packages/${name}/1.0.0/decide`, {
      ...{ distribution: registry, arch: 'any', decision: 'accept_risk', cve: id },
      justification: 'It is not reached from here.',
    })
    expect(answer.status, answer.text).toBeLessThan(300)
  }
  await accept('outside', 'audit-ours', 'GHSA-ours-aaaa-aaaa')
  const asked = { body: JSON.stringify({ 'audit-ours': ['1.0.0'], 'audit-outside': ['1.0.0'] }), method: 'POST' }
  const audit = async (): Promise<readonly string[]> => {
    const { status, text } = await ask('every/-/npm/v1/security/advisories/bulk', asked)
    expect(status, text).toBe(200)
    return Object.keys(JSON.parse(text) as object).toSorted()
  }
  // nobody here has it as ours: the acceptance in the proxy counts
  expect(await audit()).toEqual(['audit-outside'])
  await publish('ours', 'audit-ours', '1.0.0')
  expect(await audit()).toEqual(['audit-ours', 'audit-outside'])
  await accept('ours', 'audit-ours', 'GHSA-ours-aaaa-aaaa')
  expect(await audit()).toEqual(['audit-outside'])
  const quick = await ask('every/-/npm/v1/security/audits/quick', {
    method: 'POST',
    body: JSON.stringify({
      dependencies: { 'audit-ours': { version: '1.0.0' }, 'audit-outside': { version: '1.0.0' } },
    }),
  })
  const { advisories } = JSON.parse(quick.text) as { advisories: Record<string, { module_name: string }> }
  expect(Object.values(advisories).map(one => one.module_name)).toEqual(['audit-outside'])
})

describe('what is about no package', () => {
  test('is answered as by any registry', async () => {
    expect(JSON.parse((await ask('every/-/whoami', { as: token })).text)).toEqual({ username: 'admin' })
    expect((await ask('every/-/whoami')).status).toBe(401)
    expect((await ask('every/-/ping')).status).toBe(200)
    expect((await ask('every/-/user/token/x', { method: 'DELETE', as: token })).status).toBe(200)
    expect((await ask('every/-/v1/login', { method: 'POST', as: token })).text).toContain('Make an API token')
    expect((await ask('every/-/none/such')).status).toBe(404)
  })
})

test('nothing is published into it or changed through it, and it says where to', async () => {
  for (const [method, path, body] of [
    ['PUT', 'mine', '{"name":"mine"}'],
    ['PUT', '-/package/@team%2flib/dist-tags/next', '"1.0.0"'],
    ['DELETE', '-/package/@team%2flib/dist-tags/latest', undefined],
    ['DELETE', '@team%2flib/-rev/1-x', undefined],
  ] as const) {
    const { status, text } = await ask(`every/${path}`, { method, as: token, ...(body === undefined ? {} : { body }) })
    expect([path, status, text]).toEqual([path, 405, expect.stringContaining('Publish into hush or later or ours.')])
    const stranger = await ask(`every/${path}`, { method, ...(body === undefined ? {} : { body }) })
    expect(stranger.text).toContain('Publish into later or ours.')
  }
  for (const registry of ['every', 'outside']) {
    const bytes = buildNpm({ name: 'mine', version: '1.0.0' })
    const answer = await daemon.upload(bytes, { token, distribution: registry, filename: 'mine-1.0.0.tgz' })
    expect([registry, answer.status]).toEqual([registry, 409])
  }
  const promoted = await call('POST', '/distributions/promote', {
    ...{ name: 'findable', version: '1.0.0', arch: 'any', from: 'ours', to: 'every' },
  })
  expect(promoted.status, promoted.text).toBeGreaterThanOrEqual(400)
  expect((await call('GET', '/registries/every/packages')).body).toMatchObject({ total: 0 })
})

test('a registry that cannot ask its upstream ends the search: another one must not answer for it', async () => {
  left()
  listNpm(second, 'while-down', { versions: [{ version: '1.0.0' }] })
  upstream.fail(500)
  expect(await versions('every/while-down')).toBe(502)
  expect(second.asked()).toEqual([])
})
