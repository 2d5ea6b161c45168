import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, stat, truncate, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { readAt } from '../lib/read-at.ts'
import type { AuditEntry } from './audit-entry.ts'

/** The `prev` of the very first line. */
export const NO_LINE = '0'.repeat(64)

/** Any number that nothing else uses: those who append to the files, or remove some, do so in turn. */
export const AUDIT_LOCK = 7_201_842

const FILE_NAME = /^\d{4}-\d{2}-\d{2}\.jsonl$/
const CHUNK = 1 << 20
const NEWLINE = 0x0a

/** SHA-256 of a line's bytes, without its newline, in hex. */
export function lineHash(line: string | Uint8Array): string {
  return hash('sha256', line, 'hex')
}

/** The file names under `audit/`, oldest first; none when the folder does not exist yet. Leaves other files alone. */
export async function auditFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(name => FILE_NAME.test(name)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Undefined when retention has removed the file meanwhile. */
async function ifThere<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Opens a file of the log; undefined when retention has removed it meanwhile. */
export const openIfThere = (path: string): Promise<FileHandle | undefined> => ifThere(() => open(path, 'r'))

/** Bytes of a file of the log; undefined when retention has removed it meanwhile. */
export const sizeOf = (path: string): Promise<number | undefined> => ifThere(async () => (await stat(path)).size)

/**
 * Yields the whole lines of a file in blocks, newest block first; within a block in file order, every line with its
 * newline. Ignores bytes past `size` and a last line without newline. Holds one block.
 */
export async function* blocksBackwards(handle: FileHandle, size: number, blockBytes = CHUNK): AsyncGenerator<Buffer> {
  let carried: Buffer[] = [] // the end of a line that begins further left
  let end = size
  let torn = true
  while (end > 0) {
    const start = Math.max(0, end - blockBytes)
    let bytes = await readAt(handle, start, end - start)
    end = start
    if (torn) {
      bytes = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
      torn = bytes.length === 0
      if (torn) continue
    }
    const cut = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1
    // no newline to the left: the whole block is the middle of one long line
    if (start > 0 && cut === 0) {
      carried.unshift(bytes)
      continue
    }
    const block = carried.length === 0 ? bytes.subarray(cut) : Buffer.concat([bytes.subarray(cut), ...carried])
    carried = cut === 0 ? [] : [Buffer.from(bytes.subarray(0, cut))]
    if (block.length > 0) yield block
  }
}

/** The end of the chain as it lies on disk. */
export interface Tail {
  /** The newest file, or undefined before the first line. */
  readonly file: string | undefined
  /** Of that file, in bytes. */
  readonly size: number
  readonly hash: string
  /** `id timestamp` of the last lines, as many as were asked for or more. */
  readonly recent: ReadonlySet<string>
}

/**
 * The key by which a pending row and a line are the same. The id alone would repeat after a database was restored or
 * made again.
 */
export function lineKey(entry: { readonly id: string; readonly timestamp: string }): string {
  return `${entry.id} ${entry.timestamp}`
}

/** Parses one line; undefined when it is not one of ours. */
export function parseLine(text: string): AuditEntry | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'timestamp' in value && 'prev' in value
      ? (value as AuditEntry)
      : undefined
  } catch {
    return undefined // `integrity` reports what is no JSON; readers go on
  }
}

/**
 * Completes a line that lost its newline, or cuts one that was written in part: the row it came from is still pending
 * then.
 */
async function repairEnd(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    const { size } = await handle.stat()
    let end = size
    let rest = Buffer.alloc(0)
    while (end > 0) {
      const start = Math.max(0, end - CHUNK)
      const bytes = await readAt(handle, start, end - start)
      const newline = bytes.lastIndexOf(NEWLINE)
      rest = Buffer.concat([bytes.subarray(newline + 1), rest])
      end = start + newline + 1
      if (newline >= 0) break
    }
    if (rest.length === 0) return
    if (parseLine(rest.toString()) !== undefined) await handle.write('\n', size)
    else await truncate(path, end)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Repairs the end of the newest file and reads the last `lines` lines, across files. Writes only to repair. */
export async function loadTail(folder: string, lines: number): Promise<Tail> {
  const files = await auditFiles(folder)
  const recent = new Set<string>()
  let last: Buffer | undefined // bytes, not text: what is no UTF-8 has a hash too
  const newest = files.at(-1)
  if (newest !== undefined) await repairEnd(join(folder, newest))
  const size = newest === undefined ? 0 : ((await sizeOf(join(folder, newest))) ?? 0)
  for (const file of files.toReversed()) {
    const handle = await open(join(folder, file), 'r')
    try {
      for await (const block of blocksBackwards(handle, (await handle.stat()).size)) {
        last ??= Buffer.from(block.subarray(block.lastIndexOf(NEWLINE, -2) + 1, -1))
        for (const text of block.toString().split('\n')) {
          const entry = parseLine(text)
          if (entry !== undefined) recent.add(lineKey(entry))
        }
        if (recent.size >= lines)
          return { file: newest, size, hash: last === undefined ? NO_LINE : lineHash(last), recent }
      }
    } finally {
      await handle.close()
    }
  }
  return { file: newest, size, hash: last === undefined ? NO_LINE : lineHash(last), recent }
}

/** One file of the log as a whole. */
export interface FileDigest {
  readonly file: string
  readonly sha256: string
  readonly size: number
  readonly lines: number
}

/** Reads a file once, a chunk at a time; undefined when retention has removed it meanwhile. */
export const digestFile = (path: string): Promise<FileDigest | undefined> => ifThere(() => digest(path))

async function digest(path: string): Promise<FileDigest> {
  const hash = createHash('sha256')
  let size = 0
  let lines = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  }
  return { file: basename(path), sha256: hash.digest('hex'), size, lines }
}
