import { randomUUID } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { space } from '../lib/disk-space.ts'
import { machineFaultOf } from '../lib/machine-faults.ts'
import { malformed, printBytes } from '../lib/limited.ts'
import { readAt } from '../lib/read-at.ts'
import { HEAD_BYTES, memoryFile, mustFit, mustHave } from './open-file.ts'
import type { Contents } from './component.ts'
import { LIMITS } from './limits.ts'
import type { HeldFile, Room } from './reader.ts'

/** What a package may cost is spent: reading ends here, and the rest is not known. */
export class Spent extends Error {
  /** One sentence. */
  readonly why: string
  /** Whether another time may find more: the machine is at fault, or a limit that can be raised. */
  readonly again: Contents['again']
  constructor(why: string, { cause, again }: { readonly cause?: unknown; readonly again?: Contents['again'] } = {}) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'Spent'
    this.why = why
    this.again = again
  }
}

async function createSpill(folder: string): Promise<FileHandle> {
  const path = join(folder, `${randomUUID()}.contents`)
  const handle = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return handle
}

function spilledFile(
  path: string,
  handle: FileHandle,
  { head, size }: { readonly head: Buffer; readonly size: number },
): HeldFile {
  const read = async (offset: number, length: number): Promise<Buffer> => {
    mustHave(size, offset)
    return offset + length <= head.length
      ? head.subarray(offset, offset + length)
      : readAt(handle, offset, Math.min(length, size - offset))
  }
  return {
    path,
    size,
    head,
    read,
    async whole(most) {
      mustFit(size, most)
      return read(0, size)
    },
    close: () => handle.close(),
  }
}

/** Of what a disk has free, spilled files of one package take at most this part. */
const FREE_SHARE = 4

/** Seconds of the processor that this thread has used. */
const cpuOfThread = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1e6
}
/** To ask for that costs more than most steps. */
const STEPS_TO_LOOK = 32

/**
 * @param folder  for files that are too large for memory: on the disk where uploads arrive
 * @param onStep  called again and again while reading goes on
 */
export function createRoom(folder: string, limits = LIMITS, onStep = (): void => {}): Room {
  let inflated = 0
  let files = 0
  let read = 0
  let steps = 0
  const began = cpuOfThread()

  const step = (): void => {
    onStep()
    if (++steps % STEPS_TO_LOOK === 0 && cpuOfThread() - began > limits.cpuSeconds)
      throw new Spent(
        `To read the package takes more than ${limits.cpuSeconds} s of processor time; the rest was not read.`,
        { again: { cpuSeconds: limits.cpuSeconds } },
      )
  }
  const pass = (): void => {
    step()
    if (++files > limits.files)
      throw new Spent(
        `The package holds more than ${limits.files} files with those in its archives; the rest was not read.`,
      )
  }
  const countRead = (bytes: Buffer): Buffer => {
    step()
    read += bytes.length
    if (read > limits.readBytes)
      throw new Spent(`To read the package takes more than ${printBytes(limits.readBytes)}; the rest was not read.`)
    return bytes
  }
  const noRoom = (cause?: unknown): never => {
    throw new Spent('There is no room on the disk to open what the package carries; the rest was not read.', {
      cause,
      again: 'any time',
    })
  }

  async function spill(held: Buffer[], chunks: AsyncIterator<Buffer>, check: (size: number) => void) {
    let handle: FileHandle | undefined
    try {
      const { freeBytes } = await space(folder)
      handle = await createSpill(folder)
      let size = 0
      let batch = held
      let batched = held.reduce((sum, chunk) => sum + chunk.length, 0)
      const flush = async (): Promise<void> => {
        if (size + batched > freeBytes / FREE_SHARE) noRoom()
        const { bytesWritten } = await (handle as FileHandle).writev(batch, size)
        if (bytesWritten < batched) noRoom()
        size += batched
        ;[batch, batched] = [[], 0]
      }
      for (;;) {
        const next = await chunks.next()
        if (next.done === true) break
        batch.push(next.value)
        batched += next.value.length
        check(next.value.length)
        if (batched >= 2 ** 20) await flush()
      }
      if (batched > 0) await flush()
      return { handle, size }
    } catch (error) {
      await handle?.close()
      return machineFaultOf(error) === undefined ? Promise.reject(error as Error) : noRoom(error)
    }
  }

  return {
    limits,
    pass,
    enter(file) {
      pass()
      return {
        path: file.path,
        size: file.size,
        head: file.head,
        ...(file.entry === undefined ? {} : { entry: file.entry }),
        read: async (offset, length) => countRead(await file.read(offset, length)),
        whole: async most => countRead(await file.whole(most)),
      }
    },
    async *inflate(chunks, packed) {
      let size = 0
      for await (const chunk of chunks) {
        step()
        size += chunk.length
        inflated += chunk.length
        if (inflated > limits.inflatedBytes)
          throw new Spent(
            `The archives in the package unpack to more than ${printBytes(limits.inflatedBytes)}; the rest was not read.`,
          )
        if (size > limits.ratioFromBytes && size > packed * limits.ratio)
          malformed(`it unpacks to more than ${limits.ratio} times its size`)
        yield chunk
      }
    },
    async hold(path, chunks) {
      let size = 0
      const check = (bytes: number): void => {
        size += bytes
        mustFit(size, limits.fileBytes)
      }
      const iterator = chunks[Symbol.asyncIterator]()
      try {
        const held: Buffer[] = []
        while (size <= limits.memoryBytes) {
          const next = await iterator.next()
          if (next.done === true)
            return {
              ...memoryFile(path, held.length === 1 && held[0] !== undefined ? held[0] : Buffer.concat(held)),
              close: () => Promise.resolve(),
            }
          held.push(next.value)
          check(next.value.length)
        }
        const head = Buffer.concat(held.slice(0, 64)).subarray(0, HEAD_BYTES)
        const spilled = await spill(held, iterator, check)
        return spilledFile(path, spilled.handle, { head: Buffer.from(head), size: spilled.size })
      } finally {
        await iterator.return?.()
      }
    },
  }
}
