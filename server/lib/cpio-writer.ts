import { padded, TRAILER, type CpioFile, type CpioPart } from './cpio.ts'

/** The largest file of newc: its sizes have eight hexadecimal digits. */
const MAX_NEWC = 0xffffffff

function newcHeader(name: string, mode: number, size: number): Buffer {
  const path = Buffer.from(`${name}\0`)
  const fields = [0, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, path.length, 0]
    .map(value => value.toString(16).padStart(8, '0'))
    .join('')
  const head = Buffer.concat([Buffer.from(`070701${fields}`), path])
  return Buffer.concat([head, Buffer.alloc(padded(head.length) - head.length)])
}

/**
 * Writes parts as plain newc, which every reader knows, whatever form they were read from. A file too large for newc
 * goes on in entries of the same name with `.2`, `.3` behind it.
 */
export function createCpioWriter(): { write(part: CpioPart): Buffer[]; end(): Buffer } {
  let left = 0
  let later = 0
  let current: CpioFile = { name: '', mode: 0, size: 0 }
  let piece = 1
  let pad = 0

  const open = (name: string, size: number): Buffer => {
    left = Math.min(size, MAX_NEWC)
    later = size - left
    pad = padded(left) - left
    return newcHeader(name, current.mode, left)
  }
  return {
    write(part) {
      if (!('bytes' in part)) {
        current = part
        piece = 1
        return [open(part.name, part.size)]
      }
      const out: Buffer[] = []
      for (let rest = part.bytes; rest.length > 0;) {
        if (left === 0) out.push(open(`${current.name}.${++piece}`, later))
        const taken = rest.subarray(0, left)
        out.push(taken)
        rest = rest.subarray(taken.length)
        left -= taken.length
        if (left === 0 && pad > 0) out.push(Buffer.alloc(pad))
      }
      return out
    },
    end: () => newcHeader(TRAILER, 0, 0),
  }
}
