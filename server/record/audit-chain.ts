import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { lineHash, lineKey, NO_LINE, parseLine } from './audit-file.ts'

/** What retention removed from the beginning of the log, as a line of the log says it. */
export interface Cut {
  /** ISO 8601. */
  readonly at: string
  readonly by: string
  /** How long files were to be kept. */
  readonly days: number
  readonly files: number
  readonly lines: number
  /** The newest day that went. */
  readonly last_day: string
  /** Of the last line that went: the `prev` of the oldest that stays. */
  readonly hash: string
  /** Places at which the removed part was broken, and which somebody accepted. */
  readonly broken: number
}

/** The log of a backup that a restore put in the place of the one that was there, as a line of it says. */
export interface Replaced {
  /** ISO 8601, as `of`: from there to `at` it has no line. */
  readonly at: string
  readonly by: string
  readonly of: string
  /** Where the log of before lies, below REPOS_ROOT; absent in a line of an earlier release. */
  readonly aside?: string
}

export interface BrokenPlace {
  readonly file: string
  readonly line: number
  readonly why: string
}

/** The result of a walk along the chain. `broken` names the first 100 places at most. */
export interface ChainReport {
  readonly ok: boolean
  readonly files: number
  readonly lines: number
  readonly broken: readonly BrokenPlace[]
  /** The newest cut; absent where nothing was removed. */
  readonly cut?: Cut
  /** The newest restore that replaced the log; absent where none did. */
  readonly replaced?: Replaced
}

const WHY = {
  torn: 'the line has no end: it was written in part, or cut',
  foreign: 'the line is not an audit entry',
  first: 'the lines before this one are missing',
  unrecorded: 'the lines before this one are missing, and no line of the log says that retention removed them',
  changed: 'the line before it was changed, or lines between them were removed or added',
  tail: 'the newest lines are missing or changed: the last line is not the one that was written last',
} as const

const MOST_NAMED = 100
const NEWLINE = 0x0a
// the end of a line as `renderLine` writes it; cheaper than parsing a million lines
const PREV = /"prev":"([0-9a-f]{64})"\}$/

/** A file, and how much of it to read. */
export interface FileSoFar {
  readonly path: string
  readonly size: number
}

/** What the database keeps of the chain: the hash of the newest line, and the `prev` of the oldest. */
export interface Head {
  readonly hash: string
  readonly starts: string
  /** The line that records the removal of what was before is still to be written. */
  readonly owesCut?: boolean
  /** Keys of lines that are owed: a crash leaves some of them written, the last perhaps in part, and not struck off. */
  readonly owed?: ReadonlySet<string>
}

/** Whether a line behind the newest that is known is one that a crash left. */
function isLeft(bytes: Buffer, whole: boolean, { owed }: Head): boolean {
  if (owed === undefined || owed.size === 0) return false
  const entry = parseLine(bytes.toString())
  return entry === undefined ? !whole : owed.has(lineKey(entry))
}

/** The cut that a line records. */
function cutOf(bytes: Buffer): Cut | undefined {
  if (!bytes.includes('"kind":"audit.cut"')) return undefined
  const entry = parseLine(bytes.toString())
  if (entry?.facts?.kind !== 'audit.cut') return undefined
  const { days, files, lines, last_day, hash, broken = 0 } = entry.facts
  return { at: entry.timestamp, by: entry.user, days, files, lines, last_day, hash, broken }
}

/** The restore that a line records, where it replaced the log. */
function replacedOf(bytes: Buffer): Replaced | undefined {
  if (!bytes.includes('"kind":"backup.restored"')) return undefined
  const entry = parseLine(bytes.toString())
  if (entry?.facts?.kind !== 'backup.restored') return undefined
  const { of, log = 'replaced', aside } = entry.facts
  if (log !== 'replaced') return undefined
  return { at: entry.timestamp, by: entry.user, of, ...(aside === undefined ? {} : { aside: `${aside}/audit` }) }
}

/** Yields whole lines as bytes, without their newline; the last one also when its newline is missing. */
async function* lineBytes({
  path,
  size,
}: FileSoFar): AsyncGenerator<{ readonly bytes: Buffer; readonly whole: boolean }> {
  if (size === 0) return
  let rest = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, {
    end: size - 1,
    highWaterMark: 1 << 20,
  }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield { bytes: bytes.subarray(start, end), whole: true }
      start = end + 1
    }
    rest = Buffer.from(bytes.subarray(start))
  }
  if (rest.length > 0) yield { bytes: rest, whole: false }
}

/** Whether a log may begin behind the line of this hash. */
function isBeginning(prev: string, head: Head | undefined, cut: Cut | undefined): keyof typeof WHY | undefined {
  const starts = head?.starts ?? NO_LINE
  // a database that was made again knows of no cut; the log does
  const isKnown = prev === starts || (starts === NO_LINE && prev === cut?.hash)
  if (!isKnown) return 'first'
  return prev === NO_LINE || prev === cut?.hash || head?.owesCut === true ? undefined : 'unrecorded'
}

/** A walk, and where each file ends: the hash of its last line, and how many lines there were up to it. */
export interface Walked extends ChainReport {
  readonly ends: ReadonlyMap<string, { readonly hash: string; readonly lines: number }>
}

/**
 * Walks the files in order and names every line whose `prev` is not the hash of the line before it. A removed file
 * shows at the first line after it, a cut end by comparing with `head`. What retention removed is no fault when a line
 * of the log records it.
 * @param head  what the database keeps of the chain; not compared when absent
 */
export async function walkChain(
  files: readonly FileSoFar[],
  head: Head | undefined,
  signal?: AbortSignal,
): Promise<Walked> {
  const ends = new Map<string, { readonly hash: string; readonly lines: number }>()
  const broken: BrokenPlace[] = []
  const name = (file: string, line: number, why: string): void => {
    if (broken.length < MOST_NAMED) broken.push({ file, line, why })
  }
  let expected: string | undefined
  let begins: { readonly file: string; readonly prev: string } | undefined
  let cut: Cut | undefined
  let replaced: Replaced | undefined
  let lines = 0
  let afterHead: number | undefined = head === undefined || head.hash === NO_LINE ? 0 : undefined
  let last = { file: '', line: 0 }

  for (const one of files) {
    signal?.throwIfAborted()
    const file = basename(one.path)
    let line = 0
    for await (const { bytes, whole } of lineBytes(one)) {
      // the next delivery completes, or repeats, what is left of it
      const left = afterHead !== undefined && head !== undefined && isLeft(bytes, whole, head)
      if (left && !whole) continue
      line++
      lines++
      const prev = PREV.exec(bytes.toString('latin1'))?.[1] // reads only ASCII
      if (!whole) name(file, line, WHY.torn)
      else if (prev === undefined) name(file, line, WHY.foreign)
      else if (expected === undefined) begins = { file, prev }
      else if (prev !== expected)
        name(file, line, parseLine(bytes.toString()) === undefined ? WHY.foreign : WHY.changed)
      cut = cutOf(bytes) ?? cut
      replaced = replacedOf(bytes) ?? replaced
      expected = lineHash(bytes)
      if (afterHead !== undefined && !left) afterHead++
      if (expected === head?.hash) afterHead = 0
      last = { file, line }
    }
    ends.set(file, { hash: expected ?? head?.starts ?? NO_LINE, lines })
  }
  const fault = begins && isBeginning(begins.prev, head, cut)
  if (begins !== undefined && fault !== undefined) broken.unshift({ file: begins.file, line: 1, why: WHY[fault] })
  if (afterHead === undefined) name(last.file, last.line + 1, WHY.tail)
  else if (afterHead > 0 && head !== undefined && head.hash !== NO_LINE) {
    name(last.file, last.line - afterHead + 1, `${afterHead} lines at the end were not written by this service`)
  }
  const told = { ...(cut === undefined ? {} : { cut }), ...(replaced === undefined ? {} : { replaced }) }
  return { ok: broken.length === 0, files: files.length, lines, broken, ...told, ends }
}
