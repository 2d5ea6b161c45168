import { stat, type FileHandle } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { openRegular } from '../../lib/open-file.ts'
import { readAt } from '../../lib/read-at.ts'
import type { LogSeries } from '../../record/log-series.ts'
import type { Places } from './page.ts'
import type { LogSource } from './sources.ts'

const LOOK_MS = 1_000
const BLOCK = 256 * 1024
const NEWLINE = 0x0a

/** The file of a series that is being read, and how far. */
interface Followed {
  handle: FileHandle
  ino: number
  offset: number
}

/** Follows the logs of a source as they grow. */
export interface Follower {
  /** Where the files ended when this began: what is before can be read as a page. */
  readonly ends: Places
  /** Lines that come from then on. Ends when the signal aborts. */
  lines(signal: AbortSignal): AsyncGenerator<string>
  close(): Promise<void>
}

async function openFile(path: string): Promise<Followed | undefined> {
  const handle = await openRegular(path)
  if (handle === undefined) return undefined
  const { ino } = await handle.stat()
  return { handle, ino, offset: 0 }
}

/** The whole lines behind `offset`, a block of them; undefined when there is none. */
async function nextLines(followed: Followed): Promise<string[] | undefined> {
  const { size } = await followed.handle.stat()
  if (size < followed.offset) followed.offset = 0 // it was emptied and begun again
  if (size === followed.offset) return undefined
  const bytes = await readAt(followed.handle, followed.offset, Math.min(BLOCK, size - followed.offset))
  const end = bytes.lastIndexOf(NEWLINE) + 1
  // a line that fills a block is of no program that writes a log
  followed.offset += end === 0 && bytes.length === BLOCK ? BLOCK : end
  return end === 0 ? undefined : bytes.toString('utf8', 0, end - 1).split('\n')
}

/** The files that came behind the one that is read, oldest first. */
async function filesAfter({ files }: LogSeries, ino: number): Promise<readonly string[]> {
  const newer: string[] = []
  for (const path of files.toReversed()) {
    const found = await stat(path).catch(() => undefined)
    if (found?.ino === ino) return newer
    if (!path.endsWith('.gz')) newer.unshift(path)
  }
  return newer.slice(-1) // it was removed: what else is there may have been read long ago
}

/** Begins at the end of what is there now. Copies that logrotate makes of a file are not taken for new ones. */
export async function follow(source: LogSource): Promise<Follower> {
  const followed = new Map<string, Followed>()
  for (const { name, files } of await source.series()) {
    const file = await openFile(files.at(-1) ?? '')
    if (file === undefined) continue
    file.offset = (await file.handle.stat()).size
    followed.set(name, file)
  }
  const ends = Object.fromEntries([...followed].map(([name, { ino, offset }]) => [name, [ino, offset] as const]))

  async function* newLines(series: LogSeries): AsyncGenerator<string> {
    const path = series.files.at(-1) ?? ''
    const known = followed.get(series.name)
    if (known !== undefined)
      for (let lines = await nextLines(known); lines !== undefined; lines = await nextLines(known)) yield* lines
    const now = await stat(path).catch(() => undefined)
    if (now === undefined || now.ino === known?.ino) return
    const newer = known === undefined ? [path] : await filesAfter(series, known.ino)
    await known?.handle.close()
    followed.delete(series.name)
    for (const file of newer) {
      const next = await openFile(file)
      if (next === undefined) continue
      await followed.get(series.name)?.handle.close()
      followed.set(series.name, next)
      for (let lines = await nextLines(next); lines !== undefined; lines = await nextLines(next)) yield* lines
    }
  }

  return {
    ends,
    async *lines(signal) {
      while (!signal.aborted) {
        for (const series of await source.series()) yield* newLines(series)
        await wait(LOOK_MS, undefined, { signal }).catch(() => undefined)
      }
    },
    async close() {
      await Promise.all([...followed.values()].map(({ handle }) => handle.close().catch(() => undefined)))
    },
  }
}
