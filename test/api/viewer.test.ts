import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../server/api.ts'
import type { Row } from '../../server/core/contract.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'

const PASSWORD = 'Correct-horse-9'
const HIDDEN = 'noble'
const SECRET = { name: 'secretpkg', version: '9.8.7' }

/** A service with packages, and who reads it. In one of the two there is a distribution that they may not see. */
interface World {
  readonly daemon: Daemon
  readonly tokens: ReadonlyMap<string, string>
}
let withHidden: World
let without: World
/** What must not be found in any answer: names, versions and digests of the hidden packages. */
const traces: string[] = [SECRET.name, SECRET.version]

const READERS = [
  ['gast', 'reader'],
  ['otto', 'auditor'],
  ['milo', 'maintainer'],
] as const

async function makeWorld(isHidden: boolean): Promise<World> {
  const daemon = await startDaemon()
  const admin = await daemon.setupAdmin()
  const tokens = new Map<string, string>()
  for (const [username, role] of READERS) {
    await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role } })
    const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username, password: PASSWORD },
    })
    tokens.set(username, body.access_token)
  }
  await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
  const open = await buildDeb({ name: 'open', version: '1.0', fields: { Depends: `${SECRET.name}, libc6` } })
  await daemon.upload(open, { token: admin, distribution: 'jammy' })
  if (isHidden) {
    await daemon.call('PUT', `/access/distributions/${HIDDEN}`, { token: admin, body: { users: ['nobody'] } })
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: HIDDEN } })
    // a name of its own, and a newer version of one that everybody sees
    for (const name of [SECRET.name, 'open']) {
      const bytes = await buildDeb({ name, version: SECRET.version })
      traces.push(createHash('sha256').update(bytes).digest('hex'))
      const { status } = await daemon.upload(bytes, { token: admin, distribution: HIDDEN })
      expect(status).toBe(201)
    }
  }
  return { daemon, tokens }
}

beforeAll(async () => {
  withHidden = await makeWorld(true)
  without = await makeWorld(false)
}, 240_000)
afterAll(async () => {
  await withHidden.daemon.close()
  await without.daemon.close()
})

/** What a parameter of a path may be: what everybody sees, and what is hidden. A route with another one asks for it. */
const PATH_VALUES: Readonly<Record<string, readonly string[]>> = {
  name: ['open', SECRET.name],
  version: ['1.0', SECRET.version],
  codename: ['jammy', HIDDEN],
  cve: ['CVE-2026-0001'],
}
/** Likewise of a query: each is asked by itself. Parameters that name nothing hidden are left out. */
const QUERY_VALUES: Readonly<Record<string, readonly string[]>> = {
  q: [SECRET.name, 'open'],
  search: [SECRET.name, 'open'],
  package: [SECRET.name, 'open'],
  distribution: [HIDDEN, 'jammy'],
  with: ['focal', HIDDEN],
  version: [SECRET.version],
  format: [],
}

/** Routes whose answers differ between two services for reasons of their own; nothing hidden is in them either. */
const DIFFERS: Readonly<Record<string, string>> = {
  'GET /auth/sessions': 'tells of the sessions of the caller',
  'GET /artifacts/audit/integrity': 'proves the whole log and names nothing in it: its lines are counted, not packages',
  'GET /distributions/{codename}/generations': 'how often a tree is published depends on the clock',
  'GET /health': 'tells of the disk and the process; its counts are compared below',
  'GET /metrics': 'counts requests and memory; its counts of packages are compared below',
}
/** Streams do not end; that nothing hidden is in them is told by access.test.ts. */
const isStream = (row: Row): boolean => row.reply === 'events'

const ROUTES = Object.entries(api as Readonly<Record<string, Row>>).filter(
  ([key, row]) => key.startsWith('GET ') && row.access !== 'admin' && row.reply !== 'redirect' && !isStream(row),
)

function expand(path: string): string[] {
  const [, before = '', name = '', after = ''] = /^(.*?)\{(\w+)\}(.*)$/.exec(path) ?? []
  if (name === '') return [path]
  const values = PATH_VALUES[name]
  if (values === undefined) throw new Error(`say in PATH_VALUES what {${name}} of ${path} may be`)
  return values.flatMap(value => expand(`${before}${value}${after}`))
}

/** Everything that is asked of one route. */
function questions(key: string, row: Row): string[] {
  const members = (row.query?.properties ?? {}) as Readonly<Record<string, unknown>>
  const required = ((row.query as { readonly required?: readonly string[] } | undefined)?.required ?? []).map(
    name => [name, QUERY_VALUES[name]?.[0] ?? ''] as const,
  )
  const base = new URLSearchParams(required.map(([name, value]) => [name, value]))
  const queries = Object.keys(members).flatMap(name =>
    (QUERY_VALUES[name] ?? []).map(value =>
      String(new URLSearchParams([...[...base].filter(([known]) => known !== name), [name, value]])),
    ),
  )
  return expand(key.slice('GET '.length)).flatMap(path =>
    [String(base), ...queries].map(query => (query === '' ? path : `${path}?${query}`)),
  )
}

const asks = (path: string): boolean => path.includes(HIDDEN) || traces.some(trace => path.includes(trace))

/** An answer without what no two services share: addresses, times, keys, ids. */
function plain({ daemon }: World, text: string): string {
  return text
    .replaceAll(daemon.url, 'URL')
    .replaceAll(daemon.root, 'ROOT')
    .replace(/"(free_gb|used_pct|generation)":[\d.]+/g, 'NUMBER')
    .replace(/-----BEGIN[\s\S]*?-----END [^-]+-----/g, 'KEY')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\b)/g, 'TIME')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replace(/\b([0-9A-F]{40}|[0-9a-f]{64})\b/g, 'DIGEST')
    .replace(/gatehouse-[\w-]+\.rsa\.pub|"prev":"[^"]*"|"id":"\d+"|198\.1[89]\.\d+\.\d+/g, 'ONE')
}

/** The default set of distributions is known to all; a card of it tells nothing. */
function withoutCard(body: unknown): unknown {
  const { distributions } = body as { readonly distributions?: readonly { readonly codename?: string }[] }
  return distributions === undefined
    ? body
    : { ...(body as object), distributions: distributions.filter(({ codename }) => codename !== HIDDEN) }
}

describe('who may not see a distribution reads of it', () => {
  describe.each(READERS.map(([name]) => name))('as %s', reader => {
    test.each(ROUTES)('nothing in %s', async (key, row) => {
      for (const path of questions(key, row)) {
        const [here, there] = await Promise.all(
          [withHidden, without].map(async world => ({
            world,
            answer: await world.daemon.call('GET', path, { token: world.tokens.get(reader) ?? '' }),
          })),
        )
        if (here === undefined || there === undefined) throw new Error('two worlds were asked')
        const isAbsent = here.answer.status === 404 && here.answer.body.code === 'distribution_not_found'
        if (new RegExp(`/${HIDDEN}(/|\\?|$)|with=${HIDDEN}`).test(path)) expect(isAbsent, path).toBe(true)
        // one that never was is refused so; this one is in the default set, and there without packages
        if (isAbsent && path.includes(HIDDEN)) continue
        // a refusal repeats what was asked
        if (here.answer.status === 200 || !asks(path))
          for (const trace of traces.filter(one => !path.includes(one) && !there.answer.text.includes(one)))
            expect(here.answer.text, `${path} holds ${trace}`).not.toContain(trace)
        if (DIFFERS[key] !== undefined) continue
        const [mine, theirs] = [here, there].map(({ world, answer }) => [
          answer.status,
          plain(world, Object.keys(answer.body).length === 0 ? answer.text : JSON.stringify(withoutCard(answer.body))),
        ])
        expect(mine, path).toEqual(theirs)
      }
    })
  })

  test('no counts in the public reports', async () => {
    const counts = async ({ daemon }: World): Promise<unknown> => {
      const { checks } = (
        await daemon.call<{
          checks: {
            critical: { manifest_db: unknown }
            info: { packages: Record<string, unknown>; warnings: unknown; storage: unknown }
          }
        }>('GET', '/health')
      ).body
      const { total_manifests, by_format } = checks.info.packages
      const gauges = (await daemon.call('GET', '/metrics')).text
        .split('\n')
        .filter(line => /^svc_(packages|pending_review|quarantine)_total /.test(line))
      return { database: checks.critical.manifest_db, total_manifests, by_format, gauges }
    }
    expect(await counts(withHidden)).toEqual(await counts(without))
    expect((await withHidden.daemon.call('GET', '/health')).text).not.toContain(HIDDEN)
  })
})

test('the hidden packages are there for who may see them', async () => {
  const admin = await withHidden.daemon.setupAdmin()
  const { text } = await withHidden.daemon.call('GET', '/packages/', { token: admin })
  for (const trace of traces) expect(text).toContain(trace)
})
