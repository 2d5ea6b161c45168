import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { api } from '../../server/api.ts'
import type { Row } from '../../server/core/contract.ts'
import { fetchAuditArchive } from '../support/audit-archive.ts'
import { bundleWrites } from '../support/bundle-routes.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { createSigner } from '../support/cosign.ts'
import { dpkgLine, report } from '../support/machine-report.ts'
import { createDeveloper } from '../support/gpg.ts'
import { buildDeb } from '../support/packages.ts'
import { buildRpm } from '../support/packages-rpm.ts'

const PASSWORD = 'Correct-horse-9'
/** An admin's own, so that in the other service there is nothing of this name. */
const HIDDEN = 'acme'
const SECRET = { name: 'secretpkg', version: '9.8.7' }

/** A service with packages, and who reads it. In one of the two there is a distribution that they may not see. */
interface World {
  readonly daemon: Daemon
  readonly tokens: ReadonlyMap<string, string>
  readonly admin: string
}
let withHidden: World
let without: World
/** The number of the hidden source; the other service has none of it. */
let hiddenSource = 0
/** What must not be found in any answer: names, versions and digests of the hidden packages. */
const traces: string[] = [SECRET.name, SECRET.version]

const READERS = [
  ['gast', 'reader'],
  ['otto', 'auditor'],
  ['milo', 'maintainer'],
] as const
const UPLOADER = ['ulla', 'uploader'] as const

/** A machine whose updates come from a distribution, once it was compared with what is there. */
async function addMachine(
  daemon: Daemon,
  token: string,
  distribution: string,
  names: readonly string[],
): Promise<void> {
  const { body: made } = await daemon.call<{ id: number; agent_token: string }>('POST', '/inventory/clients', {
    token,
    body: { hostname: `of-${distribution}`, connection_type: 'agent', distribution },
  })
  const sent = await fetch(`${daemon.url}/api/v1/inventory/report`, {
    method: 'POST',
    headers: { 'Authorization': `Bearer ${made.agent_token}`, 'X-Forwarded-For': '198.18.0.1' },
    body: report({ lines: names.map(name => dpkgLine(name, '0.5')), hostname: `of-${distribution}` }),
  })
  expect(sent.status).toBe(200)
  await vi.waitFor(
    async () =>
      expect((await daemon.call('GET', `/inventory/clients/${made.id}`, { token })).body).toMatchObject({
        behind: names.length,
      }),
    20_000,
  )
}

/** No test asks a repository of the internet. */
async function switchSourcesOff(daemon: Daemon, token: string): Promise<void> {
  const { body } = await daemon.call<{ sources: { key: string }[] }>('GET', '/import/sources', { token })
  expect(body.sources.length).toBeGreaterThan(0)
  const sources = Object.fromEntries(body.sources.map(({ key }) => [key, false]))
  expect((await daemon.call('PATCH', '/settings/', { token, body: { sources } })).status).toBe(200)
}

/** A repository of others for one distribution, which cannot be reached. */
async function addSource(
  daemon: Daemon,
  token: string,
  distribution: string,
  name = `of ${distribution}`,
): Promise<void> {
  const body = { name, type: 'apt', url: 'http://127.0.0.1:9/', suite: 'jammy', distribution }
  const { status, text } = await daemon.call<{ id: number }>('POST', '/import/sources', { token, body })
  expect(status, text).toBe(201)
  if (distribution === HIDDEN) hiddenSource = Number(/"id":(\d+)/.exec(text)?.[1])
}

/** Settings whose values name a distribution: the audit log says what they were and are. */
async function setFor(daemon: Daemon, token: string, codename: string): Promise<void> {
  const base_of = `${codename}=none jammy=upstream`
  const change = { resolve_uploads: { [codename]: true }, ...(codename === HIDDEN ? { base_of } : {}) }
  expect((await daemon.call('PATCH', '/settings/', { token, body: { import: change } })).status).toBe(200)
}

async function makeWorld(isHidden: boolean): Promise<World> {
  const daemon = await startDaemon()
  const admin = await daemon.setupAdmin()
  const tokens = new Map<string, string>()
  for (const [username, role] of [...READERS, UPLOADER]) {
    await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role } })
    const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username, password: PASSWORD },
    })
    tokens.set(username, body.access_token)
  }
  await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
  await switchSourcesOff(daemon, admin)
  await addSource(daemon, admin, 'jammy')
  await addSource(daemon, admin, 'jammy', 'shared')
  const open = await buildDeb({ name: 'open', version: '1.0', fields: { Depends: `${SECRET.name}, libc6` } })
  await daemon.upload(open, { token: admin, distribution: 'jammy' })
  await addMachine(daemon, admin, 'jammy', ['open'])
  await setFor(daemon, admin, 'jammy')
  if (isHidden) {
    await daemon.call('POST', '/distributions/', { token: admin, body: { codename: HIDDEN, based_on: 'jammy' } })
    await daemon.call('PUT', `/access/distributions/${HIDDEN}`, {
      token: admin,
      body: { private: true, users: ['nobody'] },
    })
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: HIDDEN } })
    await addSource(daemon, admin, HIDDEN)
    await setFor(daemon, admin, HIDDEN)
    // a name of its own, and a newer version of one that everybody sees
    for (const name of [SECRET.name, 'open']) {
      const bytes = await buildDeb({ name, version: SECRET.version })
      traces.push(createHash('sha256').update(bytes).digest('hex'))
      const { status } = await daemon.upload(bytes, { token: admin, distribution: HIDDEN })
      expect(status).toBe(201)
    }
  }
  const distributions = isHidden ? ['jammy', HIDDEN] : ['jammy']
  await daemon.call('PATCH', '/import/sources/shared', { token: admin, body: { distributions } })
  if (isHidden) await addMachine(daemon, admin, HIDDEN, [SECRET.name, 'open'])
  await daemon.call('POST', '/bundles/sites', { token: admin, body: { name: 'north' } })
  const machine = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
    token: admin,
    body: { name: 'machine', role: 'maintainer', scopes: { distributions: ['jammy'] } },
  })
  tokens.set('machine', machine.body.token)
  return { daemon, tokens, admin }
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
  package: ['open', SECRET.name],
  version: ['1.0', SECRET.version],
  codename: ['jammy', HIDDEN],
  file_name: ['gatehouse-1.0.deb'],
  cve: ['CVE-2026-0001'],
  site: ['north'],
  username: ['admin'],
  // of a job; of a machine of everybody's, and of a hidden one
  id: ['0badcafe', '1', '2'],
}
/** Likewise of a query: each is asked by itself. Parameters that name nothing hidden are left out. */
const QUERY_VALUES: Readonly<Record<string, readonly string[]>> = {
  q: [SECRET.name, 'open'],
  search: [SECRET.name, 'open'],
  package: [SECRET.name, 'open'],
  distribution: [HIDDEN, 'jammy'],
  with: ['focal', HIDDEN],
  with_distribution: [HIDDEN, 'jammy'],
  version: [SECRET.version],
  v1: ['1.0', SECRET.version],
  v2: [SECRET.version, '1.0'],
  format: [],
  what: ['clients', 'packages', 'findings', 'compliance'],
  client_id: ['1', '2'],
}

/** Where a parameter means another thing than elsewhere. */
const QUERY_OF: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'GET /artifacts/{name}/{version}/compare': { with: ['1.0', SECRET.version] },
  'GET /artifacts/{name}/{version}/compare/files': { with: ['1.0', SECRET.version] },
}
/** Questions in which only one of two parameters names something hidden. */
const MORE: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ['compare', 'compare/files'].map(what => [
    `GET /artifacts/{name}/{version}/${what}`,
    [
      `with=${SECRET.version}&with_distribution=${HIDDEN}`,
      `with=${SECRET.version}&distribution=jammy`,
      `with=1.0&with_distribution=${HIDDEN}`,
      `with=${SECRET.version}&with_arch=amd64`,
    ].map(query => `/artifacts/open/1.0/${what}?${query}`),
  ]),
)

/** Routes whose answers differ between two services for reasons of their own; nothing hidden is in them either. */
const DIFFERS: Readonly<Record<string, string>> = {
  'GET /auth/sessions': 'tells of the sessions of the caller',
  'GET /artifacts/audit/integrity': 'proves the whole log and names nothing in it: its lines are counted, not packages',
  'GET /distributions/{codename}/generations': 'how often a tree is published depends on the clock',
  'GET /disk': 'tells of the disk alone',
  'GET /host/history': 'tells of the machine alone',
  'GET /health': 'tells of the disk and the process; its counts are compared below',
  'GET /jobs': 'what the clock does over all packages is listed only for who sees all of them',
  'GET /metrics': 'counts requests and memory; its counts of packages are compared below',
  'GET /schedule': 'a job may run between the two questions',
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
  const valuesOf = (name: string): readonly string[] => QUERY_OF[key]?.[name] ?? QUERY_VALUES[name] ?? []
  const required = ((row.query as { readonly required?: readonly string[] } | undefined)?.required ?? []).map(
    name => [name, valuesOf(name)[0] ?? ''] as const,
  )
  const base = new URLSearchParams(required.map(([name, value]) => [name, value]))
  const queries = Object.keys(members).flatMap(name =>
    valuesOf(name).map(value =>
      String(new URLSearchParams([...[...base].filter(([known]) => known !== name), [name, value]])),
    ),
  )
  const asked = expand(key.slice('GET '.length)).flatMap(path =>
    [String(base), ...queries].map(query => (query === '' ? path : `${path}?${query}`)),
  )
  return [...asked, ...(MORE[key] ?? [])]
}

const asks = (path: string): boolean => path.includes(HIDDEN) || traces.some(trace => path.includes(trace))

/** An answer without what no two services share: addresses, times, keys, ids. */
function plain({ daemon }: World, text: string): string {
  return (
    text
      .replaceAll(daemon.url, 'URL')
      .replaceAll(daemon.root, 'ROOT')
      .replace(/"(free_gb|used_pct|generation|duration_ms|took_ms)":[\d.]+/g, 'NUMBER')
      .replace(/-----BEGIN[\s\S]*?-----END [^-]+-----/g, 'KEY')
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\b)/g, 'TIME')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
      .replace(/\b([0-9A-F]{40}|[0-9a-f]{64})\b/g, 'DIGEST')
      .replace(/"(job_id|selection)":"\w+"/g, 'JOB')
      // a synchronisation may end before it is asked about
      .replace(/"already_running":(true|false)|"status":"(running|done)"/g, 'RUNNING')
      .replace(/gatehouse-[\w-]+\.rsa\.pub|"(?:prev|hash)":"[^"]*"|"id":"\d+"|198\.1[89]\.\d+\.\d+/g, 'ONE')
  )
}

/** An answer, and of an archive the text in it. */
async function read({ daemon }: World, path: string, token: string): Promise<Answer<Record<string, unknown>>> {
  const answer = await daemon.call<Record<string, unknown>>('GET', path, { token })
  if (answer.headers.get('content-type') !== 'application/gzip') return answer
  return { ...answer, text: [...(await fetchAuditArchive(daemon, token)).values()].join('') }
}

describe('a viewer who may not see a distribution', () => {
  describe.each(READERS.map(([name]) => name))('as %s', reader => {
    test.each(ROUTES)('nothing in %s', async (key, row) => {
      for (const path of questions(key, row)) {
        const [here, there] = await Promise.all(
          [withHidden, without].map(async world => ({
            world,
            answer: await read(world, path, world.tokens.get(reader) ?? ''),
          })),
        )
        if (here === undefined || there === undefined) throw new Error('two worlds were asked')
        if (new RegExp(`/${HIDDEN}(/|\\?|$)|(with|distribution)=${HIDDEN}`).test(path) && here.answer.status !== 200)
          expect(here.answer.body.code, path).toMatch(
            /^(forbidden|distribution_not_found|unknown_distribution|package_not_found|version_not_found)$/,
          )
        // a refusal repeats what was asked
        if (here.answer.status === 200 || !asks(path))
          for (const trace of traces.filter(one => !path.includes(one) && !there.answer.text.includes(one)))
            expect(here.answer.text, `${path} holds ${trace}`).not.toContain(trace)
        if (DIFFERS[key] !== undefined) continue
        const [mine, theirs] = [here, there].map(({ world, answer }) => [
          answer.status,
          plain(world, Object.keys(answer.body).length === 0 ? answer.text : JSON.stringify(answer.body)),
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
        .filter(line => /^svc_(packages|pending_review|quarantine|uploads|cve_findings)_total/.test(line))
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

/** What a request to a writing route brings. */
interface Wish {
  readonly path: string
  readonly body?: object
  readonly form?: () => FormData
  readonly raw?: string
}
const at = (path: string, ...bodies: readonly object[]): Wish[] =>
  bodies.length === 0 ? [{ path }] : bodies.map(body => ({ path, body }))
/** The same of each place: one that is hidden, and one that everybody sees. */
const everywhere = (wishes: (codename: string) => readonly Wish[]): Wish[] => [HIDDEN, 'jammy'].flatMap(wishes)
let deb: Buffer
let rpm: Buffer
const formOf = (file: () => Buffer, distribution: string) => (): FormData => {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(file())]), file() === rpm ? 'mine.rpm' : 'mine.deb')
  form.set('distribution', distribution)
  return form
}
const UPLOADS = (path: string): Wish[] => [
  ...[HIDDEN, 'almalinux9'].map(codename => ({ path, form: formOf(() => deb, codename) })),
  // refused with a list of what takes it
  ...[HIDDEN, 'jammy'].map(codename => ({ path, form: formOf(() => rpm, codename) })),
]
const ofVersion = (what: string, body: object): Wish[] =>
  [SECRET.name, 'open'].flatMap(name =>
    everywhere(distribution => [
      ...at(`/security/packages/${name}/${SECRET.version}/${what}?distribution=${distribution}`, body),
      ...at(`/security/packages/${name}/${SECRET.version}/${what}`, body, { ...body, distribution }),
    ]),
  )

const SOURCE = { name: 'mine', type: 'apt', url: 'http://127.0.0.1:9/', suite: 'jammy' }

/** Every writing route that somebody beside an admin may call, and what is asked of it. */
const WRITES: Readonly<Record<string, readonly Wish[]>> = {
  // kept as it was written, whether or not there is what it names
  'POST /saved-filters': everywhere(dist =>
    at('/saved-filters', { screen: 'packages', name: `of ${dist}`, query: { dist } }),
  ),
  'PATCH /saved-filters/{id}': everywhere(dist => at('/saved-filters/0badcafe', { query: { dist } })),
  'DELETE /saved-filters/{id}': at('/saved-filters/0badcafe'),
  'DELETE /artifacts/{name}': [SECRET.name, 'open'].flatMap(name => at(`/artifacts/${name}?distribution=${HIDDEN}`)),
  'DELETE /artifacts/{name}/{version}': [SECRET.name, 'open'].flatMap(name => [
    ...at(`/artifacts/${name}/${SECRET.version}`),
    ...at(`/artifacts/${name}/${SECRET.version}?distribution=${HIDDEN}`),
  ]),
  'POST /artifacts/admin/sync-index': at('/artifacts/admin/sync-index'),
  'POST /distributions/init': at('/distributions/init', { codename: HIDDEN }, { codename: 'jammy' }),
  'POST /distributions/promote': at(
    '/distributions/promote',
    { package: 'open', from_dist: 'jammy', to_dist: HIDDEN },
    { package: SECRET.name, from_dist: HIDDEN, to_dist: 'jammy' },
    { package: SECRET.name, from_dist: 'jammy', to_dist: 'focal' },
    { name: 'open', version: SECRET.version, from_distribution: 'jammy', to_distribution: 'focal', dry_run: true },
  ),
  'POST /distributions/migrate': at(
    '/distributions/migrate',
    { from_dist: HIDDEN, to_dist: 'jammy' },
    { from_dist: 'jammy', to_dist: HIDDEN, dry_run: true },
    { packages: [SECRET.name], from_dist: 'jammy', to_dist: 'focal', dry_run: true },
  ),
  'POST /distributions/{codename}/rollback': everywhere(one =>
    at(`/distributions/${one}/rollback`, { generation: 99 }),
  ),
  'PUT /distributions/{codename}/documents/{kind}': everywhere(one => [
    { path: `/distributions/${one}/documents/nothing`, raw: 'x' },
    { path: `/distributions/${one}/documents/appstream?component=${HIDDEN}`, raw: 'x' },
  ]),
  'DELETE /distributions/{codename}/documents/{kind}': everywhere(one =>
    at(`/distributions/${one}/documents/appstream?component=main&arch=amd64`),
  ),
  'POST /distributions/{codename}/documents/copy': [
    ...everywhere(one => at(`/distributions/${one}/documents/copy`, { from_distribution: 'focal' })),
    ...at('/distributions/jammy/documents/copy', { from_distribution: HIDDEN }),
  ],
  'PATCH /distributions/{codename}/release': everywhere(one =>
    at(`/distributions/${one}/release`, { but_automatic_upgrades: true }),
  ),
  'PATCH /distributions/{codename}/retention': everywhere(one => at(`/distributions/${one}/retention`, { keep: 3 })),
  'POST /distributions/{codename}/retention/preview': everywhere(one =>
    at(`/distributions/${one}/retention/preview`, { keep: 1 }),
  ),
  'POST /distributions/{codename}/retention/run': everywhere(one => at(`/distributions/${one}/retention/run`)),
  'POST /distributions/{codename}/pins': everywhere(one =>
    at(`/distributions/${one}/pins`, { name: 'open', version: SECRET.version }),
  ),
  'DELETE /distributions/{codename}/pins/{name}/{version}': everywhere(one =>
    at(`/distributions/${one}/pins/open/${SECRET.version}`),
  ),
  'POST /security/packages/{name}/{version}/decide': ofVersion('decide', { decision: 'approve', justification: 'x' }),
  'POST /security/packages/{name}/{version}/assign': ofVersion('assign', { assignee: 'milo' }),
  'POST /security/packages/{name}/{version}/quarantine': ofVersion('quarantine', { reason: 'x' }),
  'POST /security/packages/{name}/{version}/rescan': ofVersion('rescan', {}),
  'POST /security/packages/{name}/{version}/vex': ofVersion('vex', {}),
  'POST /security/packages/{name}/{version}/vex/{sha256}/accept': ofVersion(`vex/${'a'.repeat(64)}/accept`, {}),
  'DELETE /security/packages/{name}/{version}/vex/{sha256}': ofVersion(`vex/${'a'.repeat(64)}`, {}),
  'DELETE /import/sources/{id}': [`of-${HIDDEN}`, 'nothing', '1'].flatMap(id => at(`/import/sources/${id}`)),
  'PATCH /import/sources/{id}': [`of-${HIDDEN}`, 'of-jammy', 'shared'].flatMap(id =>
    at(`/import/sources/${id}`, { newest: 3 }, { distributions: ['jammy', HIDDEN] }, { distributions: ['jammy'] }),
  ),
  'POST /import/sources': at(
    '/import/sources',
    { ...SOURCE, distribution: HIDDEN },
    { ...SOURCE, distributions: ['jammy', HIDDEN] },
    { ...SOURCE, distribution: 'jammy', keys: ['A'.repeat(40)] },
  ),
  'POST /import/sources/test': at(
    '/import/sources/test',
    { id: `of-${HIDDEN}` },
    { id: 'of-jammy', distributions: [HIDDEN] },
    { ...SOURCE, distribution: HIDDEN },
    { ...SOURCE, distribution: 'jammy' },
  ),
  'POST /import/sources/{id}/sync': everywhere(one => at(`/import/sources/of-${one}/sync`)),
  'POST /import/sync': at('/import/sync'),
  'POST /import/sync-security': at('/import/sync-security'),
  'POST /import/sync/start': at('/import/sync/start'),
  'POST /import/sync/start/{target}': ['apt', `of-${HIDDEN}`, 'of-jammy'].flatMap(one =>
    at(`/import/sync/start/${one}`),
  ),
  'POST /import/sync/{source_id}': everywhere(one => at(`/import/sync/of-${one}`)),
  'POST /import/sync/jobs/{id}/cancel': at('/import/sync/jobs/0badcafe/cancel'),
  'POST /import/fetch': at(
    '/import/fetch',
    { package: 'open' },
    { package: SECRET.name },
    { package: 'open', distribution: HIDDEN },
    { package: 'open', distribution: 'jammy' },
  ),
  'POST /import/batch': at(
    '/import/batch',
    { packages: ['open', SECRET.name] },
    { packages: ['open'], distribution: HIDDEN },
    { packages: ['open'], distribution: 'jammy' },
  ),
  'POST /import/packages': [
    ...everywhere(distribution => at('/import/packages', { source_id: 1, package: 'open', distribution })),
    {
      path: '/import/packages',
      // which it is, is known when there are sources
      get body() {
        return { source_id: hiddenSource, package: 'open', distribution: 'jammy' }
      },
    },
  ],
  'POST /import/analyze-dockerfile': at(
    '/import/analyze-dockerfile',
    { content: `FROM ubuntu:jammy\nRUN apt-get install -y open ${SECRET.name}\n` },
    { content: 'FROM debian\nRUN apt-get install -y open\n', distribution: HIDDEN },
    { content: `FROM ${HIDDEN}\nRUN apt-get install -y open\n` },
  ),
  'POST /import/adopt': everywhere(distribution => at('/import/adopt', { path: '/srv/tree', distribution })),
  'POST /import/mirror/sources': at(
    '/import/mirror/sources',
    { sources: { nowhere: true } },
    { sources: { [`of-${HIDDEN}`]: true } },
  ),
  'PATCH /import/mirror/sources/{source_id}': ['nowhere', `of-${HIDDEN}`].flatMap(id =>
    at(`/import/mirror/sources/${id}`, { newest: 1 }),
  ),
  'POST /import/security-updates/run': at(
    '/import/security-updates/run',
    {},
    { distribution: 'jammy' },
    { distribution: HIDDEN },
  ),
  'POST /import/mirror/start/{source_id}': ['nowhere', `of-${HIDDEN}`].flatMap(id => at(`/import/mirror/start/${id}`)),
  'POST /import/mirror/jobs/{id}/cancel': at('/import/mirror/jobs/0badcafe/cancel'),
  'POST /import/mirror/distributions/{codename}/freeze': everywhere(one =>
    at(`/import/mirror/distributions/${one}/freeze`, {}),
  ),
  'DELETE /import/mirror/distributions/{codename}/freeze': everywhere(one =>
    at(`/import/mirror/distributions/${one}/freeze`),
  ),
  'POST /jobs/{id}/cancel': at('/jobs/0badcafe/cancel'),
  'POST /inventory/clients/{id}/scan': [...at('/inventory/clients/1/scan'), ...at('/inventory/clients/2/scan')],
  'POST /security/review-queue/preview': at(
    '/security/review-queue/preview',
    { decision: 'approve', filter: {} },
    { decision: 'approve', filter: { distribution: HIDDEN } },
    { decision: 'reject', packages: [{ ...SECRET, distribution: HIDDEN, arch: 'amd64' }] },
  ),
  'POST /security/review-queue/decide': at('/security/review-queue/decide', {
    decision: 'approve',
    justification: 'Nobody kept this selection.',
    selection: 'none',
  }),
  'PUT /registries/{name}/packages/{package}/tags/{tag}': everywhere(one =>
    at(`/registries/${one}/packages/open/tags/latest`, { version: '1.0' }),
  ),
  'DELETE /registries/{name}/packages/{package}/tags/{tag}': everywhere(one =>
    at(`/registries/${one}/packages/open/tags/latest`),
  ),
  'PUT /registries/{name}/packages/{package}/versions/{version}/mark': everywhere(one =>
    at(`/registries/${one}/packages/open/versions/1.0/mark`, { reason: 'It is broken.' }),
  ),
  'DELETE /registries/{name}/packages/{package}/versions/{version}/mark': everywhere(one =>
    at(`/registries/${one}/packages/open/versions/1.0/mark`),
  ),
  'PUT /registries/{name}/packages/{package}/versions/{version}/yank': everywhere(one =>
    at(`/registries/${one}/packages/open/versions/1.0/yank`, { reason: 'It is broken.' }),
  ),
  'DELETE /registries/{name}/packages/{package}/versions/{version}/yank': everywhere(one =>
    at(`/registries/${one}/packages/open/versions/1.0/yank`),
  ),
  'PUT /registries/{name}/packages/{package}/versions/{version}/waiver': everywhere(one =>
    at(`/registries/${one}/packages/open/versions/1.0/waiver`, { reason: 'A fix.', expires_in_days: 7 }),
  ),
  'DELETE /registries/{name}/packages/{package}/versions/{version}/waiver': everywhere(one =>
    at(`/registries/${one}/packages/open/versions/1.0/waiver`),
  ),
  'POST /upload/': UPLOADS('/upload/'),
  'POST /upload/batch': UPLOADS('/upload/batch'),
  'POST /upload/stream': UPLOADS('/upload/stream'),
  'PUT /incoming/{codename}/{filename}': everywhere(one => [
    { path: `/incoming/${one}/a b`, raw: 'x' },
    { path: `/incoming/${one}/mine_1.0_amd64.deb`, raw: 'x' },
  ]),
  ...bundleWrites(HIDDEN),
}
/** Lines of a stream come in the order in which sources answered. */
const inOrder = (text: string): string => (text.startsWith('data: ') ? text.split('\n').sort().join('\n') : text)

/** They concern the account of the caller, who signs in or out, and no package. */
const OF_ACCOUNTS = /^\w+ \/auth\//

describe('a viewer who may not see a distribution writes as if it did not exist', () => {
  beforeAll(async () => {
    deb = await buildDeb({ name: 'mine', version: '1.0' })
    rpm = await buildRpm({ name: 'mine', version: '1.0', release: '1' })
  })

  test('and every route that writes is asked', () => {
    const writing = Object.entries(api as Readonly<Record<string, Row>>)
      .filter(
        ([key, { access }]) =>
          !key.startsWith('GET ') && access !== 'admin' && access !== 'public' && !OF_ACCOUNTS.test(key),
      )
      .map(([key]) => key)
    expect(Object.keys(WRITES).sort()).toEqual(writing.sort())
  })

  describe.each(['milo', 'machine', 'ulla'])('as %s', caller => {
    test.each(Object.entries(WRITES))('%s', async (key, wishes) => {
      const method = key.slice(0, key.indexOf(' '))
      for (const { path, body, form, raw } of wishes) {
        const [here, there] = await Promise.all(
          [withHidden, without].map(async world => {
            const { status, text } = await world.daemon.call(method, path, {
              token: world.tokens.get(caller) ?? '',
              ...(body === undefined ? {} : { body }),
              ...(form === undefined ? {} : { form: form() }),
              ...(raw === undefined ? {} : { body: raw, headers: { 'Content-Type': 'application/octet-stream' } }),
            })
            return { status, text: inOrder(plain(world, text)) }
          }),
        )
        expect(here, `${path} ${JSON.stringify(body)}`).toEqual(there)
        expect(here?.status, path).not.toBe(429)
      }
    })
  })

  test('a source keeps the distribution that those who changed it may not see', async () => {
    const { body } = await withHidden.daemon.call<{ sources: { key: string; distributions: string[] }[] }>(
      'GET',
      '/import/sources',
      { token: withHidden.admin },
    )
    expect(body.sources.find(({ key }) => key === 'shared')?.distributions).toEqual(['jammy', HIDDEN])
  })

  test('every package still exists', async () => {
    const { text } = await withHidden.daemon.call('GET', '/packages/', { token: withHidden.admin })
    for (const trace of traces) expect(text).toContain(trace)
  })

  test('and a key of images that counts there names it to nobody else', async () => {
    const { daemon, admin, tokens } = withHidden
    const registries = ['pictures', 'posters']
    for (const name of registries)
      await daemon.call('POST', '/registries/', { token: admin, body: { name, format: 'oci' } })
    await daemon.call('PUT', '/access/distributions/pictures', {
      token: admin,
      body: { private: true, users: ['nobody'] },
    })
    await daemon.call('POST', '/image-keys', {
      token: admin,
      body: { name: 'team', public_key: createSigner().pem, registries },
    })
    const seen = async (token: string): Promise<unknown> =>
      (await daemon.call<{ keys: { registries: string[] }[] }>('GET', '/image-keys', { token })).body.keys.map(
        one => one.registries,
      )
    expect([await seen(tokens.get('otto') ?? ''), await seen(admin)]).toEqual([[['posters']], [registries]])
  })

  test('and a key that may upload there names it to nobody else', async () => {
    const { daemon, admin, tokens } = withHidden
    const key = await createDeveloper('Dev <dev@example.org>')
    await daemon.call('POST', '/uploader-keys', {
      token: admin,
      body: { name: 'dev', public_key: key.publicKey, distributions: [HIDDEN, 'jammy'] },
    })
    const seen = async (token: string): Promise<unknown> =>
      (await daemon.call<{ keys: { distributions: string[] }[] }>('GET', '/uploader-keys', { token })).body.keys.map(
        one => one.distributions,
      )
    await key.close()
    expect([await seen(tokens.get('otto') ?? ''), await seen(admin)]).toEqual([[['jammy']], [[HIDDEN, 'jammy']]])
  })
})
