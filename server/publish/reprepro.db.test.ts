import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buildDeb } from '../../test/support/packages.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { Codename, PackageRef } from '../core/identity.ts'
import { getFormat } from '../formats/index.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from '../signing/keyring.ts'
import { chooseExternalWriter } from './external-writer.ts'
import { createPublisher, type Publisher } from './publisher.ts'
import { repositories } from '../../test/support/repositories.ts'
import { judge } from '../../test/support/review-change.ts'

const JAMMY = 'jammy' as Codename
const isHere = existsSync('/usr/bin/reprepro')

describe.skipIf(!isHere)('with reprepro as the writer of APT indexes', () => {
  let stock: Stock
  let publisher: Publisher
  beforeEach(async () => {
    stock = await createStock()
    stock.clock.set(new Date().toISOString())
    const keyring = createKeyring({ layout: stock.layout, box: createSecretBox('k'), clock: stock.clock })
    await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
    const { foreign } = chooseExternalWriter('reprepro', { layout: stock.layout, repositories })
    publisher = createPublisher({
      db: stock.db,
      layout: stock.layout,
      keyring,
      clock: stock.clock,
      formats: getFormat,
      repositories,
      ...(foreign === undefined ? {} : { foreign }),
    })
  })
  afterEach(async () => {
    await publisher.close()
    await stock.close()
  })

  const put = async (name: string, version = '1.0', codename = 'jammy'): Promise<void> => {
    await stock.put({ name, version, codename, bytes: await buildDeb({ name, version }) })
  }
  const read = (path: string, codename = JAMMY): Promise<string> =>
    readFile(join(stock.layout.live(codename), path), 'utf8')
  const named = async (codename = JAMMY): Promise<string[]> =>
    [...(await read('main/binary-amd64/Packages', codename)).matchAll(/^Package: (.*)\nVersion: (.*)$/gm)].map(
      match => `${match[1]} ${match[2]}`,
    )
  const ref = (name: string, version = '1.0'): PackageRef => ({
    format: 'deb',
    name,
    version,
    arch: 'amd64',
    codename: JAMMY,
  })

  test("the index is reprepro's, the signature and the switch are ours, and the bytes are within reach", async () => {
    for (const name of ['hello', 'libfoo1']) await put(name)
    await publisher.publish(JAMMY)
    expect((await named()).sort()).toEqual(['hello 1.0', 'libfoo1 1.0'])
    const paths = [...(await read('main/binary-amd64/Packages')).matchAll(/^Filename: (.*)$/gm)].map(
      match => match[1] ?? '',
    )
    expect(paths.sort()).toEqual([
      'pool/main/h/hello/hello_1.0_amd64.deb',
      'pool/main/libf/libfoo1/libfoo1_1.0_amd64.deb',
    ])
    for (const path of paths) expect(existsSync(join(stock.layout.aptPool, '..', path))).toBe(true)
    const release = await read('Release')
    expect(release).toContain('Acquire-By-Hash: yes')
    expect(await read('InRelease')).toContain('-----BEGIN PGP SIGNATURE-----')
    const plain = await read('main/binary-amd64/Packages')
    expect(
      spawnSync('xz', ['-dc', join(stock.layout.live(JAMMY), 'main/binary-amd64/Packages.xz')]).stdout.toString(),
    ).toBe(plain)
  })

  test('of several versions the newest is served, and what is taken away or goes back goes', async () => {
    await put('hello', '1.9')
    await publisher.publish(JAMMY)
    await put('hello', '1.10')
    await put('other')
    await publisher.publish(JAMMY)
    expect((await named()).sort()).toEqual(['hello 1.10', 'other 1.0'])
    await stock.catalog.change(judge(ref('hello', '1.10'), 'quarantine'), { name: 'max' })
    await publisher.publish(JAMMY)
    expect((await named()).sort()).toEqual(['hello 1.9', 'other 1.0'])
    expect(existsSync(join(stock.layout.aptPool, 'main/h/hello/hello_1.10_amd64.deb'))).toBe(false)
    expect(await publisher.rollback(JAMMY, 1, async () => undefined)).toMatchObject({ frozen: true })
    expect(await named()).toEqual(['hello 1.9'])
  })

  test('distributions share its pool and nothing else', async () => {
    await put('hello')
    await put('hello', '1.0', 'noble')
    await Promise.all([publisher.publish(JAMMY), publisher.publish('noble' as Codename)])
    expect([await named(), await named('noble' as Codename)]).toEqual([['hello 1.0'], ['hello 1.0']])
    await stock.catalog.change({ kind: 'delete', ref: ref('hello'), why: '' }, { name: 'max' })
    await publisher.publish(JAMMY)
    expect([await named(), await named('noble' as Codename)]).toEqual([[], ['hello 1.0']])
  })

  test('when reprepro fails, the tree stays unchanged and the answer has the reason', async () => {
    await put('hello')
    await publisher.publish(JAMMY)
    await stock.put({ name: 'broken', bytes: 'this is no package' })
    await expect(publisher.publish(JAMMY)).rejects.toThrow(/reprepro ended with \d+: .*broken/s)
    expect(await named()).toEqual(['hello 1.0'])
  })
})
