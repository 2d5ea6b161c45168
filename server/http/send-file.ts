import type { Context } from 'koa'
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

export interface SendOptions { readonly type: string; readonly cacheControl: string }

interface Range { readonly start: number; readonly end: number }

/** One byte range (RFC 9110, 14.1.2). Several ranges are answered with the whole file, as the RFC allows. */
export function parseRange(header: string, size: number): Range | 'whole' | 'unsatisfiable' {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim())
  if (match === null || (match[1] === '' && match[2] === '')) return 'whole'
  const [, from = '', to = ''] = match
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (from !== '' && to !== '' && Number(to) < Number(from)) return 'whole'
  return start >= size || (from === '' && Number(to) === 0) ? 'unsatisfiable' : { start, end }
}

function notModified(ctx: Context, etag: string, modified: number): boolean {
  const match = ctx.get('if-none-match')
  if (match !== '') return match === '*' || match.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
  const since = Date.parse(ctx.get('if-modified-since'))
  return !Number.isNaN(since) && modified <= since
}

function rangeFor(ctx: Context, etag: string, modified: number, size: number): Range | 'whole' | 'unsatisfiable' {
  const header = ctx.get('range')
  if (header === '') return 'whole'
  const condition = ctx.get('if-range')
  const holds = condition === '' || condition === etag || Date.parse(condition) === modified
  return holds ? parseRange(header, size) : 'whole'
}

async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    // never blocks on a fifo somebody put there
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG' || code === 'ELOOP') return undefined
    throw error
  }
}

/**
 * Sends a file with ranges, conditional requests and HEAD. The file is opened once: what is sent has the size and the ETag that
 * were said, also when a publication replaces it meanwhile.
 * @returns false when there is no such regular file
 */
export async function sendFile(ctx: Context, path: string, { type, cacheControl }: SendOptions): Promise<boolean> {
  const file = await openFile(path)
  if (file === undefined) return false
  let handed = false
  try {
    const stat = await file.stat()
    if (!stat.isFile()) return false
    const modified = Math.floor(stat.mtimeMs / 1000) * 1000
    const etag = `"${stat.ino.toString(16)}-${stat.size.toString(16)}-${Math.floor(stat.mtimeMs * 1000).toString(16)}"`
    ctx.set({ 'ETag': etag, 'Last-Modified': new Date(modified).toUTCString(), 'Accept-Ranges': 'bytes', 'Cache-Control': cacheControl })
    if (notModified(ctx, etag, modified)) {
      ctx.status = 304
      return true
    }
    const range = rangeFor(ctx, etag, modified, stat.size)
    if (range === 'unsatisfiable') {
      ctx.status = 416
      ctx.set('Content-Range', `bytes */${stat.size}`)
      ctx.body = ''
      return true
    }
    const { start, end } = range === 'whole' ? { start: 0, end: stat.size - 1 } : range
    ctx.status = range === 'whole' ? 200 : 206
    if (range !== 'whole') ctx.set('Content-Range', `bytes ${start}-${end}/${stat.size}`)
    ctx.type = type
    ctx.length = end - start + 1
    if (ctx.method === 'HEAD' || end < start) {
      ctx.body = ctx.method === 'HEAD' ? null : ''
      if (ctx.method === 'HEAD') { ctx.status = range === 'whole' ? 200 : 206; ctx.length = end - start + 1; ctx.type = type }
      return true
    }
    const stream = file.createReadStream({ start, end, autoClose: true, highWaterMark: 256 * 1024 })
    ctx.res.once('close', () => stream.destroy())
    ctx.body = stream
    handed = true
    return true
  } finally {
    if (!handed) await file.close()
  }
}
