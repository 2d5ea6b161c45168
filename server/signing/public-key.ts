import * as openpgp from 'openpgp'
import { algorithmOf, fingerprintOf } from './openpgp.ts'

/** What people see of a public key. Dates are ISO 8601; `expires_at` is absent where it does not expire. */
export interface PublicKeyCard {
  readonly fingerprint: string
  readonly user_ids: readonly string[]
  readonly algorithm: string
  readonly created_at: string
  readonly expires_at?: string
}

/** A key that checks signatures, with what people see of it. */
export interface PublicKey {
  readonly key: openpgp.PublicKey
  readonly card: PublicKeyCard
}

/** The largest block that is read: a key with hundreds of foreign certifications has some 200 KiB. */
const MAX_PUBLIC_KEY = 512 * 1024
/** Each is checked at every use of the key; those of the busiest people have some dozens. */
const MAX_USER_IDS = 100

/** Why a block of text is no key of one developer. Thrown by `readPublicKey`. */
export class BadPublicKey extends Error {
  readonly why: string
  constructor(why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'BadPublicKey'
    this.why = why
  }
}

async function expiryOf(key: openpgp.Key): Promise<string | undefined> {
  const end = await key.getExpirationTime()
  return end instanceof Date ? end.toISOString() : undefined
}

/**
 * One public key from its armoured block.
 * @throws BadPublicKey: no key, several keys, a private key, one with hundreds of user ids
 */
export async function readPublicKey(armored: string): Promise<PublicKey> {
  if (armored.length > MAX_PUBLIC_KEY) throw new BadPublicKey('it is larger than 512 KiB')
  const keys = await openpgp.readKeys({ armoredKeys: armored }).catch((error: unknown) => {
    throw new BadPublicKey('no armoured OpenPGP key can be read in it; gpg --armor --export writes one', error)
  })
  const [key, ...more] = keys
  // a second block behind the first one would be ignored silently
  if (key === undefined || more.length > 0 || armored.split('-----BEGIN PGP').length > 2)
    throw new BadPublicKey("it holds several keys; each developer's key is added by itself")
  if (key.isPrivate()) throw new BadPublicKey('it is a private key, which nobody but its owner may have')
  if (key.getUserIDs().length > MAX_USER_IDS) throw new BadPublicKey(`it has more than ${MAX_USER_IDS} user ids`)
  const expires = await expiryOf(key)
  return {
    key: key.toPublic(),
    card: {
      fingerprint: fingerprintOf(key),
      user_ids: key.getUserIDs(),
      algorithm: algorithmOf(key),
      created_at: key.getCreationTime().toISOString(),
      ...(expires === undefined ? {} : { expires_at: expires }),
    },
  }
}

/** @throws BadPublicKey with the reason when no part of the key may sign at that moment */
export async function mustSign({ key }: PublicKey, at: Date): Promise<void> {
  await key.getSigningKey(undefined, at).catch((error: unknown) => {
    throw new BadPublicKey(error instanceof Error ? error.message.replace(/\.$/, '') : String(error), error)
  })
}

/** Who signed a document. */
export type Signed =
  | { readonly kind: 'good'; readonly fingerprint: string }
  | { readonly kind: 'unknown'; readonly keyIds: readonly string[] }
  | { readonly kind: 'bad'; readonly why: string }

/** A signature ahead of our clock by no more than this is not from the future. */
const SKEW_MS = 5 * 60_000

const bare = (text: string): string =>
  text
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n')
    .trimEnd()

/**
 * Checks a clear-signed document against keys.
 * @param text  what its reader took out of it: the signature has to be over exactly that, but for blanks at line ends
 * @returns `good` when one of the keys made one of its signatures; nothing is thrown for what others wrote
 */
export async function checkClearsigned(
  document: string,
  text: string,
  { keys, at }: { readonly keys: readonly PublicKey[]; readonly at: Date },
): Promise<Signed> {
  let message: openpgp.CleartextMessage
  try {
    message = await openpgp.readCleartextMessage({ cleartextMessage: document })
  } catch (error) {
    return {
      kind: 'bad',
      why: `the signature cannot be read (${error instanceof Error ? error.message : String(error)})`,
    }
  }
  if (bare(message.getText()) !== bare(text))
    return { kind: 'bad', why: 'the signature is over another text than the one that is read' }
  const date = new Date(at.getTime() + SKEW_MS)
  const { signatures } = await openpgp.verify({ message, verificationKeys: keys.map(({ key }) => key), date })
  const strangers: string[] = []
  let why = 'it carries no signature'
  for (const { keyID, verified } of signatures) {
    const maker = keys.find(({ key }) => key.getKeys(keyID).length > 0)
    try {
      await verified
      // a signature is judged by the date it names, and the owner of an ended key could name an earlier one
      await maker?.key.getSigningKey(keyID, date)
      if (maker !== undefined) return { kind: 'good', fingerprint: maker.card.fingerprint }
    } catch (error) {
      if (maker === undefined) strangers.push(keyID.toHex().toUpperCase())
      else why = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
    }
  }
  return strangers.length > 0 && strangers.length === signatures.length
    ? { kind: 'unknown', keyIds: strangers }
    : { kind: 'bad', why }
}
