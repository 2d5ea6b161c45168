import { appendFile, copyFile, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { repositories } from '../../../test/support/repositories.ts'
import { createCaller } from '../../../test/support/routes.ts'
import { createStock, someone, type Stock } from '../../../test/support/test-catalog.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { FORMATS } from '../../formats/index.ts'
import { CLIENTS } from './access-log.ts'
import { composeDownloads } from './compose.ts'
import { downloads } from './contract.ts'
import { createCounting, type Counting } from './count.ts'
import { downloadHandlers } from './handlers.ts'
import { rotatedSeries } from '../../record/log-series.ts'
import { readStats } from './stats.ts'
import { shortenOne } from './store.ts'

let stock: Stock
let folder: string
let log: string
beforeAll(async () => {
  stock = await createStock()
})
afterAll(() => stock.close())
beforeEach(async () => {
  await stock.clear()
  await stock.db.query(
    'truncate download_log, download_file, download_count, download_other, download_recent, download_shortened',
  )
  stock.clock.set('2026-03-10T12:00:00Z')
  folder = await mkdtemp(join(tmpdir(), 'gh-downloads-'))
  log = join(folder, 'access.log')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const HELLO = 'main/h/hello/hello_1.0_amd64.deb'
const zeros = (keys: readonly string[]) => Object.fromEntries(keys.map(key => [key, 0]))
let made = 0
/** A line that is like no other; the days are of March 2026. */
function line(
  more: {
    path?: string
    day?: number
    from?: string
    agent?: string
    status?: number
    range?: string
    method?: string
    bytes?: number
  } = {},
): string {
  const {
    path = `/repos/pool/jammy/${HELLO}`,
    day = 10,
    from = '192.0.2.7',
    agent = 'Debian APT-HTTP/1.3 (2.6.1)',
    status = 200,
    range = '-',
    method = 'GET',
    bytes = 100,
  } = more
  made++
  return `${from} - - [${String(day).padStart(2, '0')}/Mar/2026:10:00:${String(made % 60).padStart(2, '0')} +0000] "${method} ${path} HTTP/1.1" ${status} ${bytes} "-" "${agent}" "${range}" id-${made}\n`
}
const lines = (count: number): string => Array.from({ length: count }, () => line()).join('')

const deps = (db: Db = stock.db) => ({
  db,
  clock: stock.clock,
  layout: stock.layout,
  repositories,
  formats: FORMATS,
  series: async () => [await rotatedSeries(log)].filter(one => one !== undefined),
})
const counting = (): Counting => createCounting(deps())
async function counted(): Promise<number> {
  const row = await stock.db.first<{ n: number }>('select coalesce(sum(downloads), 0)::int as n from download_count')
  return row?.n ?? 0
}
async function count(): Promise<number> {
  await counting().run()
  return counted()
}
const stats = (viewer: Viewer = { hidden: [] }, since = '2026-03-01') =>
  readStats(stock.db, { viewer, since }, { isWhole: true, isAvailable: true })

test('lines are counted once, however often the log is read', async () => {
  await writeFile(log, lines(5))
  expect(await count()).toBe(5)
  expect(await count()).toBe(5)
  const same = counting()
  await same.run()
  await appendFile(log, lines(2) + line().slice(0, 40))
  await same.run()
  expect(await counted()).toBe(7)
  expect(await count()).toBe(7)
})

test('half a line waits until it is whole', async () => {
  const [a, b] = [line(), line()]
  await writeFile(log, a + b.slice(0, 30))
  expect(await count()).toBe(1)
  await appendFile(log, b.slice(30))
  expect(await count()).toBe(2)
})

test('a renamed log is read to its end, then the new one', async () => {
  await writeFile(log, lines(10))
  expect(await count()).toBe(10)
  await appendFile(log, lines(3))
  await rename(log, `${log}.1`)
  expect(await count()).toBe(13)
  await appendFile(`${log}.1`, lines(1)) // the web server has not opened the new one yet
  await writeFile(log, lines(4))
  expect(await count()).toBe(18)
  await rename(`${log}.1`, `${log}.2`)
  await rename(log, `${log}.1`)
  await writeFile(log, lines(1))
  expect(await count()).toBe(19)
})

test('a log that was renamed and packed between two runs is read from where it was', async () => {
  await writeFile(log, lines(2_000))
  expect(await count()).toBe(2_000)
  await appendFile(log, lines(3_000))
  await writeFile(`${log}.2.gz`, gzipSync(await readFile(log)))
  await writeFile(log, lines(4))
  await writeFile(`${log}.1`, lines(7))
  expect(await count()).toBe(5_011)
  expect(await count()).toBe(5_011)
})

test('a file that is being packed is left until it is whole', async () => {
  await writeFile(log, lines(2_000))
  const packed = gzipSync(await readFile(log))
  await writeFile(`${log}.2.gz`, packed.subarray(0, 10))
  await writeFile(log, lines(1))
  expect(await count()).toBe(1)
  await writeFile(`${log}.2.gz`, packed)
  expect(await count()).toBe(2_001)
})

test('copytruncate: the copy is read to its end, the emptied log from its beginning', async () => {
  await writeFile(log, lines(10))
  expect(await count()).toBe(10)
  await appendFile(log, lines(5))
  await copyFile(log, `${log}.1`)
  expect(await count()).toBe(15) // at this moment both are there
  await truncate(log)
  expect(await count()).toBe(15)
  await appendFile(log, lines(20)) // longer than before
  expect(await count()).toBe(35)
})

test('copytruncate between two runs loses and doubles nothing', async () => {
  await writeFile(log, lines(10))
  expect(await count()).toBe(10)
  await appendFile(log, lines(5))
  await copyFile(log, `${log}.1`)
  await truncate(log)
  await appendFile(log, lines(50))
  expect(await count()).toBe(65)
})

test('a copy that somebody puts beside the log is not counted', async () => {
  await writeFile(log, lines(10))
  await copyFile(log, `${log}.3`)
  expect(await count()).toBe(10)
  await appendFile(log, lines(1))
  expect(await count()).toBe(11)
})

test('a log that was emptied without a copy begins anew', async () => {
  await writeFile(log, lines(10))
  expect(await count()).toBe(10)
  await writeFile(log, lines(3))
  expect(await count()).toBe(13)
})

test('two that count at once count each line once', async () => {
  await writeFile(log, lines(60_000))
  await Promise.all([counting().run(), counting().run(), counting().run()])
  await counting().run() // the one that was slower has left the rest
  expect(await counted()).toBe(60_000)
})

test('a run that dies between two blocks goes on after the last one that is kept', async () => {
  await writeFile(log, lines(60_000))
  let left = 1
  const failing = Object.create(stock.db) as Db
  Object.assign(failing, {
    tx: (work: Parameters<Db['tx']>[0]) =>
      stock.db.tx(async tx => {
        const done = await work(tx)
        if (left-- === 0) throw new Error('the power went')
        return done
      }),
  })
  await expect(createCounting(deps(failing)).run()).rejects.toThrow('the power went')
  const before = await counted()
  expect(before).toBeGreaterThan(0)
  expect(before).toBeLessThan(60_000)
  expect(await count()).toBe(60_000)
})

test('what is no line of a log is passed over', async () => {
  await writeFile(
    log,
    Buffer.concat([
      Buffer.from(lines(1)),
      Buffer.alloc(3_000_000, 0xff),
      Buffer.from(`\n\0\n"\n${line({ from: 'not-an-address' })}${line({ path: '/repos/%zz/%00.deb' })}${line()}`),
    ]),
  )
  expect(await count()).toBe(4)
})

test('packages are named by the catalogue, and by their file when they are gone', async () => {
  await stock.put({ name: 'hello', version: '1:1.0', others: { [HELLO]: 'x' } })
  await stock.put({
    name: 'tool',
    codename: 'almalinux9',
    format: 'rpm',
    version: '2-1',
    arch: 'x86_64',
    others: { 't/tool-2-1.x86_64.rpm': 'y' },
  })
  await writeFile(
    log,
    [
      line(),
      line({ path: '/repos/almalinux9/x86_64/Packages/t/tool-2-1.x86_64.rpm', agent: 'libdnf' }),
      line({ path: '/repos/pool/jammy/main/g/gone/gone_3.0%2b1_arm64.deb' }),
      line({ path: '/apk/alpine3.20/main/x86_64/gone-4.5-r0.apk', agent: 'apk-tools/2' }),
      line({ path: '/repos/pool/main/x_1_all.deb' }),
    ].join(''),
  )
  await counting().run()
  expect(await stock.db.query('select codename, format, name, version, arch from download_file order by id')).toEqual([
    { codename: 'jammy', format: 'deb', name: 'hello', version: '1:1.0', arch: 'amd64' },
    { codename: 'almalinux9', format: 'rpm', name: 'tool', version: '2-1', arch: 'x86_64' },
    { codename: 'jammy', format: 'deb', name: 'gone', version: '3.0+1', arch: 'arm64' },
    { codename: 'alpine3.20', format: 'apk', name: 'gone', version: '4.5-r0', arch: '' },
    { codename: null, format: 'deb', name: 'x', version: '1', arch: 'all' },
  ])
})

async function sample(): Promise<void> {
  await stock.put({ name: 'hello', others: { [HELLO]: 'x' } })
  await stock.put({ name: 'secret', codename: 'noble', others: { 'main/s/secret/secret_1.0_amd64.deb': 'x' } })
  stock.clock.set('2026-02-01T00:00:00Z')
  await stock.put({ name: 'dusty', others: { 'main/d/dusty/dusty_1.0_amd64.deb': 'x' } })
  // requests of registries were not counted in all these days: nobody knows that none of them fetched it
  await stock.put({ name: 'asked-by-name' })
  await stock.db.query(`update package set format = 'npm' where name = 'asked-by-name'`)
  stock.clock.set('2026-03-10T12:00:00Z')
  const secret = '/repos/pool/noble/main/s/secret/secret_1.0_amd64.deb'
  await writeFile(
    log,
    [
      line({ day: 8 }),
      line({ day: 9, from: '192.0.2.8', agent: 'curl/8' }),
      line({ day: 9, from: '2001:db8::1', bytes: 50 }),
      line({ day: 9, path: secret, from: '198.51.100.1' }),
      line({ method: 'HEAD' }),
      line({ status: 304 }),
      line({ status: 206, range: 'bytes=5-' }),
      line({ path: '/repos/dists/jammy/InRelease' }),
      line({ path: '/repos/dists/noble/InRelease' }),
      line({ path: '/repos/pool/jammy/main/n/none_1_all.deb', status: 404 }),
    ].join(''),
  )
  await counting().run()
}

test('the statistics have the fields that existing clients read, and ours', async () => {
  await sample()
  const all = await stats()
  expect(all.summary).toEqual({
    total_downloads: 4,
    unique_packages: 2,
    unique_clients: 4,
    total_bytes: 350,
    per_format: { ...zeros(FORMATS.map(({ id }) => id)), deb: 4 },
    per_client_type: { ...zeros(CLIENTS), apt: 3, curl: 1 },
    avg_per_day: 2,
    peak_day: { date: '2026-03-09', downloads: 3, bytes: 250 },
    log_available: true,
  })
  expect(all.per_package).toEqual([
    { name: 'hello', downloads: 3, bytes: 250, versions: ['1.0'], clients: 3, format: 'deb' },
    { name: 'secret', downloads: 1, bytes: 100, versions: ['1.0'], clients: 1, format: 'deb' },
  ])
  expect(all.per_day).toEqual([
    { date: '2026-03-08', downloads: 1, bytes: 100 },
    { date: '2026-03-09', downloads: 3, bytes: 250 },
  ])
  expect(all.counted_since).toBe('2026-03-08')
  expect(all.recent.map(({ ip, date, name }) => `${date} ${name} ${ip}`).sort()).toEqual([
    '2026-03-08 hello 192.0.2.7',
    '2026-03-09 hello 192.0.2.8',
    '2026-03-09 hello 2001:db8::1',
    '2026-03-09 secret 198.51.100.1',
  ])
  expect(all.recent[0]).toMatchObject({
    hour: 10,
    filename: expect.stringMatching(/\.deb$/),
    status: 200,
    pkg_format: 'deb',
  })
  expect(all.per_distribution).toEqual([
    { distribution: 'jammy', format: 'deb', downloads: 3, bytes: 250 },
    { distribution: 'noble', format: 'deb', downloads: 1, bytes: 100 },
  ])
  expect(all.per_network.map(({ network, downloads: n }) => `${network} ${n}`)).toEqual([
    '192.0.2.0/24 2',
    '198.51.100.0/24 1',
    '2001:db8::/48 1',
  ])
  expect(all.requests).toEqual({
    download: 4,
    range: 1,
    head: 1,
    not_modified: 1,
    index: 2,
    missing: 1,
    refused: 0,
    aborted: 0,
  })
  expect(all.never_fetched).toMatchObject({ total: 1, items: [{ name: 'dusty', distribution: 'jammy' }] })
})

test('a hidden distribution is in no list, no sum and no count of those who may not see it', async () => {
  await sample()
  const some = await stats({ hidden: ['noble'] })
  expect(JSON.stringify(some)).not.toMatch(/secret|noble|198\.51/)
  expect([some.summary.total_downloads, some.summary.unique_clients, some.requests.index]).toEqual([3, 3, 1])
  const others = await stats({ hidden: ['jammy'] })
  expect(JSON.stringify(others)).not.toMatch(/hello|dusty|jammy|192\.0/)
})

test('addresses become networks after their days, and lines that come late join them', async () => {
  await sample()
  while (await stock.db.tx(tx => shortenOne(tx, '2026-03-10'))) continue
  await appendFile(log, line({ day: 9, from: '192.0.2.200' }) + line({ from: '192.0.2.201' }))
  await counting().run()
  const addresses = await stock.db.query<{ address: string; n: number }>(
    `select to_char(day, 'DD') || ' ' || abbrev(address) as address, sum(downloads)::int as n from download_count group by 1 order by 1`,
  )
  expect(addresses.map(({ address, n }) => `${address}: ${n}`)).toEqual([
    '08 192.0.2.0/24: 1',
    '09 192.0.2.0/24: 2',
    '09 198.51.100.0/24: 1',
    '09 2001:db8::/48: 1',
    '10 192.0.2.201: 1',
  ])
  expect((await stats()).recent.filter(({ date }) => date < '2026-03-10').map(({ ip }) => ip)).not.toContain(
    '192.0.2.7',
  )
  expect(await counted()).toBe(6)
})

test('the route counts what is new, and shows whole addresses only to those who read the audit log', async () => {
  const part = composeDownloads({
    ...deps(),
    settings: { now: () => ({ downloads: { access_log: log, address_days: 30 } }) } as never,
    log: {} as never,
    logFolder: folder,
  })
  expect(part.routes).toHaveLength(2)
  await writeFile(log, line() + line({ from: '192.0.2.9' }))
  const { call } = createCaller(downloads, downloadHandlers, () => ({
    clock: stock.clock,
    fresh: () => counting().run(),
    clients: () => Promise.resolve({ log, seen: { known: false, why: 'unreadable' } as const }),
    stats: (viewer, { days, isWhole }) =>
      readStats(stock.db, { viewer, since: days === 30 ? '2026-02-09' : '2026-03-10' }, { isWhole, isAvailable: true }),
  }))
  const ips = async (role: 'reader' | 'auditor'): Promise<string[]> =>
    (await call('GET /downloads/stats', { who: someone(role) })).recent.map(({ ip }) => ip).sort()
  // what nobody can know is not an empty list that means nobody asked
  expect(
    await call('GET /downloads/clients', { who: someone('admin'), query: { since: '2026-03-10T00:00:00Z' } }),
  ).toEqual({ known: false, why: 'unreadable', log, clients: [] })
  expect(await ips('auditor')).toEqual(['192.0.2.7', '192.0.2.9'])
  expect(await ips('reader')).toEqual(['192.0.2.0/24', '192.0.2.0/24'])
})

test('without any log there are zeros and empty lists', async () => {
  const none = await readStats(
    stock.db,
    { viewer: { hidden: [] }, since: '2026-03-01' },
    { isWhole: true, isAvailable: false },
  )
  expect(none.summary).toMatchObject({ total_downloads: 0, peak_day: null, avg_per_day: 0, log_available: false })
  expect([none.per_package, none.per_day, none.recent, none.counted_since]).toEqual([[], [], [], null])
})
