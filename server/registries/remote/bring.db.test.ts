import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hostedRegistry } from '../../../test/support/defined-registries.ts'
import { listNpm, type ListedNpm } from '../../../test/support/npm-upstream.ts'
import { buildNpm } from '../../../test/support/packages-npm.ts'
import { createRemoteRegistry, finding, type RemoteRegistry } from '../../../test/support/remote-registry.ts'
import { startRegistryUpstream } from '../../../test/support/registry-upstream.ts'
import type { PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Wanted } from './bring.ts'
import { visibleOf } from './remote.ts'

let it: RemoteRegistry
let made = 0
let name = ''
beforeAll(async () => {
  it = await createRemoteRegistry()
})
afterAll(() => it.close())
beforeEach(() => {
  name = `n${++made}`
  it.upstream.forget()
  Object.assign(it.given, { findings: () => [], engine: { outcome: 'ok', said: 'Nothing was found.' } })
})

const by = { actor: { name: 'ada', ip: '192.0.2.1' }, patienceMs: 60_000 }
const refOf = (version = '1.0.0'): PackageRef => {
  const { codename, format } = it.registry()
  return { format, codename, name, version, arch: 'any' }
}
async function bring(more: Partial<Wanted> = {}, registry: Distribution = it.registry()): Promise<Manifest> {
  await it.remote.find(registry, name)
  const [row] = await it.remote.rows(registry, name, { version: '1.0.0' })
  if (row === undefined || row.file === null) throw new Error('it is not listed')
  return it.remote.bring(registry, { ref: refOf(), files: [row.file], ...more }, by)
}
const list = (more: Partial<ListedNpm> = {}): void =>
  listNpm(it.upstream, name, { versions: [{ version: '1.0.0', ...more }] })
/** Nothing of it is here: no row, no file on its way, nothing in the pool. */
async function nothingIsHere(): Promise<void> {
  expect(await it.stock.catalog.findKnown(refOf())).toBeUndefined()
  expect(await it.incoming()).toEqual([])
}
const waive = () =>
  it.stock.db.query(
    `insert into registry_waiver (codename, name, version, reason, given_by, given_at, expires_at)
    values ('outside', $1, '1.0.0', 'we need it', 'ada', $2, $3)`,
    [name, it.stock.clock.now(), new Date(it.stock.clock.now().getTime() + 86_400_000)],
  )

test('a name that looks like one of the house comes in with a warning that does not tell which one', async () => {
  name = 'ours-lib'
  it.repositories.replace([
    it.registry(),
    { ...hostedRegistry('ours', 'npm'), registry: { kind: 'hosted', reserved: [`${name}s`] } },
  ])
  list()
  const { state, reports } = await bring()
  expect(state).toBe('published')
  const said = 'Its name looks like one that belongs to this house.'
  expect(reports.flatMap(report => (report.said.includes('looks like') ? [report] : []))).toMatchObject([
    { step: 'provenance', outcome: 'warned', said },
  ])
  it.repositories.replace([it.registry()])
})

test('where the registry holds lookalikes such a version waits, whatever the policy becomes, until a person or a waiver lets it through', async () => {
  name = 'ours-tool'
  const house = { ...hostedRegistry('ours', 'npm'), registry: { kind: 'hosted', reserved: [`${name}s`] } as const }
  it.repositories.replace([it.registry(), house])
  const strict = it.registry({ holdLookalikes: true })
  list()
  await it.remote.find(strict, name)
  const said = 'Its name looks like one that belongs to this house: somebody looks at it first.'
  const rowNow = async () => (await it.remote.rows(strict, name))[0]
  const before = await rowNow()
  if (before === undefined) throw new Error('it is not listed')
  expect([before.hidden, visibleOf(before, it.stock.clock.now())]).toEqual([
    'lookalike',
    { is: 'hidden', said, mayAsk: true },
  ])
  it.given.findings = () => [finding('CVE-1', 'high')]
  const { state, review } = await bring({}, strict)
  expect([state, review?.held_for]).toEqual(['pending_review', said])
  it.given.findings = () => []
  await it.stock.catalog.change(
    {
      kind: 'review',
      ref: refOf(),
      judge: manifest => ({
        after: { ...manifest, state: 'published' },
        fact: { action: 'APPROVE', result: 'SUCCESS', facts: { kind: 'package.tagged' } } as never,
      }),
    },
    by.actor,
  )
  const here = await rowNow()
  expect(here && visibleOf(here, it.stock.clock.now())).toEqual({ is: 'served' })
  name = 'our-tools'
  list()
  expect((await it.remote.find(strict, name), await rowNow())?.hidden).toBe('lookalike')
  await waive()
  expect((await it.remote.find(strict, name), await rowNow())?.hidden).toBeNull()
  const { state: let_, reports } = await bring({}, strict)
  expect([let_, reports.some(one => one.said.includes('looks like one'))]).toEqual(['published', true])
  // a name that the house gets later is heeded from then on, and one that it gives up is not
  name = 'other-words'
  list()
  expect((await it.remote.find(strict, name), await rowNow())?.hidden).toBeNull()
  it.repositories.replace([it.registry(), { ...house, registry: { kind: 'hosted', reserved: ['other-word'] } }])
  expect((await it.remote.find(strict, name), await rowNow())?.hidden).toBe('lookalike')
  it.repositories.replace([it.registry()])
  expect((await it.remote.find(strict, name), await rowNow())?.hidden).toBeNull()
})

test('several who ask cause one download and one admission, and all get what came of it', async () => {
  list()
  const all = await Promise.all([bring(), bring(), bring()])
  expect(all.map(({ ref, state, from }) => ({ ref, state, from }))).toEqual(
    all.map(() => ({ ref: refOf(), state: 'published', from: 'source:outside' })),
  )
  expect(it.upstream.asked()).toEqual([`/${name}`, `/${name}/-/${name}-1.0.0.tgz`])
  expect(await it.incoming()).toEqual([])
})

test.each<[string, Partial<ListedNpm>, string]>([
  ['other bytes', { lies: true }, 'wrong_digest'],
  ['a smaller digest that is right and a larger one that is not', { said: {} }, 'wrong_digest'],
])('%s than the index promises are refused, and nothing is kept', async (what, more, fault) => {
  list(more)
  await it.remote.find(it.registry(), name)
  const [row] = await it.remote.rows(it.registry(), name)
  const digests = what === 'other bytes' ? row?.file?.digests : { ...row?.file?.digests, sha512: 'ab'.repeat(64) }
  const file = { url: '', filename: 'x', ...row?.file, digests: digests ?? {} }
  await expect(bring({ files: [file] })).rejects.toMatchObject({ code: 'upstream_refused', facts: { fault } })
  await nothingIsHere()
})

test('a size that is another than the index says is refused', async () => {
  list()
  await it.remote.find(it.registry(), name)
  const [row] = await it.remote.rows(it.registry(), name)
  const file = { url: '', filename: 'x', ...row?.file, digests: {}, size: 3 }
  await expect(bring({ files: [file] })).rejects.toMatchObject({
    message: expect.stringContaining('its index says 3') as string,
  })
  await nothingIsHere()
})

test('what is another package inside, or what the format complains of, is refused', async () => {
  list({ said: { dist: { tarball: '/other.tgz' } } })
  it.upstream.put('/other.tgz', { body: buildNpm({ name: 'inner', version: '1.0.0' }) })
  await expect(bring()).rejects.toThrow('it is inner 1.0.0 inside')
  await nothingIsHere()
  it.upstream.put('/other.tgz', { body: buildNpm({ name, version: '1.0.0' }) })
  await expect(bring({ complain: () => 'it smells' })).rejects.toThrow('it smells')
  await nothingIsHere()
  it.upstream.put('/other.tgz', { body: 'a page for people' })
  await expect(bring()).rejects.toMatchObject({ code: 'bad_package' })
  await nothingIsHere()
})

test('what is no package is asked for again where the index says no digest, and not where it says one', async () => {
  list()
  const tarball = `/${name}/-/${name}-1.0.0.tgz`
  await it.remote.find(it.registry(), name)
  const [row] = await it.remote.rows(it.registry(), name)
  const file = { url: '', filename: 'x', ...row?.file, digests: {} }
  it.upstream.put(tarball, { body: 'a page for people' })
  await expect(bring({ files: [file] })).rejects.toMatchObject({ code: 'bad_package' })
  const sha256 = createHash('sha256').update('a page for people').digest('hex')
  await expect(bring({ files: [{ ...file, digests: { sha256 } }] })).rejects.toMatchObject({ code: 'bad_package' })
  it.upstream.put(tarball, { body: buildNpm({ name, version: '1.0.0' }) })
  await expect(bring({ files: [{ ...file, digests: { sha256 } }] })).rejects.toMatchObject({ code: 'bad_package' })
  expect((await bring({ files: [file] })).state).toBe('published')
})

test('a file that the upstream lists and does not have, and one that is too large', async () => {
  list()
  it.upstream.remove(`/${name}/-/${name}-1.0.0.tgz`)
  await expect(bring()).rejects.toMatchObject({ code: 'upstream_refused', facts: { fault: 'missing' } })
  it.upstream.put(`/${name}/-/${name}-1.0.0.tgz`, { body: Buffer.alloc(1_100_000) })
  await expect(bring()).rejects.toMatchObject({ code: 'upload_too_large' })
  await nothingIsHere()
})

test('a caller who loses patience is told to come again, and it goes on meanwhile', async () => {
  list()
  await it.remote.find(it.registry(), name)
  it.upstream.hang(true)
  const [row] = await it.remote.rows(it.registry(), name)
  if (row === undefined || row.file === null) throw new Error('it is not listed')
  const wanted = { ref: refOf(), files: [row.file] as const }
  const early = it.remote.bring(it.registry(), wanted, { ...by, patienceMs: 1 })
  await expect(early).rejects.toMatchObject({ code: 'remote_not_here_yet', facts: { retry_after: 5 } })
  // who asks meanwhile joins it
  const late = it.remote.bring(it.registry(), wanted, by)
  it.upstream.hang(false)
  it.upstream.drop()
  expect((await late).state).toBe('published')
})

test('what the caller holds it for, it is held for, whatever the gate says', async () => {
  list()
  const held = await bring({ heldFor: () => 'It differs.' })
  expect([held.state, held.review?.held_for]).toEqual(['pending_review', 'It differs.'])
})

test('what its policy blocks or holds stays out, unless a waiver holds for it', async () => {
  it.given.findings = () => [finding('CVE-1', 'critical')]
  list()
  expect((await bring()).state).toBe('quarantined')
  name = `n${++made}`
  list()
  await waive()
  const let_in = await bring()
  expect(let_in).toMatchObject({
    state: 'published',
    decision: { decision: 'exception', justification: 'we need it', by: 'ada', covers: ['CVE-1'] },
  })
})

test.each<[string, () => void]>([
  ['malicious code inside', () => (it.given.findings = () => [finding('MAL-2026-1', 'low')])],
  ['malware', () => (it.given.engine = { outcome: 'failed', said: 'EICAR' })],
  ['an engine that could not look', () => (it.given.engine = { outcome: 'unavailable', said: 'clamd is not there' })],
])('a waiver does not let %s in', async (_, given) => {
  given()
  list()
  await waive()
  const came = await bring()
  expect(came.state).not.toBe('published')
  expect(came.decision).toBeUndefined()
})

test('a retired registry serves what is here and brings in nothing', async () => {
  list()
  await expect(bring({}, { ...it.registry(), state: 'retired' })).rejects.toMatchObject({
    code: 'distribution_retired',
  })
  expect(it.upstream.asked()).toEqual([`/${name}`])
  await nothingIsHere()
})

test('the credential of a registry is sent to its server alone: neither to where the index points nor after a redirect', async () => {
  await it.setSecret('s3cret')
  const elsewhere = await startRegistryUpstream()
  try {
    list({ said: { dist: { tarball: `${elsewhere.url}/far.tgz` } } })
    elsewhere.put('/far.tgz', { body: buildNpm({ name, version: '1.0.0' }) })
    expect((await bring()).state).toBe('published')
    name = `n${++made}`
    list({ said: { dist: { tarball: `${it.upstream.url}/moved.tgz` } } })
    const location = `${elsewhere.url}/there.tgz`
    it.upstream.put('/moved.tgz', { body: '', status: 302, headers: { location } })
    elsewhere.put('/there.tgz', { body: buildNpm({ name, version: '1.0.0' }) })
    expect((await bring()).state).toBe('published')
    const sent = (log: typeof it.upstream.log) => log.map(({ path, headers }) => [path, headers.authorization])
    expect(sent(elsewhere.log)).toEqual([
      ['/far.tgz', undefined],
      ['/there.tgz', undefined],
    ])
    expect(sent(it.upstream.log).slice(-2)).toEqual([
      [`/${name}`, 'Bearer s3cret'],
      ['/moved.tgz', 'Bearer s3cret'],
    ])
    const registry = it.registry()
    const upstream = { url: it.upstream.url, user: 'jo' }
    const named: Distribution = { ...registry, registry: { kind: 'proxy', upstream } }
    name = `n${++made}`
    list()
    await it.remote.find(named, name)
    const basic = `Basic ${Buffer.from('jo:s3cret').toString('base64')}`
    expect(it.upstream.log.at(-1)?.headers.authorization).toBe(basic)
  } finally {
    await elsewhere.close()
  }
})
