import { constants, verify, type KeyObject } from 'node:crypto'

/**
 * A signature of version 3, as rpm packages of many vendors carry. Written here because openpgp.js reads none: it
 * passes over them without an error. Source: RFC 4880, 5.2.2
 */
export interface V3Signature {
  /** Of the key that made it, upper-case hex. */
  readonly keyId: string
  readonly at: Date
  /** True where `key` made it over exactly these bytes. */
  verify(bytes: Buffer, key: KeyObject): boolean
}

/** The packets of a binary signature: those of version 3, and all others, which a library reads. */
export interface Packets {
  readonly v3: readonly V3Signature[]
  readonly others: Buffer
}

const SIGNATURE = 2
/** Numbers of RFC 9580, 9.5; MD5 and SHA-1 are no longer believed. */
const HASHES: ReadonlyMap<number, string> = new Map([
  [8, 'sha256'],
  [9, 'sha384'],
  [10, 'sha512'],
])
const RSA: ReadonlySet<number> = new Set([1, 3])

/** Where a packet's body begins and ends. Source: RFC 9580, 4.2. @returns undefined for what is no packet */
function packetAt(bytes: Buffer, at: number): { tag: number; from: number; to: number } | undefined {
  const first = bytes[at] ?? 0
  if ((first & 0x80) === 0) return undefined
  const sized = (tag: number, head: number, length: number) => {
    const from = at + 1 + head
    return from + length <= bytes.length ? { tag, from, to: from + length } : undefined
  }
  const left = bytes.length - at - 1
  if ((first & 0x40) === 0) {
    const head = [1, 2, 4][first & 3]
    if (head === undefined || left < head) return undefined
    return sized((first >> 2) & 15, head, bytes.readUIntBE(at + 1, head))
  }
  const one = bytes[at + 1] ?? 255
  if (one < 192) return sized(first & 63, 1, one)
  if (one < 224 && left >= 2) return sized(first & 63, 2, ((one - 192) << 8) + (bytes[at + 2] ?? 0) + 192)
  return one === 255 && left >= 5 ? sized(first & 63, 5, bytes.readUInt32BE(at + 2)) : undefined
}

function readV3(body: Buffer): V3Signature | undefined {
  if (body.length < 21 || body[0] !== 3 || body[1] !== 5) return undefined
  // kind and time, which are hashed behind what is signed
  const trailer = body.subarray(2, 7)
  const hash = HASHES.get(body[16] ?? 0)
  const bits = body.readUInt16BE(19)
  const value = body.subarray(21, 21 + Math.ceil(bits / 8))
  const isBinary = trailer[0] === 0
  return {
    keyId: body.subarray(7, 15).toString('hex').toUpperCase(),
    at: new Date(trailer.readUInt32BE(1) * 1000),
    verify(bytes, key) {
      const modulus = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8
      if (!isBinary || hash === undefined || !RSA.has(body[15] ?? 0) || value.length > modulus) return false
      const padded = Buffer.concat([Buffer.alloc(modulus - value.length), value])
      return verify(hash, Buffer.concat([bytes, trailer]), { key, padding: constants.RSA_PKCS1_PADDING }, padded)
    },
  }
}

/** Splits joined signature packets. What cannot be read goes to `others`, whose reader says so. */
export function readPackets(bytes: Buffer): Packets {
  const v3: V3Signature[] = []
  const others: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const packet = packetAt(bytes, at)
    const read = packet?.tag === SIGNATURE ? readV3(bytes.subarray(packet.from, packet.to)) : undefined
    if (read !== undefined) v3.push(read)
    else others.push(bytes.subarray(at, packet?.to))
    if (packet === undefined) break
    at = packet.to
  }
  return { v3, others: Buffer.concat(others) }
}
