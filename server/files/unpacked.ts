import { randomUUID } from 'node:crypto'
import { read } from 'node:fs'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { space } from '../lib/disk-space.ts'
import type { Packed } from '../lib/packed.ts'
import { readAt } from '../lib/read-at.ts'

type Part = Pick<Packed, 'what' | 'compression'>

/** What the first reading of a package unpacked, for the second: decoding costs far more than a copy. */
export interface Unpacked {
  /** Passes the bytes on, and keeps a copy while there is room. */
  keep(part: Part, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  /** The bytes of a part that was read to its end; undefined where no whole copy is kept. May be read repeatedly. */
  read(part: Part): AsyncIterable<Buffer> | undefined
  /** All copies, for another thread of this process; they are there until `close`. */
  copies(): Copies
  /** Lets go of all copies. Nobody may be reading any more. */
  close(): Promise<void>
}

/** A whole copy of a part: in memory, or in a file that stays open. */
export type CopiedPart = { readonly what: string } & (
  { readonly bytes: Uint8Array } | { readonly fd: number; readonly size: number }
)

export interface Copies {
  readonly parts: readonly CopiedPart[]
  /** How many bytes they have; undefined where not every part has a copy. */
  readonly bytes: number | undefined
}

/** How much is kept at once, for all packages together. */
export interface UnpackedRoom {
  readonly memoryBytes: number
  readonly diskBytes: number
}

const readFd = promisify(read)

const ROOM: UnpackedRoom = { memoryBytes: 32 * 2 ** 20, diskBytes: 6 * 2 ** 30 }
/** Up to this size a copy stays in memory. */
const SMALL = 2 ** 20
const BATCH = 2 ** 20
/** A copy takes at most this part of what the disk has free: it must not be what fills it. */
const FREE_SHARE = 8

/** Bytes that are still free; `take` answers whether they were. */
interface Budget {
  take(bytes: number): boolean
  giveBack(bytes: number): void
}

function createBudget(bytes: number): Budget {
  let left = bytes
  return {
    take(wanted) {
      if (wanted > left) return false
      left -= wanted
      return true
    },
    giveBack(given) {
      left += given
    },
  }
}

interface Copy {
  add(chunk: Buffer): Promise<void>
  /** To be called once all has been added. @returns false when there was no room for all of it */
  finish(): Promise<boolean>
  read(): AsyncGenerator<Buffer>
  lies(): { readonly bytes: Uint8Array } | { readonly fd: number; readonly size: number }
  drop(): Promise<void>
}

interface Place {
  readonly folder: string
  readonly memory: Budget
  readonly disk: Budget
}

async function* readCopy(file: Parameters<typeof readAt>[0], size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; at += BATCH) {
    const wanted = Math.min(BATCH, size - at)
    const bytes = await readAt(file, at, wanted)
    if (bytes.length < wanted) throw new Error(`the copy of what was unpacked ends at byte ${at + bytes.length}`)
    yield bytes
  }
}

/** Reads copies that another thread keeps. */
export function readCopies(parts: readonly CopiedPart[]): Pick<Unpacked, 'read'> {
  async function* read(part: CopiedPart): AsyncGenerator<Buffer> {
    if ('bytes' in part) yield Buffer.from(part.bytes.buffer, part.bytes.byteOffset, part.bytes.byteLength)
    else {
      const { fd, size } = part
      yield* readCopy({ read: (...where) => readFd(fd, ...where) }, size)
    }
  }
  return {
    read({ what }) {
      const part = parts.find(one => one.what === what)
      return part === undefined ? undefined : read(part)
    },
  }
}

/** In memory first, on disk from `SMALL` on, in a file without a name: no crash leaves it behind. */
function createCopy({ folder, memory, disk }: Place): Copy {
  let held: Buffer[] = []
  let heldBytes = 0
  let file: FileHandle | undefined
  let mostOnDisk = 0
  let written = 0
  let isLost = false
  let writing = Promise.resolve()

  const drop = async (): Promise<void> => {
    isLost = true
    await writing
    if (file === undefined) memory.giveBack(heldBytes)
    else disk.giveBack(written)
    ;[held, heldBytes, written] = [[], 0, 0]
    const closing = file
    file = undefined
    await closing?.close()
  }
  const openFile = async (): Promise<FileHandle> => {
    const path = join(folder, `${randomUUID()}.unpacked`)
    mostOnDisk = (await space(folder)).freeBytes / FREE_SHARE
    const handle = await open(path, 'wx+', 0o600)
    memory.giveBack(heldBytes)
    await rm(path, { force: true })
    return handle
  }
  const write = async (handle: FileHandle, batch: Buffer[], position: number, size: number): Promise<void> => {
    try {
      const { bytesWritten } = await handle.writev(batch, position)
      if (bytesWritten < size) isLost = true
    } catch {
      isLost = true // a full disk: the package is unpacked once more
    }
  }
  /** Begins to write what is held. One write is under way at a time. */
  const flush = async (): Promise<void> => {
    await writing
    if (file === undefined || isLost || written + heldBytes > mostOnDisk || !disk.take(heldBytes)) return drop()
    writing = write(file, held, written, heldBytes)
    written += heldBytes
    ;[held, heldBytes] = [[], 0]
  }

  return {
    async add(chunk) {
      if (isLost) return
      if (file === undefined && !memory.take(chunk.length)) return drop()
      held.push(chunk)
      heldBytes += chunk.length
      try {
        if (file === undefined && heldBytes > SMALL) file = await openFile()
      } catch {
        return drop() // no file can be made: the package is unpacked once more
      }
      if (file !== undefined && heldBytes >= BATCH) await flush()
    },
    async finish() {
      if (file !== undefined && heldBytes > 0) await flush()
      await writing
      return !isLost
    },
    async *read() {
      yield* held
      if (file !== undefined) yield* readCopy(file, written)
    },
    lies: () => (file === undefined ? { bytes: Buffer.concat(held) } : { fd: file.fd, size: written }),
    drop,
  }
}

/**
 * Keeps what is unpacked, within a budget: in memory what is small, the rest in `folder`. Where the budget is spent or
 * the disk is short, nothing is kept, and the second reading unpacks again.
 */
export function createUnpackedCopies(folder: string, room = ROOM): () => Unpacked {
  const place: Place = { folder, memory: createBudget(room.memoryBytes), disk: createBudget(room.diskBytes) }
  return () => {
    const whole = new Map<string, Copy>()
    let isLacking = false
    const copied = async function* (what: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      const copy = createCopy(place)
      let isWhole = false
      try {
        for await (const chunk of chunks) {
          await copy.add(chunk)
          yield chunk
        }
        isWhole = !whole.has(what) && (await copy.finish())
        if (isWhole) whole.set(what, copy)
      } finally {
        isLacking ||= !isWhole
        if (!isWhole) await copy.drop()
      }
    }
    return {
      keep: ({ what, compression }, chunks) => (compression === 'none' ? chunks : copied(what, chunks)),
      read: ({ what }) => whole.get(what)?.read(),
      copies() {
        const parts = [...whole].map(([what, copy]) => ({ what, ...copy.lies() }))
        const sizes = parts.map(part => ('bytes' in part ? part.bytes.length : part.size))
        return { parts, bytes: isLacking ? undefined : sizes.reduce((sum, size) => sum + size, 0) }
      },
      async close() {
        const copies = [...whole.values()]
        whole.clear()
        await Promise.all(copies.map(copy => copy.drop()))
      },
    }
  }
}
