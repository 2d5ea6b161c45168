import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import * as openpgp from 'openpgp'

/** A vendor's OpenPGP key. */
export interface VendorKey {
  /** Of the primary key, in upper case. */
  readonly fingerprint: string
  /** Armoured. */
  readonly publicKey: string
  /** The same key as its owner publishes it later, with another end: so many days after it was made. */
  renewed(date: Date, days: number): Promise<string>
  clearsign(text: string, date: Date): Promise<Buffer>
  detach(bytes: Buffer, date: Date, how?: 'armored' | 'binary'): Promise<Buffer>
  /** A binary signature of version 3, as many vendors' rpm packages carry. Of RSA keys. */
  signV3(bytes: Buffer, date: Date): Buffer
}

const big = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
const base64url = (value: Uint8Array | bigint): string => {
  if (typeof value !== 'bigint') return Buffer.from(value).toString('base64url')
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}

/** Source: RFC 4880, 5.2.2 */
function signV3(key: openpgp.PrivateKey, bytes: Buffer, date: Date): Buffer {
  const { publicParams, privateParams } = key.keyPacket as unknown as {
    publicParams: { n: Uint8Array; e: Uint8Array }
    privateParams: { d: Uint8Array; p: Uint8Array; q: Uint8Array; u: Uint8Array }
  }
  const { d, p, q, u } = privateParams
  // OpenPGP keeps the inverse of p, JWK that of q: so the two change places
  const rsa = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: base64url(publicParams.n),
      e: base64url(publicParams.e),
      d: base64url(d),
      p: base64url(q),
      q: base64url(p),
      dp: base64url(big(d) % (big(q) - 1n)),
      dq: base64url(big(d) % (big(p) - 1n)),
      qi: base64url(u),
    },
  })
  const trailer = Buffer.alloc(5)
  trailer.writeUInt32BE(Math.floor(date.getTime() / 1000), 1)
  const value = sign('sha256', Buffer.concat([bytes, trailer]), rsa)
  const bits = Buffer.alloc(2)
  bits.writeUInt16BE(big(value).toString(2).length)
  const number = value.subarray(value.findIndex(byte => byte !== 0))
  const keyId = Buffer.from(key.getKeyID().toHex(), 'hex')
  const body = Buffer.concat([Buffer.from([3, 5]), trailer, keyId, Buffer.from([1, 8, 0, 0]), bits, number])
  // the first 16 bits of the digest, which rpm looks at
  createHash('sha256').update(bytes).update(trailer).digest().copy(body, 17, 0, 2)
  const head = Buffer.from([0x89, 0, 0])
  head.writeUInt16BE(body.length, 1)
  return Buffer.concat([head, body])
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
  const userIDs = [{ name: 'Vendor', email: 'vendor@example.test' }]
  const { privateKey, publicKey } = await openpgp.generateKey({
    ...(type === 'rsa' ? { type: 'rsa', rsaBits: 2048 } : { type: 'ecc', curve: 'ed25519Legacy' }),
    userIDs,
    date: at,
    ...(days === undefined ? {} : { keyExpirationTime: days * 86_400 }),
    format: 'object',
  })
  return {
    fingerprint: publicKey.getFingerprint().toUpperCase(),
    publicKey: publicKey.armor(),
    async renewed(date, later) {
      const expiry = { date, keyExpirationTime: later * 86_400 }
      return (await openpgp.reformatKey({ privateKey, userIDs, ...expiry, format: 'object' })).publicKey.armor()
    },
    async clearsign(text, date) {
      const message = await openpgp.createCleartextMessage({ text })
      return Buffer.from(await openpgp.sign({ message, signingKeys: privateKey, date }))
    },
    signV3: (bytes, date) => signV3(privateKey, bytes, date),
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
