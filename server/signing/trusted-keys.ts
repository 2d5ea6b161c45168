import { createPublicKey, verify as verifyRsa, type KeyObject } from 'node:crypto'
import * as openpgp from 'openpgp'
import { readPackets } from './signature-packets.ts'
import type { RsaSigned } from './signer.ts'

/** Who signed, as upper-case fingerprints of primary keys; never empty. */
export type SignedBy = readonly string[]

/** Why these bytes have no trusted signature: `none of its signatures is by a trusted key`. */
export interface NotSigned {
  readonly why: string
  /** A trusted key signed it, at a time that is not yet here: one of the two clocks is wrong. */
  readonly isAhead?: true
}

/** Keys of a foreign repository that an admin trusts. One good signature by one of them is enough. */
export interface TrustedKeys {
  /** Exactly the signed text, without anything around it. */
  clearsigned(document: Buffer): Promise<{ readonly text: string; readonly by: SignedBy } | NotSigned>
  /** @param signature  armoured or binary */
  detached(bytes: Buffer, signature: Buffer): Promise<{ readonly by: SignedBy } | NotSigned>
  /** @param signatures  binary, joined, as a package holds them; those of version 3 too */
  embedded(bytes: Buffer, signatures: Buffer): Promise<{ readonly by: SignedBy } | NotSigned>
  /** RSA signatures, each with the file name of the key that made it. */
  rsa(bytes: Buffer, signatures: readonly RsaSigned[]): { readonly by: SignedBy } | NotSigned
}

/**
 * Everybody is trusted: signatures are not looked at. For directories on this machine, which are trusted as they are.
 */
export const ANYBODY: TrustedKeys = {
  async clearsigned(document) {
    try {
      const message = await openpgp.readCleartextMessage({ cleartextMessage: document.toString('utf8') })
      return { text: message.getText(), by: [] }
    } catch {
      return { why: 'it is no clear-signed text' }
    }
  },
  detached: () => Promise.resolve({ by: [] }),
  rsa: () => ({ by: [] }),
  embedded: () => Promise.resolve({ by: [] }),
}

const BLOCK = /-----BEGIN PGP PUBLIC KEY BLOCK-----[\s\S]*?-----END PGP PUBLIC KEY BLOCK-----/g

/**
 * Every key of every block, each once: `readKeys` reads only the first block of a file, and vendors' files hold
 * several. Of several copies of a key the latest statements of its owner count.
 */
export async function readKeys(files: readonly string[]): Promise<openpgp.Key[]> {
  const keys = new Map<string, openpgp.Key>()
  for (const [block] of files.flatMap(file => [...file.matchAll(BLOCK)])) {
    // an unknown kind of block (post-quantum ones for now) does not affect the others
    const read = await openpgp.readKeys({ armoredKeys: block }).catch((): openpgp.Key[] => [])
    for (const key of read) {
      const before = keys.get(key.getFingerprint())
      keys.set(key.getFingerprint(), before === undefined ? key.toPublic() : await before.update(key.toPublic()))
    }
  }
  return [...keys.values()]
}

/**
 * Lets a key live on: its statements are believed but for their end. The signatures on them are over bytes that stay.
 */
function forgetEnd(key: openpgp.Key): void {
  // its typings lack this list
  const { directSignatures } = key as unknown as { directSignatures: readonly openpgp.SignaturePacket[] }
  const statements = [
    ...key.users.flatMap(user => user.selfCertifications),
    ...directSignatures,
    ...key.subkeys.flatMap(subkey => subkey.bindingSignatures),
  ]
  for (const one of statements) Object.assign(one, { keyNeverExpires: true, keyExpirationTime: null })
}

/** The public key that a signature of version 3 is checked with. Only RSA ones were ever made. */
function rsaOf(key: openpgp.Key, keyId: string): KeyObject | undefined {
  const part = key.getKeys().find(one => one.getKeyID().toHex().toUpperCase() === keyId)
  const { n, e } =
    (part?.keyPacket as { publicParams?: { n?: Uint8Array; e?: Uint8Array } } | undefined)?.publicParams ?? {}
  if (n === undefined || e === undefined) return undefined
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
  return createPublicKey({ key: { kty: 'RSA', n: text(n), e: text(e) }, format: 'jwk' })
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const binary = (text: Buffer): boolean => ((text[0] ?? 0) & 0x80) !== 0

/**
 * @param given.openpgp  armoured files, each with one block or several
 * @param given.rsa  PEM by the file name that clients keep the key under
 * @param given.now  a key that is past its end, or revoked, is not trusted any more
 */
export async function trustKeys(given: {
  readonly openpgp: readonly string[]
  readonly rsa: ReadonlyMap<string, string>
  readonly now: () => Date
  /** Fingerprints of keys whose end an admin has put aside. */
  readonly endless?: ReadonlySet<string>
}): Promise<TrustedKeys> {
  const verificationKeys = await readKeys(given.openpgp)
  for (const key of verificationKeys)
    if (given.endless?.has(key.getFingerprint().toUpperCase()) === true) forgetEnd(key)

  /** openpgp.js accepts a signature made before its key ended; here the key must be good now. */
  async function judge(
    signatures: Awaited<ReturnType<typeof openpgp.verify>>['signatures'],
  ): Promise<{ by: SignedBy } | NotSigned> {
    if (signatures.length === 0) return { why: 'it carries no signature that can be read' }
    const by: string[] = []
    const faults: string[] = []
    let isAhead = false
    for (const { keyID, verified } of signatures) {
      const name = keyID.toHex().toUpperCase()
      const key = verificationKeys.find(one => one.getKeys(keyID).length > 0)
      try {
        await verified
        if (key === undefined) throw new Error('it is by a key that is not trusted')
        await key.getSigningKey(keyID, given.now())
        by.push(key.getFingerprint().toUpperCase())
      } catch (error) {
        isAhead ||= key !== undefined && /creation time is in the future/.test(reason(error))
        faults.push(`${name}: ${key === undefined ? 'this key is not trusted' : reason(error)}`)
      }
    }
    if (by.length > 0) return { by }
    return { why: `none of its signatures is good (${faults.join('; ')})`, ...(isAhead ? { isAhead } : {}) }
  }

  async function judgeV3({ keyId, verify }: ReturnType<typeof readPackets>['v3'][number], bytes: Buffer) {
    const key = verificationKeys.find(one =>
      one.getKeys().some(part => part.getKeyID().toHex().toUpperCase() === keyId),
    )
    if (key === undefined) return { why: `${keyId}: this key is not trusted` }
    try {
      const rsa = rsaOf(key, keyId)
      if (rsa === undefined || !verify(bytes, rsa)) return { why: `${keyId}: it is over other bytes` }
      const part = key.getKeys().find(one => one.getKeyID().toHex().toUpperCase() === keyId)
      await key.getSigningKey(part?.getKeyID(), given.now())
      return { by: key.getFingerprint().toUpperCase() }
    } catch (error) {
      return { why: `${keyId}: ${reason(error)}` }
    }
  }

  async function detached(bytes: Buffer, signature: Buffer): Promise<{ by: SignedBy } | NotSigned> {
    try {
      const message = await openpgp.createMessage({ binary: bytes })
      const read = await (binary(signature)
        ? openpgp.readSignature({ binarySignature: signature })
        : openpgp.readSignature({ armoredSignature: signature.toString('latin1') }))
      return await judge(
        (await openpgp.verify({ message, signature: read, verificationKeys, date: given.now() })).signatures,
      )
    } catch (error) {
      return { why: `its signature cannot be read (${reason(error)})` }
    }
  }

  return {
    async clearsigned(document) {
      try {
        const message = await openpgp.readCleartextMessage({ cleartextMessage: document.toString('utf8') })
        const { data, signatures } = await openpgp.verify({ message, verificationKeys, date: given.now() })
        const judged = await judge(signatures)
        return 'why' in judged ? judged : { text: data.replaceAll('\r\n', '\n'), by: judged.by }
      } catch (error) {
        return { why: `it is no clear-signed document (${reason(error)})` }
      }
    },
    detached,
    async embedded(bytes, signatures) {
      const { v3, others } = readPackets(signatures)
      const rest = others.length > 0 ? await detached(bytes, others) : undefined
      if (rest !== undefined && 'by' in rest) return rest
      const judged = await Promise.all(v3.map(one => judgeV3(one, bytes)))
      const by = judged.flatMap(one => ('by' in one ? [one.by] : []))
      if (by.length > 0) return { by }
      const faults = [
        ...judged.flatMap(one => ('why' in one ? [one.why] : [])),
        ...(rest === undefined ? [] : [rest.why]),
      ]
      return {
        why: faults.length === 0 ? 'it carries no signature' : `none of its signatures is good (${faults.join('; ')})`,
      }
    },
    rsa(bytes, signatures) {
      if (signatures.length === 0) return { why: 'it carries no signature' }
      const by = signatures.flatMap(({ keyName, hash, signature }) => {
        const pem = given.rsa.get(keyName)
        return pem !== undefined && verifyRsa(hash, bytes, createPublicKey(pem), signature) ? [keyName] : []
      })
      const names = signatures.map(one => one.keyName).join(', ')
      return by.length > 0 ? { by } : { why: `none of its signatures (${names}) is good and by a trusted key` }
    },
  }
}
