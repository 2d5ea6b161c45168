import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import { DISTRIBUTIONS, repositories } from '../../../test/support/repositories.ts'
import { getFormat } from '../../formats/index.ts'
import { distributions } from './contract.ts'
import { startWorker } from '../../../test/support/jobs.ts'
import type { Worker } from '../../work/worker.ts'
import type { PackageRef } from '../../core/identity.ts'
import { migrateWork } from './migrate.ts'
import { distributionHandlers } from './handlers.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { judge } from '../../../test/support/review-change.ts'

let stock: Stock
let worker: Worker
beforeAll(async () => {
  stock = await createStock()
  worker = await startWorker(stock.db, [migrateWork(deps())])
})
afterAll(async () => {
  await worker.stop()
  await stock.close()
})
beforeEach(async () => {
  await stock.clear()
  await stock.db.query('truncate job cascade')
})
const unused = async (): Promise<never> => {
  throw new Error('not asked here')
}
const RSA = {
  key_name: 'gatehouse-01234567.rsa.pub',
  public_key: generateKeyPairSync('rsa', { modulusLength: 2048 })
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString(),
  algorithm: 'rsa4096',
  created_at: '',
  role: 'current',
} as const
const deps = () => ({
  jobs: worker,
  db: stock.db,
  catalog: stock.catalog,
  audit: stock.audit,
  repositories,
  formats: getFormat,
  isActive: () => true,
  isPublishable: () => true,
  init: unused,
  formatCards: [],
  publisher: { generations: unused, rollback: unused },
  keyring: { keys: async () => [], rsaKeys: async () => [RSA], publicKey: unused },
  clientFacts: async () => ({ url: 'http://repo.example' }),
  readUnread: async (ref: PackageRef) => {
    read.push(`${ref.name} in ${ref.codename}`)
    if (ref.name === 'carrier') await stock.catalog.change(judge(ref, 'hold', {}), { name: 'reading of contents' })
  },
})
const { call } = createCaller(distributions, distributionHandlers, deps)
const read: string[] = []
const rows = (codename: string) =>
  stock.db.query<{ name: string; version: string; state: string }>(
    'select name, version, state from package where codename = $1 order by name, sort_key',
    [codename],
  )

describe('promotion', () => {
  test('reads what nobody has read before, and what that holds does not go', async () => {
    for (const name of ['carrier', 'plain']) await stock.put({ name })
    read.length = 0
    const promote = (name: string) =>
      call('POST /distributions/promote', { body: { package: name, from_dist: 'jammy', to_dist: 'noble' } })
    await promote('plain')
    expect(await codeOf(promote('carrier'))).toBe('not_promotable')
    expect(read).toEqual(['plain in jammy', 'carrier in jammy'])
    expect(await rows('noble')).toMatchObject([{ name: 'plain', state: 'published' }])
  })
  test.each([
    ['the first form', { package: 'hello', from_dist: 'jammy', to_dist: 'noble' }],
    [
      'the second form',
      { name: 'hello', version: '2.0', arch: 'amd64', from_distribution: 'jammy', to_distribution: 'noble' },
    ],
  ])(
    'in %s publishes the newest version with its bytes and its decision, and leaves the source alone',
    async (_, body) => {
      await stock.put({ version: '1.0' })
      await stock.put({ version: '2.0', state: 'pending_review', bytes: 'two' })
      const ref = { format: 'deb', name: 'hello', version: '2.0', arch: 'amd64', codename: 'jammy' as never } as const
      const decision = {
        decision: 'accept_risk',
        action: 'approve',
        justification: 'needed on Monday',
        by: 'rita',
        at: '2026-03-01T10:00:00.000Z',
      } as const
      const approved = await stock.catalog.change(judge(ref, 'approve', { decision: decision as never }), {
        name: 'rita',
      })
      await approved.settled(10_000)
      stock.published.length = 0
      expect(await call('POST /distributions/promote', { body })).toEqual({
        status: 'promoted',
        message: 'hello 2.0 is published in noble.',
        package: 'hello',
        version: '2.0',
        from: 'jammy',
        to: 'noble',
        packages: [{ name: 'hello', version: '2.0', arch: 'amd64', target: null, standing: 'new' }],
      })
      const there = await stock.catalog.find(ALL_SEEING, { ...ref, codename: 'noble' as never })
      expect(there).toMatchObject({ state: 'published', decision: { justification: 'needed on Monday' }, by: 'ada' })
      expect(there?.files[0].blob.sha256).toBe((await stock.catalog.find(ALL_SEEING, ref))?.files[0].blob.sha256)
      expect(stock.published).toEqual(['noble'])
      expect(await rows('jammy')).toHaveLength(2)
      expect((await stock.audit.search(ALL_SEEING, { page: 1, perPage: 1 })).items).toMatchObject([
        { action: 'PROMOTE', user: 'mae', package: 'hello', version: '2.0', distribution: 'noble' },
      ])
      expect(await call('POST /distributions/promote', { body })).toMatchObject({ status: 'unchanged' })
    },
  )

  test('as a dry run reports the difference and changes nothing', async () => {
    await stock.put({ version: '1.10', bytes: 'a' })
    await stock.put({ version: '1.9', codename: 'noble', bytes: 'b' })
    expect(
      await call('POST /distributions/promote', {
        body: { package: 'hello', from_dist: 'jammy', to_dist: 'noble', dry_run: true },
      }),
    ).toMatchObject({ status: 'dry_run', packages: [{ standing: 'newer', target: '1.9' }] })
    expect(await rows('noble')).toHaveLength(1)
  })

  test.each([
    ['unknown_distribution', { package: 'hello', from_dist: 'nowhere', to_dist: 'noble' }],
    ['same_distribution', { package: 'hello', from_dist: 'jammy', to_dist: 'jammy' }],
    ['other_format', { package: 'hello', from_dist: 'jammy', to_dist: 'rocky9' }],
    ['missing_property', { package: 'hello', from_dist: 'jammy' }],
    ['missing_property', { from_dist: 'jammy', to_dist: 'noble' }],
    ['two_answers', { package: 'hello', name: 'other', from_dist: 'jammy', to_dist: 'noble' }],
    ['two_answers', { package: 'hello', from_dist: 'jammy', from_distribution: 'focal', to_dist: 'noble' }],
    ['two_answers', { package: 'hello', from_dist: 'jammy', to_dist: 'noble', to_distribution: 'focal' }],
    ['package_not_found', { package: 'nothing', from_dist: 'jammy', to_dist: 'noble' }],
    ['version_not_found', { package: 'hello', version: '9', from_dist: 'jammy', to_dist: 'noble' }],
    ['not_promotable', { package: 'held', from_dist: 'jammy', to_dist: 'noble' }],
    ['duplicate_conflict', { package: 'other', from_dist: 'jammy', to_dist: 'noble' }],
  ])('is refused with %s: %j', async (code, body) => {
    await stock.put()
    await stock.put({ name: 'held', state: 'pending_review' })
    await stock.put({ name: 'other', bytes: 'here' })
    await stock.put({ name: 'other', bytes: 'there', codename: 'noble' })
    expect(await codeOf(call('POST /distributions/promote', { body }))).toBe(code)
    expect(await rows('noble')).toHaveLength(1)
  })
})

test.each([
  ['There is no package hello in focal.', { package: 'hello', from_dist: 'focal', to_dist: 'noble' }],
  [
    'There is no version 9 of hello in jammy.',
    { package: 'hello', version: '9', from_dist: 'jammy', to_dist: 'noble' },
  ],
  [
    'There is no version 1.0 for arm64 of hello in jammy.',
    { package: 'hello', version: '1.0', arch: 'arm64', from_dist: 'jammy', to_dist: 'noble' },
  ],
  [
    'There is no version for arm64 of hello in jammy.',
    { package: 'hello', arch: 'arm64', from_dist: 'jammy', to_dist: 'noble' },
  ],
  [
    'from_dist says jammy, from_distribution says focal. Send one of the two.',
    { package: 'hello', from_dist: 'jammy', from_distribution: 'focal', to_dist: 'noble' },
  ],
])('a package that cannot be promoted is named with the distribution that does not have it: %s', async (said, body) => {
  await stock.put()
  await expect(call('POST /distributions/promote', { body })).rejects.toThrow(said)
})

test('both forms of the request together are accepted when they agree', async () => {
  await stock.put()
  const body = {
    package: 'hello',
    name: 'hello',
    from_dist: 'jammy',
    from_distribution: 'jammy',
    to_dist: 'noble',
    to_distribution: 'noble',
  }
  expect(await call('POST /distributions/promote', { body })).toMatchObject({
    status: 'promoted',
    from: 'jammy',
    to: 'noble',
  })
})

describe('migration', () => {
  test('promotes everything published, counts new and unchanged ones, and names what was refused', async () => {
    for (const name of ['a', 'b', 'c']) await stock.put({ name, bytes: name })
    await stock.put({ name: 'held', state: 'pending_review' })
    await stock.put({ name: 'b', bytes: 'b', codename: 'focal' })
    await stock.put({ name: 'c', bytes: 'other', codename: 'focal' })
    expect(await call('POST /distributions/migrate', { body: { from_dist: 'jammy', to_dist: 'focal' } })).toMatchObject(
      {
        status: 'partial',
        from: 'jammy',
        to: 'focal',
        migrated: 1,
        unchanged: 1,
        difference: { new: 1, newer: 0, same: 1, older: 0, conflict: 1 },
        errors: [{ package: 'c 1.0 amd64', error: expect.stringContaining('exists with other bytes') }],
      },
    )
    expect((await rows('focal')).map(row => row.name)).toEqual(['a', 'b', 'c'])
    expect(await rows('jammy')).toHaveLength(4)
  })

  test('of a list promotes only the listed packages, and names those that do not exist', async () => {
    for (const name of ['a', 'b']) await stock.put({ name, bytes: name })
    const body = { from_distribution: 'jammy', to_distribution: 'noble', packages: ['a', 'zz'] }
    expect(await call('POST /distributions/migrate', { body })).toMatchObject({
      status: 'partial',
      migrated: 1,
      errors: [{ package: 'zz' }],
    })
    expect((await rows('noble')).map(row => row.name)).toEqual(['a'])
  })

  test('of many packages needs few publications, and loses none', async () => {
    for (let n = 0; n < 60; n++) await stock.put({ name: `p${n}`, bytes: `p${n}` })
    await stock.outbox.drain()
    stock.published.length = 0
    const gate = Promise.withResolvers<void>()
    stock.outbox.handle('publish', async rests => {
      await gate.promise
      stock.published.push(...rests)
    })
    const migrated = call('POST /distributions/migrate', { body: { from_dist: 'jammy', to_dist: 'noble' } })
    await expect.poll(() => rows('noble'), { timeout: 30_000 }).toHaveLength(60)
    gate.resolve()
    expect(await migrated).toMatchObject({ status: 'ok', migrated: 60 })
    // the one that was under way, and one with all that came meanwhile
    expect(stock.published.length).toBeLessThanOrEqual(2)
  })

  test('that is killed in the middle goes on behind what it has copied, and counts all of it', async () => {
    for (let n = 100; n < 350; n++) await stock.put({ name: `p${n}`, bytes: `p${n}` })
    await worker.stop()
    const change = vi.spyOn(stock.catalog, 'change')
    let begun = 0
    const died = Promise.withResolvers<undefined>()
    // as if the process were gone after 120 packages: nothing more happens, nothing is written
    const dead = migrateWork({
      ...deps(),
      readUnread: () => (begun++ < 120 ? Promise.resolve() : died.promise),
    })
    const first = await startWorker(stock.db, [dead])
    const body = { from_dist: 'jammy', to_dist: 'noble' }
    const asked = call('POST /distributions/migrate', { body })
    await expect.poll(() => change.mock.calls.length, { timeout: 30_000 }).toBe(120)
    await expect.poll(() => stock.db.query('select done from job')).toEqual([{ done: 100 }])
    await worker.start() // takes over what no process renews
    expect(await asked).toMatchObject({ status: 'ok', migrated: 230, unchanged: 20 })
    expect(await rows('noble')).toHaveLength(250)
    // 100 in the first run's step, 20 after it, and from the step on again: each audited once as copied
    expect(change.mock.calls.length).toBe(120 + 150)
    died.resolve(undefined)
    await first.stop()
    change.mockRestore()
  })
})

test('every distribution has its lines for clients, with the key in the right place', async () => {
  for (const { codename, format } of DISTRIBUTIONS) {
    const { clients, key_url } = await call('GET /distributions/{codename}/setup', { params: { codename } })
    expect(key_url).toBe(`http://repo.example${format === 'apk' ? `/apk/${RSA.key_name}` : '/repos/gpg.key'}`)
    expect(clients.map(one => one.manager).sort()).toEqual(
      format === 'rpm' ? ['dnf', 'zypper'] : [format === 'deb' ? 'apt' : 'apk'],
    )
    for (const { files, line } of clients) expect(JSON.stringify([files, line])).toContain(codename)
  }
  const [apt] = (await call('GET /distributions/{codename}/setup', { params: { codename: 'jammy' } })).clients
  expect(apt?.files).toEqual([
    {
      path: '/etc/apt/sources.list.d/gatehouse.sources',
      content:
        'Types: deb\nURIs: http://repo.example/repos\nSuites: jammy\nComponents: main\nSigned-By: /etc/apt/keyrings/gatehouse.asc\n',
    },
  ])
  expect(apt?.optional.map(({ kind, files }) => ({ kind, files }))).toEqual([
    {
      kind: 'source',
      files: [
        {
          path: '/etc/apt/sources.list.d/gatehouse-source.sources',
          content:
            'Types: deb-src\nURIs: http://repo.example/repos\nSuites: jammy\nComponents: main\nSigned-By: /etc/apt/keyrings/gatehouse.asc\n',
        },
      ],
    },
    {
      kind: 'debug',
      files: [
        {
          path: '/etc/apt/sources.list.d/gatehouse-debug.sources',
          content:
            'Types: deb\nURIs: http://repo.example/repos\nSuites: jammy\nComponents: main/debug\nSigned-By: /etc/apt/keyrings/gatehouse.asc\n',
        },
      ],
    },
  ])
})
