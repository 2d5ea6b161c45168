import type { OpenFile } from '../reader.ts'

/**
 * A number with a dot in it, in bytes that hold what stands around it.
 * @param from  where its first digit stands; at least 512 bytes before belong to it, unless the file begins there
 */
export type Visit = (bytes: Buffer, from: number) => void

const WINDOW = 2 ** 20
/** How many bytes before and behind a number are there to be looked at. */
export const AROUND = 512
const [DOT, ZERO, NINE] = [0x2e, 0x30, 0x39]

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE

/** Visits the numbers whose first dot stands between two offsets. */
function visitWithin(bytes: Buffer, { from, to }: { readonly from: number; readonly to: number }, visit: Visit): void {
  for (let dot = bytes.indexOf(DOT, from); dot !== -1 && dot < to; dot = bytes.indexOf(DOT, dot + 1)) {
    if (!isDigit(bytes[dot - 1]) || !isDigit(bytes[dot + 1])) continue
    let first = dot - 1
    while (first > 0 && dot - first < 10 && isDigit(bytes[first - 1])) first--
    // what follows a dot is the middle of a number that was visited
    if (bytes[first - 1] !== DOT) visit(bytes, first)
  }
}

/**
 * Visits every number with a dot, from the beginning of a file to its end: versions are such numbers. One search for a
 * rare byte: a search for each known text would pass over the file as often as there are texts.
 */
export async function visitNumbers(file: OpenFile, visit: Visit): Promise<void> {
  for (let at = 0; at < file.size; at += WINDOW) {
    const before = Math.min(AROUND, at)
    const bytes = await file.read(at - before, before + WINDOW + AROUND)
    visitWithin(bytes, { from: before, to: before + WINDOW }, visit)
  }
}

/** Whether a text stands anywhere in a file. */
export async function holdsText(file: OpenFile, text: string): Promise<boolean> {
  const needle = Buffer.from(text, 'latin1')
  for (let at = 0; at < file.size; at += WINDOW)
    if ((await file.read(at, WINDOW + needle.length)).includes(needle)) return true
  return false
}
