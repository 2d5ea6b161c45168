import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { getDistribution } from '../../test/support/repositories.ts'
import { readServed } from '../../test/support/served-file.ts'
import { createStock, type Item, type Stock } from '../../test/support/test-catalog.ts'
import type { Codename } from '../core/identity.ts'
import { createRepositories } from '../core/repository.ts'
import { getFormat } from '../formats/index.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from '../signing/keyring.ts'
import { createPublisher, type Publisher } from './publisher.ts'
import { readState, stateFile } from './state.ts'

const JAMMY = 'jammy' as Codename
const ARCHS = ['amd64', 'arm64']
const COMPONENTS = ['main', 'extra']
const repositories = createRepositories([{ ...getDistribution(JAMMY), archs: ARCHS, components: COMPONENTS }])
/** Enough for several pieces. */
const COUNT = 400

let stock: Stock
let publisher: Publisher
let keyring: ReturnType<typeof createKeyring>
beforeEach(async () => {
  stock = await createStock({ repositories })
  keyring = createKeyring({ layout: stock.layout, box: createSecretBox('k'), clock: stock.clock })
  await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
  publisher = startPublisher()
})
afterEach(async () => {
  await publisher.close()
  await stock.close()
})

function startPublisher(): Publisher {
  const { db, layout, clock } = stock
  return createPublisher({ db, layout, keyring, clock, formats: getFormat, repositories })
}

/** A third of them neutral, over both components. */
const itemOf = (n: number): Item => ({
  name: `p${n}`,
  arch: ['amd64', 'arm64', 'all'][n % 3] ?? '',
  component: n % 5 === 0 ? 'extra' : 'main',
  bytes: `bytes of ${n}`,
})

/** The files that all indexes name, each once. */
async function countFiles(): Promise<number> {
  const places = COMPONENTS.flatMap(component => ARCHS.map(arch => join(component, `binary-${arch}`, 'Packages')))
  const texts = await Promise.all(places.map(path => readServed(stock.layout, join(stock.layout.live(JAMMY), path))))
  return new Set(texts.flatMap(text => text.toString().match(/^Filename: .*$/gm) ?? [])).size
}

const counted = async (): Promise<number | undefined> =>
  (await publisher.generations(JAMMY)).generations.at(-1)?.packages

test('a package of all architectures counts once, whatever was added, deleted or rolled back', async () => {
  for (let n = 0; n < COUNT; n++) await stock.put(itemOf(n))
  expect(await publisher.publish(JAMMY)).toMatchObject({ packages: COUNT })
  for (const n of [2, 5, 6, 75, 150]) {
    const { name = '', arch = '' } = itemOf(n)
    const ref = { format: 'deb' as const, name, version: '1.0', arch, codename: JAMMY }
    await stock.catalog.change({ kind: 'delete', ref, why: '' }, { name: 'max' })
    await publisher.publish(JAMMY)
    expect(await counted()).toBe(await countFiles())
  }
  await stock.put({ name: 'p7', version: '2.0', arch: 'all', component: 'extra' })
  await publisher.publish(JAMMY)
  expect([await counted(), await countFiles()]).toEqual([COUNT - 4, COUNT - 4])
  const { packages } = await publisher.rollback(JAMMY, 4, () => Promise.resolve())
  expect([packages, await countFiles()]).toEqual([COUNT - 3, COUNT - 3])
})

test('a state that does not say how many packages are neutral is completed by the next publication', async () => {
  for (let n = 0; n < COUNT; n++) await stock.put(itemOf(n))
  await publisher.publish(JAMMY)
  await publisher.close()
  const state = await readState(stock.layout, JAMMY, 1)
  const pieces = Object.entries(state?.pieces ?? {}).map(([id, shards]) => [
    id,
    shards.map(({ neutral: _, ...shard }) => shard),
  ])
  const old = { ...state, pieces: Object.fromEntries(pieces) as unknown }
  await writeFile(stateFile(stock.layout, JAMMY, 1), JSON.stringify(old))
  publisher = startPublisher()
  await stock.put({ name: 'one-more', arch: 'all' })
  expect(await publisher.publish(JAMMY)).toMatchObject({ n: 2, packages: COUNT + 1 })
  expect(await countFiles()).toBe(COUNT + 1)
  const shards = Object.entries((await readState(stock.layout, JAMMY, 2))?.pieces ?? {}).flatMap(([, all]) => all)
  expect(shards.filter(({ neutral }) => neutral === undefined)).toEqual([])
})
