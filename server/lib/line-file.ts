import { writeSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from './clock.ts'

/** A file of lines that begins anew at a size and keeps some of those before it. */
export interface LineFile {
  /** Takes one line, with its newline. Returns at once; lines are written in their order. */
  write(line: string): void
  /** Resolves when what was taken by now lies in the file, or could not be written. */
  flushed(): Promise<void>
  /** Writes what is left, then takes nothing more. */
  close(): Promise<void>
  /** Writes what is left before it returns: for the end of a process that cannot wait. */
  closeNow(): void
}

export interface LineFileOptions {
  readonly folder: string
  /** `<name>.log` is written; `<name>.20261123T150012345-71.log` is one before it: its end in UTC, and who ended it. */
  readonly name: string
  /** A file is closed before it would grow larger. */
  readonly maxBytes: number
  /** How many finished files stay beside the one that is written. */
  readonly keep: number
  readonly clock: Clock
  /** Called when a file is finished and the next one begins. */
  readonly onFinished?: () => void
  /** Called once when writing fails, and with undefined once it works again. */
  readonly onTrouble?: (error: Error | undefined, lost: number) => void
}

/** What may wait in memory while the disk takes nothing; lines beyond are lost, and counted. */
const WAITING_CHARS = 8 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024
/** Another process over the same file may have begun a new one. */
const LOOK_MS = 1_000
const AGAIN_MS = 5_000
const NEWLINE = 0x0a

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The finished files of a name, oldest first. */
export async function finishedFiles(folder: string, name: string): Promise<string[]> {
  const pattern = new RegExp(`^${escaped(name)}\\.\\d{8}T\\d{9}-\\d+\\.log$`)
  return (await readdir(folder)).filter(one => pattern.test(one)).sort()
}

/** The open file, and how large it is. */
interface Opened {
  readonly handle: FileHandle
  readonly ino: number
  size: number
}

async function openAppending(path: string): Promise<Opened> {
  const handle = await open(path, 'a+', 0o640)
  const { ino, size } = await handle.stat()
  const last = Buffer.alloc(1)
  if (size > 0) await handle.read(last, 0, 1, size - 1)
  const isTorn = size > 0 && last[0] !== NEWLINE // a process was killed in the middle of a line
  if (isTorn) await handle.write('\n')
  return { handle, ino, size: isTorn ? size + 1 : size }
}

/** The file that is written, and those before it. */
function createPlace({ folder, name, keep, clock, onFinished }: LineFileOptions) {
  const path = join(folder, `${name}.log`)
  let opened: Opened | undefined
  let lookedAt = 0
  let finishedAt = 0

  async function release(): Promise<void> {
    const { handle } = opened ?? {}
    opened = undefined
    await handle?.close()
  }

  /** The file to append to. Follows another process that began a new one, or somebody who removed it. */
  async function current(isLook = false): Promise<Opened> {
    const now = clock.now().getTime()
    if (!isLook && opened !== undefined && Math.abs(now - lookedAt) < LOOK_MS) return opened
    const there = await stat(path).catch(() => undefined)
    if (opened !== undefined && there?.ino === opened.ino) opened.size = there.size
    else {
      await release()
      await mkdir(folder, { recursive: true, mode: 0o750 })
      opened = await openAppending(path)
    }
    lookedAt = now
    return opened
  }

  /** Names sort by time, and a file keeps its own: who reads it finds it again. */
  async function beginNew(): Promise<Opened> {
    finishedAt = Math.max(clock.now().getTime(), finishedAt + 1)
    const stamp = new Date(finishedAt).toISOString().replace(/[-:.Z]/g, '')
    await rename(path, join(folder, `${name}.${stamp}-${process.pid}.log`))
    const finished = await finishedFiles(folder, name)
    for (const old of finished.slice(0, Math.max(0, finished.length - keep)))
      await rm(join(folder, old), { force: true })
    onFinished?.()
    return current(true)
  }
  return { current, beginNew, release, now: () => opened }
}

/**
 * Writes lines to a file, in blocks, beside the work of the process. No line is lost and none is cut in two when a new
 * file begins, also where two processes write to the same one. What a killed process had not written yet is lost.
 */
export function createLineFile(options: LineFileOptions): LineFile {
  const { maxBytes, onTrouble } = options
  const place = createPlace(options)
  let waiting: string[] = []
  let waitingChars = 0
  /** The end of a block of which the disk took only the beginning. */
  let rest: Buffer | undefined
  let lost = 0
  let isFailing = false
  let isClosed = false
  let writing: Promise<void> | undefined
  let again: NodeJS.Timeout | undefined

  /** As many waiting lines as fit; one that is larger than a whole file goes alone. */
  function take(room: number): Buffer {
    let [bytes, count, text] = [0, 0, '']
    for (const line of waiting) {
      bytes += Buffer.byteLength(line)
      if (count > 0 && bytes > Math.min(room, CHUNK_BYTES)) break
      text += line
      count++
    }
    waiting.splice(0, count)
    waitingChars -= text.length
    return Buffer.from(text)
  }

  async function append(file: Opened, bytes: Buffer): Promise<void> {
    let done = 0
    try {
      while (done < bytes.length) done += (await file.handle.write(bytes, done)).bytesWritten
    } finally {
      file.size += done
      rest = done < bytes.length ? bytes.subarray(done) : undefined
    }
  }

  async function writeAll(): Promise<void> {
    if (rest !== undefined) await append(await place.current(true), rest)
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const length = Buffer.byteLength(next)
      const isFull = ({ size }: Opened): boolean => size > 0 && size + length > maxBytes
      let file = await place.current()
      if (isFull(file)) file = await place.current(true) // another process may have begun a new one a moment ago
      if (isFull(file)) file = await place.beginNew()
      await append(file, take(maxBytes - file.size))
    }
  }

  function failed(error: unknown): void {
    const isFirst = !isFailing
    isFailing = true
    void place.release().catch(() => undefined) // it may be of a disk that went away
    if (!isClosed) again = setTimeout(start, AGAIN_MS).unref()
    if (isFirst) onTrouble?.(error as Error, lost)
  }

  function start(): void {
    if (writing !== undefined) return
    clearTimeout(again)
    writing = writeAll()
      .then(() => {
        const was = isFailing
        isFailing = false
        if (was) onTrouble?.(undefined, lost)
        lost = 0
      }, failed)
      .finally(() => {
        writing = undefined
        if (waiting.length > 0 && !isFailing) start()
      })
  }

  async function flushed(): Promise<void> {
    while (writing !== undefined) await writing
  }

  return {
    write(line) {
      if (isClosed) return
      if (waitingChars + line.length > WAITING_CHARS) {
        lost++
        return
      }
      waiting.push(line)
      waitingChars += line.length
      if (!isFailing) start()
    },
    flushed,
    async close() {
      isClosed = true
      await flushed()
      clearTimeout(again)
      if (waiting.length > 0) await writeAll().catch(() => undefined)
      await place.release()
    },
    closeNow() {
      isClosed = true
      const file = place.now()
      if (file === undefined || waiting.length === 0) return
      try {
        writeSync(file.handle.fd, waiting.join(''))
      } catch {
        // the process ends: nobody could be told
      }
      waiting = []
    },
  }
}
