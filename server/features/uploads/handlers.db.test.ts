import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../../../test/support/clamd.ts'
import { buildDeb, EICAR } from '../../../test/support/packages.ts'
import { createTestDb, type TestDb } from '../../../test/support/postgres.ts'
import { createCatalog, type Catalog } from '../../catalog/catalog.ts'
import { WithStatus, type RawRequest, type StreamEvent } from '../../core/contract.ts'
import { ERRORS, isRefusal } from '../../core/errors.ts'
import type { Finding } from '../../core/findings.ts'
import type { FormatId } from '../../core/identity.ts'
import { createOutbox, type Outbox } from '../../db/outbox.ts'
import { createLayout, type Layout } from '../../files/layout.ts'
import { createPool } from '../../files/pool.ts'
import { createSpool } from '../../files/spool.ts'
import { deb } from '../../formats/deb/index.ts'
import { switchesFor } from '../../formats/index.ts'
import { systemClock } from '../../lib/clock.ts'
import { createDigestThreads } from '../../lib/digest.ts'
import { createGate } from '../../pipeline/gate.ts'
import { createPackageSigning } from '../../pipeline/package-signing.ts'
import { createSteps } from '../../pipeline/steps.ts'
import { createAudit } from '../../record/audit.ts'
import { createEvents } from '../../record/events.ts'
import { createClamd } from '../../scanners/clamd.ts'
import { EngineUnavailable, type AntivirusScanner, type VulnerabilityScanner } from '../../scanners/scanner.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import type { Signer } from '../../signing/signer.ts'
import { fail } from '../../core/errors.ts'
import { uploadHandlers, type UploadDeps } from './handlers.ts'
import { UploadResultSchema, type UploadReply } from './result.ts'

interface Answer<T> { readonly status: number; readonly body: T }
interface Refusal { readonly code: string; readonly facts: Record<string, unknown>; readonly message: string }

let testDb: TestDb
let clamd: TestClamd | undefined
const threads = createDigestThreads({ threads: 1 })
beforeAll(async () => {
  testDb = await createTestDb()
  clamd = hasClamd ? await startClamd() : undefined
})
afterAll(async () => {
  await testDb.close()
  await clamd?.close()
  await threads.close()
})

let root: string
let layout: Layout
let outbox: Outbox
let server: Server
let base: string
let deps: UploadDeps
let catalog: Catalog
/** What a test changes before it uploads. */
let given: {
  settings: SettingsValue; antivirus: AntivirusScanner; findings: Finding[] | undefined; hasKey: boolean; active: Set<FormatId>
  counted: string[]; scanned: number; answering: Promise<void>[]; publishFails: boolean
}

const policy = { critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' } as const
const settingsWith = (validation: Partial<SettingsValue['validation']> = {}): SettingsValue => ({
  validation: { max_upload_size_mb: 3, clamav_scan: true, sha256_check: true, grype_scan: true, on_scanner_unavailable: 'warn', ...validation }, cve_policy: policy,
} as SettingsValue) // the other sections are nothing to an upload
const noDataScanner: VulnerabilityScanner = {
  id: 'test', kind: 'vulnerability', status: async () => ({ id: 'test', ok: false, error: 'No vulnerability data is loaded.' }),
  scan: async ({ distribution }) => ({ coverage: 'no_data', findings: [], said: `No vulnerability data is loaded for ${distribution.label}, so nothing was looked up.` }),
}
const cleanScanner: AntivirusScanner = { id: 'test', kind: 'antivirus', status: async () => ({ id: 'test', ok: true }), scan: async () => ({ kind: 'clean' }) }

beforeEach(async () => {
  const { db } = testDb
  await db.query('truncate package, artifact, outbox, publish_dirty, audit_pending, package_offer cascade')
  root = await mkdtemp(join(tmpdir(), 'uploads-'))
  layout = createLayout(root)
  given = {
    settings: settingsWith(), antivirus: clamd === undefined ? cleanScanner : createClamd({ address: clamd.address, clock: systemClock }), findings: [], hasKey: true,
    active: new Set<FormatId>(['deb']), counted: [], scanned: 0, answering: [], publishFails: false,
  }
  outbox = createOutbox({ db, onError: () => undefined, tickMs: 20 })
  const events = createEvents({ clock: systemClock })
  catalog = createCatalog({ db, outbox, pool: createPool({ layout, clock: systemClock }), audit: createAudit({ db, layout, clock: systemClock, outbox }), events, clock: systemClock })
  for (const kind of ['manifest', 'blob', 'contents', 'audit']) outbox.handle(kind, async () => undefined)
  outbox.handle('publish', async () => { if (given.publishFails) fail('no_signing_key', {}) })
  outbox.start()
  const spool = createSpool({ layout, random: randomBytes, threads })
  await spool.sweep()
  const antivirus: AntivirusScanner = { ...cleanScanner, scan: (subject, signal) => { given.scanned++; return given.antivirus.scan(subject, signal) } }
  const vulnerability: VulnerabilityScanner = {
    ...noDataScanner,
    scan: async (subject, signal) => given.findings === undefined ? noDataScanner.scan(subject, signal) : { coverage: 'covered', said: 'Looked up.', findings: given.findings },
  }
  const keyring = { keys: async () => [], signer: async () => given.hasKey ? { keys: [] } as unknown as Signer : fail('no_signing_key', {}) }
  const steps = createSteps({ scanners: { antivirus: [antivirus], vulnerability: [vulnerability] }, keyring, db })
  const signing = createPackageSigning({ spool, keyring, settings: { now: () => given.settings }, clock: systemClock })
  const gate = createGate({ steps, catalog, settings: { now: () => given.settings }, signing, clock: systemClock })
  deps = {
    spool, gate, formats: [deb], switchesFor, get activeFormats() { return given.active }, settings: { now: () => given.settings }, events, clock: systemClock,
    metrics: { uploaded: status => { given.counted.push(status) }, found: severity => { given.counted.push(severity) } },
  }
  server = createServer((req, res) => { given.answering.push(answer(req.url ?? '', { stream: req, headers: req.headers, clientIp: '192.0.2.1', requestId: 'r', signal: leftBy(res) }, res)) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise<void>(resolve => server.close(() => resolve()))
  await Promise.all(given.answering)
  await outbox.stop()
  expect(await readdir(layout.incoming)).toEqual([]) // whatever happened, nothing is left of it
  await rm(root, { recursive: true, force: true })
})

function leftBy(res: ServerResponse): AbortSignal {
  const left = new AbortController()
  res.on('close', () => { if (!res.writableFinished) left.abort() })
  return left.signal
}

/** As small an HTTP layer as will do: the handlers are what is tested. */
async function answer(url: string, raw: RawRequest, res: ServerResponse): Promise<void> {
  const input = { params: {}, query: undefined, body: undefined, who: { kind: 'user', name: 'uma', role: 'uploader', credential: 'c' }, raw } as const
  try {
    if (url === '/upload/') {
      const result = await uploadHandlers['POST /upload/'](deps, input)
      if (!(result instanceof WithStatus)) throw new Error('the handler names its status')
      res.writeHead(result.status, { 'content-type': 'application/json' }).end(JSON.stringify(result.body))
    } else {
      for await (const event of await uploadHandlers['POST /upload/stream'](deps, input)) res.write(`data: ${JSON.stringify(event.data)}\n\n`)
      res.end()
    }
  } catch (error) {
    if (raw.signal.aborted) return // nobody is there to read an answer
    if (!isRefusal(error)) return void res.writeHead(500).end(JSON.stringify({ code: 'fault', message: String(error) }))
    if (res.headersSent) return void res.end(`event: error\ndata: ${JSON.stringify({ code: error.code })}\n\n`)
    res.writeHead(ERRORS[error.code][0], { 'content-type': 'application/json' }).end(JSON.stringify({ code: error.code, facts: error.facts, message: error.message }))
  }
}

function formOf(file: Buffer, fields: Record<string, string> = { distribution: 'bookworm' }, filename = 'a_1_amd64.deb'): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('file', new Blob([new Uint8Array(file)]), filename)
  return form
}

async function send<T = UploadReply>(body: FormData | Buffer, headers: Record<string, string> = {}): Promise<Answer<T>> {
  const response = await fetch(`${base}/upload/`, { method: 'POST', body: body instanceof FormData ? body : new Uint8Array(body), headers })
  return { status: response.status, body: await response.json() as T }
}

async function stream(body: FormData): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${base}/upload/stream`, { method: 'POST', body })
  const text = await response.text()
  return response.ok ? text.trim().split('\n\n').map(event => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Record<string, unknown>) : [JSON.parse(text) as Record<string, unknown>]
}

const rows = (): Promise<{ name: string; version: string; state: string }[]> => testDb.db.query('select name, version, state from package order by name, version')
const hello = (version = '1.0', more: Partial<Parameters<typeof buildDeb>[0]> = {}): Promise<Buffer> => buildDeb({ name: 'hello', version, ...more })
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe('an upload', () => {
  test('that passes is published: 201 and both forms of the answer', async () => {
    const file = await hello('1.0', { fields: { Depends: 'libc6 (>= 2.36)' } })
    const { status, body } = await send(formOf(file))
    expect(status).toBe(201)
    expect(Value.Check(UploadResultSchema, body)).toBe(true)
    expect(body).toMatchObject({
      name: 'hello', package: 'hello', version: '1.0', arch: 'amd64', distribution: 'bookworm', format: 'deb', status: 'published', filename: 'a_1_amd64.deb', sha256: digest(file), size: file.length,
      pipeline: { antivirus: 'clean', cve_scan: 'no_findings', gpg: 'signed', dependencies: 'missing' },
      validation: { passed: true, cve_status: 'approved', deps_missing: ['libc6 (>= 2.36)'] },
    })
    expect(body.validation.steps.map(step => [step.name, step.passed, step.warning])).toEqual([
      ['format', true, false], ['provenance', true, false], ['antivirus', true, false], ['vulnerabilities', true, false], ['signature', true, false], ['dependencies', true, true]])
    expect(body).not.toHaveProperty('indexed')
    expect(await rows()).toEqual([{ name: 'hello', version: '1.0', state: 'published' }])
    expect(await readFile(layout.blob(digest(file) as never))).toEqual(file)
    expect(given.counted).toEqual(['published'])
    expect((await testDb.db.query<{ fact: object }>('select fact from audit_pending')).map(row => row.fact)).toMatchObject([{ action: 'UPLOAD', result: 'SUCCESS', user: 'uma', package: 'hello', ip: '192.0.2.1' }])
  })

  test('whose fields come after its file is the same', async () => {
    const form = new FormData()
    form.append('file', new Blob([new Uint8Array(await hello())]), 'x.deb')
    form.append('distribution', 'jammy')
    expect(await send(form)).toMatchObject({ status: 201, body: { status: 'published', distribution: 'jammy' } })
  })

  test('of a dependency makes the next one satisfied', async () => {
    expect((await send(formOf(await buildDeb({ name: 'libfoo', version: '2.0' })))).status).toBe(201)
    const { body } = await send(formOf(await hello('1.0', { fields: { Depends: 'libfoo (>= 2.0) | libbar' } })))
    expect(body).toMatchObject({ pipeline: { dependencies: 'satisfied' }, validation: { deps_missing: [] } })
    expect((await send(formOf(await hello('1.1', { fields: { Depends: 'libfoo (>= 2.1)' } })))).body.validation.deps_missing).toEqual(['libfoo (>= 2.1)'])
    expect((await send(formOf(await hello('1.1', { fields: { Depends: 'libfoo' } }), { distribution: 'jammy' }))).body.validation.deps_missing).toEqual(['libfoo'])
  })

  test('whose publication fails says that it is not indexed', async () => {
    given.publishFails = true
    expect(await send(formOf(await hello()))).toMatchObject({ status: 201, body: { status: 'published', indexed: false } })
  })

  test('in eight copies at once is one package', async () => {
    const file = await hello()
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(formOf(file))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    expect(await rows()).toHaveLength(1)
  })
})

describe('the same package again', () => {
  test('with the same bytes is answered from what is known, and nothing is scanned', async () => {
    const file = await hello()
    await send(formOf(file))
    given.scanned = 0
    expect(await send(formOf(file))).toMatchObject({ status: 200, body: { status: 'already_imported', state: 'published' } })
    expect(given.scanned).toBe(0)
    expect(given.counted).toEqual(['published', 'already_imported'])
  })

  test('with other bytes is a conflict that names both', async () => {
    const [first, second] = [await hello(), await hello('1.0', { files: { 'usr/bin/hello': 'other' } })]
    await send(formOf(first))
    expect(await send<Refusal>(formOf(second))).toMatchObject({ status: 409, body: { code: 'duplicate_conflict', facts: { incoming_sha256: digest(second), existing_sha256: digest(first) } } })
    expect(await rows()).toHaveLength(1)
    expect(await send(formOf(second), {})).toMatchObject({ status: 409 })
  })

  test('into another distribution is another package', async () => {
    const file = await hello()
    await send(formOf(file))
    expect(await send(formOf(file, { distribution: 'noble' }))).toMatchObject({ status: 201, body: { status: 'published' } })
  })
})

describe('the digest the sender names', () => {
  test.each(['field', 'header'])('in a %s is compared', async where => {
    const file = await hello()
    const sent = (sha: string) => where === 'field' ? send<Refusal>(formOf(file, { distribution: 'bookworm', sha256: sha })) : send<Refusal>(formOf(file), { 'x-checksum-sha256': sha })
    const wrong = digest(randomBytes(8))
    expect(await sent(wrong)).toMatchObject({ status: 422, body: { code: 'digest_mismatch', facts: { expected: wrong, actual: digest(file) } } })
    expect(await sent('abc')).toMatchObject({ status: 400, body: { code: 'bad_digest' } })
    expect(await rows()).toEqual([])
    expect(await sent(digest(file).toUpperCase())).toMatchObject({ status: 201, body: { validation: { steps: expect.arrayContaining([expect.objectContaining({ name: 'provenance', verdict: 'verified' })]) as unknown } } })
  })

  test('is not compared when the check is switched off', async () => {
    given.settings = settingsWith({ sha256_check: false })
    expect(await send(formOf(await hello(), { distribution: 'bookworm', sha256: digest(randomBytes(8)) }))).toMatchObject({ status: 201 })
  })
})

describe('malware', () => {
  test.skipIf(!hasClamd)('in the payload puts the package into quarantine: 200, never in the pool', async () => {
    const file = await hello('6.6', { files: { 'usr/bin/x': EICAR } })
    const { status, body } = await send(formOf(file))
    expect(status).toBe(200)
    expect(Value.Check(UploadResultSchema, body)).toBe(true)
    expect(body).toMatchObject({ status: 'quarantined', pipeline: { antivirus: 'infected', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' }, validation: { passed: false, cve_status: 'blocked' } })
    expect(await readdir(layout.quarantine)).toEqual([digest(file)])
    await expect(readdir(layout.pool)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await testDb.db.query('select 1 from publish_dirty')).toEqual([])
  })

  test.skipIf(!hasClamd)('in a maintainer script too', async () => {
    expect(await send(formOf(await hello('6.7', { scripts: { postinst: `#!/bin/sh\necho '${EICAR}'\n` } })))).toMatchObject({ status: 200, body: { status: 'quarantined' } })
  })

  const says = (answer: () => ReturnType<AntivirusScanner['scan']>): void => { given.antivirus = { ...cleanScanner, scan: answer } }
  const gone = (): Promise<never> => Promise.reject(new EngineUnavailable('clamav', 'nobody answers'))
  const limits = async () => ({ kind: 'unscannable', why: 'too large', where: 'data.tar' }) as const

  test.each([
    ['an engine that does not answer', gone, 'hold', 'pending_review', 'unavailable'], ['an engine that does not answer', gone, 'warn', 'published', 'unavailable'],
    ['a file over its limits', limits, 'hold', 'pending_review', 'unscannable'], ['a file over its limits', limits, 'warn', 'published', 'unscannable'],
  ] as const)('%s is never clean: %s %s → %s', async (_, scan, rule, status, word) => {
    says(scan)
    given.settings = settingsWith({ on_scanner_unavailable: rule })
    const { status: code, body } = await send(formOf(await hello()))
    expect([code, body.status, body.pipeline.antivirus]).toEqual([201, status, word])
    expect(body.validation.steps[2]).toMatchObject({ name: 'antivirus', passed: false, warning: true })
  })

  test('is not looked for when the scan is switched off, and the answer says so', async () => {
    given.settings = settingsWith({ clamav_scan: false, grype_scan: false })
    says(gone)
    expect(await send(formOf(await hello()))).toMatchObject({ status: 201, body: { status: 'published', pipeline: { antivirus: 'skipped', cve_scan: 'skipped' } } })
  })

  test('a fault of ours in a scanner is a fault, not a pass', async () => {
    says(() => Promise.reject(new Error('boom')))
    expect(await send(formOf(await hello()))).toMatchObject({ status: 500 })
    expect(await rows()).toEqual([])
  })
})

describe('vulnerabilities', () => {
  const finding = (severity: Finding['severity']): Finding => ({ id: `CVE-2026-${severity}`, package: 'hello', severity, detected_by: ['osv'] })
  test.each([
    ['critical', 200, 'quarantined', 'blocked', false, false], ['high', 201, 'pending_review', 'pending_review', true, true],
    ['medium', 201, 'published', 'approved', true, true], ['low', 201, 'published', 'approved', true, false],
  ] as const)('%s: %i %s', async (severity, code, status, cveStatus, passed, warning) => {
    given.findings = [finding(severity), finding('negligible')]
    const { status: http, body } = await send(formOf(await hello()))
    expect([http, body.status, body.pipeline.cve_scan, body.validation.cve_status]).toEqual([code, status, 'findings', cveStatus])
    expect(body.validation.steps[3]).toMatchObject({ name: 'vulnerabilities', passed, warning })
    expect(body.cves.map(({ id, fixed_version: fixed }) => [id, fixed])).toEqual([[`CVE-2026-${severity}`, null], ['CVE-2026-negligible', null]])
    expect(given.counted).toEqual([status, severity, 'negligible'])
  })

  test.each([['hold', 'pending_review'], ['warn', 'published']] as const)('without data is no pass: %s → %s', async (rule, status) => {
    given.findings = undefined
    given.settings = settingsWith({ on_scanner_unavailable: rule })
    expect((await send(formOf(await hello()))).body).toMatchObject({ status, pipeline: { cve_scan: 'no_data' } })
  })
})

test.each([['hold', 'pending_review'], ['warn', 'published']] as const)('without a signing key the step says so: %s → %s', async (rule, status) => {
  given.hasKey = false
  given.settings = settingsWith({ on_scanner_unavailable: rule })
  expect((await send(formOf(await hello()))).body).toMatchObject({ status, pipeline: { gpg: 'no_signing_key' } })
})

describe('a refusal keeps nothing and says why', () => {
  afterEach(async () => expect([await rows(), given.counted]).toEqual([[], []]))
  const code = async (form: FormData | Buffer, headers?: Record<string, string>) => {
    const { status, body } = await send<Refusal>(form, headers)
    return `${status} ${body.code}`
  }

  test('of a distribution that is not there', async () => {
    expect(await code(formOf(await hello(), { distribution: 'sid' }))).toBe('422 unknown_distribution')
    expect(await code(formOf(await hello(), { distribution: '../../etc' }))).toBe('422 unknown_distribution')
  })
  test('of a distribution of another format, naming what it takes', async () => {
    expect(await send<Refusal>(formOf(await hello(), { distribution: 'almalinux9' }))).toMatchObject({ status: 422, body: { code: 'wrong_format', facts: { codename: 'almalinux9', others: 'jammy, noble, focal, bookworm' } } })
  })
  test('of another architecture', async () => expect(await code(formOf(await hello('1', { arch: 'arm64' })))).toBe('422 wrong_arch'))
  test('of an inactive format', async () => {
    given.active = new Set()
    expect(await send<Refusal>(formOf(await hello()))).toMatchObject({ status: 422, body: { code: 'format_not_active', facts: { format: 'deb', how: 'apt, both or all' } } })
  })
  test('of missing fields', async () => {
    expect(await code(formOf(await hello(), {}))).toBe('422 missing_field')
    expect(await code(formOf(await hello(), { distribution: ' ' }))).toBe('422 missing_field')
    const form = new FormData()
    form.append('distribution', 'bookworm')
    expect(await code(form)).toBe('422 missing_field')
    form.append('file', 'a text, no file')
    expect(await code(form)).toBe('422 missing_field')
  })
  test('of what is no package', async () => {
    expect(await code(formOf(Buffer.from('hello')))).toBe('422 unknown_format')
    expect(await code(formOf(Buffer.alloc(0)))).toBe('422 unknown_format')
    expect(await code(formOf(randomBytes(2_000_000)))).toBe('422 unknown_format')
    expect(await code(formOf((await hello()).subarray(0, 200)))).toBe('422 bad_package')
  })
  test('of two files, of a file under another name, of too many fields', async () => {
    const two = formOf(await hello())
    two.append('file', new Blob(['x']), 'b.deb')
    expect(await code(two)).toBe('400 bad_request')
    const other = new FormData()
    other.append('package', new Blob(['x']), 'b.deb')
    expect(await code(other)).toBe('400 bad_request')
    expect(await code(formOf(await hello(), Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, 'x']))))).toBe('400 bad_request')
    expect(await code(formOf(await hello(), { distribution: 'x'.repeat(5000) }))).toBe('400 bad_request')
  })
  test('of two distributions, of which somebody may have looked at the other one', async () => {
    const two = formOf(await hello())
    two.append('distribution', 'jammy')
    expect(await send<Refusal>(two)).toMatchObject({ status: 400, body: { code: 'bad_request', facts: { said: expect.stringContaining('the field distribution twice') as string } } })
  })
  test('of a body that is no form', async () => {
    expect(await code(Buffer.from('{}'), { 'content-type': 'application/json' })).toBe('400 bad_request')
    expect(await code(Buffer.from('{}'), { 'content-type': 'multipart/form-data' })).toBe('400 bad_request')
    expect(await code(Buffer.from('nothing of the kind'), { 'content-type': 'multipart/form-data; boundary=x' })).toBe('400 upload_incomplete')
  })
  test('of a form that breaks off', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.deb"\r\n\r\n'
    expect(await code(Buffer.concat([Buffer.from(head), (await hello()).subarray(0, 400)]), { 'content-type': 'multipart/form-data; boundary=x' })).toBe('400 upload_incomplete')
    expect(await code(Buffer.concat([Buffer.from(head), await hello()]), { 'content-type': 'multipart/form-data; boundary=x' })).toBe('400 upload_incomplete')
  })
  test('of a file over the limit, while the client is still sending', async () => {
    const big = Buffer.concat([await hello(), Buffer.alloc(4 << 20)])
    expect(await code(formOf(big))).toBe('413 upload_too_large')
    // without a length, so that only counting tells, and from a client that reads nothing before it has sent everything
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const chunk = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
    socket.write('POST /upload/ HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n')
    socket.write(chunk(Buffer.concat([Buffer.from('--x\r\nContent-Disposition: form-data; name="file"; filename="a.deb"\r\n\r\n'), await hello()])))
    for (let i = 0; i < 160; i++) if (!socket.write(chunk(Buffer.alloc(256 * 1024)))) await once(socket, 'drain')
    socket.write('0\r\n\r\n')
    const [first] = await once(socket, 'data') as [Buffer]
    socket.destroy()
    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /)
  })
})

test('a client that goes on sending after a refusal is cut off in the end', async () => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.write('POST /upload/ HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n')
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20), Buffer.from('\r\n')])
  let sent = 0
  for (; sent < 400 && !socket.destroyed; sent++) if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed])
  expect(sent).toBeGreaterThanOrEqual(64)
  expect(sent).toBeLessThan(200)
  socket.destroy()
})

describe('a client that goes away', () => {
  async function half(path: string, bytes: Buffer): Promise<void> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    const seen = once(server, 'request')
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 2000000\r\n\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.deb"\r\n\r\n`)
    socket.write(bytes)
    await seen
    socket.destroy()
  }

  test.each(['/upload/', '/upload/stream'])('in the middle of its file leaves nothing: %s', async path => {
    await half(path, (await hello()).subarray(0, 100))
    await half(path, Buffer.concat([await hello(), Buffer.alloc(1_000_000)]))
    await Promise.all(given.answering)
    expect(await rows()).toEqual([])
  })

  test.each(['/upload/', '/upload/stream'])('while its package is scanned stops the scan: %s', async path => {
    const leave = new AbortController()
    let stopped = false
    given.antivirus = { ...cleanScanner, scan: (_, signal) => new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => { stopped = true; reject(signal.reason as Error) })
      leave.abort()
    }) }
    await expect(fetch(`${base}${path}`, { method: 'POST', body: formOf(await hello()), signal: leave.signal }).then(response => response.text())).rejects.toThrow()
    await Promise.all(given.answering)
    expect(stopped).toBe(true)
    expect(await rows()).toEqual([])
  })
})

describe('the stream', () => {
  const names = (events: Record<string, unknown>[]): string[] => events.map(event => event['step'] === undefined ? `= ${String(event['status'])}` : `${String(event['step'])} ${String(event['status'])}`)

  test('tells each step as it runs and ends with what the other route answers', async () => {
    const events = await stream(formOf(await hello('1', { fields: { Depends: 'x' } })))
    expect(names(events)).toEqual([
      'format running', 'format passed', 'provenance running', 'provenance passed', 'antivirus running', 'antivirus passed', 'vulnerabilities running', 'vulnerabilities passed',
      'signature running', 'signature passed', 'dependencies running', 'dependencies warning', 'publish running', 'publish passed', '= published'])
    expect(events.every(event => event['step'] === undefined || typeof event['message'] === 'string')).toBe(true)
    expect(Value.Check(UploadResultSchema, events.at(-1)?.['result'])).toBe(true)
    expect(given.counted).toEqual(['published'])
  })

  test.skipIf(!hasClamd)('stops at malware', async () => {
    expect(names(await stream(formOf(await hello('1', { files: { a: EICAR } })))).slice(-4)).toEqual(['antivirus failed', 'publish running', 'publish skipped', '= quarantined'])
  })

  test('says at once that it knows the package', async () => {
    await send(formOf(await hello()))
    expect(names(await stream(formOf(await hello()))).slice(-3)).toEqual(['antivirus running', 'antivirus skipped', '= already_imported'])
  })

  test('refuses before it starts what can be refused then, and tells the rest as an event', async () => {
    expect(await stream(formOf(await hello(), { distribution: 'sid' }))).toMatchObject([{ code: 'unknown_distribution' }])
    await send(formOf(await hello()))
    expect((await stream(formOf(await hello('1.0', { files: { b: 'c' } })))).at(-1)).toEqual({ code: 'duplicate_conflict' })
  })

  test('whose listener never listens leaves nothing', async () => {
    const left = new AbortController()
    const form = new Request(`${base}/`, { method: 'POST', body: formOf(await hello()) })
    const { Readable } = await import('node:stream')
    const body = Object.assign(Readable.fromWeb(form.body as never), { complete: true })
    const raw = { stream: body as never, headers: { 'content-type': form.headers.get('content-type') ?? '' }, clientIp: '', requestId: '', signal: left.signal }
    const events = await uploadHandlers['POST /upload/stream'](deps, { params: {}, query: undefined, body: undefined, who: { kind: 'user', name: 'u', role: 'admin', credential: '' }, raw })
    const kept: AsyncIterable<StreamEvent> = events
    expect(await readdir(layout.incoming)).toHaveLength(1)
    left.abort()
    await expect.poll(() => readdir(layout.incoming)).toEqual([])
    expect(kept).toBe(events)
  })

  test('whose listener leaves after any number of events leaves nothing behind, or a whole package', async () => {
    for (let events = 1; events <= 15; events++) {
      const version = `2.${events}`
      const response = await fetch(`${base}/upload/stream`, { method: 'POST', body: formOf(await hello(version)) })
      const reader = response.body?.getReader()
      for (let seen = 0; seen < events; ) {
        const { value, done } = await reader!.read()
        if (done) break
        seen += Buffer.from(value).toString().split('\n\n').length - 1
      }
      await reader!.cancel()
      await Promise.all(given.answering)
      expect(await readdir(layout.incoming)).toEqual([])
    }
    for (const { state } of await rows()) expect(state).toBe('published')
  })
})
