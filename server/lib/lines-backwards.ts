import { readAt, type ByPosition } from './read-at.ts'

/** A line without its newline, and where it lies. */
export interface PlacedLine {
  readonly text: string
  readonly start: number
  /** Behind its newline. */
  readonly end: number
}

const BLOCK = 64 * 1024
const NEWLINE = 0x0a
/** No program that writes a log writes longer ones. */
const LONGEST_LINE = 256 * 1024

/**
 * The lines of a file that end at `end` or before, last line first. Reads a block at a time, and only as far as it is
 * asked to. A last line without newline is being written: it is left out, and so is one of more than 256 KB.
 */
export async function* linesBackwards(handle: ByPosition, end: number): AsyncGenerator<PlacedLine> {
  let lineEnd: number | undefined // of the line whose beginning lies further left; undefined before the first newline
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer): void => {
    length += part.length
    parts = length > LONGEST_LINE ? [] : [part, ...parts]
  }
  function* whole(start: number): Generator<PlacedLine> {
    if (lineEnd !== undefined && length <= LONGEST_LINE)
      yield { text: Buffer.concat(parts).toString('utf8'), start, end: lineEnd }
    parts = []
    length = 0
  }
  for (let at = end; at > 0; at = Math.max(0, at - BLOCK)) {
    const from = Math.max(0, at - BLOCK)
    const block = await readAt(handle, from, at - from)
    if (block.length < at - from) return // the file was cut off meanwhile
    let stop = block.length
    for (let newline = block.lastIndexOf(NEWLINE); newline >= 0;) {
      if (lineEnd !== undefined) add(block.subarray(newline + 1, stop))
      yield* whole(from + newline + 1)
      lineEnd = from + newline + 1
      stop = newline
      newline = newline === 0 ? -1 : block.lastIndexOf(NEWLINE, newline - 1)
    }
    if (lineEnd !== undefined) add(block.subarray(0, stop))
  }
  yield* whole(0)
}

/**
 * The end of the last line for which `isAfter` is false, in a file whose lines are in that order; at most a block
 * behind it. Reads as many blocks as a search by halves needs. Lines that `isAfter` cannot tell are passed over.
 */
export async function seekLine(
  handle: ByPosition,
  size: number,
  isAfter: (line: string) => boolean | undefined,
): Promise<number> {
  let [low, high] = [0, size]
  while (high - low > BLOCK) {
    const middle = Math.floor((low + high) / 2)
    const bytes = await readAt(handle, middle, Math.min(BLOCK, high - middle))
    // the first may be the end of a line, the last its beginning
    const whole = bytes.toString('utf8').split('\n').slice(1, -1)
    const told = whole.map(isAfter).find(one => one !== undefined)
    if (told === undefined) break // nothing to go by: whoever reads on looks at each line
    if (told) high = middle
    else low = middle
  }
  const newline = (await readAt(handle, high, Math.min(BLOCK, size - high))).indexOf(NEWLINE)
  return newline < 0 ? size : high + newline + 1
}
