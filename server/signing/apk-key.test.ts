import { createVerify } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Layout } from '../files/layout.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from './keyring.ts'
import { layoutOf } from '../../test/support/repositories.ts'

const BYTES = Buffer.from('what is signed')
const make = { type: 'ed25519Legacy', name: 'Test', email: 'test@example.test', overlapDays: 30 } as const

let root: string
let layout: Layout
let now: Date
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-rsa-'))
  layout = layoutOf(root)
  now = new Date()
})
afterEach(() => rm(root, { recursive: true, force: true }))
const open = (secret = 'k'): ReturnType<typeof createKeyring> =>
  createKeyring({ layout, box: createSecretBox(secret), clock: { now: () => now } })
const publicFiles = async (): Promise<string[]> => readdir(layout.apkKeys).catch(() => [])

test('there is no RSA key until one is needed; then one key for all who ask at once, with a public file under its name', async () => {
  const keyring = open()
  await keyring.generate(make)
  expect(await keyring.rsaKeys()).toEqual([])
  expect(await publicFiles()).toEqual([])
  const signer = await keyring.signer()
  const answers = await Promise.all([signer.signRsa(BYTES, 'sha1'), signer.signRsa(BYTES, 'sha256'), signer.rsaKeys()])
  const cards = await keyring.rsaKeys()
  expect(cards).toEqual([
    {
      key_name: expect.stringMatching(/^gatehouse-[0-9a-f]{8}\.rsa\.pub$/) as string,
      public_key: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/) as string,
      algorithm: 'rsa4096',
      created_at: now.toISOString(),
      role: 'current',
    },
  ])
  expect(answers[2]).toEqual(cards)
  const [name = ''] = await publicFiles()
  expect([name]).toEqual([cards[0]?.key_name])
  const pem = await readFile(join(layout.apkKeys, name), 'utf8')
  expect(pem).toBe(cards[0]?.public_key)
  for (const [signed, hash] of [
    [answers[0], 'sha1'],
    [answers[1], 'sha256'],
  ] as const) {
    expect(signed.map(one => one.keyName)).toEqual([name])
    expect(
      createVerify(hash)
        .update(BYTES)
        .verify(pem, signed[0]?.signature ?? Buffer.alloc(0)),
    ).toBe(true)
  }
}, 60_000)

test('it survives a restart sealed, its public file is put back, and another secret cannot open it', async () => {
  const first = open()
  await first.generate(make)
  const [before] = await (await first.signer()).signRsa(BYTES, 'sha256')
  const [stored = ''] = (await readdir(layout.keyring)).filter(name => name.startsWith('rsa-'))
  expect(await readFile(join(layout.keyring, stored), 'utf8')).toMatch(/"sealed":"enc:v1:/)
  expect((await stat(join(layout.keyring, stored))).mode & 0o777).toBe(0o600)
  await rm(layout.apkKeys, { recursive: true })
  const again = open()
  expect(await again.publish()).toBe(true)
  expect(await again.publish()).toBe(false)
  expect(await publicFiles()).toEqual([before?.keyName])
  expect((await (await again.signer()).signRsa(BYTES, 'sha256'))[0]).toEqual(before)
  await expect(open('another').rsaKeys()).rejects.toThrow('another SETTINGS_ENCRYPTION_KEY')
}, 60_000)

test('a rotation lets both keys sign, the new one first, until the old one is out of time; its file goes at the next', async () => {
  const keyring = open()
  await keyring.generate(make)
  const [old] = await (await keyring.signer()).rsaKeys()
  now = new Date(now.getTime() + 1000)
  await keyring.generate(make)
  const signer = await keyring.signer()
  const cards = await signer.rsaKeys()
  expect(cards.map(({ role }) => role)).toEqual(['current', 'previous'])
  expect(cards[1]?.key_name).toBe(old?.key_name)
  const signed = await signer.signRsa(BYTES, 'sha256')
  expect(signed.map(({ keyName }) => keyName)).toEqual(cards.map(({ key_name }) => key_name))
  expect(await Promise.all(signed.map(one => signer.verifyRsa(BYTES, one)))).toEqual([true, true])
  expect(await Promise.all(signed.map(one => signer.verifyRsa(Buffer.from('other'), one)))).toEqual([false, false])
  expect(await signer.verifyRsa(BYTES, { ...signed[0], keyName: 'other.rsa.pub' } as never)).toBe(false)
  expect((await publicFiles()).toSorted()).toEqual(cards.map(({ key_name }) => key_name).toSorted())

  now = new Date(now.getTime() + 31 * 86_400_000)
  expect((await keyring.rsaKeys()).map(({ key_name }) => key_name)).toEqual([cards[0]?.key_name])
  await keyring.generate(make)
  expect(await publicFiles()).not.toContain(old?.key_name)
}, 120_000)
