import { createReadStream } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { fail } from '../../core/errors.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { readAt } from '../../lib/read-at.ts'
import type { Signer } from '../../signing/signer.ts'
import type { RpmFacts } from './facts.ts'

/** One value of a header as it is stored. */
interface Tag {
  readonly tag: number
  readonly type: number
  readonly count: number
  readonly bytes: Buffer
}
/** Where a header lies in its file, and its index entries. */
interface Section {
  readonly start: number
  readonly end: number
  readonly tags: readonly Tag[]
}

const LEAD = 96
const MAGIC = 0x8eade801
const INTRO = 16
const ENTRY = 16
/**
 * What rpm itself takes. Source: rpm, lib/header.c, HEADER_TAGS_MAX and HEADER_DATA_MAX of signature headers, rounded
 * down.
 */
const MOST_TAGS = 65_536
const MOST_BYTES = 32 * 1024 * 1024

const STRING = 6
const BIN = 7
const STRING_ARRAY = 8
const I18N = 9
/** Bytes of one value, which is also what it is aligned to, by type: null, char, int8 to int64; binary. */
const WIDTH: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, [BIN]: 1 }

// Source of the numbers: rpm, include/rpm/rpmtag.h
const REGION = 62
const RSA_HEADER = 268
const DSA_HEADER = 267 // also EdDSA
const OPENPGP = 278
/** Signatures over header and payload, signatures over the header, and the space that rpmbuild leaves for them. */
const SIGNATURES = new Set([RSA_HEADER, DSA_HEADER, OPENPGP, 1002, 1005, 1008, 999])
/** Only packages of format 6 have it. */
const RPM_FORMAT = 5114

const refuse = (file: SpooledFile, why: string): never => fail('bad_package', { filename: file.filename, why })

function valueOf(
  store: Buffer,
  { type, count, offset }: { readonly type: number; readonly count: number; readonly offset: number },
): Buffer | undefined {
  if (offset > store.length) return undefined
  if (type !== STRING && type !== STRING_ARRAY && type !== I18N) {
    const length = (WIDTH[type] ?? Infinity) * count
    return offset + length <= store.length ? store.subarray(offset, offset + length) : undefined
  }
  let end = offset
  for (let n = 0; n < count; n++) {
    const zero = store.indexOf(0, end)
    if (zero < 0) return undefined
    end = zero + 1
  }
  return store.subarray(offset, end)
}

/** Reads a header's index and values; the package was inspected before, so faults need no detailed message here. */
async function readSection(handle: FileHandle, file: SpooledFile, start: number): Promise<Section> {
  const intro = await readAt(handle, start, INTRO)
  if (intro.length < INTRO || intro.readUInt32BE(0) !== MAGIC)
    return refuse(file, 'a header does not begin where it should')
  const [count, size] = [intro.readUInt32BE(8), intro.readUInt32BE(12)]
  if (count > MOST_TAGS || size > MOST_BYTES) return refuse(file, 'a header is too large')
  const end = start + INTRO + ENTRY * count + size
  const bytes = await readAt(handle, start + INTRO, ENTRY * count + size)
  if (bytes.length < ENTRY * count + size) return refuse(file, 'a header is cut off')
  const store = bytes.subarray(ENTRY * count)
  const tags = Array.from({ length: count }, (_, n): Tag => {
    const at = n * ENTRY
    const [tag, type, offset, values] = [
      bytes.readInt32BE(at),
      bytes.readUInt32BE(at + 4),
      bytes.readUInt32BE(at + 8),
      bytes.readUInt32BE(at + 12),
    ]
    return {
      tag,
      type,
      count: values,
      bytes:
        valueOf(store, { type, count: values, offset }) ??
        refuse(file, `the value of tag ${tag} lies outside its header`),
    }
  })
  return { start, end, tags }
}

function printIndex(tag: number, type: number, [offset, count]: readonly [number, number]): Buffer {
  const entry = Buffer.alloc(ENTRY)
  entry.writeInt32BE(tag, 0)
  entry.writeUInt32BE(type, 4)
  entry.writeInt32BE(offset, 8) // negative in a region's trailer
  entry.writeUInt32BE(count, 12)
  return entry
}

/**
 * A signature header: its region around the tags in the order of their numbers, filled up so that the next header is
 * aligned.
 */
function printSignatureHeader(tags: readonly Tag[]): Buffer {
  const index: Buffer[] = []
  const store: Buffer[] = []
  let at = 0
  for (const { tag, type, count, bytes } of tags.toSorted((a, b) => a.tag - b.tag)) {
    const width = WIDTH[type] ?? 1
    const gap = (width - (at % width)) % width
    index.push(printIndex(tag, type, [at + gap, count]))
    store.push(Buffer.alloc(gap), bytes)
    at += gap + bytes.length
  }
  // the region's own entry points to a trailer behind the values, which says how far the region reaches back
  const intro = Buffer.alloc(INTRO)
  intro.writeUInt32BE(MAGIC, 0)
  intro.writeUInt32BE(index.length + 1, 8)
  intro.writeUInt32BE(at + ENTRY, 12)
  const trailer = printIndex(REGION, BIN, [-ENTRY * (index.length + 1), ENTRY])
  const header = Buffer.concat([intro, printIndex(REGION, BIN, [at, ENTRY]), ...index, ...store, trailer])
  return Buffer.concat([header, Buffer.alloc((8 - (header.length % 8)) % 8)])
}

/** @param isV6 whether it is a package of format 6, which holds its signatures as text */
async function signatureTag(signer: Signer, header: Buffer, isV6: boolean): Promise<Tag> {
  const signature = await signer.detachOne(header)
  if (isV6)
    return { tag: OPENPGP, type: STRING_ARRAY, count: 1, bytes: Buffer.from(`${signature.toString('base64')}\0`) }
  return {
    tag: signer.keys[0]?.algorithm.startsWith('rsa') === true ? RSA_HEADER : DSA_HEADER,
    type: BIN,
    count: signature.length,
    bytes: signature,
  }
}

async function* joined(front: readonly Buffer[], path: string, from: number): AsyncGenerator<Buffer> {
  yield* front
  for await (const chunk of createReadStream(path, { start: from, highWaterMark: 1 << 20 })) yield chunk as Buffer
}

/**
 * The package with the current key's signature over its main header, in place of any it had; header and payload stay as
 * they are, byte for byte. The payload is covered by its digest in the header, which rpmbuild has written since rpm
 * 4.14.
 * @returns the bytes, and their facts: the header has moved
 * @throws bad_package
 */
export async function signRpm(
  file: SpooledFile,
  { facts, signer }: { readonly facts: RpmFacts; readonly signer: Signer },
): Promise<{ readonly bytes: AsyncIterable<Buffer>; readonly facts: RpmFacts }> {
  const handle = await open(file.path)
  try {
    const lead = await readAt(handle, 0, LEAD)
    const old = await readSection(handle, file, LEAD)
    const main = await readSection(handle, file, old.end + ((8 - (old.end % 8)) % 8))
    const header = await readAt(handle, main.start, main.end - main.start)
    const kept = old.tags.filter(({ tag }) => tag !== REGION && !SIGNATURES.has(tag))
    const fresh = printSignatureHeader([
      ...kept,
      await signatureTag(
        signer,
        header,
        main.tags.some(({ tag }) => tag === RPM_FORMAT),
      ),
    ])
    const start = lead.length + fresh.length
    return {
      bytes: joined([lead, fresh], file.path, main.start),
      facts: { ...facts, header: [start, start + header.length] },
    }
  } finally {
    await handle.close()
  }
}
