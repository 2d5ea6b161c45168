import { malformed } from '../lib/limited.ts'
import { fileWithin, HEAD_BYTES, mustFit } from './open-file.ts'
import type { HeldFile, OpenFile, Room } from './reader.ts'

/** An archive that is read from its beginning, by counts of bytes. */
export interface Source {
  /** The next `size` bytes; undefined at the end. @throws Malformed when it ends within them */
  take(size: number): Promise<Buffer | undefined>
  /** @throws Malformed at an early end */
  skip(size: number): Promise<void>
  /** The next `size` bytes as a file. It is valid until the next call here, which goes on behind it. */
  file(path: string, size: number): Promise<OpenFile>
  /** Everything that was not taken. */
  rest(): AsyncGenerator<Buffer>
  close(): Promise<void>
}

const CHUNK = 64 * 1024
const CUT = 'it is cut off'

/** An archive that lies in a file: its members are read where they lie. */
export function sourceOfFile(file: OpenFile): Source {
  let at = 0
  let window: Buffer = Buffer.alloc(0)
  let windowAt = 0
  const within = async (size: number): Promise<Buffer> => {
    if (at < windowAt || at + size > windowAt + window.length) {
      window = await file.read(at, Math.max(size, 32 * 1024))
      windowAt = at
    }
    return window.subarray(at - windowAt, at - windowAt + size)
  }
  return {
    async take(size) {
      if (at >= file.size) return undefined
      const bytes = await within(size)
      if (bytes.length < size) malformed(CUT)
      at += size
      return bytes
    },
    async skip(size) {
      if (at + size > file.size) malformed(CUT)
      at += size
    },
    async file(path, size) {
      if (at + size > file.size) malformed(CUT)
      const member = await fileWithin(file, { path, offset: at, size })
      at += size
      return member
    },
    async *rest() {
      for (; at < file.size; at += CHUNK) yield await file.read(at, Math.min(CHUNK, file.size - at))
    },
    close: () => Promise.resolve(),
  }
}

/** An archive that passes once: a member is held only when somebody reads more than its head. */
export function sourceOfStream(chunks: AsyncIterable<Buffer>, room: Room): Source {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  /** Bytes of the current member that were not passed yet. */
  let open = 0
  let held: Promise<HeldFile> | undefined

  const more = async (): Promise<boolean> => {
    const next = await iterator.next()
    if (next.done === true) return false
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value])
    return true
  }
  const fill = async (size: number): Promise<void> => {
    while (rest.length < size) if (!(await more())) malformed(CUT)
  }
  const pass = async (size: number): Promise<void> => {
    let left = size
    while (left > 0) {
      if (rest.length === 0 && !(await more())) malformed(CUT)
      const passed = Math.min(left, rest.length)
      rest = rest.subarray(passed)
      left -= passed
    }
  }
  /** The rest of the current member. */
  async function* body(): AsyncGenerator<Buffer> {
    while (open > 0) {
      if (rest.length === 0 && !(await more())) malformed(CUT)
      const chunk = rest.subarray(0, open)
      rest = rest.subarray(chunk.length)
      open -= chunk.length
      yield chunk
    }
  }
  const leave = async (): Promise<void> => {
    const last = held
    held = undefined
    await last?.then(
      file => file.close(),
      () => undefined,
    )
    await pass(open)
    open = 0
  }

  return {
    async take(size) {
      await leave()
      if (rest.length === 0 && !(await more())) return undefined
      await fill(size)
      const taken = rest.subarray(0, size)
      rest = rest.subarray(size)
      return taken
    },
    async skip(size) {
      await leave()
      await pass(size)
    },
    async file(path, size) {
      await leave()
      await fill(Math.min(HEAD_BYTES, size))
      const head = Buffer.from(rest.subarray(0, Math.min(HEAD_BYTES, size)))
      open = size
      const whole = async (): Promise<HeldFile> => {
        mustFit(size, room.limits.fileBytes)
        return (held ??= room.hold(path, body()))
      }
      return {
        path,
        size,
        head,
        read: async (offset, length) =>
          offset + length <= head.length
            ? head.subarray(offset, offset + length)
            : (await whole()).read(offset, length),
        async whole(most) {
          mustFit(size, most)
          return size <= head.length ? head : (await whole()).whole(most)
        },
      }
    },
    async *rest() {
      await leave()
      do {
        yield rest
        rest = Buffer.alloc(0)
      } while (await more())
    },
    async close() {
      await held?.then(
        file => file.close(),
        () => undefined,
      )
      await iterator.return?.()
    },
  }
}
