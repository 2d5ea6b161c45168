import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { seesAll, type Viewer } from '../core/viewer.ts'
import { auditFiles, parseLine, sizeOf } from './audit-file.ts'
import { isHidden } from './audit-search.ts'

/** How many entries of one day, action and result there are. */
export interface DayTally {
  readonly day: string
  readonly action: string
  readonly result: string
  readonly n: number
}

/** What is known of a file up to `size`, the end of its last whole line that was read. */
interface Counted {
  readonly size: number
  /** `day action result` → how many. */
  readonly counts: ReadonlyMap<string, number>
}

// files times ways to see: a year of one, or ninety days of four
const REMEMBERED = 400

const valueOf = (line: string, key: string): string => {
  const at = line.indexOf(key) + key.length
  return line.slice(at, line.indexOf('"', at))
}

/** `2026-03-01 UPLOAD SUCCESS` of one line; these come first in every line, in this order. */
const keyOf = (line: string): string =>
  `${valueOf(line, '"timestamp":"').slice(0, 10)} ${valueOf(line, '"action":"')} ${valueOf(line, '"result":"')}`

/**
 * Counts the entries of the audit log by day. Files only grow, so a call reads what was appended since the last one; a
 * file that was cut by hand is read again.
 * @returns what the viewer may see since the day `from`, in no order
 */
export function createAuditTally(folder: string): (viewer: Viewer, from: string) => Promise<readonly DayTally[]> {
  const known = new Map<string, Counted>()

  async function countFile(file: string, viewer: Viewer): Promise<Counted['counts']> {
    const path = join(folder, file)
    const key = JSON.stringify([file, viewer.hidden])
    const end = (await sizeOf(path)) ?? 0
    const before = known.get(key)
    if (end === 0) return new Map()
    if (before?.size === end) return before.counts
    const isCut = before !== undefined && before.size > end
    const counts = new Map(isCut ? [] : before?.counts)
    let size = isCut ? 0 : (before?.size ?? 0)
    let rest = ''
    // code points 0 to 255 stand for bytes: lines are counted without decoding them
    for await (const chunk of createReadStream(path, { start: size, end: end - 1, encoding: 'latin1' })) {
      const lines = `${rest}${chunk as string}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        size += line.length + 1
        if (!seesAll(viewer)) {
          const entry = parseLine(Buffer.from(line, 'latin1').toString())
          if (entry === undefined || isHidden(entry, viewer)) continue
        }
        counts.set(keyOf(line), (counts.get(keyOf(line)) ?? 0) + 1)
      }
    }
    known.delete(key)
    known.set(key, { size, counts })
    const [oldest] = known.keys()
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest)
    return counts
  }

  return async (viewer, from) => {
    const sums = new Map<string, number>()
    for (const file of await auditFiles(folder)) {
      // an entry is never in a file before its day
      if (file.slice(0, 10) < from) continue
      for (const [key, n] of await countFile(file, viewer)) sums.set(key, (sums.get(key) ?? 0) + n)
    }
    return [...sums].flatMap(([key, n]) => {
      const [day = '', action = '', result = ''] = key.split(' ')
      return day < from ? [] : [{ day, action, result, n }]
    })
  }
}
