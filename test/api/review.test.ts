import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon, type Uploaded } from '../support/daemon.ts'
import type { FakeAnswers } from '../support/fake-engine-daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { buildApk } from '../support/packages-apk.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { readServedTree } from '../support/tree.ts'

type Json = Record<string, unknown>
type Known = FakeAnswers['findings'][string][number]

const HIGH: Known = { id: 'CVE-2026-1001', severity: 'high', fixed_in: '9', epss: 0.2, summary: 'A hole.' }
const CRITICAL: Known = { id: 'CVE-2026-9999', severity: 'critical', kev: true, epss: 0.97 }

let daemon: Daemon
let admin: string
let folder: string
const tokens = new Map<string, string>()
const answers: { findings: Record<string, Known[]>; unavailable: string[] } = { findings: {}, unavailable: [] }

async function tell(
  change: (answers: { findings: Record<string, Known[]>; unavailable: string[] }) => void,
): Promise<void> {
  change(answers)
  await writeFile(join(folder, 'answers.json'), JSON.stringify(answers))
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-review-'))
  await tell(() => undefined)
  daemon = await startDaemon({
    entry: join(import.meta.dirname, '..', 'support', 'fake-engine-daemon.ts'),
    env: { FAKE_ANSWERS: join(folder, 'answers.json') },
  })
  admin = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token: admin })
  for (const [username, role] of [
    ['ann', 'uploader'],
    ['mae', 'maintainer'],
    ['max', 'maintainer'],
    ['aud', 'auditor'],
  ] as const) {
    const made = await daemon.call('POST', '/auth/users', {
      token: admin,
      body: { username, password: 'Correct-horse-91', role },
    })
    expect(made, made.text).toMatchObject({ status: 201 })
    tokens.set(
      username,
      (
        await daemon.call<{ access_token: string }>('POST', '/auth/token', {
          body: { username, password: 'Correct-horse-91' },
        })
      ).body.access_token,
    )
  }
})
afterAll(async () => {
  await daemon.close()
  await rm(folder, { recursive: true, force: true })
})

const as = (who: string): string => (who === 'admin' ? admin : (tokens.get(who) ?? ''))
const send = async (
  name: string,
  version: string,
  { who = 'ann', distribution = 'jammy' } = {},
): Promise<Answer<Uploaded>> =>
  daemon.upload(await buildDeb({ name, version, files: { [`usr/share/${name}`]: `${name} ${version}` } }), {
    token: as(who),
    distribution,
  })
const ask = (
  method: string,
  path: string,
  { who = 'mae', body }: { who?: string; body?: unknown } = {},
): Promise<Answer> => daemon.call(method, path, { token: as(who), ...(body === undefined ? {} : { body }) })
const queued = async (query: string): Promise<{ readonly updated_at: string }[]> =>
  ((await ask('GET', `/security/review-queue${query}`)).body.packages as { items: { updated_at: string }[] }).items
const decide = (name: string, version: string, body: Json, who = 'mae'): Promise<Answer> =>
  ask('POST', `/security/packages/${name}/${version}/decide`, { who, body })
const served = async (codename = 'jammy'): Promise<string[]> =>
  (await readServedTree(daemon.url, codename)).packages.map(({ Package, Version }) => `${Package} ${Version}`)
const actions = async (name: string): Promise<string[]> =>
  (
    await daemon.call<{ items: { action: string; user: string }[] }>('GET', `/artifacts/audit/logs?package=${name}`, {
      token: admin,
    })
  ).body.items.map(({ action, user }) => `${action} ${user}`)

describe('a package with a finding that the policy wants reviewed', () => {
  test('is held, queued, approved with a justification, then served; every step is in the audit log', async () => {
    await tell(known => {
      known.findings['held 1.0'] = [HIGH]
    })
    expect((await send('held', '1.0')).body).toMatchObject({
      status: 'pending_review',
      pipeline: { cve_scan: 'findings' },
    })
    expect(await served()).not.toContain('held 1.0')

    const queue = await ask('GET', '/security/review-queue', { who: 'aud' })
    expect(queue, queue.text).toMatchObject({ status: 200, body: { total: 1, page: 1, per_page: 50, pages: 1 } })
    expect((queue.body.packages as { items: unknown }).items).toMatchObject([
      {
        name: 'held',
        version: '1.0',
        distribution: 'jammy',
        status: 'pending_review',
        cve_status: 'pending_review',
        severity: 'high',
        open_findings: 1,
        epss: 0.2,
        kev: false,
        fixable: 1,
        uploaded_by: 'ann',
        sla: { breached: false, days_remaining: 30 },
        cves: [{ id: 'CVE-2026-1001', accepted: false, detected_by: ['fake'] }],
      },
    ])
    expect(await ask('GET', '/security/packages/held/1.0/cve')).toMatchObject({
      status: 200,
      body: { total: 1, counts: { high: 1 }, cves: [{ id: 'CVE-2026-1001', fixed_version: '9', accepted: false }] },
    })
    expect(await ask('GET', '/security/packages/held/1.0/decision')).toMatchObject({
      status: 200,
      body: { decision: null, sla: { breached: false } },
    })

    for (const [body, status] of [
      [{ decision: 'approve' }, 422],
      [{ decision: 'approve', justification: '  \n ' }, 422],
      [{ justification: 'because' }, 422],
      [{ decision: 'perhaps', justification: 'because' }, 422],
    ] as const) {
      expect(await decide('held', '1.0', body)).toMatchObject({ status })
    }
    expect(await decide('held', '1.0', { decision: 'approve', justification: 'fine' }, 'ann')).toMatchObject({
      status: 403,
    })
    expect(await served()).not.toContain('held 1.0')

    const done = await decide('held', '1.0', { action: 'accept_risk', comment: 'Not reachable here.' })
    expect(done, done.text).toMatchObject({
      status: 200,
      body: {
        decision: 'accept_risk',
        action: 'approve',
        justification: 'Not reachable here.',
        comment: 'Not reachable here.',
        decided_by: 'mae',
        status: 'published',
        cve_status: 'approved',
        published: true,
      },
    })
    expect(await served()).toContain('held 1.0')
    expect(await ask('GET', '/security/packages/held/1.0/decision')).toMatchObject({
      body: { decision: { decision: 'accept_risk', decided_by: 'mae' }, history: [{ decided_by: 'mae' }] },
    })
    expect(await actions('held')).toEqual(['SECURITY_DECISION mae', 'UPLOAD ann'])
    expect(await ask('GET', '/artifacts/audit/integrity', { who: 'admin' })).toMatchObject({ body: { ok: true } })
  })

  test('that is rejected is never served, and leaves the queue', async () => {
    await tell(known => {
      known.findings['bad 1.0'] = [HIGH]
    })
    await send('bad', '1.0')
    expect(
      await decide('bad', '1.0', { decision: 'upgrade_required', justification: 'There is a newer one.' }),
    ).toMatchObject({ status: 200, body: { action: 'reject', status: 'rejected', published: false } })
    expect((await ask('GET', '/security/review-queue?q=bad')).body).toMatchObject({ total: 0 })
    expect(await served()).not.toContain('bad 1.0')
    expect(await ask('POST', '/security/packages/bad/1.0/rescan')).toMatchObject({
      status: 200,
      body: { status: 'rejected' },
    })
    expect(await served()).not.toContain('bad 1.0')
  })

  test('decided on by two at the same moment: one wins, the other is told', async () => {
    for (const [n, pair] of [
      ['approve', 'approve'],
      ['approve', 'reject'],
      ['reject', 'approve'],
      ['reject', 'reject'],
    ].entries()) {
      const version = `${n}.0`
      await tell(known => {
        known.findings[`race ${version}`] = [HIGH]
      })
      await send('race', version)
      // as the console does: on a busy machine the second may come when the first was answered, and would be a decision
      // of its own
      const [item] = await queued('?q=race')
      const both = await Promise.all(
        pair.map((decision, i) =>
          decide(
            'race',
            version,
            { decision, justification: `As I see it, ${i}.`, seen_at: item?.updated_at },
            i === 0 ? 'mae' : 'max',
          ),
        ),
      )
      expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
      const lost = both.find(({ status }) => status === 409)
      expect(lost?.body.detail).toMatch(
        /is (published|rejected) since \w+ decided on it\. Look at it again|A package that is (published|rejected) cannot be given/,
      )
      const won = both.find(({ status }) => status === 200)
      expect((await ask('GET', `/security/packages/race/${version}/decision`)).body).toMatchObject({
        status: won?.body.status,
        history: [{ decided_by: won?.body.decided_by }],
      })
    }
  })

  test('is decided on as the reviewer saw it, or not at all', async () => {
    await tell(known => {
      known.findings['seen 1.0'] = [HIGH]
    })
    await send('seen', '1.0')
    const [item] = await queued('?q=seen')
    await tell(known => {
      known.findings['seen 1.0'] = [HIGH, CRITICAL]
    })
    expect(await ask('POST', '/security/packages/seen/1.0/rescan')).toMatchObject({
      status: 200,
      body: { status: 'pending_review', new: ['CVE-2026-9999'], gone: [] },
    })
    expect(
      await decide('seen', '1.0', { decision: 'approve', justification: 'One high only.', seen_at: item?.updated_at }),
    ).toMatchObject({ status: 409 })
  })
})

describe('one vulnerability', () => {
  test('accepted on its own no longer counts: with the last one the package is served; taken back, it waits again', async () => {
    await tell(known => {
      known.findings['two 1.0'] = [HIGH, { id: 'CVE-2026-1002', aliases: ['GHSA-aaaa-bbbb-cccc'], severity: 'high' }]
    })
    await send('two', '1.0')
    expect(
      await decide('two', '1.0', {
        decision: 'exception',
        justification: 'No such feature.',
        cve: 'cve-2026-1001',
        expires_days: 30,
      }),
    ).toMatchObject({ status: 200, body: { status: 'pending_review', cve: 'CVE-2026-1001', cves: ['CVE-2026-1001'] } })
    expect(await queued('?q=two')).toMatchObject([{ findings: 2, open_findings: 1 }])
    expect(
      await decide('two', '1.0', { decision: 'exception', justification: 'x', cve: 'CVE-1999-0001' }),
    ).toMatchObject({ status: 404 })
    expect(
      await decide('two', '1.0', { decision: 'exception', justification: 'Nor that one.', cve: 'GHSA-AAAA-bbbb-cccc' }),
    ).toMatchObject({ status: 200, body: { status: 'published', cve: 'CVE-2026-1002' } })
    expect(await served()).toContain('two 1.0')
    expect((await ask('GET', '/security/vulnerabilities/cve-2026-1002')).body).toMatchObject({
      id: 'CVE-2026-1002',
      package_count: 1,
      open_count: 0,
      packages: [{ name: 'two', accepted: true }],
    })
    // known and accepted: looking again changes nothing
    expect(await ask('POST', '/security/packages/two/1.0/rescan')).toMatchObject({
      body: { status: 'published', new: [] },
    })
    expect(
      await decide('two', '1.0', {
        decision: 'reject',
        justification: 'It is reachable after all.',
        cve: 'CVE-2026-1002',
      }),
    ).toMatchObject({ status: 200, body: { status: 'pending_review' } })
    expect(await served()).not.toContain('two 1.0')
  })
})

describe('what touches one version in one distribution', () => {
  test('quarantine removes it from that tree at once, and only an approval brings it back', async () => {
    await send('both', '1.0')
    await send('both', '1.0', { distribution: 'noble' })
    expect(
      await ask('POST', '/security/packages/both/1.0/quarantine', { body: { reason: 'A customer called.' } }),
    ).toMatchObject({ status: 409, body: { detail: expect.stringContaining('jammy/amd64, noble/amd64') as string } })
    const address = `${daemon.url}/repos/pool/jammy/main/b/both/both_1.0_amd64.deb`
    expect((await fetch(address)).status).toBe(200)
    expect(
      await ask('POST', '/security/packages/both/1.0/quarantine?distribution=jammy', {
        body: { reason: 'A customer called' },
      }),
    ).toMatchObject({
      status: 200,
      body: { status: 'quarantined', previous_status: 'published', cve_status: 'blocked' },
    })
    expect((await fetch(address)).status).toBe(404)
    expect(await served()).not.toContain('both 1.0')
    expect(await served('noble')).toContain('both 1.0')
    expect(await ask('POST', '/security/packages/both/1.0/rescan?distribution=jammy')).toMatchObject({
      status: 200,
      body: { status: 'quarantined' },
    })
    expect(
      await ask('POST', '/security/packages/both/1.0/quarantine', { body: { distribution: 'jammy' } }),
    ).toMatchObject({ status: 409 })
    expect(
      await decide('both', '1.0', {
        decision: 'approve',
        justification: 'It was a false alarm.',
        distribution: 'jammy',
      }),
    ).toMatchObject({ status: 200, body: { status: 'published' } })
    expect(await served()).toContain('both 1.0')
    expect(await actions('both')).toEqual([
      'SECURITY_DECISION mae',
      'RESCAN mae',
      'QUARANTINE mae',
      'UPLOAD ann',
      'UPLOAD ann',
    ])
    const {
      body: { items: said },
    } = await daemon.call<{ items: { action: string; detail: string }[] }>(
      'GET',
      '/artifacts/audit/logs?package=both',
      { token: admin },
    )
    expect(
      said.flatMap(({ action, detail }) => (['SECURITY_DECISION', 'QUARANTINE'].includes(action) ? [detail] : [])),
    ).toEqual([
      'approve: It was a false alarm. quarantined → published.',
      'A customer called. published → quarantined.',
    ])
  })

  test('a blocked package is in quarantine with its CVE, and is served only after an approval', async () => {
    await tell(known => {
      known.findings['blocked 1.0'] = [CRITICAL]
    })
    expect(await send('blocked', '1.0')).toMatchObject({
      status: 200,
      body: { status: 'quarantined', cves: [{ id: 'CVE-2026-9999' }] },
    })
    expect((await ask('GET', '/security/packages?status=quarantined&severity=critical')).body.packages).toMatchObject([
      { name: 'blocked', kev: true },
    ])
    expect(
      await decide('blocked', '1.0', {
        decision: 'approve',
        justification: 'Needed today; the host is isolated.',
        expires_at: '2000-01-01T00:00:00Z',
      }),
    ).toMatchObject({ status: 422 })
    expect(
      await decide('blocked', '1.0', { decision: 'approve', justification: 'Needed today; the host is isolated.' }),
    ).toMatchObject({ status: 200, body: { status: 'published' } })
    expect(await served()).toContain('blocked 1.0')
  })

  test('a rescan takes a served package whose finding is blocked today to review, and what an approval covered stays', async () => {
    await send('later', '1.0')
    await tell(known => {
      known.findings['later 1.0'] = [CRITICAL]
    })
    expect(await ask('POST', '/security/packages/later/1.0/rescan')).toMatchObject({
      status: 200,
      body: { previous_status: 'published', status: 'pending_review', new: ['CVE-2026-9999'], severity: 'critical' },
    })
    expect(await served()).not.toContain('later 1.0')
    await decide('later', '1.0', { decision: 'approve', justification: 'Accepted for the release.' })
    expect(await ask('POST', '/security/packages/later/1.0/rescan')).toMatchObject({
      body: { status: 'published', new: [] },
    })
    await tell(known => {
      known.unavailable.push('later 1.0')
    })
    expect(await ask('POST', '/security/packages/later/1.0/rescan')).toMatchObject({
      status: 200,
      body: { status: 'published', cve_scan: 'unavailable', findings: 1 },
    })
    await tell(known => {
      known.unavailable = []
      known.findings['later 1.0'] = [CRITICAL, { id: 'CVE-2026-5555', severity: 'high' }]
    })
    expect(await ask('POST', '/security/packages/later/1.0/rescan')).toMatchObject({
      body: { status: 'pending_review', new: ['CVE-2026-5555'] },
    })
    // each of them was a job, for the log and for whoever looks at what runs
    expect((await ask('GET', '/jobs?kind=rescan')).body).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ target: 'later 1.0', status: 'done', done_count: 1, total: 1, error: null }),
      ]) as unknown,
    })
  })
})

describe('rules', () => {
  test('four eyes: the uploader may not approve, others may', async () => {
    expect(await ask('PATCH', '/settings/', { who: 'admin', body: { review: { four_eyes: true } } })).toMatchObject({
      status: 200,
    })
    await tell(known => {
      known.findings['eyes 1.0'] = [HIGH]
    })
    await send('eyes', '1.0', { who: 'mae' })
    for (const more of [{}, { cve: 'CVE-2026-1001' }]) {
      expect(await decide('eyes', '1.0', { decision: 'approve', justification: 'Mine.', ...more })).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('somebody else has to approve') as string },
      })
    }
    expect((await ask('GET', '/security/packages/eyes/1.0/decision')).body).toMatchObject({
      status: 'pending_review',
      decision: null,
    })
    expect(await decide('eyes', '1.0', { decision: 'approve', justification: 'Looked at.' }, 'max')).toMatchObject({
      status: 200,
    })
    // nor with an API token that the same person made
    const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
      token: admin,
      body: { name: 'ci', role: 'maintainer' },
    })
    tokens.set('ci', made.body.token)
    await tell(known => {
      known.findings['eyes 2.0'] = [HIGH]
    })
    expect((await send('eyes', '2.0', { who: 'ci' })).body).toMatchObject({ status: 'pending_review' })
    for (const who of ['ci', 'admin'])
      expect(await decide('eyes', '2.0', { decision: 'approve', justification: 'Mine.' }, who)).toMatchObject({
        status: 403,
      })
    expect(
      await decide('eyes', '2.0', { decision: 'reject', justification: 'Not mine to approve.' }, 'admin'),
    ).toMatchObject({ status: 200 })
    await ask('PATCH', '/settings/', { who: 'admin', body: { review: { four_eyes: false } } })
  })

  test('the preview of a policy changes nothing', async () => {
    await tell(known => {
      known.findings['medium 1.0'] = [{ id: 'CVE-2026-3003', severity: 'medium' }]
    })
    await send('medium', '1.0')
    const preview = await ask('POST', '/security/policy/preview', { who: 'admin', body: { medium: 'review' } })
    expect(preview, preview.text).toMatchObject({
      status: 200,
      body: {
        policy: { medium: 'review', high: 'review' },
        by_move: { to_review: 1, to_published: 0 },
        total: 1,
        items: [{ name: 'medium', from: 'published', to: 'pending_review', action: 'review', cves: ['CVE-2026-3003'] }],
      },
    })
    const { items } = (
      await ask('POST', '/security/policy/preview', { who: 'admin', body: { high: 'allow', critical: 'allow' } })
    ).body as { items: { name: string; from: string; to: string }[] }
    expect(items.map(({ name, from, to }) => `${name}: ${from} → ${to}`).sort()).toEqual(
      ['later', 'seen', 'two'].map(name => `${name}: pending_review → published`),
    )
    expect((await ask('GET', '/security/policy', { who: 'admin' })).body).toMatchObject({
      medium: 'warn',
      high: 'review',
    })
    const licences = { forbidden: 'AGPL-3', action: 'block' }
    expect(
      await ask('POST', '/security/policy/preview', { who: 'admin', body: { license_policy: licences } }),
    ).toMatchObject({ status: 422, body: { code: 'bad_setting' } })
    const { status } = await ask('POST', '/security/policy/preview', {
      who: 'admin',
      body: { license_policy: { ...licences, forbidden: 'AGPL-3.0' } },
    })
    expect(status).toBe(200)
    expect((await ask('GET', '/settings/', { who: 'admin' })).body).toMatchObject({ license_policy: { forbidden: '' } })
    expect(await served()).toContain('medium 1.0')
    expect(await ask('POST', '/security/policy/preview', { body: {} })).toMatchObject({ status: 403 })
  })

  test('a missed deadline is notified once', async () => {
    await ask('PATCH', '/settings/', { who: 'admin', body: { cve_policy: { sla_high_days: 0 } } })
    const first = await ask('POST', '/security/check-sla', { who: 'admin' })
    expect(first, first.text).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(first.body.told).toBe(first.body.breached)
    expect(Number(first.body.told)).toBeGreaterThan(0)
    expect((await ask('POST', '/security/check-sla', { who: 'admin' })).body).toMatchObject({
      told: 0,
      breached: first.body.breached,
    })
    expect((await ask('GET', '/security/review-queue?overdue=true')).body.total).toBe(first.body.breached)
    await ask('PATCH', '/settings/', { who: 'admin', body: { cve_policy: { sla_high_days: 30 } } })
  })

  test('a review is assigned only to those who may decide', async () => {
    await tell(known => {
      known.findings['given 1.0'] = [HIGH]
    })
    await send('given', '1.0')
    const assign = (assignee: string | null): Promise<Answer> =>
      ask('POST', '/security/packages/given/1.0/assign', { body: { assignee } })
    expect(await assign('ann')).toMatchObject({ status: 422 })
    expect(await assign('nobody-here')).toMatchObject({ status: 422 })
    expect(await assign('max')).toMatchObject({ status: 200, body: { assigned_to: 'max' } })
    expect(await queued('?assigned_to=max')).toMatchObject([{ name: 'given', assigned_to: 'max' }])
    expect(await assign(null)).toMatchObject({ status: 200, body: { assigned_to: null } })
  })
})

describe('read routes for every account', () => {
  test('vulnerabilities, each once, filtered, sorted and cut by the database', async () => {
    const all = await ask('GET', '/security/vulnerabilities?per_page=2', { who: 'ann' })
    expect(all, all.text).toMatchObject({
      status: 200,
      body: {
        vulnerabilities: {
          page: 1,
          per_page: 2,
          items: [
            { id: 'CVE-2026-9999', severity: 'critical', kev: true, epss: expect.closeTo(0.97, 5) as number },
            { severity: 'high' },
          ],
        },
      },
    })
    expect((await ask('GET', '/security/vulnerabilities?kev=true')).body).toMatchObject({
      total: 1,
      vulnerabilities: { items: [{ id: 'CVE-2026-9999' }] },
    })
    expect((await ask('GET', '/security/vulnerabilities?q=HELD')).body).toMatchObject({
      total: 1,
      vulnerabilities: { items: [{ id: 'CVE-2026-1001', summary: 'A hole.', fixed_versions: ['9'] }] },
    })
    expect(await ask('GET', '/security/vulnerabilities/CVE-1999-0001')).toMatchObject({ status: 404 })
    expect(await ask('GET', '/security/packages', { who: 'aud' })).toMatchObject({ status: 403 })
  })

  test('the posture and the report, as JSON and as a page for printing without any script', async () => {
    expect(await ask('GET', '/security/packages-posture', { who: 'ann' })).toMatchObject({
      status: 200,
      body: { by_status: { rejected: expect.any(Number) as number }, findings: { kev: expect.any(Number) as number } },
    })
    const report = await ask('GET', '/security/report', { who: 'aud' })
    expect(report, report.text).toMatchObject({
      status: 200,
      body: {
        generated_by: 'aud',
        policy: { critical: 'block' },
        engines: [{ id: 'clamav' }, { id: 'fake' }],
        decisions: expect.any(Array) as unknown[],
      },
    })
    const page = await ask('GET', '/security/report?format=html', { who: 'aud' })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'; /,
    )
    expect(page.text).toContain('Not reachable here.')
    expect(page.text).not.toMatch(/<script|<link|<img|https?:|style="| on[a-z]+=/)
  })

  test('the same for RPM and APK', async () => {
    await tell(known => {
      known.findings['tool 1.0-1'] = [HIGH]
      known.findings['tool 1.0-r0'] = [HIGH]
    })
    const rpm = await daemon.upload(await buildRpm({ name: 'tool', version: '1.0', release: '1' }), {
      token: as('ann'),
      distribution: 'almalinux9',
      filename: 'tool.rpm',
    })
    const apk = await daemon.upload(await buildApk({ name: 'tool', version: '1.0-r0' }), {
      token: as('ann'),
      distribution: 'alpine3.20',
      filename: 'tool.apk',
    })
    for (const upload of [rpm, apk]) {
      expect(upload, upload.text).toMatchObject({ body: { status: 'pending_review' } })
      const { name, version } = upload.body
      expect(await ask('POST', `/security/packages/${name}/${version}/rescan`)).toMatchObject({
        status: 200,
        body: { status: 'pending_review', new: [] },
      })
      expect(await decide(name, version, { decision: 'approve', justification: 'Seen.' })).toMatchObject({
        status: 200,
        body: { status: 'published', published: true },
      })
      expect(await ask('POST', `/security/packages/${name}/${version}/quarantine`)).toMatchObject({
        status: 200,
        body: { status: 'quarantined' },
      })
    }
    expect((await ask('GET', '/security/vulnerabilities?format=rpm')).body).toMatchObject({
      total: 1,
      vulnerabilities: { items: [{ packages: [{ name: 'tool', distribution: 'almalinux9', status: 'quarantined' }] }] },
    })
  })
})
