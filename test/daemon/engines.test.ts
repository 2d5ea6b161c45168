import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, tar } from '../support/packages.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

let daemon: Daemon
let token: string
beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  expect((await daemon.call('POST', '/distributions/init', { token, body: {} })).status).toBe(200)
}, 120_000)
afterAll(async () => {
  await daemon.close()
})

interface Coverage {
  readonly distribution: string
  readonly coverage: string
  readonly said: string
}
interface EngineFacts {
  readonly id: string
  readonly kind: string
  readonly ok: boolean
  readonly data_at: string | null
  readonly distributions: readonly Coverage[]
}
interface Engines {
  readonly engines: readonly EngineFacts[]
  readonly database: { readonly generation: number | null; readonly signature: string | null }
}
interface Imported {
  readonly status: string
  readonly generation: number
  readonly records: number
  readonly rows: number
  readonly detail?: unknown
}

const engines = async (): Promise<Engines> =>
  (await daemon.call<Engines & Record<string, unknown>>('GET', '/security/engines', { token })).body
const osv = async () => (await engines()).engines.find(({ id }) => id === 'osv')
const coverageOf = async (codename: string) =>
  (await osv())?.distributions.find(({ distribution }) => distribution === codename)?.coverage

async function send(bytes: Buffer, { query = '', as = token, type = 'application/octet-stream' } = {}) {
  const response = await fetch(`${daemon.url}/api/v1/security/database${query}`, {
    method: 'POST',
    headers: {
      'Authorization': `Bearer ${as}`,
      'Content-Type': type,
      'X-Forwarded-For': `198.19.${Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`,
    },
    body: new Uint8Array(bytes),
  })
  return { status: response.status, body: (await response.json()) as Imported }
}
async function sendForm(bytes: Buffer, fields: Readonly<Record<string, string>> = {}) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', new Blob([new Uint8Array(bytes)]), 'all.zip')
  return daemon.call<Imported & Record<string, unknown>>('POST', '/security/database', { token, form })
}
/** Advisories about packages that no test uploads. */
const filler = (ecosystem: string, prefix: string): object[] =>
  Array.from({ length: 150 }, (_, n) =>
    osvRecord(`${prefix}-${2_020 + (n % 5)}-${20_000 + n}`, [[ecosystem, `filler${n}`, '1']]),
  )
const rated = (severity: string) => ({ severity: [{ type: 'Ubuntu', score: severity }] })
const deb = (name: string, version: string, source?: string) =>
  buildDeb({ name, version, ...(source === undefined ? {} : { fields: { Source: source } }) })

describe('without data', () => {
  test('every engine reports its status, and the embedded one that it has no data', async () => {
    const { engines: list, database } = await engines()
    expect(list.map(({ id, kind }) => [id, kind])).toEqual(
      expect.arrayContaining([
        ['osv', 'vulnerability'],
        ['clamav', 'antivirus'],
      ]),
    )
    expect([list.find(({ id }) => id === 'osv')?.ok, await coverageOf('bookworm'), database.generation]).toEqual([
      false,
      'no_data',
      null,
    ])
  })
  test('a package is not reported as free of vulnerabilities', async () => {
    const { body } = await daemon.upload(await deb('before', '1.0-1'), { token })
    expect((body.pipeline as { cve_scan: string }).cve_scan).toBe('no_data')
  })
})

describe('imports', () => {
  test('an OSV dump is taken as the body or as a form, and says what is in it', async () => {
    const ubuntu = [
      ...filler('Ubuntu:22.04:LTS', 'UBUNTU-CVE'),
      osvRecord('UBUNTU-CVE-2026-10001', [['Ubuntu:22.04:LTS', 'vuln-src', '2.0-1']], rated('critical')),
      osvRecord('UBUNTU-CVE-2026-10002', [['Ubuntu:22.04:LTS', 'middling', '']], rated('medium')),
    ]
    const first = await send(osvZip(ubuntu))
    expect(first).toMatchObject({
      status: 200,
      body: { status: 'imported', generation: 1, records: 152, rows: 152, signature: 'none' },
    })
    const second = await sendForm(osvZip([osvRecord('DEBIAN-CVE-2026-10003', [['Debian:12', 'hello', '2.0-1']])]))
    expect(second).toMatchObject({ status: 200, body: { status: 'imported', generation: 2, records: 1 } })
    expect([await coverageOf('jammy'), await coverageOf('bookworm'), await coverageOf('rocky9')]).toEqual([
      'covered',
      'covered',
      'not_covered',
    ])
    expect((await osv())?.ok).toBe(true)
  })
  test('the audit log names who imported what', async () => {
    const { text } = await daemon.call('GET', '/artifacts/audit/logs?action=VULNDB_IMPORT', { token })
    expect(text).toContain('generation 2')
  })
  test('invalid data are refused with the reason, and loaded data stay', async () => {
    expect(await send(Buffer.from('hello'))).toMatchObject({ status: 422 })
    expect(await send(tar([{ name: '../../etc/cron.d/x', body: 'x' }]))).toMatchObject({
      status: 422,
      body: { detail: [{ msg: expect.stringContaining('no path inside it') }] },
    })
    expect(await send(Buffer.alloc(0))).toMatchObject({ status: 422 })
    expect(
      await send(
        osvZip([
          osvRecord('DEBIAN-CVE-2026-10003', [['Debian:12', 'hello', '1.0-1']], { modified: '2020-01-01T00:00:00Z' }),
        ]),
      ),
    ).toMatchObject({ status: 409 })
    expect((await engines()).database.generation).toBe(2)
    expect(
      await sendForm(
        osvZip([
          osvRecord('DEBIAN-CVE-2026-10003', [['Debian:12', 'hello', '2.0-1']], { modified: '2020-01-01T00:00:00Z' }),
        ]),
        { force: 'true' },
      ),
    ).toMatchObject({ status: 200, body: { generation: 3 } })
  })
  test('only an admin may', async () => {
    await daemon.call('POST', '/auth/users', {
      token,
      body: { username: 'maintainer', password: 'Correct-horse-9', role: 'maintainer' },
    })
    const login = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username: 'maintainer', password: 'Correct-horse-9' },
    })
    expect([
      (await send(osvZip([osvRecord('DSA-1-1', [['Debian:12', 'x', '1']])]), { as: login.body.access_token })).status,
      (await daemon.call('GET', '/security/engines', { token: login.body.access_token })).status,
    ]).toEqual([403, 200])
  })
  test('while a key is pinned nothing unsigned is taken', async () => {
    const key =
      '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nxjMEaAAAABYJKwYBBAHaRw8BAQdA\n-----END PGP PUBLIC KEY BLOCK-----\n'
    expect((await daemon.call('PATCH', '/settings/', { token, body: { security: { bundle_key: key } } })).status).toBe(
      200,
    )
    const body = Buffer.from('x')
    const manifest = JSON.stringify({
      format: 1,
      created: '2026-01-01T00:00:00Z',
      files: [{ path: 'a', size: 1, sha256: createHash('sha256').update(body).digest('hex') }],
    })
    expect(
      await send(
        tar([
          { name: 'manifest.json', body: manifest },
          { name: 'a', body },
        ]),
      ),
    ).toMatchObject({ status: 422, body: { detail: [{ msg: expect.stringContaining('not signed') }] } })
    expect(await send(osvZip([osvRecord('DSA-1-1', [['Debian:12', 'x', '1']])]))).toMatchObject({ status: 422 })
    await daemon.call('PATCH', '/settings/', { token, body: { security: { bundle_key: '' } } })
  })
})

describe('uploads', () => {
  test('a critical vulnerability of the source package blocks, with its CVE', async () => {
    const { status, body } = await daemon.upload(await deb('libvuln1', '1:1.0-1', 'vuln-src (1.9-1)'), { token })
    expect([status, body.status]).toEqual([200, 'quarantined'])
    const cves = await daemon.call('GET', '/security/packages/libvuln1/1:1.0-1/cve', { token })
    expect(cves.text).toContain('CVE-2026-10001')
  })
  test('the fixed version is published', async () => {
    const { status, body } = await daemon.upload(await deb('libvuln1', '1:1.1-1', 'vuln-src (2.0-1)'), { token })
    expect([status, body.status, (body.pipeline as { cve_scan: string }).cve_scan]).toEqual([
      201,
      'published',
      'no_findings',
    ])
  })
  test('one without a fix is held when the policy says so', async () => {
    await daemon.call('PATCH', '/security/policy', { token, body: { medium: 'review' } })
    const { body } = await daemon.upload(await deb('middling', '9.0-1'), { token })
    expect(body.status).toBe('pending_review')
    const approved = await daemon.call('POST', '/security/packages/middling/9.0-1/decide', {
      token,
      body: { decision: 'approve', justification: 'The code is not reachable here.' },
    })
    expect(approved.status).toBe(200)
  })
  test('uploads go on while data are imported, and the old data answer until the new ones are whole', async () => {
    const big = osvZip(
      Array.from({ length: 4_000 }, (_, n) =>
        osvRecord(`UBUNTU-CVE-2025-${30_000 + n}`, [
          ['Ubuntu:22.04:LTS', `big${n}`, '1'],
          ['Ubuntu:20.04:LTS', `big${n}`, '1'],
        ]),
      ),
    )
    const importing = send(big)
    const states = []
    for (let n = 0; n < 4; n++)
      states.push(
        (await daemon.upload(await deb('libvuln1', `1:0.${n}-1`, `vuln-src (1.${n}-1)`), { token })).body.status,
      )
    expect(states).toEqual(['quarantined', 'quarantined', 'quarantined', 'quarantined'])
    expect(await importing).toMatchObject({ status: 200, body: { rows: 8_000 } })
  })
  test('data that are too old are reported as stale', async () => {
    const old = filler('Ubuntu:24.04:LTS', 'UBUNTU-CVE').map((record, n) => ({
      ...record,
      id: `UBUNTU-CVE-2019-${40_000 + n}`,
      modified: '2025-01-01T00:00:00Z',
    }))
    expect((await send(osvZip(old))).status).toBe(200)
    expect([await coverageOf('noble'), await coverageOf('jammy')]).toEqual(['stale', 'covered'])
    const { body } = await daemon.upload(await deb('filler1', '0.1'), { token, distribution: 'noble' })
    expect((body.pipeline as { cve_scan: string }).cve_scan).toBe('stale')
    expect((await daemon.call('GET', '/security/packages/filler1/0.1/cve', { token })).text).toContain('CVE-2019-40001')
  })
})

test('after a restart the data are still there', async () => {
  const before = await engines()
  await daemon.stop()
  await daemon.restart()
  token = await daemon.setupAdmin()
  expect((await engines()).database).toEqual(before.database)
}, 60_000)
