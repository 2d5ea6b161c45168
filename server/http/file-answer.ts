import type { Stats } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'

export interface SendOptions {
  readonly type: string
  readonly cacheControl: string
}

/** Bytes of a file, both ends included. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** What a request says about the file it wants. */
export interface FileRequest {
  readonly method?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** One version of a file. Two with the same `ino`, `size` and `mtimeMs` are the same. */
export interface FileVersion extends Pick<Stats, 'ino' | 'size' | 'mtimeMs'> {
  readonly etag: string
  /** In ms since 1970, whole seconds. */
  readonly modified: number
  readonly lastModified: string
}

/** An answer without its bytes. */
export interface FileAnswer {
  readonly status: 200 | 206 | 304 | 416
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that belong to it; undefined for an answer that has none. */
  readonly range: Range | undefined
}

/**
 * A date in whole seconds identifies a file only once that second is over. Until then none is sent: the next
 * publication may carry the same date, and no cache may keep the older index (RFC 9110, 8.8.2.2).
 */
const SETTLED_MS = 2_000

export function fileVersion({ ino, size, mtimeMs }: Pick<Stats, 'ino' | 'size' | 'mtimeMs'>): FileVersion {
  const modified = Math.floor(mtimeMs / 1000) * 1000
  return {
    ino,
    size,
    mtimeMs,
    etag: `"${ino.toString(16)}-${size.toString(16)}-${Math.floor(mtimeMs * 1000).toString(16)}"`,
    modified,
    lastModified: new Date(modified).toUTCString(),
  }
}

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

function isKnown({ headers }: FileRequest, { etag, modified }: FileVersion, isSettled: boolean): boolean {
  const match = headers['if-none-match']
  if (match !== undefined && match !== '')
    return match === '*' || match.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
  const since = headers['if-modified-since']
  return isSettled && since !== undefined && modified <= Date.parse(since)
}

function rangeFor(
  { method, headers }: FileRequest,
  { etag, modified, size }: FileVersion,
  isSettled: boolean,
): Range | 'whole' | 'unsatisfiable' {
  const { range, 'if-range': condition } = headers
  if (range === undefined || method !== 'GET') return 'whole'
  const holds =
    condition === undefined ||
    condition === '' ||
    condition === etag ||
    (isSettled && Date.parse(String(condition)) === modified)
  return holds ? parseRange(range, size) : 'whole'
}

/** What a GET or HEAD for a file is answered with: ranges, conditions, headers. Pure. @param now  in ms since 1970 */
export function answerFor(
  request: FileRequest,
  version: FileVersion,
  { type, cacheControl }: SendOptions,
  now: number,
): FileAnswer {
  const { etag, size, modified, lastModified } = version
  const isSettled = now - modified >= SETTLED_MS
  const headers: Record<string, string> = { 'ETag': etag, 'Accept-Ranges': 'bytes', 'Cache-Control': cacheControl }
  if (isSettled) headers['Last-Modified'] = lastModified
  if (isKnown(request, version, isSettled)) return { status: 304, headers, range: undefined }
  const range = rangeFor(request, version, isSettled)
  if (range === 'unsatisfiable') {
    headers['Content-Range'] = `bytes */${size}`
    // the file may be cached for ever, this answer may not: a cache would give it to clients that want the whole file
    headers['Cache-Control'] = 'no-store'
    headers['Content-Length'] = '0'
    return { status: 416, headers, range: undefined }
  }
  const { start, end } = range === 'whole' ? { start: 0, end: size - 1 } : range
  if (range !== 'whole') headers['Content-Range'] = `bytes ${start}-${end}/${size}`
  headers['Content-Type'] = type
  headers['Content-Length'] = String(end - start + 1)
  return { status: range === 'whole' ? 200 : 206, headers, range: { start, end } }
}
