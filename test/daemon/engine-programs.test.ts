import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { stubEngine, type StubScan } from '../support/stub-engine.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

// the stub replays what a test gives it: this is about what the service does with an engine, not about what grype finds
const match = (id: string, severity: string, artifact: object): object => ({
  vulnerability: { id, severity, namespace: 'ubuntu:distro:ubuntu:22.04', fix: { versions: [], state: 'not-fixed' } },
  relatedVulnerabilities: [],
  artifact,
})
const CONTROL = match('CVE-2023-1', 'Low', { name: 'curl', version: '0.0.1-1' })
const report = (...matches: object[]): string =>
  JSON.stringify({ matches, descriptor: { name: 'grype', version: '0.116.0' } })

let daemon: Daemon
let token: string
let folder: string
async function behave(
  scan: StubScan,
  db = `{"schemaVersion":"v6","built":"${new Date().toISOString()}","valid":true}`,
): Promise<void> {
  await stubEngine(folder, {
    name: 'grype',
    version: '{"application":"grype","version":"0.116.0"}',
    db: { print: db },
    scan,
  })
}
let n = 0
async function upload(name = `p${n++}`) {
  const bytes = await buildDeb({ name, version: '1.0', files: { [`usr/share/doc/${name}/README`]: name } })
  const { status, body } = await daemon.upload(bytes, {
    token,
    distribution: 'jammy',
    filename: `${name}_1.0_amd64.deb`,
  })
  return {
    http: status,
    name,
    status: body.status,
    cve_scan: (body.pipeline as Record<string, string>).cve_scan,
    cves: (body.cves as { id: string; detected_by: string[] }[]).map(
      ({ id, detected_by }) => `${id} ${detected_by.join('+')}`,
    ),
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-engines-'))
  await behave({ print: report(CONTROL) })
  daemon = await startDaemon({ env: { PATH: `${folder}:/usr/bin:/bin` } })
  token = await daemon.setupAdmin()
  // as in production: what no engine could look at is held; there is no clamd here
  await daemon.call('PATCH', '/settings/', {
    token,
    body: { validation: { on_scanner_unavailable: 'hold', clamav_scan: false } },
  })
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
})
afterAll(async () => {
  await daemon.close()
  await rm(folder, { recursive: true, force: true })
})

describe('a second engine on PATH', () => {
  test('covers a distribution when it found the control', async () => {
    expect(await upload()).toMatchObject({ http: 201, status: 'published', cve_scan: 'no_findings' })
  })
  test('what it finds is decided by the policy', async () => {
    await behave({ print: report(CONTROL, match('CVE-2026-1', 'Critical', { name: 'x', version: '1.0' })) })
    expect(await upload()).toMatchObject({ status: 'quarantined', cves: ['CVE-2026-1 grype'] })
    await behave({ print: report(CONTROL, match('CVE-2026-2', 'High', { name: 'x', version: '1.0' })) })
    expect(await upload()).toMatchObject({ status: 'pending_review', cves: ['CVE-2026-2 grype'] })
    await behave({ print: report(CONTROL, match('CVE-2026-3', 'Medium', { name: 'x', version: '1.0' })) })
    expect(await upload()).toMatchObject({ status: 'published', cves: ['CVE-2026-3 grype'] })
  })
  test.each<[string, StubScan]>([
    ['crashes', { does: 'crash' }],
    ['prints half a JSON', { print: report(CONTROL).slice(0, -5) }],
    ['prints nothing', { print: '' }],
    ['ends with 1', { print: report(CONTROL), exit: 1 }],
    ['prints without end', { does: 'flood' }],
    ['says nothing about the control', { print: report() }],
  ])('one that %s never publishes anything as clean', async (_, scan) => {
    await behave(scan)
    const { status, cve_scan } = await upload()
    expect(status).toBe('pending_review')
    expect(cve_scan).not.toBe('no_findings')
  })
  test.each([
    ['old', '{"built":"2025-01-01T00:00:00Z","valid":true}', 'stale'],
    ['gone', '{"valid":false,"error":"no database"}', 'no_data'],
    ['from the future', '{"built":"2099-01-01T00:00:00Z","valid":true}', 'no_data'],
  ])('one whose data are %s never publishes anything as clean', async (_, db, verdict) => {
    await behave({ print: report(CONTROL) }, db)
    expect(await upload()).toMatchObject({ http: 201, status: 'pending_review', cve_scan: verdict })
  })
  test('what was decided about its findings is in the bills and in VEX', async () => {
    await behave({ print: report(CONTROL, match('CVE-2026-2', 'High', { name: 'x', version: '1.0' })) })
    const { name } = await upload()
    const {
      body: { detail: _, ...sbom },
    } = await daemon.call('GET', `/sbom/${name}/1.0`, { token })
    expect(sbom).toMatchObject({ vulnerabilities: [{ id: 'CVE-2026-2', analysis: { state: 'in_triage' } }] })
    await daemon.call('POST', `/security/packages/${name}/1.0/decide`, {
      token,
      body: { decision: 'accept_risk', justification: 'Not reachable here.' },
    })
    const { body } = await daemon.call('GET', '/sbom/export?distribution=jammy', { token })
    expect(
      (body.vulnerabilities as { id: string; analysis: object }[]).find(({ id }) => id === 'CVE-2026-2')?.analysis,
    ).toMatchObject({ state: 'exploitable', response: ['will_not_fix'] })
    expect((body.components as { name: string }[]).map(one => one.name)).toContain(name)
    const { body: vex } = await daemon.call('GET', '/sbom/export?distribution=jammy&format=openvex', { token })
    expect(JSON.stringify(vex)).toContain('Not reachable here.')
  })
  test('a blocking finding of the second engine only holds the package where the embedded one covers the distribution', async () => {
    const form = new FormData()
    form.set(
      'file',
      new Blob([
        new Uint8Array(
          osvZip(
            Array.from({ length: 150 }, (_, i) =>
              osvRecord(`UBUNTU-CVE-2021-${20_000 + i}`, [['Ubuntu:22.04:LTS', `filler${i}`, '1']]),
            ),
          ),
        ),
      ]),
      'all.zip',
    )
    expect(await daemon.call('POST', '/security/database', { token, form })).toMatchObject({ status: 200 })
    await behave({ print: report(CONTROL, match('CVE-2026-1', 'Critical', { name: 'x', version: '1.0' })) })
    const { name, ...answer } = await upload()
    expect(answer).toMatchObject({ status: 'pending_review', cves: ['CVE-2026-1 grype'] })
    const { body } = await daemon.call('GET', `/security/review-queue?q=${name}`, { token })
    expect(body).toMatchObject({
      packages: { items: [{ name, reasons: [expect.stringContaining('what grype alone saw') as string] }] },
    })
  })
})
