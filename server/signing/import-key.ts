import * as openpgp from 'openpgp'
import { fail } from '../core/errors.ts'
import { createSigner, fingerprintOf } from './openpgp.ts'

/** Bits of RSA that every client still takes. */
const LEAST_RSA_BITS = 2048
/** MD5, SHA-1 and RIPEMD-160 in the signature of the key on itself: apt since Debian 13 refuses such a key. */
const WEAK_HASHES: readonly number[] = [openpgp.enums.hash.md5, openpgp.enums.hash.sha1, openpgp.enums.hash.ripemd]

async function parse(armored: string): Promise<openpgp.PrivateKey> {
  // a second block behind the first one would be ignored silently
  const blocks = armored.split('-----BEGIN PGP').length - 1
  const keys = await openpgp.readKeys({ armoredKeys: armored }).catch((error: unknown) => {
    fail('signing_key_unreadable', {}, error)
  })
  const [key] = keys
  if (key === undefined) return fail('signing_key_unreadable', {})
  if (keys.length > 1 || blocks > 1) fail('signing_key_several', {})
  if (!key.isPrivate()) fail('signing_key_public', { fingerprint: fingerprintOf(key) })
  return key
}

async function unlock(key: openpgp.PrivateKey, passphrase: string): Promise<openpgp.PrivateKey> {
  const locked = key.getKeys().some(({ keyPacket }) => !(keyPacket as openpgp.SecretKeyPacket).isDecrypted())
  if (!locked) return key
  if (passphrase === '') fail('signing_key_locked', { fingerprint: fingerprintOf(key) })
  return openpgp.decryptKey({ privateKey: key, passphrase }).catch((error: unknown) => {
    fail('signing_key_passphrase', { fingerprint: fingerprintOf(key) }, error)
  })
}

/** The kind of a key that clients of today do not take, in a few words. */
function weakKind(key: Pick<openpgp.Key, 'getAlgorithmInfo'>): string | undefined {
  const { algorithm, bits, curve } = key.getAlgorithmInfo() as { algorithm: string; bits?: number; curve?: string }
  if (algorithm.startsWith('rsa')) return (bits ?? 0) < LEAST_RSA_BITS ? `RSA of ${bits ?? 0} bits` : undefined
  return curve === 'ed25519Legacy' ? undefined : (curve ?? algorithm)
}

/** @throws signing_key_revoked, _expired, _of_tomorrow, _cannot_sign, _weak */
async function mustBeOfUse(key: openpgp.PrivateKey, at: Date): Promise<void> {
  const fingerprint = fingerprintOf(key)
  const cannot = (error: unknown): never => fail('signing_key_cannot_sign', { fingerprint }, error)
  const mustBeStrong = (what: string | undefined): void => {
    if (what !== undefined) fail('signing_key_weak', { fingerprint, what })
  }
  if (await key.isRevoked(undefined, undefined, at)) fail('signing_key_revoked', { fingerprint })
  if (key.getCreationTime() > at)
    fail('signing_key_of_tomorrow', { fingerprint, at: key.getCreationTime().toISOString() })
  const end = await key.getExpirationTime()
  if (end instanceof Date && end <= at) fail('signing_key_expired', { fingerprint, at: end.toISOString().slice(0, 10) })
  mustBeStrong(weakKind(key))
  const { hashAlgorithm: hash } = (await key.getPrimaryUser(at).catch(cannot)).selfCertification
  if (hash !== null && WEAK_HASHES.includes(hash))
    mustBeStrong(`${openpgp.enums.read(openpgp.enums.hash, hash).toUpperCase()} in its signature on itself`)
  mustBeStrong(weakKind(await key.getSigningKey(undefined, at).catch(cannot)))
}

/** Signs once: a part that is only named in the text, or on a card, is found by nothing else. */
async function mustSign(key: openpgp.PrivateKey, at: Date): Promise<void> {
  const bytes = Buffer.from('Gatehouse')
  try {
    const card = { fingerprint: '', user_id: '', algorithm: '', created_at: '', role: 'current' } as const
    const signer = createSigner([{ key, card }], () => at)
    if (await signer.verifyDetached(bytes, await signer.detach(bytes))) return
  } catch (error) {
    fail('signing_key_cannot_sign', { fingerprint: fingerprintOf(key) }, error)
  }
  fail('signing_key_cannot_sign', { fingerprint: fingerprintOf(key) })
}

/**
 * A private key of others, opened, that can sign here from now on. Nothing of the text or the passphrase is in an
 * error.
 * @param armored  one private key, as gpg writes it
 * @param passphrase  empty where there is none
 * @throws signing_key_unreadable, _several, _public, _locked, _passphrase, _revoked, _expired, _of_tomorrow,
 *   _cannot_sign, _weak
 */
export async function readSigningKey(
  { armored, passphrase }: { readonly armored: string; readonly passphrase: string },
  at: Date,
): Promise<openpgp.PrivateKey> {
  const parsed = await parse(armored)
  await mustBeOfUse(parsed, at)
  const key = await unlock(parsed, passphrase)
  await mustSign(key, at)
  return key
}
