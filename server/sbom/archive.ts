import type { InnerStream } from '../formats/format.ts'
import { malformed, quote } from '../lib/limited.ts'
import { createTarReader } from '../lib/tar.ts'

/** One wanted file of an archive. `path` is relative to the root, without `./`. */
export interface WantedFile {
  readonly path: string
  readonly body: Buffer
}

/** Chooses files: the most bytes that a wanted file may have, or undefined for the others. */
export type Want = (path: string, size: number) => number | undefined

const MAX_ENTRIES = 300_000
const CPIO_MAGIC = /^07070[12]$/
const CPIO_HEADER = 110

const cleanPath = (name: string): string => name.replace(/^(?:\.?\/)+/, '')

/** Passes chunks on; the first has at least `size` bytes where there are as many. */
async function* gathered(source: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of source) {
    if (head === undefined) yield chunk
    else {
      head = Buffer.concat([head, chunk])
      if (head.length < size) continue
      yield head
      head = undefined
    }
  }
  if (head !== undefined && head.length > 0) yield head
}

async function* tarFiles(chunks: AsyncIterable<Buffer>, what: string, want: Want): AsyncGenerator<WantedFile> {
  const tar = createTarReader({
    what,
    maxEntries: MAX_ENTRIES,
    keep: entry => {
      const most = entry.type === 'file' ? want(cleanPath(entry.name), entry.size) : undefined
      // the caller reports files that are too large; here they are skipped, so that they do not end the archive
      return most === undefined || entry.size > most ? undefined : most
    },
  })
  for await (const chunk of chunks) {
    for (const entry of tar.push(chunk))
      if (entry.body !== undefined) yield { path: cleanPath(entry.name), body: entry.body }
  }
}

/** Reads a stream of chunks by counts of bytes. */
function createCursor(chunks: AsyncIterable<Buffer>) {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  const more = async (): Promise<boolean> => {
    const next = await iterator.next()
    if (next.done === true) return false
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value])
    return true
  }
  return {
    /** @throws Malformed at an early end */
    async take(size: number): Promise<Buffer> {
      while (rest.length < size) if (!(await more())) malformed('the payload is cut off')
      const taken = rest.subarray(0, size)
      rest = rest.subarray(size)
      return taken
    },
    async skip(size: number): Promise<void> {
      let left = size
      while (left > 0) {
        if (rest.length === 0 && !(await more())) malformed('the payload is cut off')
        const passed = Math.min(left, rest.length)
        rest = rest.subarray(passed)
        left -= passed
      }
    },
    close: async (): Promise<void> => {
      await iterator.return?.()
    },
  }
}

// newc: eight hex digits a field after the magic; 1 mode, 6 file size, 11 name size. Source: cpio(5), "New ASCII
// Format"
function cpioField(header: Buffer, n: number): number {
  const digits = header.toString('latin1', 6 + n * 8, 14 + n * 8)
  return /^[0-9a-fA-F]{8}$/.test(digits)
    ? parseInt(digits, 16)
    : malformed(`a cpio header holds ${quote(digits)} where a number belongs`)
}

const toFour = (length: number): number => (4 - (length % 4)) % 4
const isRegular = (mode: number): boolean => (mode & 0o170000) === 0o100000

async function* cpioFiles(chunks: AsyncIterable<Buffer>, want: Want): AsyncGenerator<WantedFile> {
  const cursor = createCursor(chunks)
  try {
    for (let entries = 0; entries < MAX_ENTRIES; entries++) {
      const header = await cursor.take(CPIO_HEADER)
      // rpm writes 07070X, without names, for files of 4 GiB and more
      if (!CPIO_MAGIC.test(header.toString('latin1', 0, 6))) malformed('the payload is no cpio with names')
      const [mode, size, nameSize] = [cpioField(header, 1), cpioField(header, 6), cpioField(header, 11)]
      if (nameSize > 4097) malformed('the payload holds a name of more than 4096 bytes')
      const name = (await cursor.take(nameSize)).toString('utf8', 0, Math.max(0, nameSize - 1))
      await cursor.skip(toFour(CPIO_HEADER + nameSize))
      if (name === 'TRAILER!!!') return
      const path = cleanPath(name)
      const most = isRegular(mode) && size > 0 ? want(path, size) : undefined
      if (most === undefined || size > most) await cursor.skip(size)
      else yield { path, body: Buffer.from(await cursor.take(size)) }
      await cursor.skip(toFour(size))
    }
  } finally {
    await cursor.close()
  }
}

/**
 * The wanted files of one inner archive. Its first bytes tell tar from cpio; other streams yield nothing.
 * @throws Malformed where the archive is damaged: the package was read before, so this is unexpected and must be
 * reported
 */
export async function* wantedFiles(inner: InnerStream, want: Want): AsyncGenerator<WantedFile> {
  const chunks = gathered(inner.open(), 512)
  const first = await chunks.next()
  if (first.done === true) return
  const all = (async function* () {
    yield first.value
    yield* chunks
  })()
  if (first.value.toString('latin1', 0, 5) === '07070') yield* cpioFiles(all, want)
  else if (first.value.toString('latin1', 257, 262) === 'ustar') yield* tarFiles(all, inner.name, want)
  else await chunks.return(undefined)
}
