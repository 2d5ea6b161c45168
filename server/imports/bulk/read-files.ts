import { closeSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Contents } from '../../contents/component.ts'
import { readSmall } from '../../contents/reading.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import { sha256, type Blob, type FormatId } from '../../core/identity.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { createUnpackedCopies } from '../../files/unpacked.ts'
import type { Format, Inspection } from '../../formats/format.ts'
import { getFormat } from '../../formats/index.ts'
import { digestBytes } from '../../lib/digest.ts'
import { openInside, type NotInside } from '../../lib/open-inside.ts'

/** A file of a tree, and what an index says of it, where one names it. */
export interface TreeFile {
  /** Below the tree. */
  readonly path: string
  readonly size?: number
  /** Lower-case hex. */
  readonly sha256?: string
  readonly sha512?: string
  /** Where the index has no digest of the file, that of its control data. */
  readonly controlSha1?: string
  /** The component that the index is of. */
  readonly component?: string
}

/** What the thread is asked. */
export interface FilesQuestion {
  /** The real path of the tree. */
  readonly root: string
  readonly files: readonly TreeFile[]
  readonly format: FormatId
  /** Where copies go, and how their names begin: no other file there begins so. */
  readonly incoming: string
  readonly mark: string
}

/** A file that was copied into `incoming/` and read. */
export interface ReadFile {
  readonly path: string
  readonly blob: Blob
  readonly head: Uint8Array
  /** Absent where only the thread that uses it can read it, or reading was refused. */
  readonly inspection?: Inspection
  readonly contents?: Contents
  /** The package was refused; nothing of it is in `incoming/`. */
  readonly refused?: { readonly code: ErrorCode; readonly facts: Readonly<Record<string, unknown>> }
}

/**
 * One of: it was read; it is not what the index says, or no file of this tree; it is too large for this thread; the
 * disk failed.
 */
export type FileAnswer =
  | { readonly read: ReadFile }
  | { readonly not: NotInside }
  | { readonly differs: string }
  | { readonly large: true }
  | { readonly error: string; readonly code?: string }

/** A larger file takes the way of an upload: what reads it there may use threads and memory of its own. */
const LARGEST = 1024 * 1024
const HEAD = 512
const MODE = 0o640

// whoever asks ends the thread
const never = new AbortController().signal

// one file at a time, in a thread: what is kept of it is copied
let room: Buffer | undefined

function readWhole(fd: number, size: number): Buffer {
  const bytes = (room ??= Buffer.allocUnsafeSlow(LARGEST)).subarray(0, size)
  for (let at = 0; at < size;) {
    const got = readSync(fd, bytes, at, size - at, at)
    if (got === 0) return bytes.subarray(0, at)
    at += got
  }
  return bytes
}

/** How bytes differ from what an index says of them; undefined where they do not. */
export function differenceTo(expected: Pick<TreeFile, 'size' | 'sha256' | 'sha512'>, blob: Blob): string | undefined {
  if (expected.size !== undefined && expected.size !== blob.size)
    return `it has ${blob.size} bytes, and its index says ${expected.size}`
  for (const algorithm of ['sha256', 'sha512'] as const) {
    const wanted = expected[algorithm]
    if (wanted !== undefined && wanted !== blob[algorithm])
      return `its ${algorithm === 'sha256' ? 'SHA-256' : 'SHA-512'} is ${blob[algorithm]}, and its index says ${wanted}`
  }
  return undefined
}

/** The same for a package in whose index only the digest of its control data is. @throws Malformed */
export async function otherControl(
  { upstream }: Pick<Format, 'upstream'>,
  { controlSha1: wanted }: Pick<TreeFile, 'controlSha1'>,
  path: string,
): Promise<string | undefined> {
  if (wanted === undefined) return undefined
  const actual = await upstream?.controlSha1?.(path)
  return actual === wanted
    ? undefined
    : `the SHA-1 of its control data is ${actual ?? 'not known'}, and its index says ${wanted}`
}

async function readPackage(
  bytes: Buffer,
  blob: Blob,
  {
    path,
    filename,
    question,
    file,
  }: {
    readonly path: string
    readonly filename: string
    readonly question: FilesQuestion
    readonly file: TreeFile
  },
): Promise<FileAnswer> {
  const format = getFormat(question.format)
  const head = Uint8Array.from(bytes.subarray(0, HEAD))
  const spooled: SpooledFile = { path, filename, blob, head, bytes, discard: () => Promise.resolve() }
  const unpacked = createUnpackedCopies(question.incoming)()
  try {
    const inspection = await format.inspect(spooled, never, unpacked)
    const other = await otherControl(format, file, path)
    if (other !== undefined) return { differs: other }
    const contents =
      inspection.kind === 'source'
        ? undefined
        : await readSmall(
            { format: format.id, file: spooled, unpacked },
            {
              incoming: question.incoming,
              signal: never,
            },
          )
    const isPlain = inspection.signature === undefined && inspection.clearsigned === undefined
    return {
      read: {
        path,
        blob,
        head,
        // what checks a signature holds functions, which cannot leave the thread
        ...(isPlain ? { inspection } : {}),
        ...(contents === undefined ? {} : { contents }),
      },
    }
  } catch (error) {
    if (error instanceof AppError)
      return { read: { path, blob, head, refused: { code: error.code, facts: error.facts } } }
    throw error
  } finally {
    await unpacked.close()
  }
}

async function readOne(question: FilesQuestion, file: TreeFile, n: number): Promise<FileAnswer> {
  const open = openInside(question.root, file.path)
  if (typeof open === 'string') return { not: open }
  let bytes: Buffer
  try {
    if (file.size !== undefined && file.size !== open.size)
      return { differs: `it has ${open.size} bytes, and its index says ${file.size}` }
    if (open.size > LARGEST) return { large: true }
    bytes = readWhole(open.fd, open.size)
  } finally {
    closeSync(open.fd)
  }
  const digests = digestBytes(bytes)
  const blob: Blob = { ...digests, sha256: sha256(digests.sha256), size: bytes.length }
  const why = differenceTo(file, blob)
  if (why !== undefined) return { differs: why }
  // a copy, and never a link: whoever owns the tree can still write into its files
  const path = join(question.incoming, `${question.mark}-${n}`)
  let isKept = false
  try {
    writeFileSync(path, bytes, { flag: 'wx', mode: MODE })
    const answer = await readPackage(bytes, blob, { path, filename: basename(file.path), question, file })
    isKept = 'read' in answer && answer.read.refused === undefined
    return answer
  } finally {
    if (!isKept) rmSync(path, { force: true })
  }
}

/** Copies, digests and reads files of a tree, in a thread of its own; an answer for each, in their order. */
export async function answerFiles(question: FilesQuestion): Promise<readonly FileAnswer[]> {
  const answers: FileAnswer[] = []
  for (const [n, file] of question.files.entries())
    try {
      answers.push(await readOne(question, file, n))
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException
      answers.push({ error: String(message), ...(typeof code === 'string' ? { code } : {}) })
    }
  return answers
}
