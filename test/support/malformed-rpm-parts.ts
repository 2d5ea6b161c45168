import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { RpmCompression, RpmParts, RpmSpec, RpmTag } from './packages-rpm.ts'
import { CPIO_END, encodeHeader, packRpm, rpmParts, signatureHeader, stringsTag } from './packages-rpm.ts'

export type Row = readonly [name: string, bytes: Buffer, why: RegExp]

export const SPEC: RpmSpec = {
  name: 'odd',
  version: '1.0',
  release: '1',
  requires: ['/bin/sh', 'libfoo >= 2'],
  changelog: [{ author: 'A', at: 1_700_000_000, text: '- x' }],
  files: { 'usr/bin/odd': '#!/bin/sh\n', 'usr/share/odd/a': 'a file', 'usr/share/odd/b': { symlink: 'a' } },
}
export const parts = await rpmParts(SPEC)
export const { payload: cpio } = await rpmParts({ ...SPEC, compression: 'none' })
export const header = encodeHeader(parts.tags, 63)
export const whole = packRpm(parts)

/** Lead, signature over exactly these bytes, header, payload. */
export const withHeader = (raw: Buffer, payload = parts.payload, extra: readonly RpmTag[] = []): Buffer =>
  Buffer.concat([parts.lead, signatureHeader(raw, payload, parts.payloadBytes, extra), raw, payload])
export const without = (...numbers: readonly number[]): RpmTag[] =>
  parts.tags.filter(({ tag }) => !numbers.includes(tag))
export const withTags = (...tags: readonly RpmTag[]): Buffer =>
  withHeader(encodeHeader([...without(...tags.map(({ tag }) => tag)), ...tags], 63))
export const withoutTags = (...numbers: readonly number[]): Buffer => withHeader(encodeHeader(without(...numbers), 63))
export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The header of other parts around this payload as it lies in the file, its digest right. */
export function around({ tags }: Pick<RpmParts, 'tags'>, payload: Buffer): Buffer {
  const raw = encodeHeader(
    [...tags.filter(({ tag }) => tag !== 5092 && tag !== 5097), stringsTag(5092, [sha256(payload)])],
    63,
  )
  return withHeader(raw, payload)
}
export const withCpio = (entries: readonly Buffer[], end = CPIO_END): Buffer =>
  around(parts, gzipSync(Buffer.concat([...entries, end])))
export const packedAs = async (body: Buffer, how: RpmCompression): Promise<RpmParts> => ({
  ...(await rpmParts({ ...SPEC, compression: how })),
  payload: body,
})

/** The place of an entry of the index. */
export function placeOf(raw: Buffer, tag: number): number {
  for (let at = 16; at < 16 + raw.readUInt32BE(8) * 16; at += 16) if (raw.readInt32BE(at) === tag) return at
  throw new Error(`the header has no ${tag}`)
}
export const FIELDS = { tag: 0, type: 4, offset: 8, count: 12 } as const
/** A header with one number of one entry of its index changed. */
export function bent(
  tag: number,
  field: keyof typeof FIELDS,
  value: number | ((was: number) => number),
  raw = header,
): Buffer {
  const copy = Buffer.from(raw)
  const at = placeOf(copy, tag) + FIELDS[field]
  copy.writeInt32BE((typeof value === 'number' ? value : value(copy.readInt32BE(at))) | 0, at)
  return copy
}
export const withBent = (...change: Parameters<typeof bent>): Buffer => withHeader(bent(...change))
export const patched = (at: number, bytes: string, from = whole): Buffer => {
  const copy = Buffer.from(from)
  copy.write(bytes, at, 'hex')
  return copy
}
export const headerStart = whole.indexOf(header)
/** The signature header bent at an entry, everything else as it is. */
export const withSignature = (tag: number, field: keyof typeof FIELDS, value: number): Buffer => {
  const raw = whole.subarray(96, headerStart)
  return Buffer.concat([whole.subarray(0, 96), bent(tag, field, value, Buffer.from(raw)), whole.subarray(headerStart)])
}

export const tagOf = (number: number): RpmTag => parts.tags.find(({ tag }) => tag === number) ?? stringsTag(number, [])
export const textsOf = (number: number): string[] => tagOf(number).data.toString().split('\0').slice(0, -1)
