import * as openpgp from 'openpgp'
import { beforeAll, describe, expect, test } from 'vitest'
import { isRefusal, type ErrorCode } from '../core/errors.ts'
import { readSigningKey } from './import-key.ts'
import { fingerprintOf } from './openpgp.ts'

const NOW = new Date('2026-11-23T12:00:00Z')
const MADE = new Date('2025-01-01T00:00:00Z')
const PASSPHRASE = 'Eleven-blue-herons'

async function make(options: Partial<openpgp.KeyOptions> = {}): Promise<openpgp.PrivateKey> {
  const { privateKey } = await openpgp.generateKey({
    type: 'ecc',
    curve: 'ed25519Legacy',
    userIDs: [{ name: 'Nordwerk', email: 'packages@nordwerk.example' }],
    date: MADE,
    ...options,
    format: 'object',
  } as openpgp.KeyOptions & { format: 'object' })
  return privateKey
}
const read = (armored: string, passphrase = '') => readSigningKey({ armored, passphrase }, NOW)
/** The code of the refusal, and its sentence. */
async function refusal(armored: string, passphrase = ''): Promise<{ code: ErrorCode; message: string }> {
  try {
    await read(armored, passphrase)
  } catch (error) {
    if (isRefusal(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('it was taken')
}

let plain: openpgp.PrivateKey
let locked: string
beforeAll(async () => {
  plain = await make()
  locked = (await openpgp.encryptKey({ privateKey: plain, passphrase: PASSPHRASE })).armor()
})

describe('a signing key of others is taken in', () => {
  test('as it is, and opened with its passphrase: the same key', async () => {
    for (const key of [await read(plain.armor()), await read(locked, PASSPHRASE)]) {
      expect(fingerprintOf(key)).toBe(fingerprintOf(plain))
      expect(key.isDecrypted()).toBe(true)
    }
  })
  test('with text around the block, as in a mail', async () => {
    expect(fingerprintOf(await read(`The key:\n\n${plain.armor()}\nRegards`))).toBe(fingerprintOf(plain))
  })
})

describe('a key that cannot sign for every client is refused with the reason', () => {
  test.each<[string, ErrorCode, () => string | Promise<string>]>([
    ['no key at all', 'signing_key_unreadable', () => 'hello'],
    ['a block that is cut off', 'signing_key_unreadable', () => plain.armor().slice(0, 300)],
    ['only the public part', 'signing_key_public', () => plain.toPublic().armor()],
    ['two keys', 'signing_key_several', async () => `${plain.armor()}\n${(await make()).armor()}`],
    ['one with a passphrase that is not given', 'signing_key_locked', () => locked],
    ['one that has expired', 'signing_key_expired', async () => (await make({ keyExpirationTime: 86_400 })).armor()],
    ['one of tomorrow', 'signing_key_of_tomorrow', async () => (await make({ date: new Date('2027-01-01') })).armor()],
    [
      'a revoked one',
      'signing_key_revoked',
      async () =>
        (
          await openpgp.revokeKey({ key: await make(), date: new Date('2025-02-01'), format: 'object' })
        ).privateKey.armor(),
    ],
    [
      'RSA of 1024 bits',
      'signing_key_weak',
      async () => (await make({ type: 'rsa', rsaBits: 1024, config: { minRSABits: 1024 } })).armor(),
    ],
    [
      'a curve that older clients cannot read',
      'signing_key_weak',
      async () => (await make({ curve: 'nistP256' })).armor(),
    ],
    [
      'SHA-1 in its own signature',
      'signing_key_weak',
      async () =>
        (
          await make({
            type: 'rsa',
            rsaBits: 2048,
            config: { preferredHashAlgorithm: openpgp.enums.hash.sha1, nonDeterministicSignaturesViaNotation: false },
          })
        ).armor(),
    ],
  ])('%s', async (_, code, armored) => {
    expect((await refusal(await armored())).code).toBe(code)
  })

  test('a wrong passphrase; and no sentence has it, or a line of the key', async () => {
    const { code, message } = await refusal(locked, 'not-the-passphrase')
    expect(code).toBe('signing_key_passphrase')
    expect(message).not.toContain('not-the-passphrase')
    expect(message).not.toContain(locked.split('\n')[3])
  })
})
