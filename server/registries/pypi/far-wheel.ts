import type { FileName } from '../../formats/pypi/names.ts'
import { openWheel, readInfo } from '../../formats/pypi/wheel.ts'
import type { FileWindow } from '../../lib/file-window.ts'
import { malformed } from '../../lib/limited.ts'

/** Some bytes of a file elsewhere. */
export interface Range {
  readonly bytes: Buffer
  /** Where they begin. */
  readonly from: number
  /** Of the whole file. */
  readonly size: number
}

/**
 * Asks for some bytes. @param range  as the header says it: `bytes=0-99`, `bytes=-100` for the last ones
 * @returns undefined where the server gives no ranges of it
 */
export type AskRange = (range: string) => Promise<Range | undefined>

/** The directory of most wheels lies in it. */
const TAIL = 128 * 1024
/** A directory of 300,000 files has less. */
const MOST_ASKED = 32 * 2 ** 20
const MOST_TIMES = 8

/** The start and the size that an answer of the status 206 names. Source: RFC 9110, 14.4 */
export function readContentRange(said: string | undefined): Pick<Range, 'from' | 'size'> | undefined {
  const [, from, size] = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(said ?? '') ?? []
  return from === undefined ? undefined : { from: Number(from), size: Number(size) }
}

function windowOn(tail: Range, ask: AskRange): FileWindow {
  const { size } = tail
  let [asked, times] = [0, 0]
  async function read(offset: number, length: number): Promise<Buffer> {
    if (offset + length > size) malformed(`it ends at byte ${size}`)
    const at = offset - tail.from
    if (at >= 0) return tail.bytes.subarray(at, at + length)
    asked += length
    if (asked > MOST_ASKED || ++times > MOST_TIMES) malformed('it is spread over too many places to be read from afar')
    const found = await ask(`bytes=${offset}-${offset + length - 1}`)
    if (found?.from !== offset || found.bytes.length !== length || found.size !== size)
      return malformed('its server sent other bytes than it was asked for')
    return found.bytes
  }
  return {
    size,
    read,
    async *stream(offset, length) {
      if (length > 0) yield await read(offset, length)
    },
    close: () => Promise.resolve(),
  }
}

/**
 * METADATA out of a wheel that lies elsewhere, by its directory, in a few small requests: clients that resolve look at
 * many versions and install one.
 * @returns undefined where its server gives no ranges
 * @throws Malformed for what is no wheel of that name, and what the gate would refuse by its directory
 */
export async function readFarMetadata(named: FileName, ask: AskRange): Promise<Buffer | undefined> {
  const tail = await ask(`bytes=-${TAIL}`)
  if (tail === undefined) return undefined
  if (tail.from + tail.bytes.length !== tail.size) malformed('its server sent other bytes than it was asked for')
  const window = windowOn(tail, ask)
  return readInfo(window, await openWheel(window, named), 'METADATA')
}
