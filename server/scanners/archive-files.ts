import { createCpioReader } from '../lib/cpio.ts'
import { Malformed } from '../lib/limited.ts'
import { createTarReader } from '../lib/tar.ts'
import { isHidden, kindOf } from './archive-kinds.ts'

/** A file of an archive; its path is empty where the stream itself is the file. */
export interface File {
  readonly path: string
  readonly body: Buffer
}
/** Takes an archive apart while it is read: each file comes out once it is whole. */
export interface FileReader {
  push(chunk: Buffer): readonly File[]
  end(): readonly File[]
}

/** Holds one file at a time. Reports larger ones whose name or first bytes say that clamd does not open them. */
export const HELD_BYTES = 16 * 1024 * 1024
const LEAST_BYTES = 16
const HEAD_BYTES = 512
const MAX_ENTRIES = 300_000

function tarFiles(where: string, tooLarge: (path: string) => void): FileReader {
  const reader = createTarReader({
    what: where,
    maxEntries: MAX_ENTRIES,
    keep: ({ type, size }) => (type === 'file' && size >= LEAST_BYTES && size <= HELD_BYTES ? size : undefined),
    isWanted: head => kindOf(head) !== undefined,
    headOf: ({ type, size }) => (type === 'file' && size > HELD_BYTES ? HEAD_BYTES : 0),
  })
  return {
    push: chunk =>
      reader.push(chunk).flatMap(({ name, body, head }) => {
        if (head !== undefined && isHidden(name, head)) tooLarge(name)
        return body === undefined ? [] : [{ path: name, body }]
      }),
    end: () => [],
  }
}

function cpioFiles(where: string, tooLarge: (path: string) => void): FileReader {
  const reader = createCpioReader({ what: where, maxEntries: MAX_ENTRIES })
  let current:
    | { readonly path: string; readonly size: number; readonly held: Buffer[]; bytes: number; isEnough: boolean }
    | undefined
  const done = (): File[] => {
    const file = current
    current = undefined
    if (file === undefined || file.size < LEAST_BYTES) return []
    const body = Buffer.concat(file.held)
    if (file.size <= HELD_BYTES) return [{ path: file.path, body }]
    if (isHidden(file.path, body)) tooLarge(file.path)
    return []
  }
  return {
    push: chunk =>
      reader.push(chunk).flatMap(part => {
        if ('bytes' in part) {
          if (current === undefined || current.isEnough) return []
          current.bytes += part.bytes.length
          current.held.push(Buffer.from(part.bytes))
          // the first bytes say whether the others are needed
          if (current.bytes >= HEAD_BYTES && (current.size > HELD_BYTES || current.held.length === 1))
            current.isEnough = current.size > HELD_BYTES || kindOf(current.held[0] ?? part.bytes) === undefined
          return []
        }
        const files = done()
        const { name, type, size } = part
        current = type === 'file' ? { path: name, size, held: [], bytes: 0, isEnough: false } : undefined
        return files
      }),
    end: done,
  }
}

/** A stream that is no archive of files: held whole, where it begins like another archive. */
function wholeFile(tooLarge: () => void): FileReader {
  let held: Buffer[] | undefined = []
  let size = 0
  return {
    push: chunk => {
      size += chunk.length
      held?.push(chunk)
      if (size <= HELD_BYTES || held === undefined) return []
      held = undefined
      tooLarge()
      return []
    },
    end: () => (held === undefined ? [] : [{ path: '', body: Buffer.concat(held) }]),
  }
}

/**
 * The files of a stream, by the first bytes of the stream. A damaged archive ends silently: clamd gets its bytes as
 * they are.
 * @param tooLarge  called for files that are not held and that clamd does not open either; '' is the stream itself
 */
export function createFiles(where: string, tooLarge: (path: string) => void): FileReader {
  const none: FileReader = { push: () => [], end: () => [] }
  let head = Buffer.alloc(0)
  let reader: FileReader | undefined
  const safely = (work: (own: FileReader) => readonly File[]): readonly File[] => {
    try {
      return work(reader ?? none)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      reader = none
      return []
    }
  }
  const choose = (): FileReader => {
    if (head.toString('latin1', 257, 262) === 'ustar') return tarFiles(where, tooLarge)
    if (head.toString('latin1', 0, 5) === '07070') return cpioFiles(where, tooLarge)
    const kind = kindOf(head)
    return kind === undefined
      ? none
      : wholeFile(() => {
          if (isHidden('', head)) tooLarge('')
        })
  }
  const begin = (): readonly File[] => {
    reader = choose()
    return safely(own => own.push(head))
  }
  return {
    push: chunk => {
      if (reader !== undefined) return safely(own => own.push(chunk))
      head = Buffer.concat([head, chunk])
      return head.length < HEAD_BYTES ? [] : begin()
    },
    end: () => [...(reader === undefined && head.length > 0 ? begin() : []), ...safely(own => own.end())],
  }
}
