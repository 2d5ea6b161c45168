import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { readServedTree } from '../support/tree.ts'

const LOG4J = 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1'
const AT = { purl: LOG4J, path: './opt/log4j.jar', rule: 'jar', confidence: 'certain', presence: 'shipped' }
const SHELL = { id: 'CVE-2021-44228', severity: 'high', aliases: ['GHSA-jfh8-c2jp-5v3q'], at: AT }
const OTHER = { id: 'CVE-2026-7', severity: 'high' }
const WORSE = { ...SHELL, severity: 'critical' }

let daemon: Daemon
let admin: string
let folder: string
const tokens = new Map<string, string>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-vex-'))
  const names = ['held', 'limits', 'both', 'sent', 'again', 'later', 'mal', 'eyes']
  const findings = {
    ...Object.fromEntries(names.map(name => [`${name} 1.0`, [SHELL]])),
    'both 1.0': [SHELL, OTHER],
    'worse 1.0': [WORSE],
    'mal 1.0': [{ id: 'MAL-2026-1', severity: 'critical' }],
  }
  await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings }))
  daemon = await startDaemon({
    entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
    env: { FAKE_ANSWERS: join(folder, 'answers.json') },
  })
  admin = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token: admin })
  for (const [username, role] of [
    ['ann', 'uploader'],
    ['mae', 'maintainer'],
  ] as const) {
    await daemon.call('POST', '/auth/users', { token: admin, body: { username, password: 'Correct-horse-91', role } })
    const { body } = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username, password: 'Correct-horse-91' },
    })
    tokens.set(username, body.access_token)
  }
})
afterAll(async () => {
  await daemon.close()
  await rm(folder, { recursive: true, force: true })
})

const as = (who: string): string => (who === 'admin' ? admin : (tokens.get(who) ?? ''))
const upload = async (name: string, who = 'ann'): Promise<Answer> =>
  daemon.upload(await buildDeb({ name, version: '1.0' }), { token: as(who), distribution: 'jammy' })
const statement = (name: string, more: object = {}) => ({
  vulnerability: { name: 'GHSA-jfh8-c2jp-5v3q' },
  products: [{ '@id': `pkg:deb/acme/${name}@1.0`, 'subcomponents': [{ '@id': LOG4J }] }],
  status: 'not_affected',
  justification: 'vulnerable_code_not_present',
  ...more,
})
const vex = (statements: readonly object[], more: object = {}) => ({
  '@context': 'https://openvex.dev/ns/v0.2.0',
  '@id': 'https://example.com/vex-1',
  'author': 'Example Corp',
  'timestamp': '2026-01-05T09:00:00Z',
  statements,
  ...more,
})
const put = async (name: string, document: unknown, who = 'mae'): Promise<Answer> => {
  const response = await fetch(`${daemon.url}/api/v1/security/packages/${name}/1.0/vex`, {
    method: 'POST',
    headers: { 'Authorization': `Bearer ${as(who)}`, 'Content-Type': 'application/octet-stream' },
    body: typeof document === 'string' ? document : JSON.stringify(document),
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    body: JSON.parse(text) as Answer['body'],
    headers: response.headers,
  } as Answer
}
const ask = (method: string, path: string, who = 'mae'): Promise<Answer> =>
  daemon.call(method, `/security/packages/${path}`, { token: as(who) })
const listed = async (name: string) =>
  (await ask('GET', `${name}/1.0/vex`)).body.documents as {
    sha256: string
    accepted_by: string | null
    closes: string[]
  }[]
const stateOf = async (name: string) => (await ask('GET', `${name}/1.0/decision`)).body.status
const served = async (): Promise<string[]> =>
  (await readServedTree(daemon.url, 'jammy')).packages.map(({ Package }) => Package ?? '')

test("a supplier's word that a reviewer sends closes its finding and publishes what it held", async () => {
  expect((await upload('held')).body).toMatchObject({ status: 'pending_review' })
  const said = await put('held', vex([statement('held')]))
  expect(said, said.text).toMatchObject({
    status: 201,
    body: {
      status: 'published',
      previous_status: 'pending_review',
      message: 'The document counts and closes CVE-2021-44228.',
      documents: [
        {
          format: 'OpenVEX',
          id: 'https://example.com/vex-1',
          author: 'Example Corp',
          issued: '2026-01-05T09:00:00.000Z',
          sent_by: 'mae',
          accepted_by: 'mae',
          closes: ['CVE-2021-44228'],
          statements: [
            {
              vulnerability: 'GHSA-jfh8-c2jp-5v3q',
              aliases: [],
              status: 'not_affected',
              components: [LOG4J],
              said: 'the vulnerable code is not in it',
              at: '2026-01-05T09:00:00.000Z',
              findings: ['CVE-2021-44228'],
            },
          ],
        },
      ],
    },
  })
  await expect.poll(served, { timeout: 30_000 }).toContain('held')
  const [found] = (await ask('GET', 'held/1.0/cve')).body.cves as { accepted: boolean; acceptance: object }[]
  expect(found?.acceptance).toMatchObject({
    decision: 'not_affected',
    cve: 'CVE-2021-44228',
    decided_by: 'mae',
    justification:
      'Example Corp says that it is not affected: the vulnerable code is not in it (document https://example.com/vex-1 of 2026-01-05)',
  })
})

test('removing the document holds the package again', async () => {
  const [document] = await listed('held')
  const gone = await ask('DELETE', `held/1.0/vex/${document?.sha256}`)
  expect(gone, gone.text).toMatchObject({ status: 200, body: { status: 'pending_review', documents: [] } })
  await expect.poll(served, { timeout: 30_000 }).not.toContain('held')
  expect(await ask('DELETE', `held/1.0/vex/${document?.sha256}`)).toMatchObject({
    status: 404,
    body: { code: 'vex_not_found' },
  })
})

test('a finding that no document speaks of still holds it', async () => {
  await upload('both')
  expect((await put('both', vex([statement('both')]))).body).toMatchObject({ status: 'pending_review' })
  expect((await listed('both'))[0]?.closes).toEqual(['CVE-2021-44228'])
})

test("what an uploader sends closes nothing until a maintainer accepts it, and never takes an accepted one's place", async () => {
  await upload('sent')
  const sent = await put('sent', vex([statement('sent')]), 'ann')
  expect(sent.body).toMatchObject({
    status: 'pending_review',
    message: 'The document is kept and closes nothing until somebody accepts it.',
    documents: [{ sent_by: 'ann', accepted_by: null, closes: [] }],
  })
  const [document] = await listed('sent')
  expect(await ask('POST', `sent/1.0/vex/${document?.sha256}/accept`, 'ann')).toMatchObject({ status: 403 })
  expect((await ask('POST', `sent/1.0/vex/${document?.sha256}/accept`)).body).toMatchObject({ status: 'published' })
  const worse = vex([statement('sent', { status: 'affected', timestamp: '2026-02-01T00:00:00Z' })])
  expect((await put('sent', worse, 'ann')).body).toMatchObject({
    status: 'published',
    documents: [{ accepted_by: 'mae' }, { accepted_by: null }],
  })
})

test('a later edition takes the place of an earlier one, and the latest statement counts', async () => {
  await upload('again')
  expect((await put('again', vex([statement('again')]))).body).toMatchObject({ status: 'published' })
  const both = vex([
    statement('again'),
    statement('again', { status: 'under_investigation', timestamp: '2026-03-01T00:00:00Z' }),
  ])
  expect((await put('again', both)).body).toMatchObject({ status: 'pending_review', documents: [{ closes: [] }] })
  expect((await put('again', both)).body.documents).toHaveLength(1)
})

test('a package in quarantine stays there until somebody approves it', async () => {
  expect((await upload('worse')).body).toMatchObject({ status: 'quarantined' })
  expect((await put('worse', vex([statement('worse')]))).body).toMatchObject({
    status: 'quarantined',
    message:
      'The document counts and closes CVE-2021-44228. The package stays in quarantine until somebody approves it.',
  })
})

test("a reviewer's refusal counts against a word that came before", async () => {
  await upload('later')
  await put('later', vex([statement('later')]))
  const decide = await daemon.call('POST', '/security/packages/later/1.0/decide', {
    token: as('mae'),
    body: { decision: 'reject', cve: 'CVE-2021-44228', justification: 'We looked: it is there.' },
  })
  expect(decide, decide.text).toMatchObject({ body: { status: 'pending_review' } })
  expect((await listed('later'))[0]?.closes).toEqual([])
})

test("nobody's word closes a record of malicious code", async () => {
  await upload('mal')
  const said = await put(
    'mal',
    vex([{ ...statement('mal'), vulnerability: 'MAL-2026-1', products: ['pkg:deb/acme/mal'] }]),
  )
  expect(said.body).toMatchObject({ documents: [{ closes: [] }] })
  expect(await stateOf('mal')).not.toBe('published')
})

test('a token for uploads to one distribution may send a document there, which closes nothing', async () => {
  const tokenFor = async (label: string, distributions: readonly string[], upload_only: boolean): Promise<void> => {
    const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
      token: admin,
      body: { name: label, role: 'maintainer', scopes: { distributions, upload_only } },
    })
    expect(made, made.text).toMatchObject({ status: 201 })
    tokens.set(label, made.body.token)
  }
  await tokenFor('ci', ['jammy'], true)
  await tokenFor('elsewhere', ['noble'], false)
  await upload('limits')
  expect(await put('limits', vex([statement('limits')]), 'elsewhere')).toMatchObject({
    status: 403,
    body: { code: 'outside_distribution' },
  })
  expect((await put('limits', vex([statement('limits')]), 'ci')).body).toMatchObject({
    status: 'pending_review',
    documents: [{ sent_by: 'ci', accepted_by: null }],
  })
  const [document] = await listed('limits')
  const accept = `limits/1.0/vex/${document?.sha256}/accept`
  expect(await ask('POST', accept, 'ci')).toMatchObject({ status: 403 })
  expect(await ask('POST', accept, 'elsewhere')).toMatchObject({ body: { code: 'outside_distribution' } })
})

test('with four eyes the uploader of a package needs somebody else for a document', async () => {
  await daemon.call('PATCH', '/settings/', { token: admin, body: { review: { four_eyes: true } } })
  await upload('eyes', 'mae')
  expect((await put('eyes', vex([statement('eyes')]))).body).toMatchObject({ status: 'pending_review' })
  const [document] = await listed('eyes')
  expect(await ask('POST', `eyes/1.0/vex/${document?.sha256}/accept`)).toMatchObject({ body: { code: 'four_eyes' } })
  expect((await ask('POST', `eyes/1.0/vex/${document?.sha256}/accept`, 'admin')).body).toMatchObject({
    status: 'published',
  })
})

test.each([
  ['no JSON', 'hello', 'it is no JSON in UTF-8'],
  ['another package', vex([statement('none', { products: ['pkg:deb/acme/none@1.0'] })]), 'not of this package'],
])('a document of %s is refused with the reason and changes nothing', async (_, document, why) => {
  const before = await listed('both')
  const refused = await put('both', document)
  expect(refused).toMatchObject({ status: 422, body: { code: 'bad_vex' } })
  expect(refused.text).toContain(why)
  expect(await listed('both')).toEqual(before)
})

test('what people did with documents is in the audit log', async () => {
  const lines = (
    await daemon.call<{ items: { detail: string }[] }>('GET', '/artifacts/audit/logs?package=held', { token: admin })
  ).body.items.map(({ detail }) => detail)
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^The VEX document https:\/\/example\.com\/vex-1 of Example Corp was added, SHA-256 \w+\. It closes CVE-2021-44228\./,
      ),
      expect.stringMatching(/^The VEX document .* was removed, SHA-256 \w+\. Open again: CVE-2021-44228\./),
    ]),
  )
})

test("the package's own VEX passes the supplier's word on", async () => {
  const { text } = await daemon.call('GET', '/sbom/sent/1.0?format=openvex', { token: admin })
  expect(JSON.parse(text)).toMatchObject({
    statements: [{ status: 'not_affected', vulnerability: { name: 'CVE-2021-44228' } }],
  })
})
