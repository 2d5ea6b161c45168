import { Buffer } from 'node:buffer'

const BLOCK = 512
const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`

interface Kind {
  /** The flag of ustar: a file, a folder, a pax header. */
  readonly type: '0' | '5' | 'x'
  readonly mode: number
}
const PRIVATE: Kind = { type: '0', mode: 0o640 }

function header(name: { readonly prefix: string; readonly rest: string }, size: number, { type, mode }: Kind): Buffer {
  const block = Buffer.alloc(BLOCK)
  block.write(name.rest, 0, 100, 'utf8')
  block.write(octal(mode, 8), 100, 'latin1')
  block.write(octal(0, 8), 108, 'latin1')
  block.write(octal(0, 8), 116, 'latin1')
  // 11 octal digits end at 8 GiB: larger sizes stand in the pax header before
  block.write(octal(size < 8 ** 11 ? size : 0, 12), 124, 'latin1')
  block.write(octal(0, 12), 136, 'latin1')
  block.write('        ', 148, 'latin1')
  block.write(type, 156, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  block.write(name.prefix, 345, 155, 'utf8')
  let sum = 0
  for (const byte of block) sum += byte
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}

/** `<length> <key>=<value>\n`, whose length counts itself. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes + String(bytes).length
  if (String(length).length + bytes !== length) length = bytes + String(length).length
  return `${length}${rest}`
}

/** The two fields of ustar that hold this name; undefined for one that is too long, or no plain ASCII. */
function split(name: string): { readonly prefix: string; readonly rest: string } | undefined {
  if (!/^[\x20-\x7e]*$/.test(name)) return undefined
  if (name.length <= 100) return { prefix: '', rest: name }
  const at = name.lastIndexOf('/', 155)
  return at > 0 && name.length - at - 1 <= 100 ? { prefix: name.slice(0, at), rest: name.slice(at + 1) } : undefined
}

const paxHeader = (body: Buffer): Buffer =>
  Buffer.concat([
    header({ prefix: '', rest: 'pax' }, body.length, { ...PRIVATE, type: 'x' }),
    body,
    padding(body.length),
  ])

/** Something that a package brings: a file with its content, or a folder, whose name ends with a slash. */
export interface Brought {
  readonly name: string
  readonly mode: number
  readonly content?: Buffer
  /** Records of the pax header before it. */
  readonly pax?: Readonly<Record<string, string>>
}

/** An entry of an archive that a client unpacks, of root. @param brought has a short name */
export function entryOf({ name, mode, content = Buffer.alloc(0), pax = {} }: Brought): Buffer {
  const records = Object.entries(pax).map(([key, value]) => paxRecord(key, value))
  return Buffer.concat([
    ...(records.length === 0 ? [] : [paxHeader(Buffer.from(records.join('')))]),
    header({ prefix: '', rest: name }, content.length, { type: name.endsWith('/') ? '5' : '0', mode }),
    content,
    padding(content.length),
  ])
}

/** What goes before the bytes of a file. Source: POSIX.1-2017, pax, "ustar Interchange Format", "pax Header Block" */
export function fileHeader(name: string, size: number): Buffer {
  const short = split(name)
  const isLarge = size >= 8 ** 11
  if (short !== undefined && !isLarge) return header(short, size, PRIVATE)
  const path = short === undefined ? paxRecord('path', name) : ''
  const records = `${path}${isLarge ? paxRecord('size', String(size)) : ''}`
  const body = Buffer.from(records)
  return Buffer.concat([paxHeader(body), header(short ?? { prefix: '', rest: 'long' }, size, PRIVATE)])
}

/** Zeros up to the next block. */
export const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

/** The end of an archive. */
export const END = Buffer.alloc(2 * BLOCK)
