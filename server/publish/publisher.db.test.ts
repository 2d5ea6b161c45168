import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { appendFile, mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readServed } from '../../test/support/served-file.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Codename, PackageRef } from '../core/identity.ts'
import type { Db } from '../db/db.ts'
import { recipePath } from '../files/recipes.ts'
import { getFormat } from '../formats/index.ts'
import { listFiles } from '../lib/list-files.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from '../signing/keyring.ts'
import { createVerifier } from './audit-trees.ts'
import { liveGeneration } from './prune.ts'
import { createPublisher, type Publisher } from './publisher.ts'
import { repositories } from '../../test/support/repositories.ts'
import { judge } from '../../test/support/review-change.ts'

const JAMMY = 'jammy' as Codename
const INDEX = 'main/binary-amd64/Packages'

let stock: Stock
let publisher: Publisher
let keyring: ReturnType<typeof createKeyring>
beforeEach(async () => {
  stock = await createStock()
  stock.clock.set(new Date().toISOString())
  keyring = createKeyring({ layout: stock.layout, box: createSecretBox('k'), clock: stock.clock })
  await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
  publisher = startPublisher()
})
const startPublisher = (db: Db = stock.db): Publisher =>
  createPublisher({ db, layout: stock.layout, keyring, clock: stock.clock, formats: getFormat, repositories })

/** A start on a copy without what can be built again. */
async function restartWithoutTrees(): Promise<void> {
  await publisher.close()
  for (const folder of ['trees', 'apt']) await rm(join(stock.layout.root, folder), { recursive: true })
  publisher = startPublisher()
}
afterEach(async () => {
  await publisher.close()
  await stock.close()
})

const live = (path: string): string => join(stock.layout.live(JAMMY), path)
const read = async (path: string): Promise<string> => (await readServed(stock.layout, live(path))).toString()
const ref = (name: string, version = '1.0'): PackageRef => ({
  format: 'deb',
  name,
  version,
  arch: 'amd64',
  codename: JAMMY,
})
const poolPath = (name: string, version = '1.0'): string =>
  join(stock.layout.publishedFolder(JAMMY), 'main', name.slice(0, 1), name, `${name}_${version}_amd64.deb`)
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
/** Whether clients get an index by its digest, with those bytes. */
const isHeld = (digest: string): Promise<boolean> =>
  readServed(stock.layout, live(`main/binary-amd64/by-hash/SHA256/${digest}`)).then(
    bytes => hash('sha256', bytes) === digest,
    () => false,
  )
const named = async (): Promise<string[]> =>
  [...(await read(INDEX)).matchAll(/^Package: (.*)\nVersion: (.*)$/gm)].map(match => `${match[1]} ${match[2]}`)
const later = (minutes: number): void =>
  stock.clock.set(new Date(stock.clock.now().getTime() + minutes * 60_000).toISOString())
const has = (tool: string): boolean => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0

/** `p0`, `p1`, … with bytes of their own; a few at a time, as uploads come. */
async function putMany(prefix: string, count: number): Promise<void> {
  const waiting = Array.from({ length: count }, (_, n) => `${prefix}${n}`)
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
        await stock.put({ name, bytes: `bytes of ${name}` })
    }),
  )
}

async function differences(): Promise<readonly unknown[]> {
  await stock.outbox.drain()
  return (
    await createVerifier({
      db: stock.db,
      layout: stock.layout,
      manifests: stock.manifests,
      keyring,
      formats: getFormat,
      repositories,
    })()
  ).differences
}

describe('a publication', () => {
  test('of nothing is an empty index that clients can read', async () => {
    expect(await publisher.publish(JAMMY)).toMatchObject({ n: 1, packages: 0 })
    expect(await read(INDEX)).toBe('')
    if (has('xz')) expect(spawnSync('xz', ['-dc', live(`${INDEX}.xz`)]).stdout).toHaveLength(0)
    expect(spawnSync('gzip', ['-dc', live(`${INDEX}.gz`)]).stdout).toHaveLength(0)
    expect(await publisher.publish(JAMMY)).toBeUndefined()
  })

  test('tells once of a distribution that a package sets up, and never of one that an admin set up', async () => {
    const told: string[] = []
    await publisher.close()
    publisher = createPublisher({
      ...{ db: stock.db, layout: stock.layout, keyring, clock: stock.clock, formats: getFormat, repositories },
      onFirst: async (_, codename) => void told.push(codename),
    })
    await stock.db.query(`insert into distribution (codename) values ('noble')`)
    await stock.db.query(`insert into publish_dirty (codename, name) values ('noble', '')`)
    await publisher.publish('noble' as Codename)
    expect(told).toEqual([])
    await stock.put({ name: 'first' })
    await publisher.publish(JAMMY)
    await stock.put({ name: 'second' })
    await publisher.publish(JAMMY)
    expect(told).toEqual([JAMMY])
  })

  test(
    'names every published package once, in three forms of one content, signed, with its bytes beside it',
    { timeout: 120_000 },
    async () => {
      await putMany('p', 300)
      await stock.put({ name: 'p7', version: '2.0', bytes: 'newer' })
      await stock.put({ name: 'held', state: 'pending_review', bytes: 'held' })
      await publisher.publish(JAMMY)
      const plain = await read(INDEX)
      expect(new Set(await named()).size).toBe(301)
      expect(plain).not.toContain('Package: held')
      expect(spawnSync('gzip', ['-dc', live(`${INDEX}.gz`)], { maxBuffer: 1 << 26 }).stdout.toString()).toBe(plain)
      if (has('xz'))
        expect(spawnSync('xz', ['-dc', live(`${INDEX}.xz`)], { maxBuffer: 1 << 26 }).stdout.toString()).toBe(plain)
      await writeFile(join(stock.layout.root, 'ring.gpg'), await keyring.publicKey('binary'))
      if (has('gpgv'))
        expect(
          spawnSync('gpgv', ['--keyring', './ring.gpg', live('InRelease')], { cwd: stock.layout.root }).status,
        ).toBe(0)
      expect(await readFile(poolPath('p7', '2.0'), 'utf8')).toBe('newer')
      expect(await differences()).toEqual([])
    },
  )

  test(
    'of a change writes what a publication of everything would write, and only the pieces that changed',
    { timeout: 120_000 },
    async () => {
      await putMany('q', 700)
      const first = await publisher.publish(JAMMY)
      expect(first?.shardsWritten).toBeGreaterThan(1)
      await stock.put({ name: 'q77x', bytes: 'one more' })
      await stock.catalog.change({ kind: 'delete', ref: ref('q600'), why: '' }, { name: 'max' })
      const second = await publisher.publish(JAMMY)
      expect(second?.shardsWritten).toBeLessThanOrEqual(2)
      const incremental = await read(INDEX)
      await stock.db.query(`insert into publish_dirty (codename, name) values ('jammy', '')`)
      await publisher.publish(JAMMY)
      expect(await read(INDEX)).toBe(incremental)
      expect(await differences()).toEqual([])
    },
  )

  test('of many new versions writes the last piece alone, whatever they are called', { timeout: 120_000 }, async () => {
    await putMany('q', 700)
    await publisher.publish(JAMMY)
    for (const name of ['a', 'q3', 'q690', 'z']) await stock.put({ name, version: '2.0', bytes: `newer ${name}` })
    expect((await publisher.publish(JAMMY))?.shardsWritten).toBeLessThanOrEqual(2)
    expect((await named()).slice(-4)).toEqual(['a 2.0', 'q3 2.0', 'q690 2.0', 'z 2.0'])
    expect(await differences()).toEqual([])
  })

  test('of a package that waited for a review puts it where it came in', async () => {
    await stock.put({ name: 'first', bytes: 'first' })
    const { manifest } = await stock.put({ name: 'held', state: 'pending_review', bytes: 'held' })
    await stock.put({ name: 'last', bytes: 'last' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['first 1.0', 'last 1.0'])
    await stock.catalog.change(judge(manifest.ref, 'approve'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['first 1.0', 'held 1.0', 'last 1.0'])
    expect(await differences()).toEqual([])
  })

  test('over the pieces of an earlier release, in the order of names, makes all of them again', async () => {
    for (const name of ['b', 'a']) await stock.put({ name, bytes: name })
    await publisher.publish(JAMMY)
    const state = join(stock.layout.trees, JAMMY, '1.json')
    const written = JSON.parse(await readFile(state, 'utf8')) as { pieces: Record<string, { from: unknown }[]> }
    for (const piece of Object.values(written.pieces).flat()) piece.from = 'a'
    await publisher.close()
    await writeFile(state, JSON.stringify(written))
    publisher = startPublisher()
    await stock.catalog.change({ kind: 'delete', ref: ref('a'), why: '' }, { name: 'max' })
    await stock.put({ name: 'c', bytes: 'c' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['b 1.0', 'c 1.0'])
    expect(await differences()).toEqual([])
  })

  test('leaves out a package whose bytes are missing, reports it, and publishes the rest', async () => {
    const { manifest } = await stock.put({ name: 'lost', bytes: 'lost' })
    await stock.put({ name: 'kept', bytes: 'kept' })
    await rm(stock.layout.blob(manifest.files[0].blob.sha256))
    expect(await publisher.publish(JAMMY)).toMatchObject({ packages: 1, missing: ['lost 1.0 amd64'] })
    expect(await named()).toEqual(['kept 1.0'])
    await stock.put({ name: 'late', bytes: 'late' })
    expect(await publisher.publish(JAMMY), 'its neighbour is new').toMatchObject({ packages: 2, missing: [] })
    expect(await named()).toEqual(['kept 1.0', 'late 1.0'])
  })

  test('does not miss a package that was deleted while it was read', async () => {
    await stock.put({ name: 'kept', bytes: 'kept' })
    const { manifest } = await stock.put({ name: 'gone', bytes: 'gone' })
    let isDeleted = false
    await publisher.close()
    publisher = startPublisher({
      ...stock.db,
      query: async <Row extends object>(text: string, values?: readonly unknown[]) => {
        const rows = await stock.db.query<Row>(text, values)
        if (!isDeleted && text.includes('from package where') && rows.length === 2) {
          isDeleted = true
          await stock.catalog.change({ kind: 'delete', ref: ref('gone'), why: '' }, { name: 'max' })
          await rm(stock.layout.blob(manifest.files[0].blob.sha256))
        }
        return rows
      },
    })
    expect(await publisher.publish(JAMMY)).toMatchObject({ packages: 1, missing: [] })
    expect([isDeleted, await named()]).toEqual([true, ['kept 1.0']])
  })

  test('takes what did not change from the old pieces, and from the database where they are gone or damaged', async () => {
    for (const name of ['a', 'b', 'c']) await stock.put({ name, bytes: name })
    await publisher.publish(JAMMY)
    const whole = await read(INDEX)
    const pieces = async (): Promise<string[]> =>
      (await listFiles(stock.layout.shards)).filter(path => path.endsWith('.txt'))
    const damage: Record<string, (path: string) => Promise<unknown>> = {
      'as they are': () => Promise.resolve(),
      'other bytes': async path => writeFile(path, (await readFile(path, 'utf8')).replaceAll('b', 'x')),
      'cut off': path => truncate(path, 10),
      'gone': path => rm(path),
    }
    for (const [n, [how, work]] of Object.entries(damage).entries()) {
      for (const path of await pieces()) await work(path)
      await stock.put({ name: `d${n}`, bytes: how })
      await publisher.publish(JAMMY)
      expect((await read(INDEX)).startsWith(whole), how).toBe(true)
      expect(await named(), how).toHaveLength(3 + n + 1)
    }
    expect(await differences()).toEqual([])
  })

  test('is dated no earlier than the one before when the clock is set back a little, and by the clock when it was wrong', async () => {
    const dated = async (): Promise<number> => Date.parse(/^Date: (.*)$/m.exec(await read('Release'))?.[1] ?? '')
    const publishAfter = async (minutes: number, name: string): Promise<number> => {
      later(minutes)
      await stock.put({ name, bytes: name })
      await publisher.publish(JAMMY)
      return dated()
    }
    const first = await publishAfter(0, 'one')
    expect(await publishAfter(-5 / 60, 'two')).toBe(first)
    expect(await publishAfter(-60, 'three')).toBe(first - 60 * 60_000 - 5_000)
    expect(await differences()).toEqual([])
  })

  test('twice at once is one after the other, and nothing is lost', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    const racing = [
      publisher.publish(JAMMY),
      stock.put({ name: 'two', bytes: '2' }).then(() => publisher.publish(JAMMY)),
    ]
    await Promise.all(racing)
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['one 1.0', 'two 1.0'])
  })

  test('without a signing key changes nothing', async () => {
    const bare = createPublisher({
      db: stock.db,
      layout: stock.layout,
      clock: stock.clock,
      formats: getFormat,
      repositories,
      keyring: {
        signer: async () => {
          throw new Error('no key')
        },
      },
    })
    await expect(bare.publish(JAMMY)).rejects.toThrow('no key')
    expect(await exists(stock.layout.live(JAMMY))).toBe(false)
    await bare.close()
  })
})

describe('what clients may still hold', () => {
  test('hashed indexes stay for an hour after they were replaced, and then go', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    const digest = /([0-9a-f]{64}) +\d+ main\/binary-amd64\/Packages.xz/.exec(await read('Release'))?.[1] ?? ''
    for (let n = 0; n < 5; n++) {
      await stock.put({ name: `more${n}`, bytes: `m${n}` })
      await publisher.publish(JAMMY)
    }
    // the fifth generation before is kept no more, and its index has no file
    expect(await exists(live(`main/binary-amd64/by-hash/SHA256/${digest}`))).toBe(false)
    expect(await isHeld(digest)).toBe(true)
    expect((await readdir(join(stock.layout.trees, JAMMY))).filter(name => /^\d+$/.test(name))).toHaveLength(5)
    later(61)
    await publisher.tidy()
    expect(await isHeld(digest)).toBe(false)
    expect(await differences()).toEqual([])
  })

  test('a site that publishes without a pause still loses the hashed indexes whose hour is over', async () => {
    const publish = async (n: number): Promise<string> => {
      await stock.put({ name: `one${n}`, bytes: `${n}` })
      await publisher.publish(JAMMY)
      return /([0-9a-f]{64}) +\d+ main\/binary-amd64\/Packages.xz/.exec(await read('Release'))?.[1] ?? ''
    }
    const digests: string[] = []
    for (let n = 0; n < 9; n++) {
      digests.push(await publish(n))
      later(9)
    }
    await publish(9)
    const kept = await Promise.all(digests.map(isHeld))
    // every second publication searches: the last one after 72 minutes, when the first had been replaced for 63
    expect(kept).toEqual([false, ...Array.from({ length: 8 }, () => true)])
    expect(await differences()).toEqual([])
  })

  test('an index that returns to old content is made again: its old pieces were removed', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    const before = await read(INDEX)
    const others = Array.from({ length: 5 }, (_, n) => `more${n}`)
    for (const name of others) {
      await stock.put({ name, bytes: name })
      await publisher.publish(JAMMY)
    }
    later(61)
    await publisher.tidy()
    for (const name of others) await stock.catalog.change({ kind: 'delete', ref: ref(name), why: '' }, { name: 'max' })
    expect(await publisher.publish(JAMMY)).toMatchObject({ n: 7, packages: 1 })
    expect(await read(INDEX)).toBe(before)
    expect(await differences()).toEqual([])
  })

  test('a deleted package can be fetched for an hour and as long as a generation names it, a quarantined one not at all', async () => {
    for (const name of ['deleted', 'infected', 'fine']) await stock.put({ name, bytes: name })
    await publisher.publish(JAMMY)
    await stock.catalog.change({ kind: 'delete', ref: ref('deleted'), why: '' }, { name: 'max' })
    await stock.catalog.change(judge(ref('infected'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['fine 1.0'])
    expect(await exists(poolPath('deleted'))).toBe(true)
    expect(await exists(poolPath('infected'))).toBe(false)
    expect(await differences()).toEqual([])
    later(61)
    await publisher.tidy()
    expect(await exists(poolPath('deleted'))).toBe(true)
    later(8 * 24 * 60)
    await publisher.tidy()
    expect(await exists(poolPath('deleted'))).toBe(false)
    expect(await exists(poolPath('fine'))).toBe(true)
    expect((await publisher.generations(JAMMY)).generations.map(one => one.n)).toEqual([2])
  })

  test('a version is reachable with all of its files, and a file that versions share as long as one of them is', async () => {
    const put = (version: string): Promise<unknown> =>
      stock.put({
        version,
        bytes: `first of ${version}`,
        others: {
          'hello_1.orig.tar.gz': 'orig',
          [`hello_${version}.patch`]: `patch of ${version}`,
          // a record of the build, which is kept and never served
          [`hello_${version}_amd64.buildinfo`]: `build of ${version}`,
        },
      })
    const folder = dirname(poolPath('hello'))
    const reachable = async (): Promise<string[]> => (await readdir(folder)).sort()
    for (const version of ['1', '2', '3']) await put(version)
    await publisher.publish(JAMMY)
    const [first, second, third] = ['1', '2', '3'].map(n => [`hello_${n}.patch`, `hello_${n}_amd64.deb`])
    const orig = 'hello_1.orig.tar.gz'
    expect(await reachable()).toEqual([orig, ...(first ?? []), ...(second ?? []), ...(third ?? [])].sort())
    expect(await readFile(join(folder, orig), 'utf8')).toBe('orig')
    expect(await differences()).toEqual([])
    // out of reach at once, but for what the others need
    await stock.catalog.change(judge(ref('hello', '1'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await reachable()).toEqual([orig, ...(second ?? []), ...(third ?? [])].sort())
    expect(await differences()).toEqual([])
    await stock.catalog.change({ kind: 'delete', ref: ref('hello', '2'), why: '' }, { name: 'max' })
    await publisher.publish(JAMMY)
    later(8 * 24 * 60)
    await publisher.tidy()
    expect(await reachable()).toEqual([orig, ...(third ?? [])].sort())
    expect(await differences()).toEqual([])
    await rm(join(folder, 'hello_3.patch'))
    expect(await differences()).toEqual([
      {
        what: 'index',
        where: 'jammy: main/h/hello/hello_3.patch',
        why: 'the index names it, and clients cannot fetch it',
      },
    ])
    await stock.catalog.change(judge(ref('hello', '3'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await reachable()).toEqual([])
    expect(await differences()).toEqual([])
    await stock.catalog.change(judge(ref('hello', '1'), 'approve'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await reachable()).toEqual([orig, ...(first ?? [])].sort())
    expect(await differences()).toEqual([])
  })

  test('a rollback brings back all the files of a version, and takes out none that another one needs', async () => {
    const put = (version: string): Promise<unknown> =>
      stock.put({ version, bytes: version, others: { 'hello.orig': 'orig', [`${version}.patch`]: version } })
    const folder = dirname(poolPath('hello'))
    for (const version of ['1', '2']) await put(version)
    await publisher.publish(JAMMY)
    await put('3')
    await publisher.publish(JAMMY)
    await stock.catalog.change(judge(ref('hello', '1'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    const back = await publisher.rollback(JAMMY, 1, async () => undefined)
    expect(back.left_out).toEqual(['hello 1 amd64'])
    expect(await named()).toEqual(['hello 2'])
    expect(await exists(join(folder, 'hello.orig'))).toBe(true)
    expect(await exists(join(folder, '1.patch'))).toBe(false)
    expect(await differences()).toEqual([])
    await stock.catalog.change(judge(ref('hello', '2'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual([])
    expect(await exists(join(folder, '2.patch'))).toBe(false)
    expect(await differences()).toEqual([])
  })

  test('a quarantined package leaves the tree also while no index can be written, and returns when it is approved', async () => {
    await stock.put({ name: 'held', bytes: 'held' })
    await stock.put({ name: 'kept', bytes: 'kept' })
    await publisher.publish(JAMMY)
    await stock.catalog.change(judge(ref('held'), 'quarantine'), { name: 'max' })
    const full = createPublisher({
      db: stock.db,
      layout: stock.layout,
      keyring: { signer: () => Promise.reject(new Error('no room left')) },
      clock: stock.clock,
      formats: getFormat,
      repositories,
    })
    await expect(full.publish(JAMMY)).rejects.toThrow('no room left')
    await full.close()
    expect([await exists(poolPath('held')), await exists(poolPath('kept'))]).toEqual([false, true])
    await stock.catalog.change(judge(ref('held'), 'approve'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await readFile(poolPath('held'), 'utf8')).toBe('held')
    expect(await differences()).toEqual([])
  })

  test('a version that was deleted and comes back with other bytes is served with those', async () => {
    await stock.put({ name: 'again', bytes: 'old' })
    await publisher.publish(JAMMY)
    await stock.catalog.change({ kind: 'delete', ref: ref('again'), why: '' }, { name: 'max' })
    await publisher.publish(JAMMY)
    await stock.put({ name: 'again', bytes: 'new' })
    await publisher.publish(JAMMY)
    expect(await readFile(poolPath('again'), 'utf8')).toBe('new')
    later(61)
    await publisher.tidy()
    expect(await readFile(poolPath('again'), 'utf8')).toBe('new')
    expect(await differences()).toEqual([])
  })
})

describe('file lists', () => {
  test('that are being made hold up work that must be alone with the trees', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    const ended: string[] = []
    const lists = publisher.publishContents(JAMMY).then(() => ended.push('lists'))
    await publisher.alone(JAMMY, () => Promise.resolve(ended.push('alone')))
    await lists
    expect(ended).toEqual(['lists', 'alone'])
  })

  test('follow on their own and are carried by the publications between', async () => {
    await stock.put({ name: 'hello', bytes: 'h' })
    await publisher.publish(JAMMY)
    expect(await read('Release')).not.toContain('Contents')
    await publisher.publishContents(JAMMY)
    expect(spawnSync('gzip', ['-dc', live('main/Contents-amd64.gz')]).stdout.toString()).toBe('usr/bin/hello\thello\n')
    expect(await publisher.publishContents(JAMMY)).toBeUndefined()
    await stock.put({ name: 'other', bytes: 'o' })
    await publisher.publish(JAMMY)
    expect(await read('Release')).toContain('main/Contents-amd64.gz')
    await publisher.publishContents(JAMMY)
    expect(spawnSync('gzip', ['-dc', live('main/Contents-amd64.gz')]).stdout.toString()).toBe(
      'usr/bin/hello\thello,other\n',
    )
    expect(await differences()).toEqual([])
  })

  test.skipIf(process.platform !== 'linux')(
    'that cannot be written fail by themselves, and come when they can',
    async () => {
      await stock.put({ name: 'hello', bytes: 'hello' })
      await publisher.publish(JAMMY)
      const folder = join(stock.layout.trees, JAMMY, 'contents')
      await rm(folder, { recursive: true, force: true })
      await symlink('/proc/self', folder) // a folder in which nobody can make a file
      await expect(publisher.publishContents(JAMMY)).rejects.toThrow('/contents/')
      await rm(folder)
      expect(await publisher.publishContents(JAMMY)).toMatchObject({ n: 2 })
      expect(await differences()).toEqual([])
    },
  )
})

describe('a rollback', () => {
  const noLine = async (): Promise<void> => undefined

  test('brings an earlier generation back under a new number, keeps it whatever is published, and goes forward again', async () => {
    await stock.put({ name: 'good', bytes: 'good' })
    await publisher.publish(JAMMY)
    await stock.put({ name: 'bad', bytes: 'bad' })
    await stock.catalog.change({ kind: 'delete', ref: ref('good'), why: '' }, { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['bad 1.0'])
    expect(await publisher.rollback(JAMMY, 1, noLine)).toMatchObject({ n: 3, frozen: true, left_out: [] })
    expect(await named()).toEqual(['good 1.0'])
    expect(await read('Release')).toContain('Codename: jammy')
    expect(await differences()).toEqual([])
    await stock.put({ name: 'later', bytes: 'later' })
    expect(await publisher.publish(JAMMY)).toBeUndefined()
    expect(await named()).toEqual(['good 1.0'])
    expect(await differences()).toEqual([])
    expect(await publisher.generations(JAMMY)).toMatchObject({
      frozen: { to: 1, head: 2 },
      generations: [{ n: 1 }, { n: 2, live: false }, { n: 3, live: true, from: 1 }],
    })
    expect(await publisher.rollback(JAMMY, 2, noLine)).toMatchObject({ n: 4, frozen: false })
    expect(await named()).toEqual(['bad 1.0', 'later 1.0'])
    expect(await differences()).toEqual([])
    later(8 * 24 * 60)
    await publisher.tidy()
    expect(await exists(poolPath('good'))).toBe(false)
    expect(await differences()).toEqual([])
  })

  test('leaves out what must not be served, and takes out what is quarantined or deleted afterwards', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await stock.put({ name, bytes: name })
    await publisher.publish(JAMMY)
    await stock.catalog.change(judge(ref('a'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await publisher.rollback(JAMMY, 1, noLine)).toMatchObject({ left_out: ['a 1.0 amd64'] })
    expect(await named()).toEqual(['b 1.0', 'c 1.0', 'd 1.0'])
    await stock.catalog.change(judge(ref('b'), 'quarantine'), { name: 'max' })
    await stock.catalog.change({ kind: 'delete', ref: ref('c'), why: '' }, { name: 'max' })
    expect(await publisher.publish(JAMMY)).toMatchObject({ n: 4, packages: 1 })
    expect(await publisher.publish(JAMMY)).toBeUndefined()
    expect(await named()).toEqual(['d 1.0'])
    expect(await exists(poolPath('b'))).toBe(false)
    expect(await differences()).toEqual([])
    expect(await publisher.repair()).toEqual([])
    await rm(poolPath('d'))
    expect(await differences()).toMatchObject([
      { what: 'index', why: 'the index names it, and clients cannot fetch it' },
    ])
  })

  test('never serves other bytes than the generation named', async () => {
    await stock.put({ name: 'again', bytes: 'old' })
    await publisher.publish(JAMMY)
    await stock.catalog.change({ kind: 'delete', ref: ref('again'), why: '' }, { name: 'max' })
    await stock.put({ name: 'again', bytes: 'new' })
    await publisher.publish(JAMMY)
    expect(await publisher.rollback(JAMMY, 1, noLine)).toMatchObject({ left_out: ['again 1.0 amd64'] })
    expect(await named()).toEqual([])
  })

  test('whose trees are lost publishes nothing by itself, and goes forward on request', async () => {
    await stock.put({ name: 'good', bytes: 'good' })
    await publisher.publish(JAMMY)
    await stock.put({ name: 'bad', bytes: 'bad' })
    await publisher.publish(JAMMY)
    await publisher.rollback(JAMMY, 1, noLine)
    await restartWithoutTrees()
    expect(await publisher.repair()).toContain(JAMMY)
    await expect(publisher.publish(JAMMY)).rejects.toThrow(
      'Generation 1 of jammy is not kept. Kept: none. A rollback without a generation publishes its packages as they are now.',
    )
    expect(await publisher.generations(JAMMY)).toEqual({ frozen: { to: 1, head: 2 }, generations: [] })
    await expect(publisher.rollback(JAMMY, 1, noLine)).rejects.toMatchObject({ code: 'generation_not_kept' })
    expect(await publisher.rollback(JAMMY, 2, noLine)).toMatchObject({ frozen: false, packages: 2 })
    expect(await named()).toEqual(['good 1.0', 'bad 1.0'])
    expect(await differences()).toEqual([])
  })

  test('to a generation that is not kept is refused and changes nothing', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    await expect(publisher.rollback(JAMMY, 7, noLine)).rejects.toMatchObject({ code: 'generation_not_kept' })
    expect(await publisher.generations(JAMMY)).toMatchObject({ frozen: undefined, generations: [{ n: 1, live: true }] })
  })
})

describe('a start after a crash', () => {
  test('right after the switch still takes a deleted package out of reach when its time is over', async () => {
    await stock.put({ name: 'gone', bytes: 'gone' })
    await publisher.publish(JAMMY)
    await stock.catalog.change({ kind: 'delete', ref: ref('gone'), why: '' }, { name: 'max' })
    const { db } = stock
    const query: typeof db.query = async (...asked) =>
      (await liveGeneration(stock.layout, JAMMY)) === 2
        ? Promise.reject(new Error('the power went'))
        : db.query(...asked)
    const cut = createPublisher({
      db: { ...db, query },
      layout: stock.layout,
      keyring,
      clock: stock.clock,
      formats: getFormat,
      repositories,
    })
    await expect(cut.publish(JAMMY)).rejects.toThrow('the power went')
    await Promise.all([cut.close(), publisher.close()])
    publisher = startPublisher()
    expect(await publisher.repair()).toEqual([])
    for (let n = 0; n < 6; n++) {
      later(30)
      await stock.put({ name: `more${n}`, bytes: String(n) })
      await publisher.publish(JAMMY)
    }
    expect(await exists(poolPath('gone'))).toBe(false)
    expect(await differences()).toEqual([])
  })

  test('publishes a tree that a restored backup does not have', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    await restartWithoutTrees()
    expect(await publisher.repair()).toEqual([JAMMY])
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['one 1.0'])
    expect(await differences()).toEqual([])
    expect(await publisher.repair()).toEqual([])
  })

  const byHash = (): string => stock.layout.byHash(JAMMY)
  const digests = async (): Promise<string[]> =>
    (await listFiles(byHash())).filter(path => /^[0-9a-f]{64}$/.test(basename(path)))
  const indexByHash = async (): Promise<string> =>
    join(byHash(), dirname(INDEX), 'SHA256', hash('sha256', await readFile(live(`${INDEX}.gz`))))

  test.each<[string, (root: string) => Promise<unknown>]>([
    ['an index was cut short', root => truncate(join(root, `${INDEX}.gz`), 3)],
    ['an index has other bytes', root => appendFile(join(root, `${INDEX}.gz`), 'x')],
    ['a recipe was cut short', root => truncate(join(root, recipePath(INDEX)), 3)],
    ['an index is missing', root => rm(join(root, `${INDEX}.xz`))],
    [
      'an index by its digest is empty',
      async () => (await rm(await indexByHash()), writeFile(await indexByHash(), '')),
    ],
  ])('builds the tree again when %s', async (_, damage) => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    expect(await publisher.repair()).toEqual([])
    await damage(stock.layout.generation(JAMMY, 1))
    expect(await differences()).not.toEqual([])
    expect(await publisher.repair()).toEqual([JAMMY])
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['one 1.0'])
    expect(await isHeld(hash('sha256', await readFile(live(`${INDEX}.gz`))))).toBe(true)
    expect(await differences()).toEqual([])
    expect(await publisher.repair()).toEqual([])
  })

  test('serves no index by its digest that a power cut left empty, of the generations before neither', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    const before = hash('sha256', await readFile(live(`${INDEX}.gz`)))
    await stock.put({ name: 'two', bytes: '2' })
    await publisher.publish(JAMMY)
    for (const path of await digests()) await truncate(path)
    expect(await differences()).toContainEqual({
      what: 'tree',
      where: `jammy: by-hash/main/binary-amd64/SHA256/${before}`,
      why: 'its bytes are not those of the digest in its name',
    })
    expect(await publisher.repair()).toEqual([JAMMY])
    await publisher.publish(JAMMY)
    for (const path of await digests()) expect(hash('sha256', await readFile(path))).toBe(basename(path))
    // joined from its pieces
    expect(await isHeld(before)).toBe(true)
    expect(await differences()).toEqual([])
  })

  test.each([
    ['started again', true],
    ['running', false],
  ])('without the pieces of its indexes serves what it served and takes in what comes: %s', async (_, isRestart) => {
    await stock.put({ name: 'one', bytes: '1' })
    await stock.put({ name: 'two', bytes: '2' })
    await publisher.publish(JAMMY)
    await rm(stock.layout.shards, { recursive: true })
    if (isRestart) {
      await publisher.close()
      publisher = startPublisher()
      for (const codename of await publisher.repair()) await publisher.publish(codename)
      expect(await readFile(poolPath('one'), 'utf8')).toBe('1')
    }
    await stock.put({ name: 'three', bytes: '3' })
    await stock.catalog.change(judge(ref('two'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await named()).toEqual(['one 1.0', 'three 1.0'])
    expect([await exists(poolPath('one')), await exists(poolPath('two')), await exists(poolPath('three'))]).toEqual([
      true,
      false,
      true,
    ])
    expect(await differences()).toEqual([])
  })

  test('removes unfinished generations, and package files that no index names', async () => {
    await stock.put({ name: 'one', bytes: '1' })
    await publisher.publish(JAMMY)
    await mkdir(dirname(poolPath('never')), { recursive: true })
    await writeFile(poolPath('never'), 'linked for a publication that was cut off')
    for (const name of ['2.part', '2']) await mkdir(join(stock.layout.trees, JAMMY, name, 'main'), { recursive: true })
    expect(await publisher.repair()).toEqual([])
    expect((await readdir(join(stock.layout.trees, JAMMY))).filter(name => name.startsWith('2'))).toEqual([])
    expect(await exists(poolPath('never'))).toBe(false)
    expect(await exists(poolPath('one'))).toBe(true)
    await stock.put({ name: 'two', bytes: '2' })
    expect(await publisher.publish(JAMMY)).toMatchObject({ n: 2 })
  })
})
