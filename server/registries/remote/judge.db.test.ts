import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { listNpm } from '../../../test/support/npm-upstream.ts'
import { createRemoteRegistry, finding, type RemoteRegistry } from '../../../test/support/remote-registry.ts'
import type { RegistryRules } from '../../core/registry.ts'
import { nextRipe, visibleOf } from './remote.ts'

const DAY = 86_400_000

let it: RemoteRegistry
let made = 0
let name = ''
beforeAll(async () => {
  it = await createRemoteRegistry()
})
afterAll(() => it.close())
beforeEach(() => {
  name = `n${++made}`
  Object.assign(it.given, { findings: () => [], action: 'block', grypeScan: true, generation: `${made}` })
  it.given.licences = { forbidden: '', action: 'review', undeclared_action: 'allow' }
})

const now = (): Date => it.stock.clock.now()
const ago = (days: number): string => new Date(now().getTime() - days * DAY).toISOString()
function wait(ms: number): void {
  it.stock.clock.set(new Date(now().getTime() + ms).toISOString())
}
type Rules = Pick<RegistryRules, 'minAgeDays' | 'ageFrom'>
/** What clients get of each version, and why not. */
async function seen(rules: Rules = {}): Promise<Record<string, string>> {
  const registry = it.registry(rules)
  await it.remote.find(registry, name)
  const rows = await it.remote.rows(registry, name)
  return Object.fromEntries(
    rows.map(row => {
      const visible = visibleOf(row, now())
      return [row.version, visible.is === 'hidden' ? visible.said : visible.is]
    }),
  )
}
const list = (...versions: readonly (readonly [version: string, at: string | undefined])[]): void =>
  listNpm(it.upstream, name, {
    versions: versions.map(([version, at]) => ({ version, ...(at === undefined ? {} : { at }) })),
  })
const waive = (version: string, days: number) =>
  it.stock.db.query(
    `insert into registry_waiver (codename, name, version, reason, given_by, given_at, expires_at)
    values ('outside', $1, $2, 'we need it', 'ada', $3, $4)`,
    [name, version, now(), new Date(now().getTime() + days * DAY)],
  )

test('what is known of a version decides: malicious and blocked ones, and those for a review, are hidden with the reason', async () => {
  list(['1.0.0', ago(900)], ['2.0.0', ago(900)], ['3.0.0', ago(900)], ['4.0.0', ago(900)], ['5.0.0', ago(900)])
  const known: Record<string, ReturnType<typeof finding>[]> = {
    '1.0.0': [finding('CVE-1', 'medium')],
    '2.0.0': [finding('CVE-2', 'high')],
    '3.0.0': [finding('CVE-3', 'critical'), finding('CVE-4', 'low')],
    '4.0.0': [finding('GHSA-5', 'low', { aliases: ['MAL-2026-1'] })],
  }
  it.given.findings = version => known[version] ?? []
  expect(await seen()).toEqual({
    '1.0.0': 'served',
    '2.0.0': 'The policy asks for a review: CVE-2 (high).',
    '3.0.0': 'The policy blocks it: CVE-3 (critical), CVE-4 (low).',
    '4.0.0': 'It is malicious: GHSA-5 (malicious).',
    '5.0.0': 'served',
  })
  const rows = await it.remote.rows(it.registry(), name)
  expect(rows.map(row => visibleOf(row, now())).flatMap(one => (one.is === 'hidden' ? [one.mayAsk] : []))).toEqual([
    true,
    false,
    false,
  ])
})

test('new data, another policy and another rule of the registry judge anew; nothing else does', async () => {
  list(['1.0.0', ago(3)])
  let looked = 0
  it.given.findings = () => {
    looked += 1
    return [finding('CVE-1', 'critical')]
  }
  it.given.action = 'allow'
  expect([await seen(), await seen(), looked]).toEqual([{ '1.0.0': 'served' }, { '1.0.0': 'served' }, 1])
  it.given.action = 'block'
  expect(await seen()).toEqual({ '1.0.0': 'The policy blocks it: CVE-1 (critical).' })
  expect(looked).toBe(2)
  it.given.findings = () => []
  expect(await seen()).toEqual({ '1.0.0': 'The policy blocks it: CVE-1 (critical).' })
  it.given.generation = 'newer'
  expect(await seen()).toEqual({ '1.0.0': 'served' })
  expect(await seen({ minAgeDays: 7 })).toEqual({ '1.0.0': expect.stringMatching(/^It is younger than 7 days/) })
  expect(await seen()).toEqual({ '1.0.0': 'served' })
})

test('a record of malicious code that is loaded later takes a version out, also one that is here and published', async () => {
  list(['1.0.0', ago(900)])
  await it.stock.put({ format: 'npm', name, version: '1.0.0', arch: 'any', codename: 'outside' })
  expect(await seen()).toEqual({ '1.0.0': 'served' })
  it.given.findings = () => [finding('MAL-2026-2', 'low')]
  it.given.generation = 'with the record'
  expect(await seen()).toEqual({ '1.0.0': 'It is malicious: MAL-2026-2 (malicious).' })
})

test('a forbidden licence that the list says hides a version, whatever is scanned, until the list or a waiver lets it through', async () => {
  const said = (license: unknown) => ({ said: { license } })
  listNpm(it.upstream, name, {
    versions: [
      { version: '1.0.0', ...said('MIT') },
      { version: '2.0.0', ...said('MIT OR AGPL-3.0-only') },
      { version: '3.0.0', ...said('AGPL-3.0-only') },
      { version: '4.0.0', ...said(undefined) },
      { version: '5.0.0', said: { license: undefined, _id: undefined, scripts: undefined } },
    ],
  })
  const free = { '1.0.0': 'served', '2.0.0': 'served', '3.0.0': 'served', '4.0.0': 'served', '5.0.0': 'served' }
  expect(await seen()).toEqual(free)
  it.given.licences = { forbidden: 'AGPL-3.0', action: 'review', undeclared_action: 'allow' }
  const said3 = 'Licence: AGPL-3.0-only is on the list of forbidden licences.'
  expect(await seen()).toEqual({ ...free, '3.0.0': said3 })
  const rows = await it.remote.rows(it.registry(), name, { version: '3.0.0' })
  expect(rows.map(row => [row.hidden, visibleOf(row, now())])).toEqual([
    ['license', { is: 'hidden', said: said3, mayAsk: false }],
  ])
  it.given.grypeScan = false
  it.given.licences = { forbidden: 'AGPL-3.0', action: 'block', undeclared_action: 'review' }
  // the abbreviated form of a list has no licences, and says nothing of them
  expect(await seen()).toEqual({ ...free, '3.0.0': said3, '4.0.0': 'Licence: the package declares none.' })
  await waive('3.0.0', 1)
  expect((await seen())['3.0.0']).toBe('served')
  it.given.licences = { forbidden: 'AGPL-3.0', action: 'warn', undeclared_action: 'warn' }
  expect(await seen()).toEqual(free)
})

test('all who ask while a name is judged wait for one verdict', async () => {
  list(['1.0.0', ago(900)], ['2.0.0', ago(900)])
  let looked = 0
  it.given.findings = () => {
    looked += 1
    return []
  }
  await Promise.all([seen(), seen(), seen()])
  expect(looked).toBe(2)
})

test('a young version comes of age at its moment, by the date of its upstream', async () => {
  list(['1.0.0', ago(8)], ['2.0.0', ago(6)], ['3.0.0', ago(-2)])
  const rules = { minAgeDays: 7 }
  const ripe = new Date(now().getTime() + DAY)
  const said = await seen(rules)
  expect(said).toEqual({
    '1.0.0': 'served',
    '2.0.0': `It is younger than 7 days: published on ${ago(6).slice(0, 10)}, let through from ${ripe.toISOString().slice(0, 16).replace('T', ' ')} UTC on.`,
    '3.0.0': expect.stringMatching(/^It is younger/) as string,
  })
  const registry = it.registry(rules)
  expect(nextRipe(await it.remote.rows(registry, name), now())).toEqual(ripe)
  wait(DAY - 1)
  expect((await seen(rules))['2.0.0']).toBe(said['2.0.0'])
  wait(1)
  expect((await seen(rules))['2.0.0']).toBe('served')
  expect(nextRipe(await it.remote.rows(registry, name), now())).toEqual(new Date(now().getTime() + 8 * DAY))
})

test('a version without a date is young for ever by its upstream, and not by when it was seen first', async () => {
  listNpm(it.upstream, name, { versions: [{ version: '1.0.0' }], more: { time: undefined } })
  expect(await seen({ minAgeDays: 1 })).toEqual({
    '1.0.0': 'Its upstream names no date for it, so it counts as younger than 1 day.',
  })
  const rules = { minAgeDays: 1, ageFrom: 'first_seen' } as const
  expect(await seen(rules)).toEqual({
    '1.0.0': expect.stringContaining(`first seen on ${ago(0).slice(0, 10)}`) as string,
  })
  wait(DAY)
  expect(await seen(rules)).toEqual({ '1.0.0': 'served' })
})

test('a waiver lets what is young or known through while it holds, and nothing that is malicious', async () => {
  list(['1.0.0', ago(1)], ['2.0.0', ago(900)], ['3.0.0', ago(900)])
  const known: Record<string, ReturnType<typeof finding>[]> = {
    '2.0.0': [finding('CVE-2', 'critical')],
    '3.0.0': [finding('MAL-2026-3', 'critical')],
  }
  it.given.findings = version => known[version] ?? []
  const rules = { minAgeDays: 7 }
  for (const version of ['1.0.0', '2.0.0', '3.0.0']) await waive(version, 2)
  const malicious = 'It is malicious: MAL-2026-3 (malicious).'
  expect(await seen(rules)).toEqual({ '1.0.0': 'served', '2.0.0': 'served', '3.0.0': malicious })
  wait(2 * DAY)
  expect(await seen(rules)).toEqual({
    '1.0.0': expect.stringMatching(/^It is younger/) as string,
    '2.0.0': 'The policy blocks it: CVE-2 (critical).',
    '3.0.0': malicious,
  })
})

test('what is held here is held whatever the index says, and what a person approved is served', async () => {
  list(['1.0.0', ago(900)], ['2.0.0', ago(900)])
  it.given.findings = version => (version === '2.0.0' ? [finding('CVE-2', 'critical')] : [])
  const here = { format: 'npm', name, arch: 'any', codename: 'outside' } as const
  await it.stock.put({ ...here, version: '1.0.0', state: 'pending_review' })
  await it.stock.put({ ...here, version: '2.0.0', state: 'published' })
  expect(await seen()).toEqual({ '1.0.0': 'held', '2.0.0': 'served' })
})

test('where the engine is switched off nothing is looked up', async () => {
  list(['1.0.0', ago(900)])
  it.given.findings = () => [finding('CVE-1', 'critical')]
  it.given.grypeScan = false
  expect(await seen()).toEqual({ '1.0.0': 'served' })
})
