const BLOCK = 512

/** A file of a tar that is written here. */
export interface UstarFile {
  readonly name: string
  readonly body: Buffer
}

/**
 * The header of an entry of a POSIX tar. Owner root, mode 0644, time 0: the same file is the same bytes.
 * @param name  at most 99 bytes
 * Source: POSIX.1-2017, pax, "ustar Interchange Format".
 */
export function ustarHeader(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 99) throw new Error(`${name} is too long for a tar header`)
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0)
  header.write('0000644\0' + '0000000\0' + '0000000\0', 100, 'latin1')
  header.write(`${size.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0${' '.repeat(8)}0`, 124, 'latin1')
  header.write('ustar\0' + '00', 257, 'latin1')
  header.write('root', 265, 'latin1')
  header.write('root', 297, 'latin1')
  header.write('0000000\0' + '0000000\0', 329, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

/** What fills up the last block of a body of this size. */
export const ustarPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

const entry = ({ name, body }: UstarFile): Buffer =>
  Buffer.concat([ustarHeader(name, body.length), body, ustarPadding(body.length)])

/** What a tar ends with. */
export const USTAR_END = Buffer.alloc(2 * BLOCK)

/** @param end whether to write the end mark; without it, a reader continues with what is appended */
export function writeUstar(files: readonly UstarFile[], { end }: { readonly end: boolean }): Buffer {
  return Buffer.concat([...files.map(entry), ...(end ? [USTAR_END] : [])])
}
