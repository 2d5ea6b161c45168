import { NOTHING } from '../contents/component.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '../../test/support/routes.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import { createRebuild } from '../catalog/rebuild.ts'
import type { Finding, Severity } from '../core/findings.ts'
import type { Codename, PackageRef } from '../core/identity.ts'
import { SETTINGS, type SettingsValue } from '../settings/schema.ts'
import type { Notice } from '../outbound/notice.ts'
import type { LicencePolicy } from '../core/licences/policy.ts'
import type { Report } from '../core/report.ts'
import type { Step } from '../pipeline/subject.ts'
import { antivirusStep } from '../pipeline/antivirus.ts'
import { formatStep } from '../pipeline/format-check.ts'
import { createPool } from '../files/pool.ts'
import { getFormat } from '../formats/index.ts'
import { Value } from '@sinclair/typebox/value'
import { policyOf } from '../core/policy.ts'
import { reconsider, slaDays } from '../core/review.ts'
import { createDecisions } from './decisions.ts'
import type { RequestedDecision } from './requested-decision.ts'
import { listDecisions } from './history.ts'
import { readPosture } from './posture.ts'
import { previewPolicy } from '../features/policy/preview.ts'
import { listReviews } from './queue.ts'
import { runAlone } from '../../test/support/jobs.ts'
import { createRematch } from './rematch.ts'
import { reopenExpired } from './reopen.ts'
import { createRescans } from './rescan.ts'
import { createSlaWatch } from './deadlines.ts'
import { listVulnerabilities } from './vulnerabilities.ts'
import { findOne } from './find-version.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { repositories } from '../../test/support/repositories.ts'
import { hasTree } from '../formats/index.ts'
import { judge } from '../../test/support/review-change.ts'

let stock: Stock
let now: SettingsValue
const settings = { now: () => now }
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  await stock.db.query('truncate decision, sla_breach, finding')
  now = Value.Create(SETTINGS) as SettingsValue
  stock.clock.set('2026-03-01T10:00:00.000Z')
})

const finding = (id: string, severity: Severity, more: Partial<Finding> = {}): Finding => ({
  id,
  package: 'hello',
  severity,
  detected_by: ['osv'],
  ...more,
})
const held = (name: string, findings: readonly Finding[], by = 'ada'): Promise<unknown> =>
  stock.put({ name, findings, state: 'pending_review', by })
const find = (name: string) => findOne(stock.db, ALL_SEEING, { name, version: '1.0' })
const ref = (name: string): PackageRef => ({
  format: 'deb',
  name,
  version: '1.0',
  arch: 'amd64',
  codename: 'jammy' as Codename,
})
const stateOf = async (name: string): Promise<unknown> => (await stock.catalog.find(ALL_SEEING, ref(name)))?.state
const decide = async (name: string, more: Partial<RequestedDecision> = {}) =>
  createDecisions({ db: stock.db, catalog: stock.catalog, settings }).decide(
    await find(name),
    { decision: 'approve', justification: 'Seen.', cves: [], arrivedAt: stock.clock.now().toISOString(), ...more },
    { name: 'mae' },
  )
const reviews = async (sort: string, more = {}) =>
  (
    await listReviews(stock.db, ALL_SEEING, {
      filter: { states: ['pending_review'], ...more },
      paging: { page: 1, perPage: 50 },
      sort,
      days: slaDays(now.cve_policy),
      policy: policyOf(now),
      now: stock.clock.now(),
    })
  ).items
const queue = async (sort: string, more = {}) => (await reviews(sort, more)).map(({ name }) => name)

describe('the review queue', () => {
  beforeEach(async () => {
    await held('low', [finding('CVE-1', 'low', { epss: 0.5 })])
    await held('high', [finding('CVE-2', 'high', { epss: 0.1 })])
    stock.clock.set('2026-03-10T10:00:00.000Z')
    await held('critical', [finding('CVE-3', 'critical', { epss: 0.3, fixed_in: '2' })])
    await held('medium', [finding('CVE-4', 'medium', { kev: true })])
    await held('empty', [])
    await stock.put({ name: 'served', findings: [finding('CVE-2', 'high')] })
  })
  test.each<[string, string[]]>([
    ['sla', ['critical', 'high', 'medium', 'low', 'empty']],
    ['-sla', ['medium', 'high', 'critical', 'empty', 'low']],
    ['severity', ['critical', 'high', 'medium', 'low', 'empty']],
    ['kev', ['medium', 'low', 'critical', 'high', 'empty']],
    ['epss', ['low', 'critical', 'high', 'medium', 'empty']],
    ['age', ['low', 'high', 'critical', 'medium', 'empty']],
    ['name', ['critical', 'empty', 'high', 'low', 'medium']],
  ])('sorted by %s', async (sort, names) => {
    expect(await queue(sort)).toEqual(names)
  })
  test.each<[object, string[]]>([
    [{ severity: 'high' }, ['high']],
    [{ kev: true }, ['medium']],
    [{ fixable: true }, ['critical']],
    [{ overdue: true }, ['critical']],
    [{ overdue: false }, ['high', 'medium', 'low', 'empty']],
    [{ q: 'cve-4' }, ['medium']],
    [{ q: 'HIG' }, ['high']],
    [{ q: '%' }, []],
    [{ distribution: 'noble' }, []],
    [{ format: 'deb', withFindings: true }, ['critical', 'high', 'medium', 'low']],
    [{ assignedTo: 'none', q: 'low' }, ['low']],
  ])('narrowed to %j', async (filter, names) => {
    expect(await queue('sla', filter)).toEqual(names)
  })
  test('says what a package waits for, and not what only warned', async () => {
    const findings = [finding('CVE-5', 'high')]
    const asks: Report = {
      step: 'vulnerabilities',
      outcome: 'warned',
      verdict: 'findings',
      said: 'One is high.',
      findings,
    }
    const silent: Report = { step: 'antivirus', outcome: 'unavailable', verdict: 'unavailable', said: 'Nobody looked.' }
    await stock.put({ name: 'both', findings, reports: [silent, asks], state: 'pending_review' })
    await stock.put({ name: 'unseen', reports: [silent], state: 'pending_review' })
    const reasons = async (rule: 'hold' | 'warn') => {
      now = { ...now, validation: { ...now.validation, on_scanner_unavailable: rule } }
      const items = await reviews('name')
      return Object.fromEntries(items.map(one => [one.name, one.reasons]))
    }
    expect(await reasons('hold')).toMatchObject({ both: ['One is high.'], unseen: ['Nobody looked.'] })
    // held by the rule of that day
    expect(await reasons('warn')).toMatchObject({ both: ['One is high.'], unseen: ['Nobody looked.'] })
  })
  test('is cut by the database, and a deadline of the settings moves every deadline', async () => {
    now = { ...now, cve_policy: { ...now.cve_policy, sla_medium_days: 1 } }
    const page = await listReviews(stock.db, ALL_SEEING, {
      filter: { states: ['pending_review'] },
      paging: { page: 2, perPage: 2 },
      sort: 'sla',
      days: slaDays(now.cve_policy),
      policy: policyOf(now),
      now: stock.clock.now(),
    })
    expect(page).toMatchObject({
      total: 5,
      page: 2,
      per_page: 2,
      pages: 3,
      items: [
        { name: 'high', sla: { due_at: '2026-03-31T10:00:00.000Z', days_remaining: 21 } },
        { name: 'low', sla: { due_at: null } },
      ],
    })
    expect(await queue('sla')).toEqual(['critical', 'medium', 'high', 'low', 'empty'])
  })
  test('the posture counts what counts, and the preview moves only what would move', async () => {
    expect(await readPosture(stock.db, ALL_SEEING, { policy: now.cve_policy, now: stock.clock.now() })).toMatchObject({
      total_packages: 6,
      by_status: { published: 1, pending_review: 5 },
      by_severity: { critical: 1, high: 2, medium: 1, low: 1, none: 0, not_looked: 1 },
      findings: { total: 5, open: 5, kev: 1, fixable: 1 },
      review: { waiting: 5, overdue: 1, unassigned: 5, oldest_held_at: '2026-03-01T10:00:00.000Z' },
    })
    const preview = await previewPolicy(stock.db, ALL_SEEING, {
      policy: { ...now.cve_policy, high: 'allow', kev_action: 'review', on_scanner_unavailable: 'hold' },
      paging: { page: 1, perPage: 50 },
      signal: new AbortController().signal,
    })
    expect(preview.items.map(({ name, from, to }) => `${name} ${from} ${to}`)).toEqual([
      'low pending_review published',
      'high pending_review published',
      'empty pending_review published',
    ])
  })
})

test('the preview counts what the licence of a package comes to, and moves what a rescan would', async () => {
  const says = (licence: object): Report => ({
    step: 'format',
    outcome: 'ok',
    verdict: 'valid',
    said: 'Fine.',
    licence,
  })
  await stock.put({ name: 'free', reports: [says({ declared: 'MIT' })] })
  await stock.put({ name: 'copyleft', reports: [says({ declared: 'AGPL-3.0-only' })] })
  await stock.put({ name: 'silent', reports: [says({})] })
  await stock.put({ name: 'none', reports: [{ step: 'format', outcome: 'ok', verdict: 'valid', said: 'Fine.' }] })
  await stock.put({
    name: 'waiting',
    state: 'pending_review',
    reports: [{ ...says({ declared: 'AGPL-3.0-only' }), outcome: 'warned', verdict: 'licence', holds: true }],
  })
  const unsigned: Report = { step: 'signature', outcome: 'warned', verdict: 'unsigned', said: 'None.', holds: true }
  await stock.put({ name: 'unsigned', state: 'pending_review', reports: [says({ declared: 'MIT' }), unsigned] })
  await stock.put({ name: 'seen', state: 'pending_review', reports: [says({ declared: 'AGPL-3.0-only' })] })
  await decide('seen')
  expect(await stateOf('seen')).toBe('published')
  const moves = async (licences: LicencePolicy) => {
    const policy = { ...policyOf(now), licences }
    const { checked, items } = await previewPolicy(stock.db, ALL_SEEING, {
      policy,
      paging: { page: 1, perPage: 50 },
      signal: new AbortController().signal,
    })
    for (const { name, to } of items) {
      const manifest = await stock.catalog.find(ALL_SEEING, ref(name))
      expect(manifest && reconsider(manifest, policy, stock.clock.now().toISOString()).state).toBe(to)
    }
    return [checked, ...items.map(({ name, to, action, licence }) => `${name} ${to}: ${action} ${licence ?? ''}`)]
  }
  const none: LicencePolicy = { forbidden: '', action: 'review', undeclared_action: 'allow' }
  expect(await moves(none)).toEqual([2, 'waiting published: allow '])
  const said = 'Licence: AGPL-3.0-only is on the list of forbidden licences.'
  expect(await moves({ ...none, forbidden: 'AGPL-*' })).toEqual([6, `copyleft pending_review: review ${said}`])
  expect(await moves({ ...none, forbidden: 'AGPL-*', action: 'warn' })).toEqual([6, `waiting published: warn ${said}`])
  expect(await moves({ forbidden: 'AGPL-*', action: 'block', undeclared_action: 'review' })).toEqual([
    6,
    `copyleft pending_review: block ${said}`,
    'silent pending_review: review Licence: the package declares none.',
  ])
})

describe('an acceptance with an end', () => {
  test('of a package: when it ends the package is held again, with one audit line', async () => {
    await held('hello', [finding('CVE-1', 'high')])
    await decide('hello', { expiresAt: '2026-03-05T00:00:00.000Z' })
    const reopen = () => reopenExpired({ db: stock.db, catalog: stock.catalog, settings, clock: stock.clock })
    expect(await reopen()).toBe(0)
    expect(await stateOf('hello')).toBe('published')
    stock.clock.set('2026-03-05T00:00:00.000Z')
    expect(await reopen()).toBe(1)
    expect(await stock.catalog.find(ALL_SEEING, ref('hello'))).toMatchObject({
      state: 'pending_review',
      review: {
        held_at: '2026-03-05T00:00:00.000Z',
        held_for: 'The acceptance by mae ended at 2026-03-05T00:00:00.000Z.',
      },
    })
    expect(await queue('sla')).toEqual(['hello'])
    expect(await reopen()).toBe(0)
    expect(
      (await stock.audit.search(ALL_SEEING, { page: 1, perPage: 9, action: 'SECURITY_DECISION' })).items.map(
        ({ user, result }) => `${user} ${result}`,
      ),
    ).toEqual(['review deadline WARNING', 'mae SUCCESS'])
  })

  test('of a vulnerability: it counts again, and holds the package only if the policy says so', async () => {
    await stock.put({
      name: 'hello',
      findings: [finding('CVE-1', 'medium'), finding('CVE-2', 'high')],
      state: 'pending_review',
    })
    await decide('hello', { cves: ['CVE-1'], expiresAt: '2026-03-03T00:00:00.000Z' })
    await decide('hello', { cves: ['CVE-2'], expiresAt: '2026-03-04T00:00:00.000Z' })
    expect(await stateOf('hello')).toBe('published')
    for (const [at, state, open] of [
      ['2026-03-03T01:00:00.000Z', 'published', 1],
      ['2026-03-04T01:00:00.000Z', 'pending_review', 2],
    ] as const) {
      stock.clock.set(at)
      expect(await reopenExpired({ db: stock.db, catalog: stock.catalog, settings, clock: stock.clock })).toBe(1)
      expect(await stateOf('hello')).toBe(state)
      expect(await stock.db.first('select open_count from package')).toEqual({ open_count: open })
    }
  })
})

test('a missed deadline is notified once, also by two checks at the same moment; a package held again has a new one', async () => {
  const told: Notice[] = []
  const watch = createSlaWatch({
    db: stock.db,
    outbox: stock.outbox,
    settings,
    clock: stock.clock,
    notices: {
      owe: async (_, notice) => {
        told.push(notice)
      },
    },
  })
  for (const name of ['a', 'b', 'c']) await held(name, [finding('CVE-1', 'high')])
  expect(await watch.check(ALL_SEEING)).toMatchObject({ checked: 3, breached: 0, told: 0 })
  stock.clock.set('2026-04-01T10:00:00.000Z')
  const both = await Promise.all([watch.check(ALL_SEEING), watch.check(ALL_SEEING)])
  expect(both.map(check => check.told).reduce((a, b) => a + b)).toBe(3)
  expect(
    told.flatMap(notice => (notice.event === 'sla.breached' ? notice.packages.map(({ name }) => name) : [])).sort(),
  ).toEqual(['a', 'b', 'c'])
  expect(told[0]).toMatchObject({
    event: 'sla.breached',
    packages: [{ version: '1.0', distribution: 'jammy', worst: 'high', due_at: '2026-03-31T10:00:00.000Z' }, {}, {}],
  })
  await decide('a')
  await stock.catalog.change(judge(ref('a'), 'hold', { why: 'Again.' }), { name: 'mae' })
  expect(await watch.check(ALL_SEEING)).toMatchObject({ breached: 2, told: 0 })
  stock.clock.set('2026-06-01T10:00:00.000Z')
  await decide('b')
  // c; what was accepted in a does not count
  expect(await watch.check(ALL_SEEING)).toMatchObject({ checked: 2, breached: 1, told: 0 })
})

describe('the nightly rematch', () => {
  let data: Record<string, readonly Finding[] | 'unavailable'>
  const scan: Step = {
    name: 'vulnerabilities',
    run: async (subject): Promise<Report> => {
      const { identity } = await subject.inspected(new AbortController().signal)
      const found = data[identity.name] ?? []
      return found === 'unavailable'
        ? { step: 'vulnerabilities', outcome: 'unavailable', verdict: 'unavailable', said: 'It does not answer.' }
        : {
            step: 'vulnerabilities',
            outcome: 'ok',
            verdict: 'findings',
            said: `${found.length} found.`,
            findings: found,
          }
    },
  }
  const counted: string[] = []
  const rescans = (antivirus = scan) =>
    createRescans({
      db: stock.db,
      catalog: stock.catalog,
      pool: createPool({ layout: stock.layout, clock: stock.clock }),
      formats: getFormat,
      repositories,
      settings,
      clock: stock.clock,
      steps: {
        vulnerabilities: scan,
        antivirus,
        scripts: {
          name: 'scripts',
          run: async () => ({ step: 'scripts', outcome: 'ok', verdict: 'plain', said: 'No scripts.' }),
        },
        format: formatStep(stock.db),
        dependencies: {
          name: 'dependencies',
          run: async () => ({ step: 'dependencies', outcome: 'ok', verdict: 'satisfied', said: 'It needs nothing.' }),
        },
        signature: {
          name: 'signature',
          run: async () => ({ step: 'signature', outcome: 'ok', verdict: 'not_signed', said: 'No signature.' }),
        },
      },
      contents: { of: async () => NOTHING },
      metrics: {
        found: severity => {
          counted.push(severity)
        },
      },
    })
  const quiet = {
    info: () => undefined,
    warn: () => undefined,
    error: (what: unknown) => {
      throw new Error('nothing may fail here', { cause: what })
    },
  } as unknown as Parameters<typeof createRematch>[0]['log']
  const rematch = () =>
    createRematch({
      db: stock.db,
      jobs: { ask: async () => ({ id: '', isNew: true }) },
      rescans: rescans(),
      clock: stock.clock,
      log: quiet,
      isOn: () => true,
    }).work

  test('malware that only a later look finds holds the package, and that is the reason that people read', async () => {
    const silent = {
      step: 'antivirus',
      outcome: 'unavailable',
      verdict: 'unavailable',
      said: 'Nobody looked.',
    } as const
    data = {}
    await stock.put({ name: 'hello', reports: [silent] })
    const step = antivirusStep([
      {
        id: 'engine',
        kind: 'antivirus',
        scan: async () => ({ kind: 'infected', signature: 'Eicar', where: 'hello_1.0_amd64.deb' }),
        status: async () => ({ id: 'engine', ok: true }),
      },
    ])
    await rescans(step).rescan({ ref: ref('hello'), viewer: ALL_SEEING }, { name: 'mae' }, new AbortController().signal)
    const said = 'Eicar was found in hello_1.0_amd64.deb. The package waits for review and is not served.'
    expect(await stock.catalog.find(ALL_SEEING, ref('hello'))).toMatchObject({
      state: 'pending_review',
      reports: expect.arrayContaining([expect.objectContaining({ step: 'antivirus', said }) as unknown]) as unknown,
      review: { held_for: `Rescan: ${said}` },
    })
  })

  test('a licence that was forbidden since holds what is served when it is scanned again, unless somebody approved it', async () => {
    data = { served: [], approved: [] }
    await stock.put({ name: 'served', license: 'AGPL-3.0-only' })
    await stock.put({ name: 'approved', license: 'AGPL-3.0-only', state: 'pending_review' })
    await decide('approved')
    now = { ...now, license_policy: { forbidden: 'AGPL-*', action: 'block', undeclared_action: 'allow' } }
    expect(await rematch().run(runAlone(), {})).toMatchObject({ held: 0 })
    const found: unknown[] = []
    for (const name of ['served', 'approved']) {
      await rescans().rescan({ ref: ref(name), viewer: ALL_SEEING }, { name: 'mae' }, new AbortController().signal)
      const { state, review } = (await stock.catalog.find(ALL_SEEING, ref(name))) ?? {}
      found.push([state, review?.held_for])
    }
    expect(found).toEqual([
      ['pending_review', 'Rescan: Licence: AGPL-3.0-only is on the list of forbidden licences.'],
      ['published', undefined],
    ])
    now = { ...now, license_policy: { ...now.license_policy, forbidden: '' } }
    await rescans().rescan({ ref: ref('served'), viewer: ALL_SEEING }, { name: 'mae' }, new AbortController().signal)
    expect((await stock.catalog.find(ALL_SEEING, ref('served')))?.state).toBe('published')
  })

  test('holds what has a new id that is blocked or reviewed, changes the state of nothing else, and writes nothing where nothing is new', async () => {
    data = {
      new: [finding('CVE-9', 'critical')],
      warned: [finding('CVE-8', 'medium')],
      same: [finding('CVE-1', 'high')],
      lost: [],
      silent: 'unavailable',
      gone: [finding('CVE-1', 'high')],
    }
    for (const name of ['new', 'warned', 'clean']) await stock.put({ name })
    for (const name of ['same', 'lost', 'silent', 'gone'])
      await stock.put({ name, findings: [finding('CVE-1', 'high')] })
    await stock.put({ name: 'out', state: 'quarantined' })
    stock.clock.set('2026-03-02T03:30:00.000Z')
    counted.length = 0
    expect(await rematch().run(runAlone(), {})).toEqual({ same: 3, changed: 2, held: 1, unavailable: 1, failed: 0 })
    expect(counted.sort()).toEqual(['critical', 'medium'])
    const states = Object.fromEntries(
      (await stock.db.query<{ name: string; state: string }>('select name, state from package')).map(
        ({ name, state }) => [name, state],
      ),
    )
    expect(states).toEqual({
      new: 'pending_review',
      warned: 'published',
      same: 'published',
      lost: 'published',
      silent: 'published',
      gone: 'published',
      clean: 'published',
      out: 'quarantined',
    })
    expect((await stock.catalog.find(ALL_SEEING, ref('new')))?.review).toMatchObject({
      held_for: 'new vulnerability data: New: CVE-9.',
      held_at: '2026-03-02T03:30:00.000Z',
    })
    expect((await stock.catalog.find(ALL_SEEING, ref('silent')))?.findings).toHaveLength(1)
    expect((await stock.catalog.find(ALL_SEEING, ref('same')))?.changed_at).toBe('2026-03-01T10:00:00.000Z')
    // what went away and comes back is not new
    data = { ...data, lost: [finding('CVE-1', 'high')] }
    stock.clock.set('2026-03-03T03:30:00.000Z')
    expect(await rematch().run(runAlone(), {})).toMatchObject({ held: 0, changed: 1 })
    expect(await stateOf('lost')).toBe('published')
    expect(
      (await stock.audit.search(ALL_SEEING, { page: 1, perPage: 9, action: 'RESCAN', package: 'lost' })).items.map(
        ({ detail }) => detail,
      ),
    ).toEqual(['No longer found: CVE-1.'])
  })

  test('gives up when no engine answers, and ends between two packages when the service stops', async () => {
    data = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`p${n}`, 'unavailable' as const]))
    for (const name of Object.keys(data)) await stock.put({ name })
    const run = runAlone()
    const counts = (await rematch().run(run, {})) as { unavailable: number }
    expect(counts.unavailable).toBeLessThan(40)
    expect(run.steps.at(-1)?.say).toEqual([
      { level: 'warning', message: 'No vulnerability engine answers: the other packages were not matched again.' },
    ])
    const stopping = new AbortController()
    stopping.abort(new Error('the service stops'))
    await expect(rematch().run(runAlone({ signal: stopping.signal }), {})).rejects.toThrow('the service stops')
  })

  test('goes on behind what an earlier run has matched, and leaves out what came since', async () => {
    data = {}
    for (let n = 0; n < 130; n++) await stock.put({ name: `p${n}` })
    stock.clock.set('2026-03-05T03:30:00.000Z')
    const stopping = new AbortController()
    const first = runAlone({ signal: stopping.signal })
    const { step } = first
    await expect(
      rematch().run(
        {
          ...first,
          step: async progress => {
            await step(progress)
            stopping.abort(new Error('the service stops'))
          },
        },
        {},
      ),
    ).rejects.toThrow('the service stops')
    const [{ cursor, done, total } = {}] = first.steps
    expect([done, total]).toEqual([100, 130])
    const next = runAlone({ cursor })
    expect(await rematch().run(next, {})).toMatchObject({ same: 130 })
    expect(next.steps.map(({ done, total }) => [done, total])).toEqual([[30, 30]])
  })

  test('findings of a mechanism of its own are added, and may only hold', async () => {
    await stock.put({ name: 'hello', findings: [finding('CVE-1', 'high')] })
    expect(
      await rescans().report(
        ref('hello'),
        [finding('GHSA-1', 'critical', { package: 'lodash', detected_by: ['osv'] })],
        'dependency scan',
      ),
    ).toBe('held')
    expect(await stock.catalog.find(ALL_SEEING, ref('hello'))).toMatchObject({
      state: 'pending_review',
      worst: 'critical',
      findings: [{ id: 'GHSA-1', package: 'lodash' }, { id: 'CVE-1' }],
      review: { held_for: 'dependency scan: New: GHSA-1.' },
    })
    expect(
      await rescans().report(ref('hello'), [finding('GHSA-1', 'critical', { package: 'lodash' })], 'dependency scan'),
    ).toBe('same')
  })
})

test('decisions, acceptances, deadlines and findings are the same after the database was lost and rebuilt', async () => {
  await held('hello', [finding('CVE-1', 'high'), finding('CVE-2', 'medium', { epss: 0.5, kev: true })])
  await decide('hello', { cves: ['CVE-2'], expiresAt: '2026-04-01T00:00:00.000Z' })
  await stock.outbox.drain()
  const read = async () => ({
    found: await listVulnerabilities(stock.db, ALL_SEEING, { filter: {}, paging: { page: 1, perPage: 9 }, sort: 'id' }),
    decisions: (
      await listDecisions(stock.db, ALL_SEEING, { filter: {}, paging: { page: 1, perPage: 9 }, now: stock.clock.now() })
    ).items.map(({ id: _, ...decision }) => decision),
    rows: await stock.db.query(
      'select held_at, open_worst, open_rank, open_count, open_epss, open_kev, reopens_at from package',
    ),
  })
  const before = await read()
  expect(before.rows).toEqual([
    {
      held_at: new Date('2026-03-01T10:00:00Z'),
      open_worst: 'high',
      open_rank: 5,
      open_count: 1,
      open_epss: null,
      open_kev: false,
      reopens_at: new Date('2026-04-01T00:00:00Z'),
    },
  ])
  await stock.outbox.drain()
  await stock.db.query('truncate package, package_file, decision, finding, sla_breach, artifact, package_offer')
  await createRebuild({ ...stock, hasTree })(ALL_SEEING)
  expect(await read()).toEqual(before)
})

test('a probability is answered as it was imported, not as the column rounds it, and found by that number', async () => {
  await held('hello', [finding('CVE-1', 'high', { epss: 0.99999 })])
  const [listed] = (
    await listVulnerabilities(stock.db, ALL_SEEING, {
      filter: { minEpss: 0.99999 },
      paging: { page: 1, perPage: 9 },
      sort: 'epss',
    })
  ).items
  expect(listed?.epss).toBe(0.99999)
})

test('the posture has the time of the last scan: an upload counts if an engine answered for it', async () => {
  const lastScan = async () =>
    (await readPosture(stock.db, ALL_SEEING, { policy: now.cve_policy, now: stock.clock.now() })).last_scanned_at
  const report = (outcome: Report['outcome']): Report => ({
    step: 'vulnerabilities',
    outcome,
    verdict: 'no_findings',
    said: '',
  })
  expect(await lastScan()).toBeNull()
  await stock.put({ name: 'blind', reports: [report('unavailable')] })
  await stock.put({ name: 'unasked', reports: [report('skipped')] })
  expect(await lastScan()).toBeNull()
  stock.clock.set('2026-03-02T10:00:00.000Z')
  await stock.put({ name: 'hello', reports: [report('ok')] })
  expect(await lastScan()).toBe('2026-03-02T10:00:00.000Z')
  await stock.db.query(`update package set scanned_at = '2026-03-03T10:00:00Z' where name = 'blind'`)
  expect(await lastScan()).toBe('2026-03-03T10:00:00.000Z')
})

describe('acceptances that hold now', () => {
  const standing = async () =>
    (
      await listDecisions(stock.db, ALL_SEEING, {
        filter: { standing: true },
        paging: { page: 1, perPage: 9 },
        now: stock.clock.now(),
      })
    ).items.map(({ name, cve, justification }) => `${name} ${cve ?? 'whole'} ${justification}`)
  const later = (day: number) => stock.clock.set(`2026-03-0${day}T10:00:00.000Z`)
  const BOTH = [finding('CVE-1', 'high'), finding('CVE-2', 'high')]

  test('are listed until they are taken back, replaced or over', async () => {
    await held('hello', BOTH)
    await decide('hello', { cves: ['CVE-1'], justification: 'first' })
    await decide('hello', { cves: ['CVE-2'], justification: 'other', expiresAt: '2026-03-04T00:00:00.000Z' })
    expect(await standing()).toEqual(['hello CVE-2 other', 'hello CVE-1 first'])
    later(2)
    await decide('hello', { cves: ['CVE-1'], justification: 'second' })
    expect(await standing()).toEqual(['hello CVE-1 second', 'hello CVE-2 other'])
    later(3)
    await decide('hello', { decision: 'reject', cves: ['CVE-1'], justification: 'taken back' })
    expect(await standing()).toEqual(['hello CVE-2 other'])
    later(5)
    expect(await standing()).toEqual([])
  })
  test('of a whole package end with a quarantine, a refusal, and the package', async () => {
    await held('hello', BOTH)
    await decide('hello', { justification: 'served' })
    await held('other', BOTH)
    await decide('other', { cves: ['CVE-1'], justification: 'one' })
    expect(await standing()).toEqual(['other CVE-1 one', 'hello whole served'])
    later(2)
    await createDecisions({ db: stock.db, catalog: stock.catalog, settings }).quarantine(await find('hello'), '', {
      name: 'mae',
    })
    await decide('other', { decision: 'reject', justification: 'all of it' })
    expect(await standing()).toEqual([])
    later(3)
    await decide('hello', { justification: 'back' })
    expect(await standing()).toEqual(['hello whole back'])
    await decide('hello', { decision: 'reject', cves: ['CVE-1'], justification: 'not this' })
    // CVE-2 is accepted by it all the same
    expect([await stateOf('hello'), await standing()]).toEqual(['pending_review', ['hello whole back']])
    later(4)
    await decide('hello', { decision: 'reject', cves: ['CVE-2'], justification: 'nor this' })
    expect(await standing()).toEqual([])
    await decide('hello', { justification: 'back' })
    expect(await standing()).toEqual(['hello whole back'])
    await stock.catalog.change({ kind: 'delete', ref: ref('hello'), why: '' }, { name: 'mae' })
    expect(await standing()).toEqual([])
    later(5)
    await held('hello', BOTH)
    expect(await standing()).toEqual([])
  })
})

test('decisions stay on record when their package is deleted', async () => {
  await held('hello', [finding('CVE-1', 'high')])
  await decide('hello', { decision: 'reject', justification: 'Not here.' })
  await stock.catalog.change({ kind: 'delete', ref: ref('hello'), why: '' }, { name: 'mae' })
  expect(
    (
      await listDecisions(stock.db, ALL_SEEING, {
        filter: { q: 'not HERE' },
        paging: { page: 1, perPage: 9 },
        now: stock.clock.now(),
      })
    ).items,
  ).toMatchObject([{ name: 'hello', decision: 'reject', decided_by: 'mae' }])
  expect(await stock.db.query('select 1 from finding')).toEqual([])
})

test('a reviewer who looked before somebody else decided is refused, and nothing changes', async () => {
  await held('hello', [finding('CVE-1', 'high')])
  const stale = await find('hello')
  await decide('hello', { decision: 'reject', justification: 'No.' })
  const late = createDecisions({ db: stock.db, catalog: stock.catalog, settings }).decide(
    stale,
    { decision: 'approve', justification: 'Yes.', cves: [], arrivedAt: stock.clock.now().toISOString() },
    { name: 'max' },
  )
  expect(await codeOf(late)).toBe('already_decided')
  expect(await stock.catalog.find(ALL_SEEING, ref('hello'))).toMatchObject({
    state: 'rejected',
    review: { history: [{ by: 'mae' }] },
  })
})
