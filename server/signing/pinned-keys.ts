import * as openpgp from 'openpgp'
import { fingerprintOf } from './openpgp.ts'
import { BadPublicKey } from './public-key.ts'

/** What an admin pins: fingerprints of primary keys in upper case, and the keys themselves where they were given. */
export interface PinnedKeys {
  readonly fingerprints: readonly string[]
  /** Armoured; null where only a fingerprint was given. */
  readonly key: string | null
}

const FINGERPRINT = /^(?:[0-9A-F]{40}|[0-9A-F]{64})$/

/** As people write fingerprints: with blanks or colons, in either case. */
const plain = (text: string): string => text.replace(/[\s:]/g, '').toUpperCase()

/**
 * Reads what an admin pins: a fingerprint, a file of public keys, or both, which must then fit each other.
 * @throws BadPublicKey with the reason
 */
export async function readPinned(given: {
  readonly fingerprint?: string | undefined
  readonly publicKey?: string | undefined
}): Promise<PinnedKeys> {
  const fingerprint = given.fingerprint === undefined ? undefined : plain(given.fingerprint)
  if (fingerprint !== undefined && !FINGERPRINT.test(fingerprint))
    throw new BadPublicKey('a fingerprint has 40 hexadecimal digits; a short key id can be forged')
  if (given.publicKey === undefined) {
    if (fingerprint === undefined) throw new BadPublicKey('give a fingerprint or a public key')
    return { fingerprints: [fingerprint], key: null }
  }
  const keys = await openpgp.readKeys({ armoredKeys: given.publicKey }).catch((error: unknown) => {
    throw new BadPublicKey('no armoured OpenPGP key can be read in it', error)
  })
  if (keys.length === 0) throw new BadPublicKey('no key is in it')
  if (keys.some(key => key.isPrivate()))
    throw new BadPublicKey('it is a private key, which nobody but its owner may have')
  const all = keys.map(fingerprintOf)
  if (fingerprint !== undefined && !all.includes(fingerprint))
    throw new BadPublicKey(`its fingerprint is ${all.join(' and ')}, not ${fingerprint}`)
  return {
    fingerprints: fingerprint === undefined ? all : [fingerprint],
    // written anew: around the keys stood anything
    key: keys.map(key => key.toPublic().armor()).join('\n'),
  }
}
