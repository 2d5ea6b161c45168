import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lacking } from '../../test/support/tools.ts'
import { ageSize, openAge, sealAge, WrongKey, type AgeKey, type AgeRecipient } from './age.ts'

const PASSPHRASE = 'Eleven-blue-herons'
const SIZES = [0, 1, 65_535, 65_536, 65_537, 131_072, 300_001]
const bytes = randomBytes(300_001)

async function* inPieces(all: Buffer, size = 50_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size)
}
async function whole(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}
const sealed = (all: Buffer, to: AgeRecipient): Promise<Buffer> => whole(sealAge(inPieces(all), to))
const opened = async (all: Buffer, key: AgeKey, size?: number): Promise<Buffer> =>
  whole(await openAge(inPieces(all, size), key))

let identity: string
let recipient: string
let folder: string
beforeAll(async () => {
  identity = await generateX25519Identity()
  recipient = await identityToRecipient(identity)
  folder = await mkdtemp(join(tmpdir(), 'gh-age-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('encryption', () => {
  test.each(SIZES)('of %i bytes is read by the library, and its by us', async size => {
    const plain = bytes.subarray(0, size)
    const ours = await sealed(plain, { recipient })
    expect(ours.length).toBe(ageSize(size))
    const decrypter = new Decrypter()
    decrypter.addIdentity(identity)
    expect(Buffer.from(await decrypter.decrypt(ours)).equals(plain)).toBe(true)
    const encrypter = new Encrypter()
    encrypter.addRecipient(recipient)
    const theirs = Buffer.from(await encrypter.encrypt(plain))
    for (const pieces of [1_000, 65_536, 10 ** 6])
      expect((await opened(theirs, { identity }, pieces)).equals(plain), `pieces of ${pieces}`).toBe(true)
  })

  test('with a passphrase is read by the library, and its by us', async () => {
    const decrypter = new Decrypter()
    decrypter.addPassphrase(PASSPHRASE)
    expect(Buffer.from(await decrypter.decrypt(await sealed(bytes, { passphrase: PASSPHRASE }))).equals(bytes)).toBe(
      true,
    )
    const encrypter = new Encrypter()
    encrypter.setPassphrase(PASSPHRASE)
    encrypter.setScryptWorkFactor(12)
    const theirs = Buffer.from(await encrypter.encrypt(bytes))
    expect((await opened(theirs, { passphrase: PASSPHRASE })).equals(bytes)).toBe(true)
  })

  test('is opened by no other key', async () => {
    const [forKey, forPhrase] = [await sealed(bytes, { recipient }), await sealed(bytes, { passphrase: PASSPHRASE })]
    await expect(opened(forKey, { identity: await generateX25519Identity() })).rejects.toThrow(WrongKey)
    await expect(opened(forKey, { passphrase: PASSPHRASE })).rejects.toThrow(WrongKey)
    await expect(opened(forPhrase, { passphrase: 'other' })).rejects.toThrow(WrongKey)
    await expect(opened(forPhrase, { identity })).rejects.toThrow(WrongKey)
    await expect(opened(bytes, { identity })).rejects.toThrow(WrongKey)
    await expect(opened(Buffer.alloc(0), { identity })).rejects.toThrow(WrongKey)
  })

  test('cut anywhere, with a flipped bit or with chunks exchanged is refused', async () => {
    const all = await sealed(bytes, { recipient })
    for (const at of [0, 100, 168, 180, 184, 190, 184 + 65_552, 184 + 65_552 * 2 + 9, all.length - 1])
      await expect(opened(all.subarray(0, at), { identity }), `cut at ${at}`).rejects.toThrow()
    for (const at of [30, 120, 170, 200, 100_000, all.length - 1]) {
      const harmed = Buffer.from(all)
      harmed[at] = (harmed[at] ?? 0) ^ 1
      await expect(opened(harmed, { identity }), `flipped at ${at}`).rejects.toThrow()
    }
    const chunk = (n: number): Buffer => all.subarray(184 + n * 65_552, 184 + (n + 1) * 65_552)
    const exchanged = Buffer.concat([all.subarray(0, 184), chunk(1), chunk(0), all.subarray(184 + 2 * 65_552)])
    await expect(opened(exchanged, { identity })).rejects.toThrow()
    await expect(opened(Buffer.concat([all, randomBytes(20)]), { identity })).rejects.toThrow()
  })
})

test.skipIf(lacking('age').length > 0)('encryption is read by age itself, and its by us (needs age)', async () => {
  await writeFile(join(folder, 'key'), `${identity}\n`)
  await writeFile(join(folder, 'ours.age'), await sealed(bytes, { recipient }))
  const run = (...args: string[]) => spawnSync('age', args, { cwd: folder, encoding: 'utf8' }).status
  expect(run('-d', '-i', 'key', '-o', 'plain', 'ours.age')).toBe(0)
  expect((await readFile(join(folder, 'plain'))).equals(bytes)).toBe(true)
  expect(run('-r', recipient, '-o', 'theirs.age', 'plain')).toBe(0)
  expect((await opened(await readFile(join(folder, 'theirs.age')), { identity })).equals(bytes)).toBe(true)
})
