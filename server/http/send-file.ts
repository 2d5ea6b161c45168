import type { Context } from 'koa'
import { close, constants, createReadStream, fstat, open, read, type Stats } from 'node:fs'

export interface SendOptions {
  readonly type: string
  readonly cacheControl: string
}

interface Range {
  readonly start: number
  readonly end: number
}

/** Up to this size a file is read in one piece: a stream costs three times as much, and indexes are small. */
const SMALL = 128 * 1024
/**
 * A date in whole seconds identifies a file only once that second is over. Until then none is sent: the next
 * publication may carry the same date, and no cache may keep the older index (RFC 9110, 8.8.2.2).
 */
const SETTLED_MS = 2_000

/** One byte range (RFC 9110, 14.1.2). Several ranges are answered with the whole file, as the RFC allows. */
function parseRange(header: string, size: number): Range | 'whole' | 'unsatisfiable' {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim())
  if (match === null || (match[1] === '' && match[2] === '')) return 'whole'
  const [, from = '', to = ''] = match
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (from !== '' && to !== '' && Number(to) < Number(from)) return 'whole'
  return start >= size || (from === '' && Number(to) === 0) ? 'unsatisfiable' : { start, end }
}

/** What identifies one version of a file. `modified` in ms since 1970; undefined while it is ambiguous. */
interface Validators {
  readonly etag: string
  readonly modified: number | undefined
}

function validatorsOf({ ino, size, mtimeMs }: Stats): Validators {
  const modified = Math.floor(mtimeMs / 1000) * 1000
  const isSettled = Date.now() - modified >= SETTLED_MS
  return {
    etag: `"${ino.toString(16)}-${size.toString(16)}-${Math.floor(mtimeMs * 1000).toString(16)}"`,
    modified: isSettled ? modified : undefined,
  }
}

function notModified(ctx: Context, { etag, modified }: Validators): boolean {
  const match = ctx.get('if-none-match')
  if (match !== '') return match === '*' || match.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
  const since = Date.parse(ctx.get('if-modified-since'))
  return modified !== undefined && !Number.isNaN(since) && modified <= since
}

function rangeFor(ctx: Context, { etag, modified }: Validators, size: number): Range | 'whole' | 'unsatisfiable' {
  const header = ctx.get('range')
  if (header === '' || ctx.method !== 'GET') return 'whole'
  const condition = ctx.get('if-range')
  const holds = condition === '' || condition === etag || (modified !== undefined && Date.parse(condition) === modified)
  return holds ? parseRange(header, size) : 'whole'
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
  const buffer = Buffer.allocUnsafe(end - start + 1)
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, start, (error, length) => {
      if (error !== null) reject(error)
      else if (length !== buffer.length) reject(new Error('a file shrank while it was read'))
      else resolve(buffer)
    })
  })
}

/** Sends the headers; the body comes after. @returns the bytes to send, undefined when there are none */
function begin(ctx: Context, stat: Stats, { type, cacheControl }: SendOptions): Range | undefined {
  const validators = validatorsOf(stat)
  ctx.set({ 'ETag': validators.etag, 'Accept-Ranges': 'bytes', 'Cache-Control': cacheControl })
  if (validators.modified !== undefined) ctx.set('Last-Modified', new Date(validators.modified).toUTCString())
  if (notModified(ctx, validators)) {
    ctx.status = 304
    return undefined
  }
  const range = rangeFor(ctx, validators, stat.size)
  if (range === 'unsatisfiable') {
    ctx.status = 416
    // the file may be cached for ever, this answer may not: a cache would give it to clients that want the whole file
    ctx.set({ 'Content-Range': `bytes */${stat.size}`, 'Cache-Control': 'no-store' })
    ctx.body = ''
    return undefined
  }
  const { start, end } = range === 'whole' ? { start: 0, end: stat.size - 1 } : range
  ctx.status = range === 'whole' ? 200 : 206
  if (range !== 'whole') ctx.set('Content-Range', `bytes ${start}-${end}/${stat.size}`)
  ctx.type = type
  ctx.length = end - start + 1
  return { start, end }
}

/**
 * Sends a file with ranges, conditional requests and HEAD. Follows the path once, with one `open`: size, ETag and bytes
 * belong to one file, also when a publication replaces it meanwhile.
 * @returns false when there is no such regular file
 */
export async function sendFile(ctx: Context, path: string, options: SendOptions): Promise<boolean> {
  const fd = await openFile(path)
  if (fd === undefined) return false
  let handed = false
  try {
    const stat = await statFile(fd)
    if (!stat.isFile()) return false
    const range = begin(ctx, stat, options)
    if (range === undefined) return true
    const length = range.end - range.start + 1
    if (ctx.method === 'HEAD') {
      ctx.respond = false // Koa would call an answer without a body 204
      ctx.res.end()
    } else if (length <= SMALL) {
      ctx.body = length === 0 ? '' : await readFile(fd, range)
    } else {
      const stream = createReadStream('', { fd, ...range, autoClose: true, highWaterMark: 256 * 1024 })
      ctx.res.once('close', () => stream.destroy())
      handed = true
      ctx.body = stream
    }
    return true
  } finally {
    if (!handed) close(fd, () => undefined) // it was opened for reading: nothing can be lost
  }
}
