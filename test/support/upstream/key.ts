import { generateKeyPairSync } from 'node:crypto'
import * as openpgp from 'openpgp'

/** A vendor's OpenPGP key. */
export interface VendorKey {
  /** Of the primary key, in upper case. */
  readonly fingerprint: string
  /** Armoured. */
  readonly publicKey: string
  clearsign(text: string, date: Date): Promise<Buffer>
  detach(bytes: Buffer, date: Date, how?: 'armored' | 'binary'): Promise<Buffer>
}

/**
 * @param given.at  when it was made: before the oldest date that is signed with it
 * @param given.days  until it expires; default: never
 */
export async function createVendorKey({
  at = new Date('2020-01-01'),
  days,
  type = 'rsa',
}: {
  readonly at?: Date
  readonly days?: number
  readonly type?: 'rsa' | 'ed25519'
} = {}): Promise<VendorKey> {
  const { privateKey, publicKey } = await openpgp.generateKey({
    ...(type === 'rsa' ? { type: 'rsa', rsaBits: 2048 } : { type: 'ecc', curve: 'ed25519Legacy' }),
    userIDs: [{ name: 'Vendor', email: 'vendor@example.test' }],
    date: at,
    ...(days === undefined ? {} : { keyExpirationTime: days * 86_400 }),
    format: 'object',
  })
  return {
    fingerprint: publicKey.getFingerprint().toUpperCase(),
    publicKey: publicKey.armor(),
    async clearsign(text, date) {
      const message = await openpgp.createCleartextMessage({ text })
      return Buffer.from(await openpgp.sign({ message, signingKeys: privateKey, date }))
    },
    async detach(bytes, date, how = 'armored') {
      const message = await openpgp.createMessage({ binary: bytes })
      return how === 'armored'
        ? Buffer.from(await openpgp.sign({ message, signingKeys: privateKey, detached: true, date }))
        : Buffer.from(await openpgp.sign({ message, signingKeys: privateKey, detached: true, date, format: 'binary' }))
    },
  }
}

/** A key of an APK repository. */
export interface ApkKey {
  /** What the file with the public key is called. */
  readonly keyName: string
  /** PEM. */
  readonly publicKey: string
  readonly privateKey: string
}

export function createApkKey(keyName = 'vendor@example.test-1.rsa.pub'): ApkKey {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    keyName,
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
