import { read } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Range } from './file-answer.ts'

/** A large buffer saves calls; under many slow clients smaller ones keep the memory bounded. */
const SIZES = [256 * 1024, 64 * 1024, 16 * 1024] as const
/** While buffers of so many bytes are in use, the next size is taken. */
const LIMITS = [32 * 1024 * 1024, 64 * 1024 * 1024] as const
/** What stays allocated while nobody downloads. */
const KEPT_BYTES = 8 * 1024 * 1024

/** Buffers that downloads take in turn: a new one for each piece would cost more than reading it. */
function createBuffers(): { take(): Buffer; giveBack(buffer: Buffer): void } {
  const free = new Map<number, Buffer[]>(SIZES.map(size => [size, []]))
  let [inUse, kept] = [0, 0]
  return {
    take() {
      const size = inUse < LIMITS[0] ? SIZES[0] : inUse < LIMITS[1] ? SIZES[1] : SIZES[2]
      inUse += size
      const buffer = free.get(size)?.pop()
      if (buffer === undefined) return Buffer.allocUnsafeSlow(size)
      kept -= size
      return buffer
    },
    giveBack(buffer) {
      inUse -= buffer.length
      if (kept + buffer.length > KEPT_BYTES) return
      kept += buffer.length
      free.get(buffer.length)?.push(buffer)
    },
  }
}
const buffers = createBuffers()

/**
 * As many as libuv has threads. More would wait there, each with its buffer, and in the way of everything else that
 * reads files.
 */
const READS = 4

/** Lets so many readers in at once, in the order in which they came. */
function createTurns(atOnce: number): { begin(): Promise<void>; end(): void } {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    begin() {
      if (running < atOnce) {
        running += 1
        return Promise.resolve()
      }
      return new Promise(resolve => waiting.push(resolve))
    },
    end() {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    },
  }
}
const turns = createTurns(READS)

function readInto(fd: number, buffer: Buffer, { start, end }: Range): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, Math.min(buffer.length, end - start + 1), start, (error, length) => {
      turns.end() // the next one reads while this one is written
      if (error === null) resolve(length)
      else reject(error)
    })
  })
}

/**
 * Writes a part of a file as the body of an answer whose headers are set, and ends it. One buffer at a time: each is
 * written before the next is read, and downloads read in turn. A client that leaves ends it without an error.
 * @throws when the file cannot be read, or is shorter than it was; the answer is then to be cut off
 */
export async function pump(fd: number, { start, end }: Range, response: ServerResponse): Promise<void> {
  let written = (): void => undefined
  // a write that waits behind another answer on the connection is not called back when the client leaves
  const leave = (): void => written()
  response.once('close', leave)
  for (let at = start; at <= end && !response.destroyed;) {
    await turns.begin()
    const buffer = buffers.take() // not earlier: who waits holds none
    try {
      const length = await readInto(fd, buffer, { start: at, end })
      if (length === 0) throw new Error('a file shrank while it was sent')
      if (response.destroyed) return
      await new Promise<void>(resolve => {
        written = resolve
        response.write(buffer.subarray(0, length), () => resolve())
      })
      at += length
    } finally {
      buffers.giveBack(buffer)
    }
  }
  response.off('close', leave)
  response.end()
}
