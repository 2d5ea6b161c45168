import { existsSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { link, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blob } from '../core/identity.ts'
import { sha256 } from '../core/identity.ts'
import { AppError, fail } from '../core/errors.ts'
import { digestBytes, type DigestThreads, type Digests } from '../lib/digest.ts'
import { writeNew } from '../lib/disk-thread.ts'
import { failpoint } from '../lib/failpoint.ts'
import type { Layout } from './layout.ts'
import type { Room } from './room.ts'

/** A body that has arrived whole and lies under `incoming/`, with its digests. The holder must `discard` or move it. */
export interface SpooledFile {
  readonly path: string
  /** As the sender named it. For messages only. */
  readonly filename: string
  readonly blob: Blob
  /** The first 512 bytes. */
  readonly head: Uint8Array
  /** All bytes of a small file, so that it is not read again; until it is discarded. */
  readonly bytes?: Buffer
  /** The other files of the same version, where there are several; `discard` removes them too. */
  readonly beside?: readonly SpooledFile[]
  /** Removes the file. Harmless when it was moved into the pool. */
  discard(): Promise<void>
}

/** The files of one version as one: `main` is the one that is read, the others stand beside it. */
export function together(main: SpooledFile, beside: readonly SpooledFile[]): SpooledFile {
  return {
    ...main,
    beside,
    discard: async () => {
      await Promise.all([main, ...beside].map(file => file.discard()))
    },
  }
}

/** The largest file that is taken. */
export interface SizeLimit {
  readonly limitBytes: number
  /** The setting that raises the limit; by default that of packages; `none` where it is fixed. */
  readonly setting?: string | undefined
}

/** The refusal of a file over the limit. */
export function tooLarge({ limitBytes, setting = 'validation.max_upload_size_mb' }: SizeLimit): AppError {
  const remedy = setting === 'none' ? 'No setting raises this limit.' : `An admin can raise ${setting}.`
  return new AppError('upload_too_large', { limit_mb: Math.floor(limitBytes / 1024 / 1024), remedy })
}

export interface ReceiveOptions extends SizeLimit {
  readonly filename: string
  /** Aborted when the sender goes away. */
  readonly signal: AbortSignal
  /** Taken in also where uploads have stopped for want of room: decisions, and what the service itself writes. */
  readonly isUrgent?: true
  /** Looks at the first 512 bytes as soon as they are here. Throws to refuse the rest. */
  readonly check?: (head: Uint8Array) => void
}

/** Receives bodies into `incoming/<id>`; a large one is `<id>.part` while it arrives. */
export interface Spool {
  /**
   * Writes the stream to disk and digests it in the same pass. Holds about 0.5 MiB in memory. On every throw nothing is
   * left on disk.
   * @throws uploads_stopped, upload_too_large, upload_incomplete, storage_full, and what `check` throws
   */
  receive(stream: AsyncIterable<Buffer>, options: ReceiveOptions): Promise<SpooledFile>
  /**
   * A file that is kept elsewhere as one that has arrived, by another link to the same bytes: nobody takes it away
   * meanwhile. @throws ENOENT
   */
  borrow(path: string, known: Pick<SpooledFile, 'filename' | 'blob'>): Promise<SpooledFile>
  /** Empties `incoming/`. At a start nothing there is needed. */
  sweep(): Promise<{ readonly removed: number }>
}

export interface SpoolDeps {
  readonly layout: Pick<Layout, 'incoming'>
  readonly random: (bytes: number) => Buffer
  readonly threads: DigestThreads
  /** Asked before each; absent: there is always some. */
  readonly room?: Room
  /** Of several processes on one root, this one: its files carry the name, so that others know whose they are. */
  readonly instance?: string
}

const HEAD = 512
const MODE = 0o640
// below this size a body is written in one piece and digested on this thread (at most 0.8 ms of it)
const SMALL = 256 * 1024
// large bodies are written in pieces of this size: a write per 64 KB chunk takes three times the system calls
const BATCH = 512 * 1024
// small bodies are kept for those who read them next: this much of each, and of all together
const KEPT = 128 * 1024
const KEPT_IN_ALL = 16 * 1024 * 1024
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Turns an error of the disk or the sender into one of ours. */
function explain(error: unknown, signal: AbortSignal): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (NO_ROOM.has(code)) return refusal(() => fail('storage_full', {}, error))
  const cut = signal.aborted || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'ABORT_ERR'
  return cut ? refusal(() => fail('upload_incomplete', {}, error)) : error
}

function refusal(refuse: () => never): unknown {
  try {
    return refuse()
  } catch (error) {
    return error
  }
}

function headOf(chunks: readonly Buffer[]): Uint8Array {
  const first = chunks[0]
  return Uint8Array.from(
    first !== undefined && first.length >= HEAD ? first.subarray(0, HEAD) : Buffer.concat(chunks).subarray(0, HEAD),
  )
}

/** `size` counts everything up to and with these chunks. */
interface Batch {
  readonly chunks: Buffer[]
  readonly head: Uint8Array
  readonly size: number
}

/** Counts, cuts into batches, and calls `check` once. */
async function* batches(
  stream: AsyncIterable<Buffer>,
  { limitBytes, setting, signal, check }: ReceiveOptions,
): AsyncGenerator<Batch> {
  let chunks: Buffer[] = []
  let size = 0
  let waiting = 0
  let head: Uint8Array | undefined
  for await (const chunk of stream) {
    signal.throwIfAborted()
    size += chunk.length
    waiting += chunk.length
    if (size > limitBytes) throw tooLarge({ limitBytes, setting })
    chunks.push(chunk)
    if (head === undefined && size >= HEAD) {
      head = headOf(chunks)
      check?.(head)
    }
    if (head !== undefined && waiting >= (size === waiting ? SMALL : BATCH)) {
      yield { chunks, head, size }
      chunks = []
      waiting = 0
    }
  }
  signal.throwIfAborted()
  if (head === undefined) {
    head = headOf(chunks)
    check?.(head)
  }
  if (chunks.length > 0 || size === 0) yield { chunks, head, size }
}

async function writeAll(handle: FileHandle, chunks: Buffer[], position: number): Promise<void> {
  const wanted = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  const { bytesWritten } = await handle.writev(chunks, position)
  if (bytesWritten === wanted) return
  // a nearly full disk takes a part; the next write fails
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  await writeAll(handle, [rest], position + bytesWritten)
}

interface Written {
  readonly digests: Digests
  readonly head: Uint8Array
  readonly size: number
  /** The whole body, where it is small. */
  readonly bytes?: Buffer
}

/** Makes the spool over `incoming/`. */
export function createSpool({ layout, random, threads, room, instance }: SpoolDeps): Spool {
  const folder = layout.incoming
  const mark = instance === undefined ? '' : `${instance}.`
  let kept = 0

  /** Keeps the bytes of a small body while there is room. */
  function keep(bytes: Buffer | undefined): { readonly bytes?: Buffer; readonly letGo: () => void } {
    if (bytes === undefined || bytes.length > KEPT || kept + bytes.length > KEPT_IN_ALL)
      return { letGo: () => undefined }
    let held = bytes.length
    kept += held
    return {
      bytes,
      letGo: () => {
        kept -= held
        held = 0
      },
    }
  }

  async function writeSmall(path: string, { chunks, head, size }: Batch): Promise<Written> {
    // not from the shared pool of small buffers: this one may stay, and goes to a thread
    const bytes = Buffer.allocUnsafeSlow(size)
    let at = 0
    for (const chunk of chunks) at += chunk.copy(bytes, at)
    await writeNew(path, bytes, MODE)
    return { digests: digestBytes(bytes), head, size, bytes }
  }

  async function write(
    part: string,
    handle: FileHandle,
    { first, incoming }: { readonly first: Batch; readonly incoming: AsyncGenerator<Batch> },
  ): Promise<Written> {
    let { size } = first
    await writeAll(handle, first.chunks, 0)
    const following = threads.follow(part)
    try {
      for (let next = await incoming.next(); next.done !== true; next = await incoming.next()) {
        await writeAll(handle, next.value.chunks, size)
        size = next.value.size
        following.grown(size)
      }
      return { digests: await following.finish(size), head: first.head, size }
    } catch (error) {
      following.abandon()
      throw error
    }
  }

  async function writeLarge(path: string, first: Batch, incoming: AsyncGenerator<Batch>): Promise<Written> {
    const part = `${path}.part`
    const handle = await open(part, 'wx', MODE)
    try {
      const written = await write(part, handle, { first, incoming })
      await handle.close()
      await rename(part, path)
      return written
    } catch (error) {
      await handle.close().catch(() => undefined)
      await rm(part, { force: true })
      throw error
    }
  }

  return {
    async receive(stream, options) {
      const path = join(folder, `${mark}${random(12).toString('hex')}`)
      const incoming = batches(stream, options)
      try {
        const { value: first } = await incoming.next()
        if (first === undefined) throw new Error('a body has at least one batch')
        if (options.isUrgent !== true) await room?.need()
        const isWhole = first.size < SMALL
        const { digests, head, size, bytes } = await (isWhole
          ? writeSmall(path, first)
          : writeLarge(path, first, incoming))
        failpoint('spool:before-done')
        const { letGo, ...known } = keep(bytes)
        const discard = async (): Promise<void> => {
          letGo()
          // mostly it was moved into the pool: a rejected promise costs a hundred times as much
          if (existsSync(path)) await rm(path, { force: true })
        }
        const blob: Blob = { ...digests, sha256: sha256(digests.sha256), size }
        return { path, filename: options.filename, blob, head, ...known, discard }
      } catch (error) {
        throw explain(error, options.signal)
      } finally {
        await incoming.return(undefined)
      }
    },
    async borrow(kept, known) {
      const path = join(folder, `${mark}${random(12).toString('hex')}`)
      await link(kept, path)
      return { path, ...known, head: new Uint8Array(), discard: () => rm(path, { force: true }) }
    },
    async sweep() {
      await mkdir(folder, { recursive: true, mode: 0o750 })
      const entries = await readdir(folder)
      for (const entry of entries) await rm(join(folder, entry), { recursive: true, force: true })
      return { removed: entries.length }
    },
  }
}
