import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { b, day, expectShape, i, list, nil, obj, or, s, severities, t } from '../../support/shapes.ts'

let daemon: Daemon
let token: string
let folder: string
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })

// 1.0 is served by an exception, 2.0 waits, 3.0 is blocked
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-shapes-'))
  const found = (id: string, severity: string) => [{ id, severity }]
  const findings = {
    'vuln 1.0': found('CVE-2026-1', 'high'),
    'vuln 2.0': found('CVE-2026-2', 'high'),
    'vuln 3.0': found('CVE-2026-3', 'critical'),
  }
  await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings, unavailable: [] }))
  daemon = await startDaemon({
    entry: join(import.meta.dirname, '..', '..', 'support', 'fake-engine-daemon.ts'),
    env: { FAKE_ANSWERS: join(folder, 'answers.json') },
  })
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  for (const version of ['1.0', '2.0', '3.0'])
    await daemon.upload(await buildDeb({ name: 'vuln', version, fields: { Depends: 'nowhere' } }), { token })
  const body = { decision: 'exception', justification: 'It is not reachable.', expires_days: 7 }
  const decided = await daemon.call('POST', '/security/packages/vuln/1.0/decide', { token, body })
  expect(decided.status, decided.text).toBe(200)
})
afterAll(async () => {
  await daemon.close()
  await rm(folder, { recursive: true })
})

const IMPORT = obj({
  package: s,
  version: s,
  arch: s,
  distribution: s,
  status: s,
  imported_at: t,
  imported_by: s,
  size_bytes: i,
})

test('the statistics have the shape that existing clients read', async () => {
  const { body } = await get('/dashboard/stats')
  expectShape(
    body,
    obj({
      packages: obj({ total: i, total_size_bytes: i, deps_missing_count: i, imports_today: i }),
      activity: list(obj({ date: day, imports: i, failures: i })),
      recent_imports: list(IMPORT),
      alerts: list(obj({ level: s, message: s })),
      clamav: obj({
        available: b,
        version: or(s, nil),
        db_version: or(s, nil),
        db_date: or(t, nil),
        daemon_running: b,
      }),
      security_posture: obj({ scanned: i, total: i, critical: i, high: i, medium: i, low: i, negligible: i }),
      security_review: obj({
        pending_review: i,
        blocked: i,
        quarantined: i,
        accepted_risk: i,
        exception: i,
        upgrade_required: i,
        expiring_soon: list(obj({ package: s, version: s, expires_at: t, expires_in_days: i })),
        total_decisions: i,
      }),
    }),
  )
  expect(body).toMatchObject({
    packages: { total: 2, deps_missing_count: 2, imports_today: 2 },
    recent_imports: [{ version: '3.0' }, { version: '2.0', deps_missing: ['nowhere'] }, { version: '1.0' }],
    security_posture: { scanned: 3, total: 3, high: 2 },
    security_review: {
      pending_review: 1,
      blocked: 1,
      accepted_risk: 0,
      exception: 1,
      upgrade_required: 0,
      expiring_soon: [{ package: 'vuln', version: '1.0', expires_in_days: 7 }],
      total_decisions: 1,
    },
  })
  expect((body.activity as unknown[]).length).toBe(30)
  expect((body.activity as unknown[]).at(-1)).toMatchObject({ imports: 2, failures: 1 })
})

test('the history counts the acts of each day, as many days as are asked for', async () => {
  const { body } = await get('/dashboard/history?days=7')
  const DAY = obj({ date: day, imports: i, failures: i, decisions: i, cve_scans: i })
  expectShape(body, obj({ history: list(DAY), days: i, items: list(obj({ action: s })) }))
  expect([body.days, (body.history as unknown[]).length]).toEqual([7, 7])
  expect((body.history as unknown[]).at(-1)).toMatchObject({ imports: 2, failures: 1, decisions: 1, cve_scans: 0 })
  expect((await get('/dashboard/history')).body.days).toBe(30)
  expect((await get('/dashboard/history?days=0')).status).toBe(422)
})

test('the extended statistics have the shape that existing clients read', async () => {
  const { body } = await get('/dashboard/stats/enriched')
  expectShape(
    body,
    obj({
      generated_at: t,
      cve_trends: list(obj({ date: day, total: i, critical: i, high: i, medium: i, low: i, negligible: i })),
      top_packages: obj({
        by_versions: list(obj({ name: s, versions: i })),
        by_size: list(IMPORT),
        recently_added: list(IMPORT),
      }),
      sla_overdue: list(obj({ name: s })),
      distributions: list(
        obj({ distribution: s, package_count: i, version_count: i, latest_import: t, cve_totals: severities }),
      ),
      summary: obj({ packages: i, published: i }),
    }),
  )
  expect(body.distributions).toMatchObject([
    { distribution: 'jammy', package_count: 1, version_count: 3, cve_totals: { critical: 1, high: 2 } },
  ])
})
