import type { NotSigned, SignedBy, TrustedKeys } from '../../signing/trusted-keys.ts'
import { algorithmOf } from './digests.ts'
import { openRpm, type RpmPackage } from './package.ts'
import { readSignature } from './signature.ts'
import { TAG } from './tags.ts'

/** Larger headers are refused by the reader; an old signature over header and payload is read whole as well. */
const MAX_SIGNED = 1024 * 2 ** 20
const WEAK: ReadonlySet<string> = new Set(['md5', 'sha1'])

/** True where the header has a digest of the payload that nobody can forge: who signs the header then signs both. */
function coversPayload({ header }: RpmPackage): boolean {
  if (header.has(TAG.payloadsha512) || header.has(TAG.payloadsha3)) return true
  const algorithm = algorithmOf(header.number(TAG.payloaddigestalgo) ?? 8, 'digests of the payload')
  return header.has(TAG.payloadsha256) && !WEAK.has(algorithm)
}

/**
 * Checks a package as `rpmkeys --checksig` does: the signature of its header by a trusted key, and the payload against
 * the digest in that header.
 * @throws Malformed for a package that rpm would not install
 */
export async function verifyRpm(path: string, keys: TrustedKeys): Promise<{ readonly by: SignedBy } | NotSigned> {
  const rpm = await openRpm({ path })
  try {
    const embedded = readSignature(rpm, path)
    if (embedded?.kind !== 'openpgp') return { why: 'the package carries no signature' }
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of embedded.signed()) {
      chunks.push(Buffer.from(chunk as Uint8Array))
      size += chunk.length
      if (size > MAX_SIGNED) return { why: 'its signature is over more than 1 GiB' }
    }
    const isOfHeader = size === rpm.header.end - rpm.header.start
    if (isOfHeader && !coversPayload(rpm)) return { why: 'its signature covers the header and not the payload' }
    const signed = await keys.embedded(Buffer.concat(chunks), embedded.signature)
    if ('why' in signed) return signed
    for await (const _ of rpm.payload.chunks()) void _
    rpm.digests.check()
    return signed
  } finally {
    await rpm.close()
  }
}
