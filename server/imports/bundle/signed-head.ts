import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { malformed } from '../../lib/limited.ts'
import { END, fileHeader, padding } from '../../lib/tar-writer.ts'

/**
 * The beginning of a bundle, and all of a receipt: an uncompressed tar in one folder of the bundle's name.
 *
 *     north-0003/manifest.json       what is in it; `receipt.json` in a receipt
 *     north-0003/manifest.json.asc   a detached OpenPGP signature over it
 *     north-0003/sender.asc          the public keys of whoever made it; believed only by a pinned fingerprint
 *     north-0003/files/<sha256>      members, in the order of the list
 *     north-0003/head.sha256         the digest of everything before the first member: damage there is noticed, too
 *
 * Every header follows from the list, so each byte of the file is either compared, hashed or signed, and each member is
 * found without reading those before it.
 */
export interface Head {
  readonly name: string
  /** The list as it was signed. */
  readonly list: Buffer
  readonly signature: string
  /** Armoured. */
  readonly keys: string
}

export interface ReadHead extends Head {
  /** Where the first member begins, and the digest of everything before. */
  readonly sizeBytes: number
  readonly sha256: string
}

const BLOCK = 512
const MOST_LIST = 256 * 2 ** 20
const MOST_TEXT = 2 ** 20

const member = (name: string, body: Buffer): Buffer =>
  Buffer.concat([fileHeader(name, body.length), body, padding(body.length)])

/** @param list  `manifest.json` or `receipt.json` */
export function packHead(list: string, { name, list: bytes, signature, keys }: Head): Buffer {
  return Buffer.concat([
    member(`${name}/${list}`, bytes),
    member(`${name}/${list}.asc`, Buffer.from(signature)),
    member(`${name}/sender.asc`, Buffer.from(keys)),
  ])
}

/** What ends the file. */
export function packEnd(name: string, head: Buffer | string): Buffer {
  const sum = typeof head === 'string' ? head : createHash('sha256').update(head).digest('hex')
  return Buffer.concat([member(`${name}/head.sha256`, Buffer.from(`${sum}\n`)), END])
}

/** Bytes that must be there. @throws Malformed at the end of the file */
export async function readExactly(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  for (let read = 0; read < length;) {
    const { bytesRead } = await handle.read(buffer, read, length - read, at + read)
    if (bytesRead === 0) return malformed('it is cut short')
    read += bytesRead
  }
  return buffer
}

/** The name and size of the member whose header is here. @throws Malformed for anything but a plain file */
function readHeader(block: Buffer): { readonly name: string; readonly size: number } {
  const text = (from: number, to: number): string => block.toString('utf8', from, to).replace(/\0[\s\S]*$/, '')
  const size = parseInt(text(124, 136), 8)
  const name = text(345, 500) === '' ? text(0, 100) : `${text(345, 500)}/${text(0, 100)}`
  if (block.toString('latin1', 257, 262) !== 'ustar' || !Number.isSafeInteger(size))
    malformed('it is no bundle and no receipt of Gatehouse')
  return { name, size }
}

/**
 * Reads the head. Nothing in it is believed yet but its form.
 * @param list  `manifest.json` or `receipt.json`
 * @throws Malformed where it is not one
 */
export async function readHead(handle: FileHandle, list: string): Promise<ReadHead> {
  const hash = createHash('sha256')
  let at = 0
  let name = ''

  async function take(expected: string | undefined, most: number): Promise<Buffer> {
    const block = await readExactly(handle, at, BLOCK)
    const found = readHeader(block)
    if (expected === undefined) {
      name = found.name.slice(0, found.name.indexOf('/'))
      if (!/^[a-z0-9][a-z0-9-]{0,79}$/.test(name) || found.name !== `${name}/${list}`)
        malformed('it is no bundle and no receipt of Gatehouse, or one of the other kind')
    } else if (found.name !== `${name}/${expected}`) malformed(`it lacks ${expected}, or it is damaged`)
    if (found.size > most) malformed('its list is larger than any is made')
    if (!block.equals(fileHeader(found.name, found.size))) malformed('it is damaged at its beginning')
    const whole = await readExactly(handle, at + BLOCK, found.size + padding(found.size).length)
    hash.update(block).update(whole)
    at += BLOCK + whole.length
    return whole.subarray(0, found.size)
  }

  const bytes = await take(undefined, MOST_LIST)
  const signature = await take(`${list}.asc`, MOST_TEXT)
  const keys = await take('sender.asc', MOST_TEXT)
  return {
    name,
    list: bytes,
    signature: signature.toString('utf8'),
    keys: keys.toString('utf8'),
    sizeBytes: at,
    sha256: hash.digest('hex'),
  }
}

/** @throws Malformed unless the file ends here as it must */
export async function checkEnd(handle: FileHandle, at: number, { name, sha256 }: ReadHead): Promise<void> {
  const wanted = packEnd(name, sha256)
  const { size } = await handle.stat()
  if (size < at + wanted.length) malformed(`it is cut short: it has ${size} of ${at + wanted.length} bytes`)
  if (size > at + wanted.length) malformed(`it is longer than its list says, by ${size - at - wanted.length} bytes`)
  if (!(await readExactly(handle, at, wanted.length)).equals(wanted)) malformed('it is damaged at its beginning or end')
}
