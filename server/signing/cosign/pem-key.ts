import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto'
import { malformed } from '../../lib/limited.ts'

/** A public key that signatures of images are compared with. */
export interface PemKey {
  readonly key: KeyObject
  /** SHA-256 of its SubjectPublicKeyInfo, lower-case hex. */
  readonly fingerprint: string
  /** `ECDSA P-256`, `Ed25519`, `RSA 3072` */
  readonly algorithm: string
  /** The key alone, written anew. */
  readonly pem: string
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g
/** By the names that Node has for curves. */
const CURVES: Readonly<Record<string, string>> = { prime256v1: 'ECDSA P-256', secp384r1: 'ECDSA P-384' }
const LEAST_RSA_BITS = 2048

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): string {
  if (type === 'ed25519') return 'Ed25519'
  const curve = type === 'ec' ? CURVES[details.namedCurve ?? ''] : undefined
  if (curve !== undefined) return curve
  const bits = details.modulusLength ?? 0
  if (type === 'rsa' && bits >= LEAST_RSA_BITS) return `RSA ${bits}`
  if (type === 'rsa') malformed(`it is RSA of ${bits} bits, and ${LEAST_RSA_BITS} are the least`)
  return malformed('it is none of ECDSA P-256, ECDSA P-384, Ed25519 and RSA')
}

/** Reads `-----BEGIN PUBLIC KEY-----`, as `cosign.pub` has it. @throws Malformed */
export function readPemKey(text: string): PemKey {
  const blocks = [...text.matchAll(BLOCK)]
  const [first, ...others] = blocks
  if (first === undefined) malformed('it holds no whole PEM block')
  if (others.length > 0) malformed(`it holds ${blocks.length} PEM blocks, and one is taken at a time`)
  if (first[1] !== 'PUBLIC KEY') malformed(`it holds a ${(first[1] ?? '').slice(0, 40)}, and no PUBLIC KEY`)
  let key: KeyObject
  try {
    key = createPublicKey({ key: first[0], format: 'pem' })
  } catch (error) {
    return malformed('its bytes are no public key', error)
  }
  const algorithm = algorithmOf(key)
  const der = key.export({ type: 'spki', format: 'der' })
  return {
    key,
    algorithm,
    fingerprint: createHash('sha256').update(der).digest('hex'),
    pem: key.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

/** The hashes that cosign signs with by each kind of key; null: the algorithm has its own. */
const HASHES: Readonly<Record<string, readonly (string | null)[]>> = {
  'ECDSA P-256': ['sha256'],
  // older releases of cosign use SHA-256 with every key
  'ECDSA P-384': ['sha384', 'sha256'],
  'Ed25519': [null],
}

/** Whether a key made a signature over these bytes: ECDSA in DER, Ed25519, RSA PKCS #1 v1.5 with SHA-256. */
export function isSignedBy({ key, algorithm }: PemKey, signed: Uint8Array, signature: Uint8Array): boolean {
  const hashes = HASHES[algorithm] ?? ['sha256']
  try {
    return hashes.some(hash => verify(hash, signed, key, signature))
  } catch {
    // what is no signature at all is none by this key
    return false
  }
}
