import type { Context } from 'koa'
import { close, constants, fstat, open, read, type Stats } from 'node:fs'
import { answerFor, fileVersion, type FileVersion, type Range, type SendOptions } from './file-answer.ts'
import { pump } from './pump.ts'

/** Up to this size a file is read in one piece. */
const SMALL = 128 * 1024

export interface SendFileOptions extends SendOptions {
  /** Called with the bytes of a whole file that was small enough to be read in one piece. */
  readonly keep?: (version: FileVersion, bytes: Buffer) => void
}

// plain calls: a FileHandle with its promises halves the requests a second

function openFile(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    // never blocks when somebody put a fifo there
    open(path, constants.O_RDONLY | constants.O_NONBLOCK, (error, fd) => {
      if (error === null) resolve(fd)
      else if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO'].includes(error.code ?? '')) resolve(undefined)
      else reject(error)
    })
  })
}

function statFile(fd: number): Promise<Stats> {
  return new Promise((resolve, reject) => {
    fstat(fd, (error, stat) => {
      if (error === null) resolve(stat)
      else reject(error)
    })
  })
}

function readFile(fd: number, { start, end }: Range): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(end - start + 1)
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, start, (error, length) => {
      if (error !== null) reject(error)
      else if (length !== buffer.length) reject(new Error('a file shrank while it was read'))
      else resolve(buffer)
    })
  })
}

/** Sends a large body past Koa, which knows only streams. A failure cuts the answer off: its status is gone. */
async function sendLarge(ctx: Context, fd: number, range: Range): Promise<void> {
  ctx.respond = false
  try {
    await pump(fd, range, ctx.res)
  } catch (error) {
    ctx.app.emit('error', error, ctx)
    ctx.res.destroy()
  }
}

async function sendOpen(ctx: Context, fd: number, stat: Stats, options: SendFileOptions): Promise<void> {
  const version = fileVersion(stat)
  const { status, headers, range } = answerFor(ctx.req, version, options, Date.now())
  ctx.status = status
  ctx.set(headers)
  if (status === 304) return
  if (range === undefined || ctx.method === 'HEAD') {
    ctx.respond = false // Koa would call an answer without a body 204
    ctx.res.end()
    return
  }
  const length = range.end - range.start + 1
  if (length > SMALL) await sendLarge(ctx, fd, range)
  else {
    const bytes = length === 0 ? Buffer.alloc(0) : await readFile(fd, range)
    ctx.body = bytes
    if (length === version.size) options.keep?.(version, bytes)
  }
}

/**
 * Sends a file with ranges, conditional requests and HEAD. Follows the path once, with one `open`: size, ETag and bytes
 * belong to one file, also when a publication replaces it meanwhile.
 * @returns false when there is no such regular file
 */
export async function sendFile(ctx: Context, path: string, options: SendFileOptions): Promise<boolean> {
  const fd = await openFile(path)
  if (fd === undefined) return false
  try {
    const stat = await statFile(fd)
    if (!stat.isFile()) return false
    await sendOpen(ctx, fd, stat, options)
    return true
  } finally {
    close(fd, () => undefined) // it was opened for reading: nothing can be lost
  }
}
