import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { repositories } from '../../test/support/repositories.ts'
import { readServed } from '../../test/support/served-file.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Codename } from '../core/identity.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { recipePath } from '../files/recipes.ts'
import { getFormat } from '../formats/index.ts'
import { createLog } from '../lib/log.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from '../signing/keyring.ts'
import { createPublisher, type Publisher } from './publisher.ts'
import { createRenewal, type Renewal } from './renew.ts'

const JAMMY = 'jammy' as Codename
const NOBLE = 'noble' as Codename
const INDEX = 'main/binary-amd64/Packages'

let stock: Stock
let publisher: Publisher
let renewal: Renewal
let keyring: ReturnType<typeof createKeyring>
let said: { readonly action: string; readonly distribution?: string; readonly facts?: unknown }[]
let owed: string[]
beforeEach(async () => {
  stock = await createStock()
  stock.clock.set('2026-11-01T00:00:00Z')
  keyring = createKeyring({ layout: stock.layout, box: createSecretBox('k'), clock: stock.clock })
  await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
  const { db, layout, clock } = stock
  publisher = createPublisher({ db, layout, keyring, clock, formats: getFormat, repositories })
  said = []
  owed = []
  const outbox = { owe: async (_tx: unknown, key: string) => void owed.push(key), nudge: () => undefined }
  const audit = { owe: async (_tx: unknown, entry: (typeof said)[number]) => void said.push(entry) }
  renewal = createRenewal({ db, outbox, audit, clock, log: createLog('fatal'), publisher } as never)
})
afterEach(async () => {
  await publisher.close()
  await stock.close()
})

const validFor = (codename: string, days: number): Promise<unknown> =>
  stock.db.query(
    `insert into distribution (codename, valid_days) values ($1, $2) on conflict (codename) do update set valid_days = $2`,
    [codename, days],
  )
const release = (codename = JAMMY): Promise<string> => readFile(join(stock.layout.live(codename), 'Release'), 'utf8')
const inode = async (path: string): Promise<number> => (await stat(join(stock.layout.live(JAMMY), path))).ino
const day = (n: string): void => stock.clock.set(`2026-11-${n}T00:00:00Z`)
const deliver = (): Promise<void> =>
  renewal.debts.root?.deliver([JAMMY], () => Promise.resolve()) ?? Promise.reject(new Error('no such debt'))

test('a root has no Valid-Until unless an admin sets one', async () => {
  await publisher.publish(JAMMY)
  expect(await release()).not.toMatch(/Valid-Until|NotAutomatic|ButAutomatic/)
  expect(await publisher.root(JAMMY)).toEqual({ at: stock.clock.now() })
  await renewal.look()
  expect(owed).toEqual([])
})

test('a root with an end is signed again at half of its time, and every other file is carried on', async () => {
  await validFor('jammy', 10)
  await stock.put({ name: 'hello', bytes: 'hello' })
  await publisher.publish(JAMMY)
  await publisher.publishContents(JAMMY)
  expect(await release()).toContain('\nValid-Until: Wed, 11 Nov 2026 00:00:00 UTC\n')
  const before = (await release()).split('SHA256:')[1]
  const files = [recipePath(INDEX), `${INDEX}.xz`, 'main/Contents-amd64.gz']
  const inodes = await Promise.all(files.map(inode))

  day('05')
  await renewal.look()
  expect(owed).toEqual([])
  day('06')
  await renewal.look()
  expect(owed).toEqual(['root:jammy'])
  await deliver()
  expect(await release()).toContain('\nValid-Until: Mon, 16 Nov 2026 00:00:00 UTC\n')
  expect((await release()).split('SHA256:')[1]).toBe(before)
  expect(await Promise.all(files.map(inode))).toEqual(inodes)
  expect(said).toEqual([
    expect.objectContaining({
      action: 'RESIGN',
      distribution: 'jammy',
      facts: { kind: 'root.signed_again', generation: 3, until: '2026-11-16T00:00:00.000Z' },
    }),
  ])
  owed.length = 0
  await renewal.look()
  expect(owed).toEqual([])
  expect(renewal.warnings(ALL_SEEING)).toEqual([])
  // the index is still found by the digest that an older root names
  const digest = /SHA256:\n (\w+) .*/.exec(await release())?.[1] ?? ''
  expect(await stat(join(stock.layout.live(JAMMY), 'main/binary-amd64/by-hash'))).toBeTruthy()
  expect(digest).toHaveLength(64)
})

test('a root that expired while the service was off is signed at the start, and health reports it until then', async () => {
  await validFor('jammy', 4)
  await validFor('noble', 4)
  await publisher.publish(JAMMY)
  day('04')
  await renewal.look()
  expect(owed).toEqual(['root:jammy'])
  expect(renewal.warnings(ALL_SEEING)).toEqual([])
  stock.clock.set('2026-11-04T12:00:00Z')
  expect(renewal.warnings(ALL_SEEING)).toEqual([
    expect.stringContaining('The root of jammy ends on 2026-11-05T00:00:00.000Z'),
  ])
  day('09')
  expect(renewal.warnings({ hidden: ['jammy'] })).toEqual([])
  expect(renewal.warnings(ALL_SEEING)).toEqual([
    expect.stringContaining('Clients refuse jammy since 2026-11-05T00:00:00.000Z'),
  ])
  await deliver()
  expect(renewal.warnings(ALL_SEEING)).toEqual([])
  expect(await release()).toContain('Valid-Until: Fri, 13 Nov 2026')
  // what was never published has no root that could end
  expect(await publisher.root(NOBLE)).toBeUndefined()
})

test('a distribution that is rolled back stays rolled back when it is signed again', async () => {
  await validFor('jammy', 10)
  await stock.put({ name: 'hello', bytes: 'hello' })
  await publisher.publish(JAMMY)
  await stock.put({ name: 'world', bytes: 'world' })
  await publisher.publish(JAMMY)
  await publisher.rollback(JAMMY, 1, () => Promise.resolve())
  day('06')
  await deliver()
  expect((await publisher.generations(JAMMY)).frozen).toEqual({ to: 1, head: 2 })
  expect((await readServed(stock.layout, join(stock.layout.live(JAMMY), INDEX))).toString()).not.toContain(
    'Package: world',
  )
  expect(await release()).toContain('Valid-Until: Mon, 16 Nov 2026')
})

test('a removed Valid-Until is not in the next root', async () => {
  await validFor('jammy', 10)
  await publisher.publish(JAMMY)
  await validFor('jammy', 0)
  await deliver()
  expect(await release()).not.toContain('Valid-Until')
})
