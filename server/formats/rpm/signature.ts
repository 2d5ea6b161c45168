import { Readable } from 'node:stream'
import { malformed } from '../../lib/limited.ts'
import type { EmbeddedSignature } from '../format.ts'
import type { RpmPackage } from './package.ts'
import { openRpm } from './package.ts'
import { SIGTAG } from './tags.ts'

/** The new form of a signature is base64 without armour. */
function decode(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length > 0 && /^[A-Za-z0-9+/=\s]+$/.test(text)
    ? bytes
    : malformed('the signature header holds an OpenPGP signature that is not base64')
}

/** Opens the file again, so it may be read late, twice or never. */
async function* signedBytes(path: string, withPayload: boolean): AsyncGenerator<Buffer> {
  const rpm = await openRpm({ path })
  try {
    yield* rpm.bytes(rpm.header.start, withPayload ? rpm.size : rpm.header.end)
  } finally {
    await rpm.close()
  }
}

/**
 * The signature that a package carries, if any. Of the header, whose digest covers the payload: all of them, joined, as
 * one key may be known and another not. Only old packages have none of it but one of header and payload.
 */
export function readSignature({ signature }: RpmPackage, path: string): EmbeddedSignature | undefined {
  const packets = (tags: readonly number[]): Buffer[] => tags.flatMap(tag => signature.bytes(tag) ?? [])
  // an rpm that knows the new form checks it alone; the old ones are for older rpm
  const current = signature.texts(SIGTAG.openpgp).map(decode)
  const ofHeader = current.length > 0 ? current : packets([SIGTAG.rsa, SIGTAG.dsa])
  const ofAll = packets([SIGTAG.pgp, SIGTAG.gpg])
  const found = ofHeader.length > 0 ? ofHeader : ofAll
  if (found.length === 0) return undefined
  return {
    kind: 'openpgp',
    signature: Buffer.concat(found),
    signed: () => Readable.from(signedBytes(path, ofHeader.length === 0)),
  }
}
