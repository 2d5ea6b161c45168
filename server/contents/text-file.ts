import { Malformed, malformed } from '../lib/limited.ts'
import type { Found, OpenFile, Reader, Reading } from './reader.ts'

/** The largest text file that is read. Lock files of the largest projects have some 10 MB. */
const MOST_TEXT = 16 * 2 ** 20
/** The most components that one file may name. */
export const MOST_ROWS = 50_000
// no line that names a component is longer; longer ones would make patterns slow
const LONGEST_LINE = 2000

/** How to recognise and read one kind of text file. */
export interface TextFile {
  readonly id: string
  /** Whether it reads the file at this path, with these first bytes. */
  readonly path: RegExp | ((path: string, head: Buffer) => boolean)
  /** Bytes; 16 MiB where it is left out. */
  readonly most?: number
  /**
   * The components that the text names, in its order.
   * @throws Malformed
   */
  read(text: string, path: string): Iterable<Found>
}

/** The whole file as text: UTF-8, or UTF-16 where a byte order mark says so. */
export async function readText(file: Pick<OpenFile, 'whole'>, most = MOST_TEXT): Promise<string> {
  const bytes = await file.whole(most)
  const text = bytes[0] === 0xff && bytes[1] === 0xfe ? bytes.toString('utf16le') : bytes.toString('utf8')
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

const LONGEST_NAME = 300
// eslint-disable-next-line no-control-regex -- no name has them, and PostgreSQL refuses the first
const CONTROL = /[\u0000-\u001f\u007f]/
const isName = (text: string): boolean => text.length > 0 && text.length <= LONGEST_NAME && !CONTROL.test(text)

/** Whether its names and version are of a length and kind that is kept. */
export const isNamed = ({ namespace = '-', name, version = '-' }: Found): boolean =>
  [namespace, name, version].every(isName)

/** A reader of a text file. After 50,000 components it stops and says so; what damage stops keeps what came before. */
export function textReader({ id, path, most, read }: TextFile): Reader {
  return {
    id,
    wants: file => (path instanceof RegExp ? path.test(file.path) : path(file.path, file.head)),
    async read(file): Promise<Reading> {
      const text = await readText(file, most)
      const found: Found[] = []
      const stopped = (why: string): Reading => ({ found, unopened: [{ path: file.path, size: file.size, why }] })
      try {
        for (const one of read(text, file.path)) {
          if (!isNamed(one)) continue
          if (found.length === MOST_ROWS) return stopped(`It names more than ${MOST_ROWS} components.`)
          found.push(one)
        }
      } catch (error) {
        if (!(error instanceof Malformed) || found.length === 0) throw error
        return stopped(`It could be read in part only: ${error.why}.`)
      }
      return { found }
    },
  }
}

/** Its lines without blanks at their ends, each cut at 2,000 characters. */
export function* linesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf('\n', from)
    const end = newline === -1 ? text.length : newline
    yield text.slice(from, Math.min(end, from + LONGEST_LINE)).trimEnd()
    from = end + 1
  }
}

/** A field that must be text; empty for anything else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The folder that holds a file, with its `/`; empty for one at the root. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)

/** The last part of a path. */
export const fileNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** @throws Malformed, saying that the file is not what its name promises */
export const notA = (what: string, cause?: unknown): never => malformed(`it is not ${what}`, cause)
