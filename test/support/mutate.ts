import type { Random } from './random.ts'

const PIECES = [
  '../',
  '/',
  '\n',
  ' ',
  '\t',
  '\r\n',
  '#',
  '\0',
  ':',
  '=',
  '~',
  '(',
  ')',
  '|',
  ',',
  'é',
  '\u00a0',
  '\u2028',
  '00000000',
  'ffffffff',
  '..',
  '!',
  '-',
  'TRAILER!!!',
  'ustar',
]
const BYTES = [0, 1, 0x7f, 0x80, 0xff, 0x20, 0x0a, 0x2f, 0x2e, 0x30, 0x37, 0x38]

/**
 * The bytes with one to three changes: bits turned, bytes put in place of others, cut out, put in, doubled, or the end
 * cut off.
 */
export function mutate(bytes: Buffer, { below, pick }: Random): Buffer {
  let out = Buffer.from(bytes)
  for (let n = 1 + below(3); n > 0; n--) {
    const at = below(out.length)
    const [head, tail] = [out.subarray(0, at), out.subarray(at)]
    switch (below(8)) {
      case 0:
      case 1:
        out[at] = (out[at] ?? 0) ^ (1 << below(8))
        break
      case 2:
      case 3:
        out[at] = pick(BYTES)
        break
      case 4:
        out = Buffer.concat([head, tail.subarray(1 + below(40))])
        break
      case 5:
        out = Buffer.concat([head, Buffer.from(pick(PIECES)), tail])
        break
      case 6:
        out = Buffer.concat([head, tail.subarray(0, 64), tail])
        break
      default:
        out = below(4) === 0 ? head : Buffer.concat([head, Buffer.from(pick(PIECES)), tail.subarray(4)])
    }
    if (out.length === 0) return out
  }
  return out
}

/** The text with one to three of its lines left out, doubled, indented or bent. */
export function mutateLines(text: string, { below, pick }: Random): string {
  const lines = text.split('\n')
  for (let n = 1 + below(3); n > 0; n--) {
    const at = below(lines.length)
    const line = lines[at] ?? ''
    const cut = below(line.length + 1)
    const changed = [
      [],
      [line, line],
      [` ${line}`],
      ...Array.from({ length: 4 }, () => [`${line.slice(0, cut)}${pick(PIECES)}${line.slice(cut + below(3))}`]),
    ]
    lines.splice(at, 1, ...pick(changed))
  }
  return lines.join('\n')
}
