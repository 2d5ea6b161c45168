import { createHash, type Hash } from 'node:crypto'
import { malformed } from '../../lib/limited.ts'
import type { RpmHeader } from './header.ts'
import { SIGTAG, TAG } from './tags.ts'

/** Numbers of RFC 9580, 9.5, by the names that node knows. */
const ALGORITHMS: ReadonlyMap<number, string> = new Map([
  [1, 'md5'],
  [2, 'sha1'],
  [8, 'sha256'],
  [9, 'sha384'],
  [10, 'sha512'],
  [11, 'sha224'],
  [12, 'sha3-256'],
  [14, 'sha3-512'],
])

/**
 * The name that node has for a kind of digest.
 * @param kind  its number, RFC 9580, 9.5
 * @throws Malformed for one that is not known
 */
export function algorithmOf(kind: number, whose: string): string {
  return (
    ALGORITHMS.get(kind) ?? malformed(`the header says that its ${whose} are of the kind ${kind}, which is not known`)
  )
}

const hexOf = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

/**
 * Compares the digests of the main header that stand in the signature header.
 * @returns how many there were
 * @throws Malformed for each that differs
 */
export function checkHeaderDigests(signature: RpmHeader, header: RpmHeader): number {
  const checks = (
    [
      ['SHA-1', 'sha1', SIGTAG.sha1],
      ['SHA-256', 'sha256', SIGTAG.sha256],
      ['SHA3-256', 'sha3-256', SIGTAG.sha3],
    ] as const
  ).filter(([, , tag]) => signature.has(tag))
  for (const [name, algorithm, tag] of checks) {
    if (signature.text(tag).toLowerCase() !== hexOf(algorithm, header.raw))
      malformed(`the ${name} digest of the header in the signature header is not that of the header`)
  }
  return checks.length
}

interface Expected {
  readonly name: string
  readonly algorithm: string
  /** Any of these will do: of the payload as it lies in the file, or, where it is not compressed, as it is unpacked. */
  readonly values: readonly string[]
  /** True for the MD5 of old packages, which is over the header too. */
  readonly withHeader?: true
}

function expectations(signature: RpmHeader, header: RpmHeader, isPlain: boolean): Expected[] {
  const pairs = [
    [
      algorithmOf(header.number(TAG.payloaddigestalgo) ?? 8, 'digests of the payload'),
      TAG.payloadsha256,
      TAG.payloadsha256alt,
    ],
    ['sha512', TAG.payloadsha512, TAG.payloadsha512alt],
    ['sha3-256', TAG.payloadsha3, TAG.payloadsha3alt],
  ] as const
  const found = pairs
    .filter(([, tag]) => header.has(tag))
    .map(([name, tag, alt]): Expected => ({
      name: 'payload',
      algorithm: name,
      values: [header.text(tag), ...(isPlain ? [header.text(alt)] : [])].filter(text => text !== ''),
    }))
  // rpm checks this digest too, and then accepts no other in its place
  if (header.has(TAG.payloadsha256alt) && !header.has(TAG.payloadsha256))
    malformed('the header has a digest of the payload as it is unpacked, and none of it as it lies in the file')
  for (const tag of [TAG.payloadsha256, TAG.payloadsha256alt]) {
    const { length } = header.texts(tag)
    if (length > 1) malformed(`the header has ${length} digests of its payload in the place of one`)
  }
  // before rpm 4.14 this was the only one; where it is present, rpm checks it with the others
  const md5 = signature.bytes(SIGTAG.md5)
  return md5 === undefined
    ? found
    : [...found, { name: 'header and payload', algorithm: 'md5', values: [md5.toString('hex')], withHeader: true }]
}

/** Computes the digests of the payload while it streams, and compares them at the end. */
export interface PayloadDigests {
  /** Passes the same bytes on. A second call starts over. */
  watch(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer>
  /** To be called once all bytes have passed. @throws Malformed when one differs */
  check(): void
}

/**
 * @param isPlain  the payload is not compressed
 * @throws Malformed when nothing covers the payload: rpm's own setting `_pkgverify_level digest` does not install
 *   that either
 */
export function createPayloadDigests(signature: RpmHeader, header: RpmHeader, isPlain: boolean): PayloadDigests {
  const expected = expectations(signature, header, isPlain)
  if (expected.length === 0) malformed('it carries no digest of its payload, and rpm would not install it')
  let hashes: Hash[] = []
  return {
    async *watch(chunks) {
      hashes = expected.map(({ algorithm, withHeader }) =>
        withHeader === true ? createHash(algorithm).update(header.raw) : createHash(algorithm),
      )
      for await (const chunk of chunks) {
        for (const hash of hashes) hash.update(chunk)
        yield chunk
      }
    },
    check() {
      for (const [i, { name, algorithm, values }] of expected.entries()) {
        const digest = hashes[i]?.digest('hex') ?? ''
        if (!values.some(value => value.toLowerCase() === digest))
          malformed(`the ${algorithm} digest of the ${name} is not the one in the header: it was changed or damaged`)
      }
    },
  }
}
