import { openRegular } from '../../lib/open-file.ts'
import { linesBackwards, seekLine, type PlacedLine } from '../../lib/lines-backwards.ts'
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
}

interface Read extends PlacedLine {
  readonly ino: number
}

/** One call reads at most this much; a filter that fits little is asked again from where it came to. */
const MOST_BYTES = 32 * 1024 * 1024

/** The lines of a series, last line first. @param to  in seconds: later lines may be left out */
async function* readSeries(
  { files }: LogSeries,
  place: readonly [ino: number, end: number] | undefined,
  { read, to }: { readonly read: LogSource['read']; readonly to: number | undefined },
): AsyncGenerator<Read> {
  let isReached = place === undefined
  for (const path of files.toReversed()) {
    if (path.endsWith('.gz')) continue
    await using handle = await openRegular(path)
    if (handle === undefined) continue
    const { ino, size } = await handle.stat()
    const isHere = place !== undefined && ino === place[0]
    if (!isReached && !isHere) continue
    isReached = true
    let end = isHere ? Math.min(place[1], size) : size
    if (to !== undefined)
      end = Math.min(
        end,
        await seekLine(handle, size, line => {
          const { ts } = read(line)
          return ts === null ? undefined : ts > to
        }),
      )
    for await (const line of linesBackwards(handle, end)) yield { ...line, ino }
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
  const series = (await source.series()).filter(({ name }) => places === undefined || name in places)
  const opened = await Promise.all(
    series.map(async one => {
      const lines = readSeries(one, places?.[one.name], { read: source.read, to: filter.to })
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
    older:
      heads.length === 0
        ? undefined
        : Object.fromEntries(heads.map(({ name, line }) => [name, [line.ino, line.end] as const])),
  }
}
