import { isZero } from '../../lib/collector.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { padded, TRAILER, typeOfMode } from '../../lib/cpio.ts'
import type { OpenFile, OtherMember } from '../reader.ts'
import type { Source } from '../source.ts'
import { cleanPath } from './tar.ts'

const HEADER = 110
const MAX_NAME = 4097

/** Whether these are the first bytes of a cpio with names, of the form newc. */
export const isCpio = (head: Buffer): boolean => /^07070[12]$/.test(head.toString('latin1', 0, 6))

function field(header: Buffer, n: number): number {
  const digits = header.toString('latin1', 6 + n * 8, 14 + n * 8)
  return /^[0-9a-fA-F]{8}$/.test(digits)
    ? parseInt(digits, 16)
    : malformed(`a cpio header holds ${quote(digits)} where a number belongs`)
}

/** @throws Malformed when something follows the last entry */
async function mustEnd(source: Source): Promise<void> {
  for await (const bytes of source.rest()) if (!isZero(bytes)) malformed('the cpio goes on behind its last entry')
}

export interface CpioOptions {
  /** Before each path: empty, or `app.cpio!/`. */
  readonly place: string
  readonly entries: number
  /** The source is left behind the last entry, whatever follows. */
  readonly goesOn?: boolean
}

/**
 * The files of a cpio in its order. Source: cpio(5), "New ASCII Format"
 * @throws Malformed where it is damaged
 */
export async function* cpioFiles(
  source: Source,
  { place, entries, goesOn = false }: CpioOptions,
): AsyncGenerator<OpenFile | OtherMember> {
  for (let n = 0; n <= entries; n++) {
    const header = (await source.take(HEADER)) ?? malformed('the cpio is cut off')
    if (!isCpio(header)) malformed('the cpio goes on without the header of a file')
    const [mode, size, nameSize] = [field(header, 1), field(header, 6), field(header, 11)]
    if (nameSize < 1 || nameSize > MAX_NAME) malformed(`the cpio holds a name of ${nameSize} bytes`)
    const name = ((await source.take(nameSize)) ?? malformed('the cpio is cut off')).toString('utf8', 0, nameSize - 1)
    await source.skip(padded(HEADER + nameSize) - HEADER - nameSize)
    if (name === TRAILER) return goesOn ? undefined : mustEnd(source)
    const path = `${place}${cleanPath(name)}`
    const type = typeOfMode(mode)
    const entry = { type: type ?? 'file', mode: mode & 0o7777 } as const
    if (type === 'file') yield { ...(await source.file(path, size)), entry }
    else {
      yield { other: path, entry }
      await source.skip(size)
    }
    await source.skip(padded(size) - size)
  }
  malformed(`the cpio holds more than ${entries} entries`)
}
