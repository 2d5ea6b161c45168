import { malformed } from '../../lib/limited.ts'

/** The numbers in the headers of a program. Each throws Malformed where the bytes end before it. */
export interface Numbers {
  readonly bytes: Buffer
  u16(at: number): number
  u32(at: number): number
  /** 4 or 8 bytes, as wide as an address of the program. */
  word(at: number): number
}

/** Reads bytes as numbers of one byte order. 64 bits beyond 2^53 come out rounded: no file has so many bytes. */
export function numbersIn(
  bytes: Buffer,
  { isBigEndian, wordBytes }: { readonly isBigEndian: boolean; readonly wordBytes: 4 | 8 },
): Numbers {
  const checked = (at: number, length: number): number =>
    at + length <= bytes.length ? at : malformed('its headers are cut off')
  const u32 = (at: number): number =>
    isBigEndian ? bytes.readUInt32BE(checked(at, 4)) : bytes.readUInt32LE(checked(at, 4))
  const u64 = (at: number): number =>
    Number(isBigEndian ? bytes.readBigUInt64BE(checked(at, 8)) : bytes.readBigUInt64LE(checked(at, 8)))
  return {
    bytes,
    u16: at => (isBigEndian ? bytes.readUInt16BE(checked(at, 2)) : bytes.readUInt16LE(checked(at, 2))),
    u32,
    word: wordBytes === 8 ? u64 : u32,
  }
}

/** The text up to the first NUL. */
export function textAt(bytes: Buffer, at: number, most: number): string {
  const text = bytes.toString('latin1', at, at + most)
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}
