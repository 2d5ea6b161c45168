import { createHash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import * as openpgp from 'openpgp'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addSource, startSync } from '../../../test/support/catalogue.ts'
import { aptTree, fetchFrom, rpmTree, type IndexTree } from '../../../test/support/index-trees.ts'
import { createTestDb } from '../../../test/support/postgres.ts'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/db.ts'
import { trustKeys } from '../../signing/trusted-keys.ts'
import type { Source } from '../source.ts'
import type { SyncResult } from './outcome.ts'
import type { SyncDeps } from './sync.ts'

let db: Db
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(() => db.query('truncate import_source, import_package, import_capability, import_name cascade'))

const NEVER = new AbortController().signal
let trees: Record<string, IndexTree>
let asked: string[]
let syncing: Awaited<ReturnType<typeof startSync>>
const start = async (more: Partial<SyncDeps> = {}): Promise<void> => {
  await (syncing as typeof syncing | undefined)?.close()
  syncing = await startSync(db, source => fetchFrom(() => trees[source.key] ?? {}, asked), more)
}
beforeEach(async () => {
  trees = {}
  asked = []
  await start()
})
afterEach(async () => {
  expect(await readdir(syncing.incoming)).toEqual([])
  expect(syncing.errors).toEqual([])
  await syncing.close()
})

const run = (source: Source, signal = NEVER): Promise<SyncResult> => syncing.run(source, { signal })
const stored = (): Promise<{ name: string; version: string }[]> =>
  db.query('select name, version from import_package order by name, version')
const names = (): Promise<unknown[]> => db.query('select name, summary, sources from import_name order by name')
/** Which transaction wrote each row. */
const writers = (): Promise<unknown[]> =>
  db.query(`select 'package' as of, name, xmin::text from import_package
    union all select 'name', name, xmin::text from import_name
    union all select 'capability', name, xmin::text from import_capability
    union all select 'held', source_id::text, xmin::text from import_held order by 1, 2, 3`)
const stateOf = (source: Source): Promise<unknown> =>
  db.first('select state, said, failures, packages from import_root where source_id = $1', [source.id])
const main = (...entries: Parameters<typeof aptTree>[0]['components'][string]): Promise<IndexTree> =>
  aptTree({ components: { main: entries } })

describe('a source that is synchronised', () => {
  test('for the first time is stored whole, with the names under which its packages are found', async () => {
    const source = await addSource(db, 'one')
    trees.one = await aptTree({
      components: {
        main: [
          { name: 'hello', version: '2.10-3', fields: { Depends: 'libc6 (>= 2.36)', Section: 'misc' } },
          { name: 'mawk', fields: { Provides: 'awk', Description: 'a tab\there and a \\ there' } },
        ],
      },
    })
    expect(await run(source)).toEqual({
      source_id: 'one',
      state: 'ok',
      said: null,
      changed: true,
      packages: 2,
      added: 2,
      removed: 0,
      bytes: expect.any(Number) as number,
    })
    expect(
      await db.query(`select component, name, version, arch, section, summary, size, encode(sha256, 'hex') like '%' as has,
        path, source, relations, hidden from import_package order by name`),
    ).toEqual([
      {
        component: 'main',
        name: 'hello',
        version: '2.10-3',
        arch: 'amd64',
        section: 'misc',
        summary: 'the hello of the tests',
        size: 1000,
        has: true,
        path: 'pool/main/hello_2.10-3_amd64.deb',
        source: 'hello',
        relations: { depends: [[{ name: 'libc6', op: '>=', version: '2.36' }]] },
        hidden: false,
      },
      expect.objectContaining({ name: 'mawk', summary: 'a tab\there and a \\ there', section: null }),
    ])
    expect(
      await db.query(
        'select c.name, p.name as of from import_capability c join import_package p on p.id = c.package_id',
      ),
    ).toEqual([{ name: 'awk', of: 'mawk' }])
    expect(await names()).toEqual([
      { name: 'hello', summary: 'the hello of the tests', sources: [source.id] },
      { name: 'mawk', summary: 'a tab\there and a \\ there', sources: [source.id] },
    ])
    expect(await stateOf(source)).toEqual({ state: 'ok', said: null, failures: 0, packages: 2 })
  })

  test('and has not changed costs one file, and no row of the catalogue', async () => {
    const source = await addSource(db, 'one')
    trees.one = await main({ name: 'hello', fields: { Provides: 'greeter' } })
    await run(source)
    const before = await writers()
    asked.length = 0
    expect(await run(source)).toMatchObject({ state: 'ok', changed: false, packages: 1, added: 0, removed: 0 })
    expect(asked).toEqual(['dists/tested/Release'])
    expect(await writers()).toEqual(before)
  })

  test('again writes what is new, takes away what is gone, and leaves all else alone', async () => {
    const source = await addSource(db, 'one')
    trees.one = await main({ name: 'stays', fields: { Provides: 'rest' } }, { name: 'goes' }, { name: 'grows' })
    await run(source)
    const before = await writers()
    trees.one = await main(
      { name: 'stays', fields: { Provides: 'rest' } },
      { name: 'grows', version: '2.0' },
      { name: 'comes' },
    )
    expect(await run(source)).toMatchObject({ changed: true, packages: 3, added: 2, removed: 2 })
    expect(await stored()).toEqual([
      { name: 'comes', version: '1.0' },
      { name: 'grows', version: '2.0' },
      { name: 'stays', version: '1.0' },
    ])
    expect((await names()).map(row => (row as { name: string }).name)).toEqual(['comes', 'grows', 'stays'])
    const after = await writers()
    const untouched = (rows: unknown[]): unknown[] =>
      rows.filter(row => ['stays', 'rest'].includes((row as { name: string }).name))
    expect(untouched(after)).toEqual(untouched(before))
    expect(untouched(after)).toHaveLength(3)
  })

  test('of which 1 % has changed costs no more than 2 % of the rows', async () => {
    const source = await addSource(db, 'one')
    const entry = (n: number, version = '1.0') => ({ name: `pack${n}`, version, fields: { Provides: `part${n}` } })
    const all = Array.from({ length: 1000 }, (_, n) => entry(n))
    trees.one = await main(...all)
    await run(source)
    const before = (await writers()).map(row => JSON.stringify(row))
    trees.one = await main(...all.map((one, n) => (n % 100 === 0 ? entry(n, '1.1') : one)))
    expect(await run(source)).toMatchObject({ added: 10, removed: 10 })
    const after = (await writers()).map(row => JSON.stringify(row))
    const [known, kept] = [new Set(before), new Set(after)]
    // of each changed one: its row goes and comes, as does what it provides; and the digest of the root
    const written = after.filter(row => !known.has(row)).length + before.filter(row => !kept.has(row)).length
    expect(before.length).toBe(3001)
    expect(written).toBe(4 * 10 + 2)
    expect(written / before.length).toBeLessThan(0.02)
  })

  test('with another component is read again, although its root is the same', async () => {
    const source = await addSource(db, 'one')
    trees.one = await aptTree({ components: { main: [{ name: 'free' }], contrib: [{ name: 'other' }] } })
    await run(source)
    expect(await stored()).toHaveLength(1)
    await run({ ...source, components: ['main', 'contrib'] })
    expect(await db.query('select name, component from import_package order by name')).toEqual([
      { name: 'free', component: 'main' },
      { name: 'other', component: 'contrib' },
    ])
  })

  test('keeps the newest versions of each name where it says so, in the order of its format', async () => {
    const source = await addSource(db, 'one', { newest: 2 })
    const versions = ['1.10', '1.9', '1.2'].map(version => ({ name: 'many', version }))
    trees.one = await main(...versions, { name: 'one' })
    expect(await run(source)).toMatchObject({ packages: 3, added: 3 })
    const kept = [
      { name: 'many', version: '1.10' },
      { name: 'many', version: '1.9' },
      { name: 'one', version: '1.0' },
    ]
    expect(await stored()).toEqual(kept)
    // what was left out is no news
    const before = await writers()
    trees.one = await main(...versions, { name: 'one' }, { name: 'two' })
    expect(await run(source)).toMatchObject({ added: 1, removed: 0 })
    expect((await writers()).filter(row => JSON.stringify(row).includes('many'))).toEqual(
      before.filter(row => JSON.stringify(row).includes('many')),
    )
    // and comes back when a newer one is withdrawn
    trees.one = await main({ name: 'many', version: '1.9' }, { name: 'many', version: '1.2' })
    await run(source)
    expect(await stored()).toEqual([
      { name: 'many', version: '1.2' },
      { name: 'many', version: '1.9' },
    ])
  })

  test('is one source of a name among others; with the last of them the name goes', async () => {
    const [one, two] = [await addSource(db, 'one'), await addSource(db, 'two')]
    trees.one = trees.two = await main({ name: 'hello' })
    await Promise.all([run(one), run(two)])
    expect(await names()).toEqual([expect.objectContaining({ name: 'hello', sources: [one.id, two.id] })])
    trees.two = await main({ name: 'other' })
    await run(two)
    expect((await names()).map(row => (row as { sources: number[] }).sources)).toEqual([[one.id], [two.id]])
    await db.query('delete from import_source where id = $1', [one.id])
    expect(await names()).toEqual([expect.objectContaining({ name: 'other', sources: [two.id] })])
    expect(await stored()).toEqual([{ name: 'other', version: '1.0' }])
  })
})

describe('the catalogue of before stays', () => {
  let source: Source
  beforeEach(async () => {
    source = await addSource(db, 'one')
    trees.one = await main({ name: 'old' })
    await run(source)
  })
  const expectOld = async (): Promise<void> => expect(await stored()).toEqual([{ name: 'old', version: '1.0' }])

  test('when an index is not what its root says; the mirror is asked three times, and is damaged after three tries', async () => {
    trees.one = { ...(await main({ name: 'new' })), 'dists/tested/main/binary-amd64/Packages.gz': Buffer.from('other') }
    asked.length = 0
    const result = await run(source)
    expect(result).toMatchObject({ state: 'mirror_syncing', changed: false, packages: 1 })
    expect(result.said).toMatch(/Packages\.gz: it has 5 bytes, its root says \d+\. Its mirror is being updated/)
    expect(asked.filter(path => path.endsWith('Release'))).toHaveLength(3)
    await expectOld()
    await run(source)
    expect(await run(source)).toMatchObject({ state: 'damaged' })
    expect(await stateOf(source)).toMatchObject({ state: 'damaged', failures: 3, packages: 1 })
    trees.one = await main({ name: 'new' })
    expect(await run(source)).toMatchObject({ state: 'ok', changed: true })
    expect(await stateOf(source)).toMatchObject({ state: 'ok', said: null, failures: 0 })
  })

  test('until a mirror in the middle of an update has finished it, which is waited for', async () => {
    const next = await main({ name: 'new' })
    let releases = 0
    await start()
    const half = { ...next, 'dists/tested/main/binary-amd64/Packages.gz': Buffer.from('other') }
    Object.defineProperty(trees, 'one', {
      get: () => (asked.filter(path => path.endsWith('Release')).length > releases + 1 ? next : half),
    })
    releases = asked.filter(path => path.endsWith('Release')).length
    expect(await run(source)).toMatchObject({ state: 'ok', changed: true })
    expect(await stored()).toEqual([{ name: 'new', version: '1.0' }])
  })

  test.each([
    ['expired', { validUntil: new Date('2020-01-01') }, /was valid until 2020/],
    ['not_yet_valid', { date: new Date('2999-01-01') }, /in the future.* Check the clock/],
    ['other_suite', { suite: 'elsewhere' }, /it is of elsewhere/],
  ])('when its root is %s', async (state, more, said) => {
    const { suite = 'tested' } = more as { suite?: string }
    const tree = await aptTree({ ...more, components: { main: [{ name: 'new' }] } })
    trees.one = { ...tree, 'dists/tested/Release': tree[`dists/${suite}/Release`] as Buffer }
    const result = await run(source)
    expect([result.state, result.changed]).toEqual([state, false])
    expect(result.said).toMatch(said)
    await expectOld()
  })

  test('when its root is missing, which is gone after three days', async () => {
    let now = new Date()
    await start({ clock: { now: () => now } })
    trees.one = {}
    expect(await run(source)).toMatchObject({ state: 'unreachable' })
    now = new Date(now.getTime() + 3 * 86_400_000)
    expect(await run(source)).toMatchObject({
      state: 'gone',
      said: expect.stringMatching(/neither InRelease nor Release.*archive at their end/) as string,
    })
    await expectOld()
  })

  test('when its root is refused by what is remembered of it', async () => {
    await start({ judge: () => Promise.resolve({ state: 'replayed', said: 'It is older.' }) })
    trees.one = await main({ name: 'new' })
    expect(await run(source)).toMatchObject({ state: 'replayed', said: 'It is older.' })
    await expectOld()
  })

  test('when the network fails in the middle of an index', async () => {
    trees.one = await main({ name: 'new' })
    const whole = fetchFrom(() => trees.one ?? {})
    await syncing.close()
    syncing = await startSync(db, () => async (path, limits) => {
      const chunks = await whole(path, limits)
      if (!path.endsWith('.gz') || chunks === undefined) return chunks
      return (async function* () {
        yield Buffer.from('x')
        await Promise.reject(new AppError('outbound_failed', { host: 'mirror.example', why: 'it went away' }))
      })()
    })
    expect(await run(source)).toMatchObject({
      state: 'unreachable',
      said: 'mirror.example gave no usable answer: it went away. Check address, proxy and network, then synchronise again.',
    })
    await expectOld()
  })

  test('when an entry breaks the rules of its format', async () => {
    trees.one = await main({ name: 'new' }, { name: 'odd', fields: { Size: 'many' } })
    expect(await run(source)).toMatchObject({ state: 'damaged' })
    await expectOld()
  })

  test.each<[string, string, Record<string, string>]>([
    ['a path that leads out', 'odd', { Filename: '../../../etc/passwd' }],
    ['a path that leads out further on', 'odd', { Filename: 'pool/main/../../../../etc/passwd' }],
    ['an absolute path', 'odd', { Filename: '/etc/passwd' }],
    ['a path with a zero byte', 'odd', { Filename: 'pool/a\u0000b.deb' }],
    ['an address for a path', 'odd', { Filename: 'http://127.0.0.1/odd.deb' }],
    ['no path', 'odd', { Filename: '' }],
    ['a name that is a path', '../../odd', {}],
    ['a name with a blank', 'odd one', {}],
    ['a name that colours a terminal', 'odd\u001b[31m', {}],
    ['a name as long as a book', 'o'.repeat(5000), {}],
    ['a version that is a path', 'odd', { Version: '1.0/../../x' }],
    ['a version as long as a book', 'odd', { Version: `1.${'0'.repeat(5000)}` }],
    ['an architecture that is a path', 'odd', { Architecture: '../amd64' }],
    ['a size below zero', 'odd', { Size: '-1' }],
    ['a size that no disk has', 'odd', { Size: '9'.repeat(40) }],
    ['a digest that is none', 'odd', { SHA256: 'abc' }],
    ['a stanza of 17 MB', 'odd', { Description: 'x'.repeat(17 * 2 ** 20) }],
  ])('when an entry has %s', async (_, name, fields) => {
    trees.one = await main({ name: 'new' }, { name, fields })
    const { state, said } = await run(source)
    expect([state, said]).toEqual(['damaged', expect.stringMatching(/^[^\u0000-\u001f]{20,700}$/)])
    await expectOld()
  })

  test.each<[string, string, number | undefined]>([
    ['that its root does not announce', 'x', undefined],
    ['that its root announces as small', '\n', 5_000],
    ['that its root announces', '\n', 100 * 100 * 2 ** 20],
  ])('when its index is a bomb, 10 GB from 10 MB, %s', { timeout: 60_000 }, async (_, letter, announced) => {
    // members of a gzip file follow one another
    const member = gzipSync(Buffer.alloc(100 * 2 ** 20, letter))
    const bomb = Buffer.concat(Array.from({ length: 100 }, () => member))
    const index = 'main/binary-amd64/Packages'
    const lines = [
      ` ${createHash('sha256').update(bomb).digest('hex')} ${bomb.length} ${index}.gz`,
      ...(announced === undefined ? [] : [` ${'0'.repeat(64)} ${announced} ${index}`]),
    ]
    const release = (await main())['dists/tested/Release']?.toString().split('SHA256:')[0] ?? ''
    trees.one = {
      'dists/tested/Release': Buffer.from(`${release}SHA256:\n${lines.join('\n')}\n`),
      [`dists/tested/${index}.gz`]: bomb,
    }
    await start({ againAfterMs: [] })
    const before = process.memoryUsage().rss
    const { state, said } = await run(source)
    expect(['damaged', 'mirror_syncing'], said ?? '').toContain(state)
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20)
    await expectOld()
  })

  test('when it is cancelled while it reads', async () => {
    trees.one = await main({ name: 'new' })
    const stop = new AbortController()
    const whole = fetchFrom(() => trees.one ?? {})
    await syncing.close()
    syncing = await startSync(db, () => async (path, limits) => {
      if (path.endsWith('.gz')) stop.abort(new Error('enough'))
      return whole(path, limits)
    })
    await expect(run(source, stop.signal)).rejects.toThrow('enough')
    await expectOld()
    expect(await stateOf(source)).toMatchObject({ state: 'ok' })
  })
})

test('what a process that was killed left of a source goes when it is synchronised again', async () => {
  const source = await addSource(db, 'one')
  await mkdir(join(syncing.incoming, `catalogue-${source.id}`, 'old'), { recursive: true })
  trees.one = await main({ name: 'hello' })
  expect(await run(source)).toMatchObject({ state: 'ok', packages: 1 }) // and no folder is left
})

test('of a source that is removed while it is read nothing is written, and it is no fault', async () => {
  const source = await addSource(db, 'one')
  trees.one = await main({ name: 'hello' })
  const whole = fetchFrom(() => trees.one ?? {})
  let what = '.gz'
  await start()
  await syncing.close()
  syncing = await startSync(db, () => async (path, limits) => {
    if (path.endsWith(what)) await db.query('delete from import_source')
    return whole(path, limits)
  })
  const removed = 'It was removed while it was synchronised.'
  expect(await run(source)).toMatchObject({ state: 'gone', said: removed, packages: 0 })
  // also where it fails for another reason
  const other = await addSource(db, 'other')
  what = 'Release'
  trees.one = {}
  expect(await run(other)).toMatchObject({ state: 'unreachable' })
  expect([await stored(), await names(), await db.query('select * from import_root')]).toEqual([[], [], []])
})

test('a signed source is read by those keys that it is trusted by, and by no others', async () => {
  const make = () =>
    openpgp.generateKey({ userIDs: [{ name: 'T' }], format: 'object', date: new Date(Date.now() - 60_000) })
  const pairs = [await make(), await make()]
  const [own, other] = pairs.map(({ privateKey }) => privateKey)
  const keys = await trustKeys({ openpgp: [own?.toPublic().armor() ?? ''], rsa: new Map(), now: () => new Date() })
  await start({ keysFor: () => Promise.resolve(keys) })
  const source = await addSource(db, 'one', { signed: true })
  const signedBy = (key: typeof own) => async (text: string) =>
    openpgp.sign({ message: await openpgp.createCleartextMessage({ text }), signingKeys: key as openpgp.PrivateKey })
  const components = { main: [{ name: 'hello' }] }
  trees.one = await aptTree({ components, sign: signedBy(other) })
  expect(await run(source)).toMatchObject({ state: 'untrusted' })
  trees.one = await aptTree({ components })
  expect(await run(source)).toMatchObject({ state: 'unsigned' })
  expect(await stored()).toEqual([])
  trees.one = await aptTree({ components, sign: signedBy(own) })
  expect(await run(source)).toMatchObject({ state: 'ok', packages: 1 })
  expect(await db.first('select signed_by from import_root')).toEqual({
    signed_by: [own?.getFingerprint().toUpperCase()],
  })
})

describe('a source of rpm', () => {
  const symbols = ['ksym(printk) = 1', 'ksym(panic) = 2']
  const kernel = { name: 'kernel', provides: symbols, files: ['/usr/bin/kver'] }
  const found = (): Promise<{ name: string }[]> => db.query('select name from import_capability order by name')

  test('keeps the symbols of kernels that some package asks for, wherever that is listed', async () => {
    const [one, two] = [await addSource(db, 'one', { format: 'rpm' }), await addSource(db, 'two', { format: 'rpm' })]
    trees.one = rpmTree([kernel, { name: 'driver', requires: ['ksym(printk) = 1'] }])
    await run(one)
    expect(await found()).toEqual([{ name: '/usr/bin/kver' }, { name: 'ksym(printk) = 1' }])
    const row = await db.first<{ relations: { provides: unknown } }>(
      `select relations from import_package where name = 'kernel'`,
    )
    expect(row?.relations.provides).toEqual([{ name: 'ksym(printk) = 1' }])
    // a need in another source, read later
    trees.two = rpmTree([{ name: 'other-driver', requires: ['ksym(panic) = 2'] }])
    await run(two)
    await run(one)
    expect(await found()).toEqual([
      { name: '/usr/bin/kver' },
      { name: 'ksym(panic) = 2' },
      { name: 'ksym(printk) = 1' },
    ])
    expect(await run(one)).toMatchObject({ changed: false })
  })

  test('hides packages of modules whose stream is no default, also when only that changes', async () => {
    const source = await addSource(db, 'one', { format: 'rpm' })
    const stream = (version: string): string => `---
document: modulemd
version: 2
data:
  name: nodejs
  stream: "${version}"
  summary: JavaScript
  artifacts:
    rpms:
    - nodejs-0:${version}.0-1.x86_64
    - nodejs-0:${version}.0-1.src
...
`
    const standard = (version: string): string => `---
document: modulemd-defaults
version: 1
data:
  module: nodejs
  stream: "${version}"
...
`
    const entries = ['18', '20'].map(version => ({ name: 'nodejs', version: `${version}.0` }))
    const seen = (): Promise<unknown[]> =>
      db.query('select version, module, hidden from import_package order by version')
    trees.one = rpmTree([...entries, { name: 'plain' }], stream('18') + stream('20') + standard('18'))
    expect(await run(source)).toMatchObject({ packages: 3 })
    expect(await seen()).toEqual([
      { version: '1.0-1', module: null, hidden: false },
      { version: '18.0-1', module: 'nodejs:18', hidden: false },
      { version: '20.0-1', module: 'nodejs:20', hidden: true },
    ])
    trees.one = rpmTree([...entries, { name: 'plain' }], stream('18') + stream('20') + standard('20'))
    expect(await run(source)).toMatchObject({ added: 0, removed: 0 })
    expect((await seen()).slice(1)).toEqual([
      { version: '18.0-1', module: 'nodejs:18', hidden: true },
      { version: '20.0-1', module: 'nodejs:20', hidden: false },
    ])
    trees.one = rpmTree([...entries, { name: 'plain' }])
    await run(source)
    expect((await seen()).every(row => !(row as { hidden: boolean }).hidden)).toBe(true)
  })
})
