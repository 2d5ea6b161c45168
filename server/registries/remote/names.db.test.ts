import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { listNpm } from '../../../test/support/npm-upstream.ts'
import { listAskedNames } from '../../catalog/queries/remote.ts'
import type { Codename } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { createRemoteRegistry, type RemoteRegistry } from '../../../test/support/remote-registry.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

let it: RemoteRegistry
beforeAll(async () => {
  it = await createRemoteRegistry()
})
afterAll(() => it.close())
beforeEach(() => {
  it.upstream.fail(undefined)
  it.upstream.forget()
})

const find = (name: string, options?: { readonly anyAge: boolean }) => it.remote.find(it.registry(), name, options)
const versionsOf = async (name: string) => (await it.remote.rows(it.registry(), name)).map(({ version }) => version)
const list = (name: string, ...versions: readonly string[]): void =>
  listNpm(it.upstream, name, { versions: versions.map(version => ({ version })) })
function wait(ms: number): void {
  it.stock.clock.set(new Date(it.stock.clock.now().getTime() + ms).toISOString())
}
const last = () => it.upstream.log.at(-1)

test('one request for all who ask, and none for five minutes; then one that costs nothing where nothing changed', async () => {
  list('a', '1.0.0', '1.1.0')
  const found = await Promise.all([find('a'), find('a'), find('a')])
  expect(it.upstream.asked()).toEqual(['/a'])
  expect(found.map(one => one?.about.tags)).toEqual([{ latest: '1.1.0' }, { latest: '1.1.0' }, { latest: '1.1.0' }])
  expect(await versionsOf('a')).toEqual(['1.0.0', '1.1.0'])
  await find('a')
  expect(it.upstream.asked()).toHaveLength(1)
  wait(5 * MINUTE)
  const again = await find('a')
  expect(last()?.headers['if-none-match']).toMatch(/^"[0-9a-f]{32}"$/)
  expect([it.upstream.asked().length, again?.mark]).toEqual([2, found[0]?.mark])
  expect(again?.checked_at).toEqual(it.stock.clock.now())
  expect(again).not.toHaveProperty('stale')
})

test('the mark of a name is another one where the upstream says something else, and only there', async () => {
  list('b', '1.0.0')
  const first = await find('b')
  wait(5 * MINUTE)
  const time = { '1.0.0': '2020-01-01T00:00:00.000Z', 'modified': it.stock.clock.now().toISOString() }
  listNpm(it.upstream, 'b', { versions: [{ version: '1.0.0' }], more: { readme: 'other', time } })
  expect((await find('b'))?.mark).toBe(first?.mark)
  wait(5 * MINUTE)
  listNpm(it.upstream, 'b', { versions: [{ version: '1.0.0', said: { deprecated: 'old' } }] })
  const second = await find('b')
  expect(second?.mark).not.toBe(first?.mark)
  wait(5 * MINUTE)
  list('b', '1.0.0', '2.0.0')
  expect((await find('b'))?.mark).not.toBe(second?.mark)
  wait(5 * MINUTE)
  list('b', '2.0.0')
  await find('b')
  expect(await versionsOf('b')).toEqual(['2.0.0'])
})

test('that there is no such name is known for five minutes, and what is published then is found', async () => {
  expect([await find('c'), await find('c')]).toEqual([undefined, undefined])
  expect(it.upstream.asked()).toEqual(['/c'])
  list('c', '1.0.0')
  expect(await find('c')).toBeUndefined()
  wait(5 * MINUTE)
  expect(await find('c')).toMatchObject({ name: 'c' })
  // and whoever names a file exactly does not go by a negative answer of long ago
  wait(5 * MINUTE)
  it.upstream.remove('/c')
  expect(await find('c')).toBeUndefined()
  wait(5 * MINUTE)
  list('c', '1.0.0')
  expect(await find('c', { anyAge: true })).toMatchObject({ name: 'c' })
})

test('while the upstream fails, what was known holds for seven days; for a file that is named exactly it always does', async () => {
  list('d', '1.0.0')
  const { checked_at: since } = (await find('d')) ?? {}
  it.upstream.fail(503)
  wait(5 * MINUTE)
  expect(await find('d')).toMatchObject({
    stale: { since, said: expect.stringContaining('it answered 503') as string },
  })
  const asked = it.upstream.asked().length
  await find('d')
  expect(it.upstream.asked()).toHaveLength(asked)
  await expect(find('e')).rejects.toMatchObject({ code: 'outbound_failed' })
  wait(7 * DAY)
  await expect(find('d')).rejects.toMatchObject({ code: 'outbound_failed' })
  expect(await find('d', { anyAge: true })).toMatchObject({ name: 'd', checked_at: since })
  it.upstream.fail(undefined)
  wait(6 * MINUTE)
  expect(await find('d')).not.toHaveProperty('stale')
})

test('while it takes longer than 5 s, what was known is given, and the answer is kept when it comes', async () => {
  list('slow', '1.0.0')
  await find('slow')
  wait(5 * MINUTE)
  it.upstream.hang(true)
  expect(await find('slow')).toMatchObject({ stale: { said: 'It did not answer within 5 s.' } })
  it.upstream.hang(false)
})

test('one name that the upstream fails over is no reason to ask it for no other', async () => {
  await it.restart()
  it.upstream.fail(500)
  await expect(find('broken')).rejects.toMatchObject({ code: 'outbound_failed' })
  it.upstream.fail(undefined)
  list('whole', '1.0.0')
  expect(await find('whole')).toMatchObject({ name: 'whole' })
})

test('after three names that it was out of order for it rests for half a minute', async () => {
  await it.restart()
  it.upstream.fail(503)
  for (const name of ['f', 'g', 'h']) await expect(find(name)).rejects.toMatchObject({ code: 'outbound_failed' })
  it.upstream.fail(undefined)
  it.upstream.forget()
  list('i', '1.0.0')
  await expect(find('i')).rejects.toThrow(/is asked again at/)
  expect(it.upstream.asked()).toEqual([])
  wait(30_000)
  expect(await find('i')).toMatchObject({ name: 'i' })
})

test.each([
  ['a login page', '<html>log in</html>', /the index of odd: it is not JSON/],
  ['another name', '{"name":"other"}', /the index of odd: it is about "other"/],
])('%s is no index: nothing is kept of it, and what was known holds', async (_, body, why) => {
  it.upstream.put('/odd', { type: 'text/html', body })
  await expect(find('odd')).rejects.toThrow(why)
  expect(await it.stock.db.query(`select * from remote_name where name = 'odd'`)).toEqual([])
  list('odd2', '1.0.0')
  await find('odd2')
  wait(5 * MINUTE)
  it.upstream.put('/odd2', { type: 'text/html', body })
  expect(await find('odd2')).toMatchObject({ stale: { said: expect.stringContaining('the index of odd2') as string } })
  expect(await versionsOf('odd2')).toEqual(['1.0.0'])
  expect(await it.incoming()).toEqual([])
})

test('a version that came in keeps its file and documents whatever the upstream says later, also when it lists it no more', async () => {
  list('kept', '1.0.0', '2.0.0')
  await find('kept')
  const row = async () => (await it.remote.rows(it.registry(), 'kept', { form: 'full', version: '1.0.0' }))[0]
  const before = await row()
  await it.stock.put({ format: 'npm', name: 'kept', version: '1.0.0', arch: 'any', codename: 'outside' })
  wait(5 * MINUTE)
  listNpm(it.upstream, 'kept', {
    versions: [{ version: '1.0.0', json: { license: 'X' }, said: { deprecated: 'old' } }],
  })
  await find('kept')
  expect(await row()).toEqual({ ...before, facts: { dist: {}, deprecated: 'old' }, state: 'published' })
  wait(5 * MINUTE)
  list('kept', '3.0.0')
  await find('kept')
  expect(await versionsOf('kept')).toEqual(['1.0.0', '3.0.0'])
  wait(5 * MINUTE)
  it.upstream.remove('/kept')
  expect(await find('kept')).toMatchObject({ name: 'kept' })
  expect(await versionsOf('kept')).toEqual(['1.0.0'])
})

test('a version that nobody has judged yet is no version that clients get', async () => {
  list('race', '1.0.0')
  await find('race')
  wait(5 * MINUTE)
  list('race', '1.0.0', '2.0.0')
  // the verdict fails, as it does where the data cannot be read
  const { findings } = it.given
  it.given.findings = () => {
    throw new Error('the data cannot be read')
  }
  await expect(find('race')).rejects.toThrow('the data cannot be read')
  it.given.findings = findings
  const hidden = (await it.remote.rows(it.registry(), 'race')).map(one => [one.version, one.hidden])
  expect(hidden).toEqual([
    ['1.0.0', null],
    ['2.0.0', 'unjudged'],
  ])
  await find('race')
  expect((await it.remote.rows(it.registry(), 'race')).map(one => one.hidden)).toEqual([null, null])
})

test('a name whose first question came to nothing is noted with what happened, until the upstream says something of it', async () => {
  const noted = () =>
    it.stock.db.query<{ name: string; outcome: string; said: string | null }>(
      `select name, outcome, said from remote_unanswered where name like 'first%' order by name`,
    )
  it.upstream.put('/first-odd', { type: 'text/html', body: '<html>log in</html>' })
  await expect(find('first-odd')).rejects.toMatchObject({ code: 'upstream_refused' })
  it.upstream.fail(500)
  await expect(find('first-down')).rejects.toMatchObject({ code: 'outbound_failed' })
  await it.stock.db.query(`insert into registry_owned_name values ('house', 'first-ours', now())`)
  const house = { ...it.registry(), codename: 'house', registry: { kind: 'hosted' } } as const
  it.repositories.replace([{ ...house, codename: 'house' as Codename }])
  it.upstream.forget()
  await expect(find('first-ours')).rejects.toMatchObject({ code: 'name_is_ours' })
  expect(it.upstream.asked()).toEqual([])
  expect(await noted()).toEqual([
    { name: 'first-down', outcome: 'failed', said: expect.stringContaining('it answered 500') as string },
    { name: 'first-odd', outcome: 'refused', said: expect.stringContaining('it is not JSON') as string },
    { name: 'first-ours', outcome: 'reserved', said: null },
  ])
  it.upstream.fail(undefined)
  list('first-down', '1.0.0')
  wait(MINUTE)
  await find('first-down')
  const filter = { codename: it.registry().codename, q: 'first', unseen: [] }
  const rows = await listAskedNames(it.stock.db, ALL_SEEING, filter, { skip: 0, most: 10 })
  expect(rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toMatchObject([
    { name: 'first-down', outcome: 'answered', versions: 1 },
    { name: 'first-odd', outcome: 'refused', checked_at: null },
    { name: 'first-ours', outcome: 'reserved', checked_at: null },
  ])
})
