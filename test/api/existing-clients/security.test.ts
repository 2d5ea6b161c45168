import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { b, expectShape, i, list, nil, obj, or, page, s, severities, SNAPSHOT, t } from '../../support/shapes.ts'

const SLA = obj({ has_sla: b, expires_at: or(t, nil), remaining_days: or(i, nil), expired: b, warning: b })
const DECISION = obj({
  id: i,
  package: s,
  version: s,
  arch: s,
  action: s,
  status: s,
  justification: s,
  decided_by: s,
  decided_at: t,
  expires_at: or(t, nil),
  expires_in_days: or(i, nil),
  target_version: or(s, nil),
  cve_ids: list(s),
  assigned_to: or(s, nil),
  assigned_to_type: or(s, nil),
  assigned_at: or(t, nil),
  resolved_at: or(t, nil),
  resolved_by: or(s, nil),
  resolution_note: or(s, nil),
  sla: SLA,
})

let daemon: Daemon
let token: string
let folder: string
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })

// vuln 1.0 is served with a low finding, vuln 2.0 waits; bad 1.0 is blocked, blind 1.0 was looked at by nobody
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-shapes-'))
  const answers = {
    findings: {
      'vuln 1.0': [{ id: 'CVE-2026-1', severity: 'low' }],
      'vuln 2.0': [
        { id: 'CVE-2026-1', severity: 'low' },
        { id: 'CVE-2026-2', severity: 'high' },
      ],
      'bad 1.0': [{ id: 'CVE-2026-3', severity: 'critical' }],
    },
    unavailable: ['blind 1.0'],
  }
  await writeFile(join(folder, 'answers.json'), JSON.stringify(answers))
  daemon = await startDaemon({
    entry: join(import.meta.dirname, '..', '..', 'support', 'fake-engine-daemon.ts'),
    env: { FAKE_ANSWERS: join(folder, 'answers.json') },
  })
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  for (const [name, version, status] of [
    ['vuln', '1.0', 'published'],
    ['vuln', '2.0', 'pending_review'],
    ['bad', '1.0', 'quarantined'],
    ['blind', '1.0', 'published'],
  ] as const)
    expect((await daemon.upload(await buildDeb({ name, version }), { token })).body.status).toBe(status)
})
afterAll(async () => {
  await daemon.close()
  await rm(folder, { recursive: true, force: true })
})

describe('a client of this kind of service reads, unchanged,', () => {
  const finding = obj({ id: s, package: s, severity: s, detected_by: list(s) })
  test.each([
    [
      '/security/vulnerabilities',
      obj({
        summary: severities,
        packages_scanned: i,
        vulnerabilities: page(obj({ cve_id: s, severity: s, kev: b, packages: list(obj({ name: s, version: s })) })),
        packages: list(obj({ name: s, version: s, arch: s, distribution: s, cve_counts: severities, total: i })),
      }),
    ],
    [
      '/security/review-queue',
      obj({
        total: i,
        blocked_count: i,
        review_count: i,
        packages: page(obj({ name: s, version: s, arch: s, distribution: s, status: s, cves: list(finding) })),
      }),
    ],
    [
      '/security/packages/vuln/2.0/cve',
      obj({
        package: s,
        version: s,
        arch: s,
        distribution: s,
        cve_counts: severities,
        total: i,
        cve_results: list(finding),
        has_structured_data: b,
      }),
    ],
    ['/security/packages/vuln/2.0/decision', obj({ manifest: SNAPSHOT, decision: nil, sla: SLA, status: s })],
    ['/security/decisions', obj({ decisions: list(DECISION), count: i })],
    ['/security/decisions/mine', obj({ decisions: list(DECISION), count: i })],
    ['/security/decisions/unassigned', obj({ decisions: list(DECISION), count: i })],
  ])('%s', async (path, shape) => {
    const answer = await get(path)
    expect(answer.status).toBe(200)
    expectShape(answer.body, shape)
  })
})

test('the list of vulnerabilities is a page inside its answer, beside what is true of all packages', async () => {
  const { body } = await get('/security/vulnerabilities?per_page=1&page=2&sort=severity')
  expect(body).toMatchObject({
    summary: { critical: 1, high: 1, medium: 0, low: 1, negligible: 0, unknown: 0 },
    packages_scanned: 3,
    vulnerabilities: { items: [{ cve_id: 'CVE-2026-2' }], total: 3, page: 2, per_page: 1, pages: 3 },
    packages: [
      { name: 'bad', severity: 'critical', cve_counts: { critical: 1 }, total: 1 },
      { name: 'vuln', version: '2.0', severity: 'high', cve_counts: { high: 1, low: 1 }, total: 2 },
      { name: 'vuln', version: '1.0', severity: 'low', cve_counts: { high: 0, low: 1 }, total: 1 },
    ],
  })
  expect((await get('/security/vulnerabilities?severity=low')).body).toMatchObject({
    summary: { critical: 1, high: 1, low: 1 },
    vulnerabilities: { total: 1, items: [{ cve_id: 'CVE-2026-1', package_count: 2 }] },
  })
})

test('the report counts what its lists hold', async () => {
  expect((await get('/security/report')).body).toMatchObject({
    generated_by: 'admin',
    period: { days: 90 },
    cve_policy: { critical: 'block' },
    summary: {
      total_packages: 4,
      packages_scanned: 3,
      status_counts: { published: 2, pending_review: 1, quarantined: 1 },
      cve_totals: { critical: 1, high: 1, low: 1 },
      total_cve: 3,
      decisions_count: 0,
      pending_count: 1,
      expiring_soon: 0,
    },
    packages_with_cve: [{ name: 'bad' }, { name: 'vuln' }, { name: 'vuln' }],
    decisions: [],
    pending_review: [{ name: 'vuln', version: '2.0' }],
  })
})

test('the review queue is a page inside its answer, with what waits and what is blocked', async () => {
  const { body } = await get('/security/review-queue')
  expect(body).toMatchObject({
    total: 1,
    blocked_count: 1,
    review_count: 1,
    packages: { items: [{ name: 'vuln', version: '2.0' }], total: 1, page: 1, per_page: 50, pages: 1 },
  })
  expect((await get('/security/review-queue?page=9')).body.packages).toEqual({
    items: [],
    total: 1,
    page: 9,
    per_page: 50,
    pages: 1,
  })
})

describe('a decision', () => {
  const act = (what: string, body: object): Promise<Answer> =>
    daemon.call('POST', `/security/packages/${what}`, { token, body })

  test('may be about a published package: it accepts the findings it has', async () => {
    const answer = await act('vuln/1.0/decide', {
      action: 'accept_risk',
      justification: 'Not reachable.',
      expires_days: 20,
    })
    expect(answer, answer.text).toMatchObject({
      status: 200,
      body: {
        status: 'published',
        package: 'vuln',
        version: '1.0',
        action: 'approve',
        decision: 'accept_risk',
        new_status: 'published',
        message: 'vuln 1.0 in jammy is published: accept_risk, Not reachable.',
      },
    })
    expect((await get('/security/packages/vuln/1.0/cve')).body).toMatchObject({ cve_results: [{ accepted: true }] })
    const { body } = await get('/security/decisions')
    for (const decision of body.decisions as unknown[]) expectShape(decision, DECISION)
    expect(body).toMatchObject({
      count: 1,
      decisions: [
        { package: 'vuln', status: 'active', cve_ids: [], sla: { has_sla: true, expired: false, warning: false } },
      ],
    })
    // no number of a row, which would tell how many others there are
    expect((body.decisions as { id: number }[])[0]?.id).toBeGreaterThan(1_000)
    expect((await act('vuln/1.0/decide', { action: 'reject', justification: 'No.' })).status).toBe(409)
  })

  test('is listed under the one to whom its package is assigned', async () => {
    await act('vuln/2.0/assign', { assigned_to: 'admin' })
    await act('vuln/2.0/decide', { decision: 'accept_risk', justification: 'Known.', cve: 'CVE-2026-1' })
    expect((await get('/security/decisions/mine')).body).toMatchObject({
      count: 1,
      decisions: [{ version: '2.0', cve_ids: ['CVE-2026-1'], assigned_to: 'admin', assigned_to_type: 'user' }],
    })
    expect((await get('/security/decisions/unassigned')).body).toMatchObject({
      count: 1,
      decisions: [{ version: '1.0' }],
    })
  })
})

test('a check of deadlines says which are missed and which are near', async () => {
  await daemon.call('PATCH', '/settings/', { token, body: { cve_policy: { sla_high_days: 5 } } })
  const { body } = await daemon.call('POST', '/security/check-sla', { token })
  expectShape(
    body,
    obj({ expired: i, expiring_soon: i, notified: b, expired_list: list(obj({})), expiring_list: list(obj({})) }),
  )
  expect(body).toMatchObject({
    expired: 0,
    expiring_soon: 1,
    notified: false,
    expiring_list: [{ name: 'vuln', version: '2.0' }],
  })
  expect((await get('/security/packages/vuln/2.0/decision')).body.sla).toMatchObject({ has_sla: true, warning: true })
})

test('quarantine answers what it did', async () => {
  const { body } = await daemon.call('POST', '/security/packages/blind/1.0/quarantine', { token, body: {} })
  expect(body).toMatchObject({
    status: 'quarantined',
    package: 'blind',
    version: '1.0',
    message: 'blind 1.0 in jammy is quarantined.',
  })
})

describe('a version that lies in several places', () => {
  const act = (what: string, body: object): Promise<Answer> =>
    daemon.call('POST', `/security/packages/wide/1.0/${what}`, { token, body })
  const places = (packages: unknown): string[] =>
    (packages as { distribution: string; status: string }[]).map(one => `${one.distribution} ${one.status}`)

  test.each(['decide', 'quarantine', 'rescan'])('is ambiguous to %s, unless `all` means each', async what => {
    for (const distribution of ['jammy', 'noble'])
      await daemon.upload(await buildDeb({ name: 'wide', version: '1.0' }), { token, distribution })
    const body = what === 'decide' ? { action: 'accept_risk', justification: 'Known.' } : {}
    const refused = await act(what, body)
    expect([refused.status, refused.body.code]).toEqual([409, 'ambiguous_version'])
    expect(refused.body.detail).toContain('all=true means each')
    const to = what === 'quarantine' ? 'quarantined' : 'published'
    const one = await act(what, { ...body, distribution: 'noble' })
    expect([one.status, places([one.body]), places(one.body.packages)]).toEqual([200, [`noble ${to}`], [`noble ${to}`]])
    // what is in quarantine cannot be put there again: that is said of it, and the other goes
    const all = await act(`${what}?all=true`, body)
    expect(all.status, all.text).toBe(200)
    expect(places(all.body.packages)).toEqual(
      what === 'quarantine' ? ['jammy quarantined'] : ['jammy published', 'noble published'],
    )
    expect(all.body.errors).toEqual(
      what === 'quarantine'
        ? [{ distribution: 'noble', arch: 'amd64', code: 'not_possible', error: expect.any(String) as string }]
        : [],
    )
    const again = await act(what, { ...body, all: true })
    expect([again.status, again.body.code]).toEqual(what === 'quarantine' ? [409, 'not_possible'] : [200, undefined])
    await daemon.call('DELETE', '/artifacts/wide', { token })
  })
})
