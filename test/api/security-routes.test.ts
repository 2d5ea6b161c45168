import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { lacking } from '../support/tools.ts'

let daemon: Daemon
let token: string
let folder: string
let clamd: TestClamd | undefined
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-security-'))
  clamd = hasClamd ? await startClamd() : undefined
  daemon = await startDaemon({ env: clamd === undefined ? {} : { CLAMD_SOCKET: clamd.address.socket } })
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  expect(await daemon.upload(await buildDeb({ name: 'plain', version: '1:2.0~rc1+b1' }), { token })).toMatchObject({
    status: 201,
  })
})
afterAll(async () => {
  await daemon.close()
  await clamd?.close()
  await rm(folder, { recursive: true, force: true })
})
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })
const post = (path: string, body?: unknown): Promise<Answer> =>
  daemon.call('POST', path, { token, ...(body === undefined ? {} : { body }) })

describe('every route of the Security table answers in the shape of the contract', () => {
  const PAGE = { total: expect.any(Number) as number, page: 1, per_page: 50, pages: expect.any(Number) as number }
  test.each<[string, object]>([
    ['/security/vulnerabilities', { vulnerabilities: { items: [], ...PAGE }, packages_scanned: 0, packages: [] }],
    ['/security/review-queue', { packages: { items: [], ...PAGE }, blocked_count: 0, review_count: 0 }],
    ['/security/packages?status=pending_review&severity=critical', { packages: [], ...PAGE }],
    [
      '/security/packages-posture',
      { total_packages: 1, by_status: { published: 1, pending_review: 0, quarantined: 0, rejected: 0 } },
    ],
    [
      '/security/packages/plain/1:2.0~rc1+b1/cve',
      {
        name: 'plain',
        version: '1:2.0~rc1+b1',
        arch: 'amd64',
        distribution: 'jammy',
        total: 0,
        cves: [],
        cve_status: 'approved',
      },
    ],
    [
      '/security/packages/plain/1%3A2.0~rc1%2Bb1/decision',
      {
        name: 'plain',
        status: 'published',
        decision: null,
        history: [],
        sla: { due_at: null, days_remaining: null, breached: false },
      },
    ],
    ['/security/report', { policy: { critical: 'block' }, posture: { total_packages: 1 } }],
    ['/security/decisions', { items: [], ...PAGE }],
    [
      '/security/policy',
      {
        critical: 'block',
        high: 'review',
        medium: 'warn',
        low: 'allow',
        negligible: 'allow',
        kev_action: 'allow',
        require_fix: false,
        malicious_action: 'block',
      },
    ],
    ['/security/clamav/status', { enabled: true, engine: 'clamav', databases: expect.any(Array) as unknown[] }],
  ])('%s', async (path, shape) => {
    const plain = await get(path)
    expect(plain, plain.text).toMatchObject({ status: 200, body: shape })
    const [before = '', query] = path.split('?')
    expect(await get(`${before}/${query === undefined ? '' : `?${query}`}`)).toMatchObject({ status: 200, body: shape })
  })

  test.each<[string, string, number]>([
    ['GET', '/security/review-queue?per_page=201', 422],
    ['GET', '/security/review-queue?page=0', 422],
    ['GET', '/security/review-queue?sort=luck', 422],
    ['GET', '/security/vulnerabilities?severity=bad', 422],
    ['GET', '/security/packages?distribution=nix', 422],
    ['GET', '/security/review-queue?format=exe', 422],
    ['GET', '/security/vulnerabilities?distribution=nix', 422],
    ['GET', '/security/packages/plain/1/cve?distribution=nix', 422],
    ['GET', '/security/packages/none/1/cve', 404],
    ['GET', '/security/packages/plain/9/decision', 404],
    ['POST', '/security/packages/none/1/rescan', 404],
    ['POST', '/security/packages/plain/9/quarantine', 404],
    ['GET', '/security/vulnerabilities/CVE-1-1', 404],
    ['PATCH', '/security/vulnerabilities', 405],
  ])('%s %s is %i', async (method, path, status) => {
    const answer = await daemon.call(method, path, { token })
    expect(answer, answer.text).toMatchObject({
      status,
      body: { detail: expect.anything() as unknown, request_id: expect.any(String) as string },
    })
  })

  test('a failed scan is reported, and withdraws nothing that is published', async () => {
    const answer = await post('/security/packages/plain/1:2.0~rc1+b1/rescan')
    expect(answer, answer.text).toMatchObject({
      status: 200,
      body: { status: 'published', previous_status: 'published', cve_scan: 'no_data', findings: 0, new: [], gone: [] },
    })
  })

  test('a policy is changed in parts, and checked', async () => {
    expect(
      await daemon.call('PATCH', '/security/policy', { token, body: { low: 'warn', epss_threshold: 0.9 } }),
    ).toMatchObject({ status: 200, body: { low: 'warn', epss_threshold: 0.9, high: 'review' } })
    // changes nothing, and writes no line
    expect(await daemon.call('PATCH', '/security/policy', { token, body: { low: 'warn' } })).toMatchObject({
      status: 200,
    })
    for (const body of [{ low: 'perhaps' }, { lowest: 'warn' }, { epss_threshold: 2 }])
      expect(await daemon.call('PATCH', '/security/policy', { token, body })).toMatchObject({ status: 422 })
    expect((await get('/security/policy')).body).toMatchObject({ low: 'warn', critical: 'block' })
    expect((await get('/artifacts/audit/logs?action=SETTINGS_CHANGE')).body.items).toMatchObject([
      { detail: expect.stringMatching(/^cve_policy\.low: \w+ → warn, cve_policy\.epss_threshold: [\d.]+ → 0\.9\.$/) },
    ])
  })

  test('a policy that contradicts itself is refused where the caller asks for that, and named where it does not', async () => {
    const change = { medium: 'block' }
    const sentence =
      'The policy treats high more mildly than medium: review and block. The hardest action of all findings counts.'
    for (const [path, body] of [
      ['/security/policy', change],
      ['/settings/', { cve_policy: change }],
    ] as const)
      expect(await daemon.call('PATCH', `${path}?confirm=false`, { token, body }), path).toMatchObject({
        status: 409,
        body: {
          code: 'policy_contradiction',
          detail: expect.stringContaining('Set high to block, or send confirm=true') as string,
          facts: { contradictions: [{ worse: 'high', action: 'review', lesser: 'medium', lesser_action: 'block' }] },
        },
      })
    const before = await get('/security/policy')
    expect(before.body).toMatchObject({ medium: 'warn', warnings: [] })
    // as they were read, they may be sent back
    expect(
      await daemon.call('PATCH', '/security/policy?confirm=false', { token, body: before.body as object }),
    ).toMatchObject({ status: 200, body: before.body })
    // clients that know nothing of it are not refused
    expect(await daemon.call('PATCH', '/security/policy', { token, body: change })).toMatchObject({
      status: 200,
      body: { medium: 'block', warnings: [sentence] },
    })
    // what contradicted itself before is no reason to refuse something else
    expect(
      await daemon.call('PATCH', '/settings/?confirm=false', { token, body: { cve_policy: { sla_high_days: 31 } } }),
    ).toMatchObject({ status: 200 })
    expect(
      await daemon.call('PATCH', '/security/policy?confirm=false', { token, body: { medium: 'warn' } }),
    ).toMatchObject({ status: 200, body: { warnings: [] } })
    expect(await daemon.call('PATCH', '/security/policy?confirm=true', { token, body: change })).toMatchObject({
      status: 200,
      body: { warnings: [sentence] },
    })
    await daemon.call('PATCH', '/settings/', {
      token,
      body: { cve_policy: { medium: 'warn', sla_high_days: 30 } },
    })
  })

  test('jobs of the review are in the health report', async () => {
    await expect
      .poll(async () => {
        const { body } = await daemon.call<{
          checks: { non_critical: { scheduler: { jobs: { id: string; next_run: string }[] } } }
        }>('GET', '/health')
        return body.checks.non_critical.scheduler.jobs.filter(({ next_run }) => next_run !== null).map(({ id }) => id)
      })
      .toEqual(expect.arrayContaining(['sla', 'reopen', 'rematch']))
  })
})

describe.skipIf(!hasClamd || lacking('clamav-freshclam').length > 0)('antivirus signatures', () => {
  const pattern = 'GATEHOUSE-PATTERN-OF-A-TEST'
  const upload = async (version: string): Promise<string> =>
    (
      await daemon.upload(
        await buildDeb({ name: 'suspect', version, files: { 'usr/share/suspect': `${version} ${pattern}` } }),
        { token },
      )
    ).body.status

  test('from a bundle folder are tested, put in place and loaded while uploads go on', async () => {
    const database = join(dirname(clamd?.address.socket ?? ''), 'db')
    await mkdir(join(folder, 'bundle'))
    await writeFile(join(folder, 'bundle', 'own.ndb'), `Own.Pattern:0:*:${Buffer.from(pattern).toString('hex')}\n`)
    const set = await daemon.call('PATCH', '/settings/', {
      token,
      body: { clamav: { bundle_folder: join(folder, 'bundle'), database_folder: database } },
    })
    expect(set, set.text).toMatchObject({ status: 200 })
    expect((await get('/security/clamav/status')).body).toMatchObject({
      ok: true,
      signatures_at: expect.any(String) as string,
      signatures_age_hours: 0,
      databases: [{}, {}],
    })
    expect(await upload('0')).toBe('published')
    const [updated] = await Promise.all([post('/security/clamav/update'), upload('1'), upload('2')])
    expect(updated, updated.text).toMatchObject({
      status: 200,
      body: {
        status: 'updated',
        source: 'bundle_folder',
        reload: 'started',
        databases: expect.arrayContaining([expect.objectContaining({ file: 'own.ndb' })]) as unknown[],
      },
    })
    let version = 3
    await expect.poll(() => upload(String(version++)), { timeout: 30_000 }).toBe('quarantined')
    expect((await get('/artifacts/audit/logs?action=CLAMAV_UPDATE')).body.items).toMatchObject([
      { result: 'SUCCESS', user: 'admin', detail: expect.stringContaining('updated from the bundle folder') as string },
    ])
    expect((await daemon.call('GET', '/metrics')).text).toMatch(/^svc_clamav_last_update \d+/m)
  })

  test('that cannot be fetched are reported with the reason, in the answer and in the audit log', async () => {
    await daemon.call('PATCH', '/settings/', { token, body: { clamav: { bundle_folder: join(folder, 'nowhere') } } })
    expect(await post('/security/clamav/update')).toMatchObject({
      status: 502,
      body: { code: 'signatures_not_updated', detail: expect.stringContaining('cannot be read') as string },
    })
    expect((await get('/artifacts/audit/logs?action=CLAMAV_UPDATE')).body.items).toMatchObject([
      { result: 'FAILURE' },
      { result: 'SUCCESS' },
    ])
  })
})
