import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { KeyCard } from '../../signing/signer.ts'
import { getFormat } from '../../formats/index.ts'
import { distributions } from './contract.ts'
import { createInit, type DistributionDeps } from './init.ts'
import { distributionHandlers } from './handlers.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { repositories } from '../../../test/support/repositories.ts'

let stock: Stock
let keys: KeyCard[]
let deps: DistributionDeps
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  keys = []
  deps = {
    db: stock.db,
    outbox: stock.outbox,
    audit: stock.audit,
    repositories,
    formats: getFormat,
    keyring: {
      keys: async () => keys,
      rsaKeys: async () => [],
      generate: async ({ type }) => {
        await new Promise(resolve => setImmediate(resolve))
        const key: KeyCard = {
          fingerprint: `F${keys.length}`,
          user_id: '',
          algorithm: type,
          created_at: '',
          role: 'current',
        }
        keys.push(key)
        return key
      },
    },
    newKey: () => ({ type: 'rsa4096', name: 'Gatehouse', email: 'repo@example.com', overlapDays: 30 }),
    isActive: ({ codename }) => codename !== 'alpine3.20',
    isPublishable: ({ archs }) => archs.includes('amd64'),
    formatSetting: () => 'all',
  }
})
let init: ReturnType<typeof createInit>
beforeEach(() => {
  init = createInit(deps)
})
const notAsked = (): Promise<never> => Promise.reject(new Error('not asked here'))
const { call } = createCaller(distributions, distributionHandlers, () => ({
  jobs: { ask: notAsked, ended: notAsked },
  ...deps,
  keyring: { ...deps.keyring, publicKey: async () => Buffer.from('the key') },
  init,
  formatCards: [],
  clientFacts: async () => ({ url: 'http://repo.example' }),
  readUnread: async () => {
    throw new Error('not asked here')
  },
  publisher: {
    generations: async () => ({ generations: [], frozen: undefined }),
    rollback: async () => {
      throw new Error('no tree here')
    },
  },
  catalog: stock.catalog,
}))
const APT = ['jammy', 'noble', 'focal', 'resolute', 'bookworm', 'trixie', 'bullseye']

describe('GET /distributions/', () => {
  test('the default distributions are listed before any set-up, with the line a client needs', async () => {
    const { distributions: cards } = await call('GET /distributions/')
    expect(cards.map(card => card.codename)).toEqual([
      ...APT,
      ...['almalinux8', 'almalinux9', 'almalinux10', 'rocky8', 'rocky9', 'rocky10'],
      ...['centos-stream9', 'centos-stream10', 'oraclelinux8', 'oraclelinux9', 'oraclelinux10'],
      ...['fedora', 'fedora43', 'fedora44', 'fedora45'],
      ...['opensuse-leap-15.6', 'opensuse-leap-16.0', 'opensuse-tumbleweed'],
      ...['alpine3.18', 'alpine3.19', 'alpine3.20', 'alpine3.21', 'alpine3.22', 'alpine3.23', 'alpine3.24'],
    ])
    expect(cards[4]).toEqual({
      codename: 'bookworm',
      name: 'Debian 12',
      full_name: 'Debian 12',
      os: 'debian',
      badge: 'DEB',
      color: '#a80030',
      package_count: 0,
      format: 'deb',
      label: 'Debian 12',
      component: 'main',
      architectures: ['amd64', 'arm64'],
      components: ['main'],
      suite: 'bookworm',
      origin: 'Gatehouse',
      end_of_life: '2028-06-30',
      retired: false,
      builtin: true,
      based_on: null,
      scanner: 'debian:12',
      description: '',
      initialized: false,
      active: true,
      publishable: true,
      packages: 0,
      pending: 0,
      quarantined: 0,
      generation: null,
      published_at: null,
      setup: expect.arrayContaining(['sudo apt-get update']),
      client_line: 'deb [signed-by=/etc/apt/keyrings/gatehouse.asc] http://repo.example/repos bookworm main',
    })
    expect(cards.find(card => card.codename === 'rocky9')?.client_line).toBe(
      'baseurl=http://repo.example/repos/rocky9/$basearch/',
    )
    expect(cards.find(card => card.codename === 'alpine3.20')).toMatchObject({
      active: false,
      publishable: false,
      client_line: 'http://repo.example/apk/alpine3.20/main',
    })
  })

  test('packages and published packages of a distribution are counted', async () => {
    await stock.put()
    await stock.put({ version: '2.0', state: 'pending_review' })
    await stock.db.query(
      `insert into generation values ('jammy', 1, '2026-03-01T10:00:00Z', 1, 1), ('jammy', 2, '2026-03-01T11:00:00Z', 1, 1), ('focal', 7, '2026-03-01T12:00:00Z', 0, 0)`,
    )
    const { distributions: cards } = await call('GET /distributions/')
    expect(cards[0]).toMatchObject({
      codename: 'jammy',
      initialized: true,
      packages: 1,
      pending: 1,
      generation: 2,
      published_at: '2026-03-01T11:00:00.000Z',
    })
    expect(cards[2]).toMatchObject({ codename: 'focal', initialized: true, packages: 0, generation: 7 })
  })
})

test('packages of a distribution are what its index names, unless a state is asked for', async () => {
  await stock.put()
  await stock.put({ version: '2.0', state: 'pending_review' })
  await stock.put({ version: '3.0', codename: 'noble' })
  const packages = (query = {}, codename = 'jammy') =>
    call('GET /distributions/{codename}/packages', { params: { codename }, query })
  expect(await packages()).toMatchObject({
    total: 1,
    page: 1,
    per_page: 50,
    pages: 1,
    items: [{ version: '1.0', distribution: 'jammy' }],
  })
  expect((await packages({ state: 'pending_review' })).items.map(item => item.version)).toEqual(['2.0'])
  expect((await packages({}, 'focal')).items).toEqual([])
  for (const codename of ['nowhere', '../etc', 'Jammy'])
    expect(await codeOf(packages({}, codename))).toBe('distribution_not_found')
})

describe('POST /distributions/init', () => {
  test('without a body it sets up and publishes every active distribution, and makes the missing key', async () => {
    expect(await call('POST /distributions/init')).toMatchObject({
      status: 'ok',
      initialized: APT,
      pending: [],
      key_generated: true,
      fingerprint: 'F0',
    })
    expect([...stock.published].sort()).toEqual([...APT].sort())
    expect(await stock.db.query('select codename, name from publish_dirty order by seq')).toEqual(
      APT.map(codename => ({ codename, name: '' })),
    )
    expect(
      (await call('GET /distributions/')).distributions.filter(card => card.initialized).map(card => card.codename),
    ).toEqual(APT)
    expect((await stock.audit.search(ALL_SEEING, { page: 1, perPage: 5 })).items).toMatchObject([
      { action: 'INIT_DISTS', result: 'SUCCESS', user: 'mae', ip: '192.0.2.7', detail: expect.stringContaining('F0') },
    ])
  })

  test('repeated calls keep key and description, and publish again', async () => {
    await call('POST /distributions/init', { body: { codename: 'noble', description: 'for the desks' } })
    stock.published.length = 0
    const again = await call('POST /distributions/init', { body: { codename: 'noble' } })
    expect(again).toMatchObject({ initialized: ['noble'], key_generated: false, fingerprint: 'F0' })
    expect(again.distributions).toMatchObject([{ codename: 'noble', description: 'for the desks', initialized: true }])
    expect(stock.published).toEqual(['noble'])
  })

  test('first calls at the same time make one key', async () => {
    await Promise.all([1, 2, 3].map(() => call('POST /distributions/init', { body: { codename: 'jammy' } })))
    expect(keys).toHaveLength(1)
  })

  test.each([
    ['nowhere', 'unknown_distribution'],
    ['alpine3.20', 'format_not_active'],
    ['rocky9', 'not_publishable'],
  ])('%s is refused with %s and changes nothing', async (codename, code) => {
    expect(await codeOf(call('POST /distributions/init', { body: { codename } }))).toBe(code)
    expect([keys, await stock.db.query('select * from distribution'), stock.published]).toEqual([[], [], []])
  })

  test('a publication that fails is answered as pending with the reason, not as done', async () => {
    stock.outbox.handle('publish', async () => {
      throw new Error('the disk is full')
    })
    try {
      expect(await call('POST /distributions/init', { body: { codename: 'focal' } })).toMatchObject({
        status: 'pending',
        message:
          'Set up focal. Could not be published, and is tried again: focal. The log says why. A signing key was made.',
        initialized: ['focal'],
        pending: ['focal'],
      })
    } finally {
      stock.outbox.handle('publish', async rests => {
        stock.published.push(...rests)
      })
    }
  })
})
