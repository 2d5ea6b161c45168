import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../server/api.ts'
import type { Row } from '../../server/core/contract.ts'
import { fetchAuditArchive } from '../support/audit-archive.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { decideVersion } from '../support/defined-registries.ts'
import { buildImage, layerOf } from '../support/oci-images.ts'
import { createOciClient } from '../support/oci-registry.ts'
import { buildNpm } from '../support/packages-npm.ts'
import { buildWheel, wheelName } from '../support/packages-pypi.ts'
import { startRegistryUpstream, type RegistryUpstream } from '../support/registry-upstream.ts'

/**
 * Registries that only an admin sees, with packages, decisions, downloads, and names that others asked a proxy for.
 * Nobody else may read one of these words anywhere.
 */
const TRACES = ['qvault', 'qwheels', 'qpics', 'qsecret', 'qscope', 'qreserved', 'qwheel', 'qimage', '9.8.7']
const PASSWORD = 'Correct-horse-9'
const READERS = [
  ['gast', 'reader'],
  ['otto', 'auditor'],
  ['ulla', 'uploader'],
  ['milo', 'maintainer'],
] as const

let daemon: Daemon
let upstream: RegistryUpstream
let admin: string
const tokens = new Map<string, string | undefined>([['nobody', undefined]])

async function must(method: string, path: string, body?: object): Promise<void> {
  const { status, text } = await daemon.call(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
  expect(status, `${path} ${text}`).toBeLessThan(300)
}
const put = async (distribution: string, filename: string, bytes: Buffer): Promise<void> => {
  const { status, text } = await daemon.upload(bytes, { token: admin, distribution, filename })
  expect(status, text).toBe(201)
}
const asAdmin = async (path: string): Promise<number> => {
  const answer = await fetch(`${daemon.url}${path}`, {
    headers: {
      'Authorization': `Bearer ${admin}`,
      'User-Agent': 'npm/11.19.1 node/v24.21.0 linux x64 workspaces/false',
    },
  })
  await answer.arrayBuffer()
  return answer.status
}

beforeAll(async () => {
  upstream = await startRegistryUpstream()
  daemon = await startDaemon()
  admin = await daemon.setupAdmin()
  for (const [username, role] of READERS) {
    await must('POST', '/auth/users', { username, password: PASSWORD, role })
    const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username, password: PASSWORD },
    })
    tokens.set(username, body.access_token)
  }
  await must('PATCH', '/settings/', {
    notifications: { allow_private_hosts: '127.0.0.1' },
    validation: { on_scanner_unavailable: 'warn', clamav_scan: false },
  })
  const hidden = [
    { name: 'qvault', format: 'npm', reserved: ['@qreserved/*'] },
    { name: 'qwheels', format: 'pypi' },
    { name: 'qpics', format: 'oci' },
  ]
  for (const one of hidden) {
    await must('POST', '/registries/', one)
    await must('PUT', `/access/distributions/${one.name}`, { private: true, users: ['root'] })
  }
  await must('POST', '/registries/', { name: 'opened', format: 'npm' })
  const upstreamUrl = { url: upstream.url }
  await must('POST', '/registries/', { name: 'outside', format: 'npm', kind: 'proxy', upstream: upstreamUrl })
  await must('POST', '/registries/', {
    ...{ name: 'strict', format: 'npm', kind: 'proxy', upstream: upstreamUrl, hold_lookalikes: true },
  })
  const group = { kind: 'group' }
  await must('POST', '/registries/', {
    ...group,
    name: 'every',
    format: 'npm',
    members: ['qvault', 'opened', 'outside'],
  })
  await must('POST', '/registries/', { ...group, name: 'py-every', format: 'pypi', members: ['qwheels'] })
  await must('POST', '/registries/', { ...group, name: 'pics-every', format: 'oci', members: ['qpics'] })
  await put('opened', 'open-1.0.0.tgz', buildNpm({ name: 'open', version: '1.0.0' }))
  for (const [name, version] of [
    ['qsecret', '9.8.7'],
    ['qsecret', '9.8.6'],
    ['@qscope/lib', '9.8.7'],
    ['open', '9.8.7'],
  ] as const) {
    const bytes = buildNpm({ name, version })
    TRACES.push(createHash('sha256').update(bytes).digest('hex'))
    await put('qvault', `x-${version}.tgz`, bytes)
  }
  await decideVersion(daemon, {
    ...{ token: admin, registry: 'qvault', name: 'qsecret', version: '9.8.6', action: 'quarantine' },
  })
  await must('PUT', '/registries/qvault/packages/qsecret/tags/beta', { version: '9.8.7' })
  const wheel = { name: 'qwheel', version: '9.8.7' }
  await put('qwheels', wheelName(wheel), buildWheel(wheel))
  await must('PUT', '/registries/qwheels/packages/qwheel/versions/9.8.7/yank', { reason: 'qwheel is broken' })
  const image = buildImage({ layers: [layerOf({ name: 'etc/n', body: 'n' })], comment: 'one' })
  const pushed = await createOciClient(daemon.url, 'qpics/qimage/app', `Bearer ${admin}`).push(image, 'v1')
  expect(pushed.status).toBe(201)
  TRACES.push(image.digest.slice('sha256:'.length))
  // what others asked for, and what looks like a name that they may not read
  upstream.put('/qsceret', { status: 404, body: '' })
  for (const path of [
    'outside/qsecret',
    'outside/%40qreserved%2fx',
    'outside/qsceret',
    'strict/qsceret',
    'every/qsecret',
  ])
    await asAdmin(`/npm/${path}`)
  for (const registry of ['qvault', 'every'])
    expect(await asAdmin(`/npm/${registry}/qsecret/-/qsecret-9.8.7.tgz`)).toBe(200)
  // what was fetched is counted when it starts
  await daemon.stop()
  await daemon.restart()
  const stats = await daemon.call('GET', '/downloads/stats', { token: admin })
  expect(stats.text).toContain('qsecret')
}, 240_000)
afterAll(async () => {
  await daemon.close()
  await upstream.close()
})

/** What a parameter of a path may be: what everybody sees, and what is hidden. */
const PATH_VALUES: Readonly<Record<string, readonly string[]>> = {
  name: ['open', 'outside', 'strict', 'every', 'py-every', 'qvault', 'qsecret'],
  package: ['open', 'qsecret'],
  version: ['1.0.0', '9.8.7'],
  codename: ['opened', 'every', 'qvault'],
}
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  q: ['open', 'qs'],
  search: ['open', 'qs'],
  package: ['open', 'qsecret'],
  distribution: ['opened', 'every', 'qvault'],
  with: ['opened', 'qvault'],
  with_distribution: ['opened', 'qvault'],
  lookalike: ['true'],
  v1: ['1.0.0'],
  v2: ['9.8.7'],
  what: ['packages', 'findings'],
}
const expand = (path: string): string[] => {
  const [, before = '', name = '', after = ''] = /^(.*?)\{(\w+)\}(.*)$/.exec(path) ?? []
  return name === '' ? [path] : (PATH_VALUES[name] ?? ['1']).flatMap(value => expand(`${before}${value}${after}`))
}
const ROUTES = Object.entries(api as Readonly<Record<string, Row>>).filter(
  ([key, { access, reply }]) =>
    key.startsWith('GET ') && access !== 'admin' && reply !== 'redirect' && reply !== 'events',
)
function questions(key: string, { query }: Row): string[] {
  const members = Object.keys((query?.properties ?? {}) as object)
  const required = (query as { readonly required?: readonly string[] } | undefined)?.required ?? []
  const base = required.map(name => [name, QUERIES[name]?.[0] ?? '1'])
  const more = members.flatMap(name =>
    (QUERIES[name] ?? []).map(value => [...base.filter(([known]) => known !== name), [name, value]]),
  )
  return expand(key.slice('GET '.length)).flatMap(path =>
    [base, ...more].map(asked => (asked.length === 0 ? path : `${path}?${new URLSearchParams(asked).toString()}`)),
  )
}
/** A refusal repeats what was asked. */
const tracesFor = (path: string): readonly string[] => TRACES.filter(trace => !decodeURIComponent(path).includes(trace))

/** What an answer holds that who asked may not read. */
async function leaksOf(path: string, token: string | undefined): Promise<readonly string[]> {
  const answer = await daemon.call('GET', path, token === undefined ? {} : { token })
  expect(answer.status, path).not.toBe(429)
  const isArchive = answer.headers.get('content-type') === 'application/gzip' && token !== undefined
  const text = isArchive ? [...(await fetchAuditArchive(daemon, token)).values()].join('') : answer.text
  return tracesFor(path).filter(trace => text.includes(trace))
}

describe('who may not see a registry', () => {
  describe.each([...READERS.map(([name]) => name), 'nobody'])('as %s', reader => {
    test.each(ROUTES)('reads nothing of it in %s', async (key, row) => {
      for (const path of questions(key, row))
        expect([path, await leaksOf(path, tokens.get(reader))]).toEqual([path, []])
    })

    test.each([
      '/npm/every/-/v1/search?text=qs',
      '/npm/every/-/v1/search?text=open',
      '/npm/every/open',
      '/npm/every/qsecret',
      '/npm/every/@qscope%2flib',
      '/npm/every/qsecret/-/qsecret-9.8.7.tgz',
      '/npm/outside/-/v1/search?text=qs',
      '/npm/outside/qsecret',
      '/npm/outside/qsceret',
      '/npm/strict/qsceret',
      '/npm/qvault/qsecret',
      '/npm/qvault/-/v1/search?text=qs',
      '/npm/opened/-/v1/search?text=qs',
      '/pypi/py-every/simple/',
      '/pypi/py-every/simple/qwheel/',
      '/pypi/qwheels/simple/',
      '/v2/_catalog',
      '/v2/pics-every/qimage/app/tags/list',
      '/v2/pics-every/qimage/app/manifests/v1',
      '/v2/qpics/qimage/app/tags/list',
    ])('reads nothing of it at %s', async path => {
      const token = tokens.get(reader)
      const answer = await fetch(`${daemon.url}${path}`, {
        headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      })
      const text = `${answer.statusText} ${JSON.stringify([...answer.headers])} ${await answer.text()}`
      expect(tracesFor(path).filter(trace => text.includes(trace))).toEqual([])
    })

    // without a credential clients are asked for one, as the docs say
    test.skipIf(reader === 'nobody')('is answered as for one that does not exist', async () => {
      const token = tokens.get(reader)
      const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
      for (const [path, name] of [
        ['/npm/NAME/open', 'qvault'],
        ['/npm/NAME/-/v1/search?text=open', 'qvault'],
        ['/pypi/NAME/simple/', 'qwheels'],
        ['/v2/NAME/app/tags/list', 'qpics'],
        ['/api/v1/registries/NAME', 'qvault'],
        ['/api/v1/registries/NAME/packages', 'qvault'],
        ['/api/v1/distributions/NAME/retention', 'qvault'],
      ] as const) {
        const [here, nowhere] = await Promise.all(
          [name, 'q'.repeat(name.length)].map(async one => {
            const answer = await fetch(`${daemon.url}${path.replace('NAME', one)}`, { headers })
            const challenge = answer.headers.get('www-authenticate') ?? ''
            return `${answer.status} ${answer.statusText} ${challenge} ${await answer.text()}`
              .replaceAll(one, 'NAME')
              .replace(/"request_id":"[^"]*"/, '')
          }),
        )
        expect(here, path).toBe(nowhere)
      }
    })

    test('reads nothing of it where npm audits through a group', async () => {
      const token = tokens.get(reader)
      const answer = await fetch(`${daemon.url}/npm/every/-/npm/v1/security/advisories/bulk`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ open: ['1.0.0'] }),
      })
      const text = await answer.text()
      expect(TRACES.filter(trace => text.includes(trace))).toEqual([])
    })
  })

  test('and an admin reads each of these words somewhere', async () => {
    const paths = ['/registries/', '/packages/', '/registries/outside/asked', '/downloads/stats', '/registries/qvault']
    const texts = await Promise.all(paths.map(path => daemon.call('GET', path, { token: admin })))
    const all = texts.map(({ text }) => text).join('\n')
    for (const word of ['qvault', 'qwheels', 'qpics', 'qsecret', '@qscope/lib', '@qreserved/', 'qwheel', 'qimage'])
      expect(all).toContain(word)
    const asked = await daemon.call('GET', '/registries/outside/asked', { token: admin })
    expect(asked.body).toMatchObject({
      asked: expect.arrayContaining([
        expect.objectContaining({ package: 'qsecret', outcome: 'reserved' }),
        expect.objectContaining({ package: '@qreserved/x', outcome: 'reserved' }),
        expect.objectContaining({ package: 'qsceret', looks_like: { name: 'qsecret', registry: 'qvault' } }),
      ]) as unknown,
    })
  })
})
