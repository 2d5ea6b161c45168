import { join } from 'node:path'
import { seesAll, type Viewer } from '../core/viewer.ts'
import {
  ARRIVALS,
  type AuditAction,
  type AuditEntry,
  type AuditFilter,
  type AuditQuery,
  type StoredEntry,
} from './audit-entry.ts'
import { auditFiles, blocksBackwards, lineHash, openIfThere, parseLine } from './audit-file.ts'

/**
 * Bytes as a string of code points 0 to 255: one string a block, searched without a call into the runtime for every
 * hit. Search terms are turned the same way, so UTF-8 is found.
 */
const asBytes = (text: string): string => Buffer.from(text).toString('latin1')
const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

const BLOCK = 4 << 20
const RECENT_BLOCK = 64 << 10

/** A prepared query: what the bytes of a line must hold, and what only the parsed entry can show. */
interface Plan {
  /**
   * All must be in the line. Exact, because a quote inside a JSON string is always escaped. The first drives the
   * search.
   */
  readonly needles: readonly string[]
  readonly actions: ReadonlySet<string> | undefined
  /** Lower case; must be in the lower-cased line. Not exact: the hit may be in another field. */
  readonly lowered: string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  readonly check: ((entry: AuditEntry) => boolean) | undefined
}

const isFound = (entry: AuditEntry, q: string | undefined): boolean =>
  q === undefined || [entry.package, entry.user, entry.detail].some(text => text?.toLowerCase().includes(q) === true)
/** Actions whose entries count over all distributions. */
const COUNTS_ALL: ReadonlySet<string> = new Set<AuditAction>(['SYNC_INDEX'])
/** Whether an entry names a distribution that is hidden from the viewer. */
export const isHidden = (entry: AuditEntry, viewer: Viewer): boolean =>
  (!seesAll(viewer) && COUNTS_ALL.has(entry.action)) ||
  viewer.hidden.some(codename => entry.distribution === codename || entry.detail.includes(codename))

function plan(viewer: Viewer, query: AuditFilter): Plan {
  const exact = (field: 'package' | 'user' | 'action' | 'result' | 'request_id'): string[] =>
    query[field] === undefined ? [] : [asBytes(`"${field}":${JSON.stringify(query[field])}`)]
  const q = query.q === undefined || query.q === '' ? undefined : query.q.toLowerCase()
  // beyond ASCII, lower case may change the length, so such a term is searched in each parsed entry
  const plain = q !== undefined && /^[\x20-\x7e]+$/.test(q) ? JSON.stringify(q).slice(1, -1) : undefined
  return {
    needles: [...exact('package'), ...exact('user'), ...exact('action'), ...exact('result'), ...exact('request_id')],
    actions:
      query.arrivals !== undefined
        ? new Set(ARRIVALS)
        : query.actions === undefined
          ? undefined
          : new Set(query.actions),
    lowered: plain,
    from: query.from,
    to: query.to,
    check:
      q === undefined && seesAll(viewer) && query.arrivals === undefined
        ? undefined
        : entry =>
            isFound(entry, q) &&
            !isHidden(entry, viewer) &&
            (query.arrivals === undefined || (entry.result === 'FAILURE') === (query.arrivals === 'stopped')),
  }
}

/** True when the first search term is the only condition. */
const isExact = (p: Plan): boolean =>
  p.needles.length <= 1 &&
  p.actions === undefined &&
  p.check === undefined &&
  p.from === undefined &&
  p.to === undefined
const isUnfiltered = (p: Plan): boolean => p.needles.length === 0 && isExact(p)

function actionOf(line: string): string {
  const at = line.indexOf('"action":"') + 10
  return line.slice(at, line.indexOf('"', at))
}

/** The bounds of the matching lines in a block of whole lines, in file order, as pairs in one flat list. */
function matches(block: string, p: Plan): number[] {
  const found: number[] = []
  // same length: every code point here is below 256
  const lowered = p.lowered === undefined ? undefined : block.toLowerCase()
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
    if (isExact(p)) return true
    const line = block.slice(start, end)
    if (!others.every(other => line.includes(other))) return false
    if (p.actions !== undefined && !p.actions.has(actionOf(line))) return false
    if (p.from !== undefined || p.to !== undefined) {
      const timestamp = line.startsWith('{"timestamp":"') ? line.slice(14, 38) : ''
      if ((p.from !== undefined && timestamp < p.from) || (p.to !== undefined && timestamp > p.to)) return false
    }
    if (p.check === undefined) return true
    if (lowered !== undefined && driver !== undefined && !lowered.slice(start, end).includes(p.lowered ?? ''))
      return false
    const entry = parseLine(asText(line))
    return entry !== undefined && p.check(entry)
  }
}

/** The page so far. `total` counts every match seen, also those before and after the page. */
interface Collected {
  readonly items: StoredEntry[]
  total: number
  readonly skip: number
}

/** Adds a block's matches to the page, newest first. */
function collect(
  block: string,
  { p, page, until }: { readonly p: Plan; readonly page: Collected; readonly until: number },
): void {
  const found = matches(block, p)
  const inBlock = found.length / 2
  for (let i = Math.max(0, page.skip - page.total); i < Math.min(inBlock, until - page.total); i++) {
    const at = found.length - 2 - 2 * i
    const bytes = Buffer.from(block.slice(found[at], found[at + 1]), 'latin1')
    const entry = parseLine(bytes.toString())
    if (entry !== undefined) page.items.push({ ...entry, hash: lineHash(bytes) })
  }
  page.total += inBlock
}

function countLines(block: Buffer): number {
  let lines = 0
  for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, at + 1)) lines++
  return lines
}

// counts of this many (file, filter) pairs are kept: ninety days of twenty filters
const REMEMBERED = 2_000

export interface AuditSearch {
  search(viewer: Viewer, query: AuditQuery): Promise<{ readonly items: readonly StoredEntry[]; readonly total: number }>
  recent(viewer: Viewer, actions: readonly AuditAction[], limit: number): Promise<readonly AuditEntry[]>
  all(viewer: Viewer, filter: AuditFilter): AsyncGenerator<StoredEntry>
}

/**
 * Searches the files of the audit log, newest line first. Holds one block of a file and one page in memory. A line that
 * is no audit entry counts in `total` where its bytes match, but is not in `items`.
 */
export function createAuditSearch(folder: string): AuditSearch {
  // how many lines of a file of this size match; files only grow, and a cut by hand changes the size
  const counted = new Map<string, { readonly size: number; readonly lines: number }>()

  function remember(key: string, size: number, lines: number): void {
    counted.delete(key)
    counted.set(key, { size, lines })
    const oldest = counted.size > REMEMBERED ? counted.keys().next().value : undefined
    if (oldest !== undefined) counted.delete(oldest)
  }

  /** Walks blocks from the newest and hands over the matches of each; stops when told. */
  async function inFile(
    file: string,
    { p, page, until, key }: { p: Plan; page: Collected; until: number; key: string },
  ): Promise<void> {
    const handle = await openIfThere(join(folder, file))
    if (handle === undefined) return
    try {
      const { size } = await handle.stat()
      const known = counted.get(`${file} ${key}`)
      if (known?.size === size && (page.total + known.lines <= page.skip || page.total >= until)) {
        page.total += known.lines
        return
      }
      const before = page.total
      for await (const bytes of blocksBackwards(handle, size, BLOCK)) {
        if (isUnfiltered(p) && page.total >= until) page.total += countLines(bytes)
        else collect(bytes.toString('latin1'), { p, page, until })
      }
      remember(`${file} ${key}`, size, page.total - before)
    } finally {
      await handle.close()
    }
  }

  return {
    search: async (viewer, { page: number, perPage, isAscending, ...filter }) => {
      const p = plan(viewer, filter)
      const key = JSON.stringify([filter, viewer.hidden])
      async function read(skip: number, take: number): Promise<Collected> {
        const page: Collected = { items: [], total: 0, skip }
        for (const file of (await auditFiles(folder)).reverse()) {
          // an entry is never in a file before its day
          if (p.from !== undefined && file.slice(0, 10) < p.from.slice(0, 10)) break
          await inFile(file, { p, page, until: skip + take, key })
        }
        return page
      }
      if (isAscending !== true) {
        const { items, total } = await read((number - 1) * perPage, perPage)
        return { items, total }
      }
      const { total } = await read(0, 0)
      const end = Math.max(0, total - (number - 1) * perPage)
      const skip = Math.max(0, end - perPage)
      const { items } = end === 0 ? { items: [] } : await read(skip, end - skip)
      return { items: [...items].reverse(), total }
    },
    recent: async (viewer, actions, limit) => {
      const p = plan(viewer, { actions })
      const page: Collected = { items: [], total: 0, skip: 0 }
      for (const file of (await auditFiles(folder)).reverse()) {
        const handle = await openIfThere(join(folder, file))
        if (handle === undefined) continue
        try {
          for await (const bytes of blocksBackwards(handle, (await handle.stat()).size, RECENT_BLOCK)) {
            collect(bytes.toString('latin1'), { p, page, until: limit })
            if (page.total >= limit) return page.items
          }
        } finally {
          await handle.close()
        }
      }
      return page.items
    },
    all: async function* (viewer, filter) {
      const p = plan(viewer, filter)
      for (const file of (await auditFiles(folder)).reverse()) {
        const handle = await openIfThere(join(folder, file))
        if (handle === undefined) continue
        try {
          for await (const bytes of blocksBackwards(handle, (await handle.stat()).size, RECENT_BLOCK)) {
            const page: Collected = { items: [], total: 0, skip: 0 }
            collect(bytes.toString('latin1'), { p, page, until: Infinity })
            yield* page.items
          }
        } finally {
          await handle.close()
        }
      }
    },
  }
}
