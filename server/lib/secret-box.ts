import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** Encrypts small values at rest with one key: AES-256-GCM, a fresh nonce each time. */
export interface SecretBox {
  /** `enc:v1:<key id>:<base64 of nonce, tag and ciphertext>` */
  seal(plain: string | Uint8Array): string
  /** @throws Error that names the cause, never the value, when the key is another one or the text was altered */
  open(sealed: string): Buffer
}

const PREFIX = 'enc:v1:'
const NONCE = 12
const TAG = 16

/** Whether `seal` made this text. */
export function isSealed(text: string): boolean {
  return text.startsWith(PREFIX)
}

const keyOf = (secret: string): Buffer =>
  createHash('sha256').update('gatehouse settings key\0').update(secret).digest()
const idOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 8)

/** What sealed values say of the secret they were sealed with; it tells nothing of the secret. */
export const keyIdOf = (secret: string): string => idOf(keyOf(secret))

/** The ids of the keys of all sealed values in a text. */
export const keysOfSealed = (text: string): string[] =>
  [...text.matchAll(/enc:v1:([0-9a-f]{8}):/g)].map(([, id = '']) => id)

/** @param secret  any text. SHA-256 derives the key from it, so it must be random itself */
export function createSecretBox(secret: string): SecretBox {
  const key = keyOf(secret)
  const id = idOf(key)
  return {
    seal(plain) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      return `${PREFIX}${id}:${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`
    },
    open(sealed) {
      const [sealedWith, text] = sealed.slice(PREFIX.length).split(':')
      if (!isSealed(sealed) || text === undefined) throw new Error('it is not an encrypted value')
      if (sealedWith !== id)
        throw new Error('it was encrypted with another SETTINGS_ENCRYPTION_KEY; set that key again')
      const bytes = Buffer.from(text, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE))
      decipher.setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()])
      } catch (cause) {
        throw new Error('it was altered on disk', { cause })
      }
    },
  }
}
