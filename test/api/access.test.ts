import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchAuditArchive } from '../support/audit-archive.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'

const PASSWORD = 'Correct-horse-9'
let it: Daemon
let admin: string
const tokens = new Map<string, string>()
const tokenOf = (name: string): string => tokens.get(name) ?? ''

async function login(username: string): Promise<string> {
  return (await it.call<{ access_token: string }>('POST', '/auth/token', { body: { username, password: PASSWORD } }))
    .body.access_token
}
const basic = (token: string): Record<string, string> => ({
  Authorization: `Basic ${Buffer.from(`apt:${token}`).toString('base64')}`,
})
const fetchTree = (path: string, headers: Record<string, string> = {}) => fetch(new URL(path, it.url), { headers })

beforeAll(async () => {
  it = await startDaemon()
  admin = await it.setupAdmin()
  for (const [username, role] of [
    ['rita', 'reader'],
    ['ulf', 'uploader'],
    ['mona', 'maintainer'],
    ['otto', 'auditor'],
    ['gast', 'reader'],
    ['milo', 'maintainer'],
  ] as const) {
    await it.call('POST', '/auth/users', { token: admin, body: { username, password: PASSWORD, role } })
    tokens.set(username, await login(username))
  }
  await it.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
  await it.call('POST', '/distributions/init', { token: admin, body: { codename: 'noble' } })
  await it.upload(await buildDeb({ name: 'open', version: '1.0' }), { token: admin, distribution: 'jammy' })
  await it.upload(await buildDeb({ name: 'secretpkg', version: '1.0' }), { token: admin, distribution: 'noble' })
  await it.upload(await buildDeb({ name: 'darkpkg', version: '1.0' }), { token: admin, distribution: 'bookworm' })
  await it.call('PUT', '/access/distributions/bookworm', { token: admin, body: { users: ['nobody'] } })
  await it.call('PUT', '/access/groups/desk', { token: admin, body: { members: ['rita'] } })
  const rule = await it.call('PUT', '/access/distributions/noble', {
    token: admin,
    body: { private: true, roles: ['maintainer'], groups: ['desk'] },
  })
  expect(rule.body).toEqual({ codename: 'noble', private: true, roles: ['maintainer'], users: [], groups: ['desk'] })
}, 120_000)
afterAll(() => it.close())

/** Every GET of the service that may tell of packages, as one caller gets it, in one text. */
async function everything(token: string): Promise<string> {
  const paths = [
    '/packages/',
    '/packages/?distribution=noble',
    '/artifacts/',
    '/artifacts/?search=secretpkg',
    '/distributions/noble/packages',
    '/distributions/noble/generations',
    '/distributions/noble/setup',
    '/artifacts/secretpkg',
    '/artifacts/secretpkg/1.0',
    '/artifacts/secretpkg/install',
    '/artifacts/secretpkg/dependencies',
    '/dashboard/summary',
    '/dashboard/stats',
    '/dashboard/stats/enriched',
    '/dashboard/gate',
    '/dashboard/history',
    '/security/vulnerabilities',
    '/security/packages-posture',
    '/security/findings-history',
    '/security/findings-history?distribution=noble',
    '/security/packages',
    '/security/review-queue',
    '/security/report',
    '/security/packages/secretpkg/1.0/cve',
    '/security/packages/secretpkg/1.0/decision',
    '/sbom/preview',
    '/sbom/export',
    '/sbom/export?distribution=noble',
    '/sbom/secretpkg/1.0',
    '/artifacts/audit/logs',
    '/artifacts/audit/logs?q=secretpkg',
  ]
  const answers = await Promise.all(paths.map(path => it.call('GET', path, { token })))
  // a refusal repeats what was asked, as it does for a name that never was
  return answers.flatMap((answer, n) => (answer.status === 200 ? [`${paths[n]} ${answer.text}`] : [])).join('\n')
}

describe('a distribution that not everybody may see', () => {
  test.each(['gast', 'ulf', 'otto'])(
    'is nowhere in what %s gets: lists, counts, details, audit, reports, bills',
    async name => {
      const text = await everything(tokenOf(name))
      for (const line of text.split('\n'))
        expect(line.slice(line.indexOf(' ')), line.slice(0, 60)).not.toContain('secretpkg')
      expect((await it.call('GET', '/artifacts/secretpkg', { token: tokenOf(name) })).status).toBe(404)
      expect((await it.call('GET', '/distributions/noble/packages', { token: tokenOf(name) })).status).toBe(404)
      expect((await it.call<{ total: number }>('GET', '/packages/', { token: tokenOf(name) })).body.total).toBe(1)
      expect((await it.call<{ total: number }>('GET', '/artifacts/', { token: tokenOf(name) })).body.total).toBe(1)
      expect(
        (
          await it.call<{ distributions: { codename: string }[] }>('GET', '/distributions/', { token: tokenOf(name) })
        ).body.distributions.map(one => one.codename),
      ).not.toContain('noble')
    },
  )

  test('has no line in the archive of the audit log that an auditor gets', async () => {
    const lines = [...(await fetchAuditArchive(it, tokenOf('otto'))).values()].join('').trimEnd().split('\n')
    const about = lines.map(line => JSON.parse(line) as { package?: string; detail: string })
    expect(about.some(entry => entry.package === 'open')).toBe(true)
    expect(lines.filter(line => /secretpkg|noble/.test(line))).toEqual([])
    const all = [...(await fetchAuditArchive(it, admin)).values()].join('').trimEnd().split('\n')
    expect(all.filter(line => line.includes('secretpkg')).length).toBeGreaterThan(0)
    for (const line of lines) expect(all).toContain(line)
  })

  test.each(['mona', 'rita'])('is there for %s, by role or by group', async name => {
    expect((await it.call<{ total: number }>('GET', '/packages/', { token: tokenOf(name) })).body.total).toBe(2)
    expect((await it.call('GET', '/artifacts/secretpkg', { token: tokenOf(name) })).status).toBe(200)
  })

  test('answers a maintainer who may not see it as an unknown distribution, on every route', async () => {
    const token = tokenOf('milo')
    const ways: [string, string, object?][] = [
      ['GET', '/distributions/bookworm/packages'],
      ['GET', '/distributions/bookworm/setup'],
      ['GET', '/distributions/bookworm/generations'],
      ['GET', '/distributions/bookworm/retention'],
      ['GET', '/distributions/bookworm/compare?with=jammy'],
      ['GET', '/distributions/jammy/compare?with=bookworm'],
      ['GET', '/artifacts/darkpkg/promote/targets?from_dist=bookworm'],
      ['GET', '/sbom/export?distribution=bookworm'],
      ['GET', '/sbom/preview?distribution=bookworm'],
      ['POST', '/distributions/init', { codename: 'bookworm' }],
      ['POST', '/distributions/bookworm/rollback', {}],
      ['POST', '/distributions/promote', { package: 'open', from_dist: 'jammy', to_dist: 'bookworm', dry_run: true }],
      ['POST', '/distributions/promote', { name: 'darkpkg', from_distribution: 'bookworm', to_distribution: 'jammy' }],
      ['POST', '/distributions/migrate', { from_dist: 'bookworm', to_dist: 'jammy' }],
      ['POST', '/distributions/migrate', { from_distribution: 'jammy', to_distribution: 'bookworm' }],
      ['PATCH', '/distributions/bookworm/retention', { keep: 1 }],
      ['POST', '/distributions/bookworm/retention/preview', { keep: 1 }],
      ['POST', '/distributions/bookworm/retention/run'],
      ['POST', '/distributions/bookworm/pins', { name: 'darkpkg', version: '1.0' }],
    ]
    for (const [method, path, body] of ways) {
      const ask = async (codename: string): Promise<unknown[]> => {
        const named = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('bookworm', codename)) as T
        const { status, body: said } = await it.call(method, named(path), {
          token,
          ...(body === undefined ? {} : { body: named(body) }),
        })
        return [status, said.code, JSON.stringify(said.detail).replaceAll(codename, 'X')]
      }
      const answer = await ask('bookworm')
      expect(answer, `${method} ${path}`).toEqual(await ask('never'))
      expect(answer[1]).toMatch(/^(distribution_not_found|unknown_distribution)$/)
    }
    const about: [string, string, object?][] = [
      ['DELETE', '/artifacts/darkpkg'],
      ['DELETE', '/artifacts/darkpkg/1.0'],
      ['POST', '/security/packages/darkpkg/1.0/quarantine', {}],
      ['POST', '/security/packages/darkpkg/1.0/rescan', {}],
      ['POST', '/security/packages/darkpkg/1.0/decide', { decision: 'approve', justification: 'x' }],
      ['POST', '/security/packages/darkpkg/1.0/assign', { assignee: 'milo' }],
      ['POST', '/distributions/promote', { package: 'darkpkg', from_dist: 'jammy', to_dist: 'noble' }],
    ]
    for (const [method, path, body] of about) {
      const asked = await it.call(method, path, { token, ...(body === undefined ? {} : { body }) })
      const never = await it.call(method, path.replace('darkpkg', 'neverpkg'), {
        token,
        ...(body === undefined
          ? {}
          : { body: JSON.parse(JSON.stringify(body).replace('darkpkg', 'neverpkg')) as object }),
      })
      expect([asked.status, String(asked.body.detail)], `${method} ${path}`).toEqual([
        404,
        String(never.body.detail).replace('neverpkg', 'darkpkg'),
      ])
    }
    const all = await it.call('POST', '/distributions/init', { token, body: {} })
    expect([all.status, all.text.includes('bookworm')]).toEqual([200, false])
    expect((await it.call('GET', '/artifacts/darkpkg', { token: admin })).status).toBe(200)
  })

  test('is in no live event for those who may not see it', async () => {
    const follow = async (token: string) => {
      const answer = await fetch(`${it.url}/api/v1/dashboard/events`, { headers: { Authorization: `Bearer ${token}` } })
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      return {
        text: () => text,
        cancel: () => reader.cancel(),
        until: async (what: string) => {
          for (let next = await reader.read(); !next.done; next = await reader.read()) {
            text += Buffer.from(next.value).toString()
            if (text.includes(what)) return
          }
        },
      }
    }
    const [blind, sighted] = [await follow(tokenOf('milo')), await follow(admin)]
    await it.upload(await buildDeb({ name: 'darkpkg', version: '2.0' }), { token: admin, distribution: 'bookworm' })
    await it.upload(await buildDeb({ name: 'lightpkg', version: '1.0' }), { token: admin, distribution: 'jammy' })
    await Promise.all([blind.until('lightpkg'), sighted.until('lightpkg')])
    expect([
      blind.text().includes('darkpkg'),
      blind.text().includes('bookworm'),
      sighted.text().includes('darkpkg'),
    ]).toEqual([false, false, true])
    await Promise.all([blind.cancel(), sighted.cancel()])
    await it.call('DELETE', '/artifacts/lightpkg', { token: admin })
  })

  test('takes no upload from those who may not see it, and answers as an unknown one', async () => {
    const refused = await it.upload(await buildDeb({ name: 'mine', version: '1.0' }), {
      token: tokenOf('ulf'),
      distribution: 'noble',
    })
    expect([refused.status, refused.body.code]).toEqual([422, 'unknown_distribution'])
    const [said] = refused.body.detail as { msg: string }[]
    expect(said?.msg).toMatch(/There is no distribution noble\. There are: (?!.*noble)/)
    expect(
      (
        await it.upload(await buildDeb({ name: 'mine', version: '1.0' }), {
          token: tokenOf('ulf'),
          distribution: 'jammy',
        })
      ).status,
    ).toBe(201)
  })

  test('serves its tree only to those who may see it', async () => {
    const path = '/repos/dists/noble/InRelease'
    const asked = await fetchTree(path)
    expect([asked.status, asked.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="Gatehouse", charset="UTF-8"',
    ])
    expect(await asked.json()).toEqual({
      detail: expect.stringContaining('private') as string,
      code: 'private_tree',
      request_id: asked.headers.get('x-request-id'),
    })
    const make = async (body: object) =>
      (await it.call<{ token: string }>('POST', '/auth/api-tokens', { token: admin, body })).body.token
    const scoped = await make({ name: 'machine', role: 'reader', scopes: { distributions: ['noble'] } })
    const other = await make({ name: 'other', role: 'reader', scopes: { distributions: ['jammy'] } })
    const plain = await make({ name: 'plain', role: 'reader' })
    expect((await fetchTree(path, basic(scoped))).status).toBe(200)
    for (const token of [other, plain]) expect((await fetchTree(path, basic(token))).status).toBe(404)
    for (const wrong of ['svc_wrong', '']) expect((await fetchTree(path, basic(wrong))).status).toBe(401)
    const [, deb = ''] =
      /Filename: (.*)/.exec(
        await (await fetchTree('/repos/dists/noble/main/binary-amd64/Packages', basic(scoped))).text(),
      ) ?? []
    expect((await fetchTree(`/repos/${deb}`)).status).toBe(401)
    expect((await fetchTree(`/repos/${deb}`, basic(scoped))).headers.get('cache-control')).toContain('private')
    for (const clever of [
      '/repos/dists/noble@1/InRelease',
      '/repos/dists/%6eoble/InRelease',
      `/repos/pool/noble/main/s/secretpkg/secretpkg_1.0_amd64.deb`,
    ])
      expect([401, 404]).toContain((await fetchTree(clever)).status)
    expect((await fetchTree('/repos/dists/jammy/InRelease')).status).toBe(200)
  })

  test('stays closed to the next user of a name that was deleted, and to everybody else when that was the only one', async () => {
    const make = async (): Promise<string> => {
      await it.call('POST', '/auth/users', {
        token: admin,
        body: { username: 'temp', password: PASSWORD, role: 'reader' },
      })
      return login('temp')
    }
    const sees = async (token: string, codename: string): Promise<number> =>
      (await it.call('GET', `/distributions/${codename}/packages`, { token })).status
    await it.call('PUT', '/access/groups/desk', { token: admin, body: { members: ['rita', 'temp'] } })
    await it.call('PUT', '/access/distributions/bookworm', { token: admin, body: { users: ['temp'] } })
    const first = await make()
    expect([await sees(first, 'noble'), await sees(first, 'bookworm')]).toEqual([200, 200])
    expect((await it.call('DELETE', '/auth/users/temp', { token: admin })).status).toBe(200)
    const second = await make()
    // what this process has just read is up to a second old
    await expect
      .poll(async () => [await sees(second, 'noble'), await sees(second, 'bookworm')], { timeout: 10_000 })
      .toEqual([404, 404])
    expect([await sees(tokenOf('gast'), 'bookworm'), await sees(tokenOf('rita'), 'noble')]).toEqual([404, 200])
    expect((await it.call('GET', '/access/groups', { token: admin })).body).toEqual({
      groups: [{ name: 'desk', members: ['rita', 'temp (deleted)'] }],
    })
  })

  test('is seen by a user through role, name or group, and each of these is told', async () => {
    const of = async (name: string) => {
      const { body } = await it.call<{ groups: string[]; distributions: { codename: string; by: object[] }[] }>(
        'GET',
        `/access/people/${name}`,
        { token: admin },
      )
      const { codename: _, ...noble } = body.distributions.find(one => one.codename === 'noble') ?? { by: [] }
      return { groups: body.groups, noble }
    }
    const noble = {
      ...{ format: 'deb', label: 'Ubuntu 24.04 LTS', private: true, named: false, open: false },
      rule: { roles: ['maintainer'], groups: ['desk'], other_users: 0 },
    }
    expect(await of('rita')).toEqual({
      groups: ['desk'],
      noble: { ...noble, sees: true, by: [{ kind: 'group', name: 'desk' }] },
    })
    expect(await of('mona')).toEqual({
      groups: [],
      noble: { ...noble, sees: true, by: [{ kind: 'role', name: 'maintainer' }] },
    })
    expect(await of('gast')).toEqual({ groups: [], noble: { ...noble, sees: false, by: [] } })
    expect((await of('admin')).noble).toMatchObject({ sees: true, by: [{ kind: 'admin' }] })

    const put = (name: string, body: object) =>
      it.call<{ distributions: { codename: string; by: object[] }[] }>('PUT', `/access/people/${name}`, {
        token: admin,
        body,
      })
    const changed = await put('gast', { distributions: ['noble'], groups: ['desk'] })
    expect(changed.body.distributions.find(one => one.codename === 'noble')?.by).toEqual([
      { kind: 'user' },
      { kind: 'group', name: 'desk' },
    ])
    expect((await it.call('GET', '/artifacts/secretpkg', { token: tokenOf('gast') })).status).toBe(200)
    const lines = await it.call<{ items: { detail: string }[] }>('GET', '/artifacts/audit/logs?action=ACCESS_CHANGE', {
      token: admin,
    })
    expect(
      lines.body.items
        .slice(0, 2)
        .map(({ detail }) => detail)
        .sort(),
    ).toEqual([
      expect.stringMatching(/^Only for roles maintainer; users gast; groups desk.*Added: user gast\.$/) as string,
      expect.stringMatching(/^The group desk has .*gast\. Added: gast\.$/) as string,
    ])
    // what is not sent stays
    expect((await put('gast', { groups: [] })).body.distributions.find(one => one.codename === 'noble')?.by).toEqual([
      { kind: 'user' },
    ])
    await put('gast', { distributions: [] })
    expect((await it.call('GET', '/artifacts/secretpkg', { token: tokenOf('gast') })).status).toBe(404)
  })

  test('is neither closed to everybody nor opened to everybody by a change of one user', async () => {
    const put = async (name: string, body: object) => {
      const answer = await it.call('PUT', `/access/people/${name}`, { token: admin, body })
      return [answer.status, answer.body.code]
    }
    const before = (await it.call('GET', '/access/distributions', { token: admin })).text
    expect(await put('gast', { distributions: ['jammy'] })).toEqual([409, 'rule_is_open'])
    expect(await put('gast', { distributions: ['never'] })).toEqual([404, 'distribution_not_found'])
    expect(await put('gast', { groups: ['never'] })).toEqual([404, 'group_not_found'])
    expect(await put('never', { groups: [] })).toEqual([404, 'user_not_found'])
    expect((await it.call('GET', '/access/distributions', { token: admin })).text).toBe(before)
    await it.call('PUT', '/access/distributions/bookworm', { token: admin, body: { users: ['gast'] } })
    expect(await put('gast', { distributions: [], groups: ['desk'] })).toEqual([409, 'rule_would_open'])
    // the refusal left the group as it was, too
    expect((await it.call('GET', '/access/people/gast', { token: admin })).body).toMatchObject({ groups: [] })
    await it.call('PUT', '/access/distributions/bookworm', { token: admin, body: { users: ['temp (deleted)'] } })
  })

  test('has the rule that was put last, whole; the audit log says who came and who went, and nothing of what changed nothing', async () => {
    const put = (path: string, body: object) => it.call('PUT', `/access/${path}`, { token: admin, body })
    const lines = async () =>
      (
        await it.call<{ items: { detail: string; facts: object }[] }>(
          'GET',
          '/artifacts/audit/logs?action=ACCESS_CHANGE',
          { token: admin },
        )
      ).body.items
    const before = (await lines()).length
    await put('distributions/noble', { private: true, roles: ['auditor'], users: ['gast'], groups: ['desk'] })
    const open = { codename: 'noble', private: false, roles: [], users: ['gast', 'ulf'], groups: [] }
    expect((await put('distributions/noble', { users: ['gast', 'ulf'] })).body).toEqual(open)
    expect((await put('distributions/noble', { users: ['gast', 'ulf'] })).body).toEqual(open)
    const { distributions } = (
      await it.call<{ distributions: { codename: string }[] }>('GET', '/access/distributions', { token: admin })
    ).body
    expect(distributions.filter(({ codename }) => codename === 'noble')).toEqual([open])
    await put('groups/shift', { members: ['rita', 'gast'] })
    expect((await put('groups/shift', { members: ['gast', 'ulf'] })).body).toEqual({
      name: 'shift',
      members: ['gast', 'ulf'],
    })
    await put('groups/shift', { members: ['gast', 'ulf'] })
    const now = await lines()
    expect(now.slice(0, now.length - before).map(({ detail }) => detail)).toEqual([
      'The group shift has gast, ulf. Added: ulf. Removed: rita.',
      'The group shift has rita, gast. Added: rita, gast.',
      'Only for users gast, ulf. Added: user ulf. Removed: role auditor, group desk.',
      'Only for roles auditor; users gast; groups desk; its tree asks for a token. Added: role auditor, user gast. Removed: role maintainer.',
    ])
    expect(now[2]?.facts).toMatchObject({ added: ['user:ulf'], removed: ['role:auditor', 'group:desk'] })
    expect((await it.call('GET', '/artifacts/secretpkg', { token: tokenOf('mona') })).status).toBe(404)
    expect((await fetchTree('/repos/dists/noble/InRelease')).status).toBe(200)
    await it.call('DELETE', '/access/groups/shift', { token: admin })
    await put('distributions/noble', { private: true, roles: ['maintainer'], groups: ['desk'] })
  })

  test('is open again when its rule is emptied, and every change is in the audit log', async () => {
    await it.call('PUT', '/access/distributions/noble', {
      token: admin,
      body: { private: false, roles: [], groups: [] },
    })
    expect((await it.call('GET', '/artifacts/secretpkg', { token: tokenOf('gast') })).status).toBe(200)
    expect((await fetchTree('/repos/dists/noble/InRelease')).status).toBe(200)
    const log = await it.call<{ items: { detail: string }[] }>('GET', '/artifacts/audit/logs?action=ACCESS_CHANGE', {
      token: admin,
    })
    expect(log.body.items[0]?.detail).toBe('Open to everybody. Removed: role maintainer, group desk.')
  })
})
