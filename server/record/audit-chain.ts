import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { lineHash, NO_LINE, parseLine } from './audit-file.ts'

/** The result of a walk along the chain. `broken` names the first 100 places at most. */
export interface ChainReport {
  readonly ok: boolean
  readonly files: number
  readonly lines: number
  readonly broken: readonly { readonly file: string; readonly line: number; readonly why: string }[]
}

const WHY = {
  torn: 'the line has no end: it was written in part, or cut',
  foreign: 'the line is not an audit entry',
  first: 'the lines before this one are missing',
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

/**
 * Walks the files in order and names every line whose `prev` is not the hash of the line before it. A removed file
 * shows at the first line after it, a cut end by comparing with `head`.
 * @param head  what the database keeps of the chain; not compared when absent
 */
export async function walkChain(files: readonly FileSoFar[], head: Head | undefined): Promise<ChainReport> {
  const broken: { file: string; line: number; why: string }[] = []
  const name = (file: string, line: number, why: string): void => {
    if (broken.length < MOST_NAMED) broken.push({ file, line, why })
  }
  let expected = head?.starts ?? NO_LINE
  let lines = 0
  let afterHead: number | undefined = head === undefined || head.hash === NO_LINE ? 0 : undefined
  let last = { file: '', line: 0 }

  for (const one of files) {
    const file = basename(one.path)
    let line = 0
    for await (const { bytes, whole } of lineBytes(one)) {
      line++
      lines++
      const text = bytes.toString('latin1') // reads only ASCII
      const prev = PREV.exec(text)?.[1]
      if (!whole) name(file, line, WHY.torn)
      else if (prev === undefined || (prev !== expected && parseLine(bytes.toString()) === undefined))
        name(file, line, WHY.foreign)
      else if (prev !== expected) name(file, line, lines === 1 ? WHY.first : WHY.changed)
      expected = lineHash(bytes)
      if (afterHead !== undefined) afterHead++
      if (expected === head?.hash) afterHead = 0
      last = { file, line }
    }
  }
  if (afterHead === undefined) name(last.file, last.line + 1, WHY.tail)
  else if (afterHead > 0 && head !== undefined) {
    name(last.file, last.line - afterHead + 1, `${afterHead} lines at the end were not written by this service`)
  }
  return { ok: broken.length === 0, files: files.length, lines, broken }
}
