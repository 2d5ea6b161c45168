import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { linesBackwards, seekLine, type PlacedLine } from '../../lib/lines-backwards.ts'
import { openRegular } from '../../lib/open-file.ts'
import { openPacked } from '../../lib/packed-file.ts'
import type { ByPosition } from '../../lib/read-at.ts'
import type { LogSeries } from '../../record/log-series.ts'
import type { LogEntry } from './entry.ts'
import { createFilter, type LogFilter } from './filter.ts'
import type { LogSource } from './sources.ts'

/** Where reading goes on: the file and the end of the next line in it, for each series that has more. */
export type Places = Readonly<Record<string, readonly [ino: number, end: number]>>

export interface LogPage {
  /** Oldest first. */
  readonly entries: readonly LogEntry[]
  /** Undefined when there is nothing older. */
  readonly older: Places | undefined
  /** Files that could not be read: what they hold is not in the answer. */
  readonly unread: readonly Unread[]
}

export interface Unread {
  readonly file: string
  readonly reason: string
}

interface Read extends PlacedLine {
  readonly ino: number
}

/** One call reads at most this much; a filter that fits little is asked again from where it came to. */
const MOST_BYTES = 32 * 1024 * 1024

/** A file that can be read from its end. */
interface Opened extends AsyncDisposable {
  readonly bytes: ByPosition
  readonly ino: number
  readonly size: number
}

/** Undefined for what is gone or is no file. */
async function openLog(path: string): Promise<Opened | undefined> {
  const handle = await openRegular(path)
  if (handle === undefined) return undefined
  if (!path.endsWith('.gz')) {
    const { ino, size } = await handle.stat()
    return { bytes: handle, ino, size, [Symbol.asyncDispose]: () => handle.close() }
  }
  await handle.close()
  const bytes = await openPacked(path)
  return { bytes, ino: bytes.ino, size: bytes.size, [Symbol.asyncDispose]: async () => undefined }
}

const inoOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(() => undefined))?.ino

/** The files to read, newest first; while one is being packed it lies there twice. */
const newestFirst = (files: readonly string[]): readonly string[] =>
  files.filter(file => !(file.endsWith('.gz') && files.includes(file.slice(0, -'.gz'.length)))).toReversed()

interface Reading {
  readonly read: LogSource['read']
  /** In seconds: later lines may be left out. */
  readonly to: number | undefined
  readonly unread: (file: Unread) => void
}

/** The lines of one file, last line first. */
async function* readFile({ bytes, ino, size }: Opened, end: number, { read, to }: Reading): AsyncGenerator<Read> {
  const last =
    to === undefined
      ? end
      : await seekLine(bytes, size, line => {
          const { ts } = read(line)
          return ts === null ? undefined : ts > to
        })
  for await (const line of linesBackwards(bytes, Math.min(end, last))) yield { ...line, ino }
}

/** The lines of a series, last line first. */
async function* readSeries(
  { files }: LogSeries,
  place: readonly [ino: number, end: number] | undefined,
  reading: Reading,
): AsyncGenerator<Read> {
  let isReached = place === undefined
  for (const path of newestFirst(files)) {
    // an older page begins in the file of its place: newer ones need not be unpacked
    if (!isReached && place !== undefined && (await inoOf(path)) !== place[0]) continue
    const isHere = !isReached
    isReached = true
    try {
      await using file = await openLog(path)
      if (file === undefined) continue
      yield* readFile(file, isHere && place !== undefined ? Math.min(place[1], file.size) : file.size, reading)
    } catch (error) {
      reading.unread({ file: basename(path), reason: (error as Error).message })
    }
  }
}

/** A series with its newest unread line. */
interface Head {
  readonly name: string
  readonly lines: AsyncGenerator<Read>
  line: Read
  ts: number
}

/**
 * The newest lines that are wanted, at most `limit`, of all machines together. Reads the files from their ends and no
 * further than it must.
 * @param places  where an earlier page came to; undefined: from the end
 */
export async function readPage(
  source: LogSource,
  {
    filter,
    limit,
    places,
  }: { readonly filter: LogFilter; readonly limit: number; readonly places?: Places | undefined },
): Promise<LogPage> {
  const wanted = createFilter(filter, source.read)
  const tsOf = (line: string, before: number): number => source.read(line).ts ?? before
  const unread: Unread[] = []
  const series = (await source.series()).filter(({ name }) => places === undefined || name in places)
  const opened = await Promise.all(
    series.map(async one => {
      const lines = readSeries(one, places?.[one.name], {
        read: source.read,
        to: filter.to,
        unread: file => unread.push(file),
      })
      const first = await lines.next()
      return first.done === true
        ? []
        : [{ name: one.name, lines, line: first.value, ts: tsOf(first.value.text, Infinity) }]
    }),
  )
  let heads: Head[] = opened.flat()
  const entries: LogEntry[] = []
  let bytes = 0
  while (heads.length > 0 && entries.length < limit && bytes < MOST_BYTES) {
    const newest = heads.reduce((one, other) => (other.ts > one.ts ? other : one))
    const { text } = newest.line
    bytes += text.length
    const entry = wanted(text)
    if (entry !== undefined) entries.push(entry)
    const next = await newest.lines.next()
    const isOver = filter.from !== undefined && newest.ts < filter.from // all lines before it are older still
    if (next.done === true || isOver) {
      await newest.lines.return(undefined)
      heads = heads.filter(one => one !== newest)
    } else {
      newest.line = next.value
      newest.ts = tsOf(next.value.text, newest.ts)
    }
  }
  await Promise.all(heads.map(({ lines }) => lines.return(undefined)))
  return {
    entries: entries.reverse(),
    unread,
    older:
      heads.length === 0
        ? undefined
        : Object.fromEntries(heads.map(({ name, line }) => [name, [line.ino, line.end] as const])),
  }
}
