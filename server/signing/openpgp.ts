import * as openpgp from 'openpgp'
import type { KeyCard, Signer } from './signer.ts'

/** A decrypted signing key, with what people see of it. */
export interface SigningKey {
  readonly key: openpgp.PrivateKey
  readonly card: KeyCard
}

// no SHA-1 anywhere: apt on Debian 13 (Sequoia) refuses it; no AEAD or v6 packets: gpgv 2.2 and rpm 4.18 do not read
// them
const CONFIG: openpgp.PartialConfig = {
  preferredHashAlgorithm: openpgp.enums.hash.sha512,
  v6Keys: false,
  aeadProtect: false,
  showVersion: false,
  showComment: false,
}

/**
 * Makes a signing key. RSA takes seconds, off the main thread; the curve is the form gpg 2.2 knows, not the library's
 * default.
 */
export async function generateKey(options: {
  readonly type: 'rsa4096' | 'ed25519Legacy'
  readonly name: string
  readonly email: string
  readonly at: Date
}): Promise<openpgp.PrivateKey> {
  const { privateKey } = await openpgp.generateKey({
    ...(options.type === 'rsa4096'
      ? { type: 'rsa' as const, rsaBits: 4096 }
      : { type: 'ecc' as const, curve: 'ed25519Legacy' as const }),
    userIDs: [{ name: options.name, email: options.email }],
    date: options.at,
    subkeys: [],
    format: 'object',
    config: CONFIG,
  })
  return privateKey
}

/** Upper-case hex, as gpg prints it. */
export function fingerprintOf(key: openpgp.Key): string {
  return key.getFingerprint().toUpperCase()
}

/** `rsa4096`, `ed25519`: the usual names for kinds of keys. */
export function algorithmOf(key: openpgp.Key): string {
  const { algorithm, bits, curve } = key.getAlgorithmInfo() as { algorithm: string; bits?: number; curve?: string }
  return bits === undefined ? (curve ?? algorithm) : `rsa${bits}`
}

/** All keys in one block: gpg, apt, dnf and zypper import several at once. */
export function publicBlock(keys: readonly openpgp.PrivateKey[], form: 'armored' | 'binary'): Buffer {
  const bytes = Buffer.concat(keys.map(key => key.toPublic().write()))
  if (form === 'binary') return bytes
  return Buffer.from(
    openpgp.armor(openpgp.enums.armor.publicKey, bytes, undefined, undefined, undefined, true, {
      ...openpgp.config,
      ...CONFIG,
    }),
    'utf8',
  )
}

async function allVerify(
  signatures: readonly { readonly verified: Promise<boolean> }[],
  expected: number,
): Promise<boolean> {
  if (signatures.length !== expected) return false
  try {
    return (await Promise.all(signatures.map(signature => signature.verified))).every(Boolean)
  } catch {
    return false
  }
}

/** A signer without its RSA keys. */
export type OpenpgpSigner = Omit<Signer, 'rsaKeys' | 'signRsa' | 'verifyRsa'>

/** Signs with every key, in their order: the current one first, so that the previous one's signature is last. */
export function createSigner(keys: readonly SigningKey[], now: () => Date): OpenpgpSigner {
  const signingKeys = keys.map(({ key }) => key)
  const verificationKeys = signingKeys.map(key => key.toPublic())
  // a key made while the clock was ahead would sign nothing older than itself, and there is no other key
  const born = Math.max(...signingKeys.map(key => key.getCreationTime().getTime()))
  const date = (): Date => new Date(Math.max(now().getTime(), born))
  return {
    keys: keys.map(({ card }) => card),
    publicKey: form => publicBlock(signingKeys, form),
    async clearsign(text) {
      const message = await openpgp.createCleartextMessage({ text })
      // the signature covers the text with CRLF (RFC 9580, 7.1); the file keeps LF, since many readers do not expect CR
      return (await openpgp.sign({ message, signingKeys, date: date(), config: CONFIG })).replaceAll('\r\n', '\n')
    },
    async detach(bytes) {
      const message = await openpgp.createMessage({ binary: bytes })
      return openpgp.sign({ message, signingKeys, detached: true, date: date(), config: CONFIG })
    },
    async detachOne(bytes) {
      const message = await openpgp.createMessage({ binary: bytes })
      return Buffer.from(
        await openpgp.sign({
          message,
          signingKeys: signingKeys.slice(0, 1),
          detached: true,
          format: 'binary',
          date: date(),
          config: CONFIG,
        }),
      )
    },
    async verifyClearsigned(document) {
      try {
        const message = await openpgp.readCleartextMessage({ cleartextMessage: document })
        const { signatures } = await openpgp.verify({ message, verificationKeys, date: date() })
        return await allVerify(signatures, keys.length)
      } catch {
        return false
      }
    },
    async verifyDetached(bytes, armored) {
      try {
        const message = await openpgp.createMessage({ binary: bytes })
        const signature = await openpgp.readSignature({ armoredSignature: armored })
        const { signatures } = await openpgp.verify({ message, signature, verificationKeys, date: date() })
        return await allVerify(signatures, keys.length)
      } catch {
        return false
      }
    },
    async verifyOne(bytes, armored) {
      try {
        const message = await openpgp.createMessage({ binary: bytes })
        const signature = await openpgp.readSignature({ armoredSignature: armored })
        const { signatures } = await openpgp.verify({ message, signature, verificationKeys, date: date() })
        return await Promise.any(
          signatures.map(async ({ verified }) => (await verified) || Promise.reject(new Error('it does not verify'))),
        ).then(() => true)
      } catch {
        return false
      }
    },
  }
}
