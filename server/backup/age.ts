import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt } from 'node:crypto'
import type { Decrypter, Recipient, Stanza } from 'age-encryption'

// age-encryption reads and writes headers. Payloads are encrypted by Node here: 53 MB for each second of CPU there, and
// 64 MiB of its memory for a passphrase are never given back before the next collection.

/** Who may read: whoever knows the passphrase, or holds the identity of this recipient (`age1…`). */
export type AgeRecipient = { readonly passphrase: string } | { readonly recipient: string }
/** What opens a file: a passphrase, or an identity (`AGE-SECRET-KEY-1…`). */
export type AgeKey = { readonly passphrase: string } | { readonly identity: string }

/** The key is not the one that a file was encrypted for. */
export class WrongKey extends Error {}

/** What every file in this format begins with. */
export const AGE = 'age-encryption.org/v1'
/** 64 MB for scrypt, where age takes 256 by default: a small machine makes backups, too. */
const WORK_FACTOR = 16
/** The most that is tried for whoever made a file: 4 GB. */
const MAX_WORK_FACTOR = 22
const CHUNK = 64 * 1024
const SLICE = 16 * 1024
const TAG = 16
const NONCE = 16
const MAX_HEADER = 64 * 1024
const CIPHER = 'chacha20-poly1305'

/** What an encrypted file for one recipient has beside its bytes: header, nonce, and a tag for each chunk. */
export const ageSize = (bytes: number): number => 168 + NONCE + bytes + TAG * Math.max(1, Math.ceil(bytes / CHUNK))

function keyOf(passphrase: string, salt: Uint8Array, workFactor: number): Promise<Buffer> {
  const labelled = Buffer.concat([Buffer.from(`${AGE}/scrypt`), salt])
  const options = { N: 2 ** workFactor, r: 8, p: 1, maxmem: 2 ** workFactor * 8 * 128 * 2 }
  return new Promise((resolve, reject) => {
    scrypt(passphrase, labelled, 32, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replaceAll('=', '')

/** Source: age-encryption.org/v1, "The scrypt recipient type" */
async function wrapWithPassphrase(fileKey: Uint8Array, passphrase: string): Promise<Stanza> {
  const { Stanza: Made } = await import('age-encryption')
  const salt = randomBytes(16)
  const cipher = createCipheriv(CIPHER, await keyOf(passphrase, salt, WORK_FACTOR), Buffer.alloc(12), {
    authTagLength: TAG,
  })
  const body = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()])
  return new Made(['scrypt', base64(salt), String(WORK_FACTOR)], body)
}

async function unwrapWithPassphrase(stanzas: readonly Stanza[], passphrase: string): Promise<Uint8Array | null> {
  const [stanza, ...more] = stanzas
  const [type, salt = '', factor = ''] = stanza?.args ?? []
  if (stanza === undefined || more.length > 0 || type !== 'scrypt') return null
  if (!/^[1-9]\d?$/.test(factor) || Number(factor) > MAX_WORK_FACTOR || stanza.body.length !== 16 + TAG) return null
  const key = await keyOf(passphrase, Buffer.from(salt, 'base64'), Number(factor))
  const decipher = createDecipheriv(CIPHER, key, Buffer.alloc(12), { authTagLength: TAG })
  decipher.setAuthTag(stanza.body.subarray(16))
  try {
    return Buffer.concat([decipher.update(stanza.body.subarray(0, 16)), decipher.final()])
  } catch {
    return null // another passphrase
  }
}

/** A header, and the key that it wraps. */
async function makeHeader(to: AgeRecipient): Promise<{ readonly header: Buffer; readonly fileKey: Buffer }> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  let fileKey = Buffer.alloc(0)
  const watching: Recipient = {
    wrapFileKey: async key => {
      fileKey = Buffer.from(key)
      return 'passphrase' in to ? [await wrapWithPassphrase(key, to.passphrase)] : []
    },
  }
  encrypter.addRecipient(watching)
  if ('recipient' in to) encrypter.addRecipient(to.recipient)
  const empty = Buffer.from(await encrypter.encrypt(new Uint8Array(0)))
  return { header: empty.subarray(0, empty.length - NONCE - TAG), fileKey }
}

/** Small slices come from the heap of before, where large ones would each be asked of the system. */
function inSlices(bytes: Buffer, work: (slice: Buffer) => Buffer, out: Buffer): number {
  for (let at = 0; at < bytes.length; at += SLICE) work(bytes.subarray(at, at + SLICE)).copy(out, at)
  return bytes.length
}

/**
 * What is sealed or opened is used up before the next one is.
 * Source: age-encryption.org/v1, "Payload"
 */
function payload(fileKey: Uint8Array, nonce: Uint8Array) {
  const out = Buffer.allocUnsafe(CHUNK + TAG)
  const key = Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32))
  let counter = 0
  function next(isLast: boolean): Buffer {
    const at = Buffer.alloc(12)
    at.writeUIntBE(counter++, 5, 6)
    at[11] = isLast ? 1 : 0
    return at
  }
  return {
    seal(plain: Buffer, isLast: boolean): Buffer {
      const cipher = createCipheriv(CIPHER, key, next(isLast), { authTagLength: TAG })
      const size = inSlices(plain, slice => cipher.update(slice), out)
      cipher.final()
      return out.subarray(0, size + cipher.getAuthTag().copy(out, size))
    },
    /** @throws where it is not what was sealed at this place */
    open(sealed: Buffer, isLast: boolean): Buffer {
      const decipher = createDecipheriv(CIPHER, key, next(isLast), { authTagLength: TAG })
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG))
      const size = inSlices(sealed.subarray(0, sealed.length - TAG), slice => decipher.update(slice), out)
      decipher.final()
      return out.subarray(0, size)
    },
  }
}

/** Chunks of one size; all but the last are full. One is used up before the next one is asked for. */
async function* chunksOf(
  body: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ chunk: Buffer; isLast: boolean }> {
  const chunk = Buffer.allocUnsafe(size)
  let filled = 0
  for await (const piece of body)
    for (let at = 0; at < piece.length;) {
      // a full chunk is the last one unless more comes
      if (filled === size) {
        yield { chunk, isLast: false }
        filled = 0
      }
      const copied = piece.copy(chunk, filled, at)
      filled += copied
      at += copied
    }
  yield { chunk: chunk.subarray(0, filled), isLast: true }
}

/** Encrypts, in age's format. A piece is used up before the next one is asked for, also of `body`. */
export async function* sealAge(body: AsyncIterable<Buffer>, to: AgeRecipient): AsyncGenerator<Buffer> {
  const { header, fileKey } = await makeHeader(to)
  const nonce = randomBytes(NONCE)
  const { seal } = payload(fileKey, nonce)
  yield Buffer.concat([header, nonce])
  for await (const { chunk, isLast } of chunksOf(body, CHUNK)) yield seal(chunk, isLast)
}

/** The bytes up to the end of the header, and the rest. @throws WrongKey where there is no header */
async function splitHeader(body: AsyncIterable<Buffer>): Promise<{ header: Buffer; rest: AsyncGenerator<Buffer> }> {
  const pieces = body[Symbol.asyncIterator]()
  let read = Buffer.alloc(0)
  for (;;) {
    const mac = read.indexOf('\n---')
    const end = mac < 0 ? -1 : read.indexOf('\n', mac + 1)
    const next = end < 0 && read.length < MAX_HEADER ? await pieces.next() : undefined
    if (end < 0 && next?.done !== false) {
      await pieces.return?.(undefined)
      throw new WrongKey('there is no header of age')
    }
    if (next?.done === false) {
      read = Buffer.concat([read, next.value])
      continue
    }
    const first = read.subarray(end + 1)
    const rest = (async function* rest() {
      try {
        if (first.length > 0) yield first
        for (let one = await pieces.next(); one.done !== true; one = await pieces.next()) yield one.value
      } finally {
        await pieces.return?.(undefined)
      }
    })()
    return { header: read.subarray(0, end + 1), rest }
  }
}

async function openPayload(fileKey: Uint8Array, body: AsyncGenerator<Buffer>): Promise<AsyncGenerator<Buffer>> {
  let nonce = Buffer.alloc(0)
  let first = Buffer.alloc(0)
  while (nonce.length < NONCE) {
    const next = await body.next()
    if (next.done === true) throw new Error('it ends in its header')
    const all = Buffer.concat([nonce, next.value])
    nonce = all.subarray(0, NONCE)
    first = all.subarray(NONCE)
  }
  const { open } = payload(fileKey, nonce)
  return (async function* plain() {
    const sealed = (async function* sealed() {
      yield first
      yield* body
    })()
    let isFirst = true
    for await (const { chunk, isLast } of chunksOf(sealed, CHUNK + TAG)) {
      if (chunk.length < TAG || (chunk.length === TAG && !isFirst)) throw new Error('it is cut short')
      isFirst = false
      const bytes = open(chunk, isLast)
      if (bytes.length > 0) yield bytes
    }
  })()
}

async function decrypterOf(key: AgeKey): Promise<Decrypter> {
  const { Decrypter: Made } = await import('age-encryption')
  const decrypter = new Made()
  if ('identity' in key) decrypter.addIdentity(key.identity)
  else decrypter.addIdentity({ unwrapFileKey: stanzas => unwrapWithPassphrase(stanzas, key.passphrase) })
  return decrypter
}

/**
 * Decrypts what age, or `sealAge`, encrypted. Its header is read before this resolves; each piece is used up before the
 * next one is asked for, also of `body`.
 * @throws WrongKey; while it is read, what `body` throws, and an Error where bytes were changed or are missing
 */
export async function openAge(body: AsyncIterable<Buffer>, key: AgeKey): Promise<AsyncGenerator<Buffer>> {
  const { header, rest } = await splitHeader(body)
  const decrypter = await decrypterOf(key)
  let fileKey: Uint8Array
  try {
    fileKey = await decrypter.decryptHeader(header)
  } catch (error) {
    await rest.return(undefined)
    throw new WrongKey('it was encrypted for another key', { cause: error })
  }
  return openPayload(fileKey, rest)
}
