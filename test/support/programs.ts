/** A part of a program that is made for a test. */
export interface Part {
  readonly name: string
  readonly bytes: Buffer
  readonly isWritable?: boolean
}

export interface Shape {
  readonly wordBytes?: 4 | 8
  readonly isBigEndian?: boolean
  /** ELF: without the table of its sections. */
  readonly isBare?: boolean
}

const STRIDE = 0x4000
const BASE = 0x40_0000

/** Where a part is loaded: each has 16 KiB to itself. */
export const addressOf = (index: number): number => BASE + offsetOf(index)
const offsetOf = (index: number): number => STRIDE * (index + 1)

/** Numbers of one byte order, joined. Each is its value and how many bytes it takes. */
export function numbers(rows: readonly (readonly [value: number, bytes: number])[], isBigEndian = false): Buffer {
  return Buffer.concat(
    rows.map(([value, length]) => {
      const bytes = Buffer.alloc(length)
      const low = Math.min(length, 6)
      if (isBigEndian) bytes.writeUIntBE(value, length - low, low)
      else bytes.writeUIntLE(value, 0, low)
      return bytes
    }),
  )
}

const text = (value: string, length: number): Buffer => Buffer.concat([Buffer.from(value, 'latin1')], length)

function laidOut(header: Buffer, parts: readonly Part[], trailer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(offsetOf(parts.length))
  header.copy(bytes)
  parts.forEach((part, index) => part.bytes.copy(bytes, offsetOf(index)))
  return Buffer.concat([bytes, trailer])
}

/** Source: System V ABI, "Object Files" */
export function elf(
  parts: readonly Part[],
  { wordBytes = 8, isBigEndian = false, isBare = false }: Shape = {},
): Buffer {
  const is64 = wordBytes === 8
  const write = (rows: readonly (readonly [number, number])[]): Buffer => numbers(rows, isBigEndian)
  const [headerBytes, programBytes, sectionBytes] = is64 ? [64, 56, 64] : [52, 32, 40]
  const names = ['', ...parts.map(({ name }) => name), '.shstrtab']
  const nameAt = (index: number): number => names.slice(0, index).reduce((sum, name) => sum + name.length + 1, 0)
  const strings = Buffer.from(`${names.join('\0')}\0`, 'latin1')
  const end = offsetOf(parts.length)
  const row = (index: number, type: number, flags: number, place: readonly [number, number, number]): Buffer =>
    write([
      [nameAt(index), 4],
      [type, 4],
      [flags, wordBytes],
      ...place.map(value => [value, wordBytes] as const),
      [0, 4],
      [0, 4],
      [1, wordBytes],
      [0, wordBytes],
    ])
  const table = Buffer.concat([
    Buffer.alloc(sectionBytes),
    ...parts.map(({ bytes, isWritable }, index) =>
      row(index + 1, 1, isWritable === true ? 3 : 2, [addressOf(index), offsetOf(index), bytes.length]),
    ),
    row(parts.length + 1, 3, 0, [0, end, strings.length]),
  ])
  const header = Buffer.concat([
    Buffer.from([0x7f, 0x45, 0x4c, 0x46, is64 ? 2 : 1, isBigEndian ? 2 : 1, 1]),
    Buffer.alloc(9),
    write([
      [2, 2],
      [0, 2],
      [1, 4],
      [0, wordBytes],
      [headerBytes, wordBytes],
      [isBare ? 0 : end + strings.length, wordBytes],
      [0, 4],
      [headerBytes, 2],
      [programBytes, 2],
      [parts.length, 2],
      [sectionBytes, 2],
      [isBare ? 0 : parts.length + 2, 2],
      [isBare ? 0 : parts.length + 1, 2],
    ]),
    ...parts.map(({ bytes, isWritable }, index) => {
      const flags = isWritable === true ? 6 : 4
      const place = [offsetOf(index), addressOf(index), addressOf(index), bytes.length, bytes.length]
      return write([
        [1, 4],
        ...(is64 ? [[flags, 4] as const] : []),
        ...place.map(value => [value, wordBytes] as const),
        ...(is64 ? [] : [[flags, 4] as const]),
        [STRIDE, wordBytes],
      ])
    }),
  ])
  return laidOut(header, parts, isBare ? undefined : Buffer.concat([strings, table]))
}

/** Source: learn.microsoft.com, "PE Format" */
export function pe(parts: readonly Part[], { isManaged = false }: { readonly isManaged?: boolean } = {}): Buffer {
  const optional = Buffer.alloc(240)
  optional.writeUInt16LE(0x20b, 0)
  optional.writeUInt32LE(BASE, 24)
  if (isManaged) optional.writeUInt32LE(0x2000, 112 + 14 * 8)
  const dos = Buffer.alloc(64)
  dos.write('MZ')
  dos.writeUInt32LE(64, 60)
  const coff = Buffer.alloc(24)
  coff.write('PE\0\0')
  coff.writeUInt16LE(parts.length, 6)
  coff.writeUInt16LE(optional.length, 20)
  const rows = parts.map(({ name, bytes, isWritable }, index) =>
    Buffer.concat([
      text(name, 8),
      numbers([bytes.length, offsetOf(index), bytes.length, offsetOf(index)].map(value => [value, 4])),
      Buffer.alloc(12),
      numbers([[isWritable === true ? 0xc000_0040 : 0x4000_0040, 4]]),
    ]),
  )
  return laidOut(Buffer.concat([dos, coff, optional, ...rows]), parts)
}

/** Source: the header mach-o/loader.h */
export function machO(parts: readonly Part[], { wordBytes = 8, isBigEndian = false }: Shape = {}): Buffer {
  const write = (rows: readonly (readonly [number, number])[]): Buffer => numbers(rows, isBigEndian)
  const is64 = wordBytes === 8
  const segments = parts.map(({ name, bytes, isWritable }, index) => {
    const [address, offset, size] = [addressOf(index), offsetOf(index), bytes.length]
    const rights = isWritable === true ? 3 : 1
    const body = Buffer.concat([
      text('__DATA', 16),
      write([address, size, offset, size].map(value => [value, wordBytes])),
      write([rights, rights, 1, 0].map(value => [value, 4])),
      text(name, 16),
      text('__DATA', 16),
      write([address, size].map(value => [value, wordBytes])),
      write([offset, 0, 0, 0, 0, 0, 0, ...(is64 ? [0] : [])].map(value => [value, 4])),
    ])
    return Buffer.concat([write([is64 ? 0x19 : 1, body.length + 8].map(value => [value, 4])), body])
  })
  const commands = Buffer.concat(segments)
  const magic = is64 ? 0xfeedfacf : 0xfeedface
  const header = write(
    [magic, 0, 0, 2, parts.length, commands.length, 0, ...(is64 ? [0] : [])].map(value => [value, 4]),
  )
  return laidOut(Buffer.concat([header, commands]), parts)
}

/** Programs for several kinds of machines in one file. */
export function fat(slices: readonly Buffer[]): Buffer {
  let offset = 8 + 20 * slices.length
  const rows = slices.map(slice => {
    const row = [0, 0, offset, slice.length, 0]
    offset += slice.length
    return row
  })
  const header = [0xcafebabe, slices.length, ...rows.flat()]
  return Buffer.concat([
    numbers(
      header.map(value => [value, 4]),
      true,
    ),
    ...slices,
  ])
}
