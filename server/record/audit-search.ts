import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditEntry, AuditQuery } from './audit.ts'
import { auditFiles, blocksBackwards, parseLine } from './audit-file.ts'

/**
 * Bytes as a string of code points 0–255. V8 searches such a string ten times faster than `Buffer.indexOf` answers, and
 * UTF-8 stays searchable because needles are turned the same way.
 */
const asBytes = (text: string): string => Buffer.from(text).toString('latin1')
const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

const BLOCK = 4 << 20

/** A query made ready: what a line's bytes must hold, and what only its parsed entry can tell. */
interface Plan {
  /** Must all be in the line; exact, because a quote inside a JSON string is always escaped. The first drives the search. */
  readonly needles: readonly string[]
  /** Lower case; must be in the lower-cased line. Not exact: the hit may be in another field. */
  readonly lowered: string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  readonly check: ((entry: AuditEntry) => boolean) | undefined
}

function plan(query: AuditQuery): Plan {
  const exact = (field: 'package' | 'user' | 'action' | 'result'): string[] =>
    query[field] === undefined ? [] : [asBytes(`"${field}":${JSON.stringify(query[field])}`)]
  const q = query.q === undefined || query.q === '' ? undefined : query.q.toLowerCase()
  // beyond ASCII, lower case may change the length, so such a term is looked for in each parsed entry
  const plain = q !== undefined && /^[\x20-\x7e]+$/.test(q) ? JSON.stringify(q).slice(1, -1) : undefined
  return {
    needles: [...exact('package'), ...exact('user'), ...exact('action'), ...exact('result')],
    lowered: plain,
    from: query.from,
    to: query.to,
    check: q === undefined ? undefined : entry => [entry.package, entry.user, entry.detail].some(text => text?.toLowerCase().includes(q) === true),
  }
}

const isUnfiltered = (p: Plan): boolean => p.needles.length === 0 && p.check === undefined && p.from === undefined && p.to === undefined

/** The bounds of the matching lines in a block of whole lines, in file order, as pairs in one flat list. */
function matches(block: string, p: Plan): number[] {
  const found: number[] = []
  const lowered = p.lowered === undefined ? undefined : block.toLowerCase() // same length: every code point here is below 256
  const [driver, ...others] = p.needles
  const haystack = driver !== undefined || lowered === undefined ? block : lowered
  const needle = driver ?? p.lowered ?? '\n'
  for (let at = haystack.indexOf(needle); at >= 0;) {
    const start = needle === '\n' ? block.lastIndexOf('\n', at - 1) + 1 : block.lastIndexOf('\n', at) + 1
    const end = needle === '\n' ? at : block.indexOf('\n', at)
    if (isMatch(start, end)) found.push(start, end)
    at = haystack.indexOf(needle, end + (needle === '\n' ? 1 : 0))
  }
  return found

  function isMatch(start: number, end: number): boolean {
    if (others.length === 0 && p.lowered === undefined && p.check === undefined && p.from === undefined && p.to === undefined) return true
    const line = block.slice(start, end)
    if (!others.every(other => line.includes(other))) return false
    if (p.from !== undefined || p.to !== undefined) {
      const timestamp = line.startsWith('{"timestamp":"') ? line.slice(14, 38) : ''
      if ((p.from !== undefined && timestamp < p.from) || (p.to !== undefined && timestamp > p.to)) return false
    }
    if (p.check === undefined) return true
    if (lowered !== undefined && driver !== undefined && !lowered.slice(start, end).includes(p.lowered ?? '')) return false
    const entry = parseLine(asText(line))
    return entry !== undefined && p.check(entry)
  }
}

function countLines(block: Buffer): number {
  let lines = 0
  for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, at + 1)) lines++
  return lines
}

/**
 * Searches the files of the audit log, newest line first. Streams: one block of a file and one page are in memory.
 * A line that is no audit entry counts in `total` where its bytes match, and is left out of `items`.
 */
export function createAuditSearch(folder: string): (query: AuditQuery) => Promise<{ readonly items: readonly AuditEntry[]; readonly total: number }> {
  // whole lines of a file of a given size; files only grow, and shrinking by hand changes the size
  const counted = new Map<string, { readonly size: number; readonly lines: number }>()

  return async query => {
    const p = plan(query)
    const skip = (query.page - 1) * query.perPage
    const until = skip + query.perPage
    const items: AuditEntry[] = []
    let total = 0

    for (const file of (await auditFiles(folder)).reverse()) {
      // an entry is never in a file before its day
      if (p.from !== undefined && file.slice(0, 10) < p.from.slice(0, 10)) break
      const handle = await open(join(folder, file), 'r')
      try {
        const { size } = await handle.stat()
        const known = counted.get(file)
        if (isUnfiltered(p) && known?.size === size && (total + known.lines <= skip || total >= until)) {
          total += known.lines
          continue
        }
        const before = total
        for await (const bytes of blocksBackwards(handle, size, BLOCK)) {
          if (isUnfiltered(p) && total >= until) {
            total += countLines(bytes)
            continue
          }
          const block = bytes.toString('latin1')
          const found = matches(block, p)
          const inBlock = found.length / 2
          for (let i = Math.max(0, skip - total); i < Math.min(inBlock, until - total); i++) {
            const at = found.length - 2 - 2 * i
            const entry = parseLine(asText(block.slice(found[at], found[at + 1])))
            if (entry !== undefined) items.push(entry)
          }
          total += inBlock
        }
        if (isUnfiltered(p)) counted.set(file, { size, lines: total - before })
      } finally {
        await handle.close()
      }
    }
    return { items, total }
  }
}
