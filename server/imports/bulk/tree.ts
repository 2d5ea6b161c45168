import { randomBytes } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, join } from 'node:path'
import { AppError, isRefusal } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Layout } from '../../files/layout.ts'
import type { Room } from '../../files/room.ts'
import type { SpooledFile, Spool } from '../../files/spool.ts'
import { getFormat } from '../../formats/index.ts'
import { createLimitedThreads, type ThreadLimits } from '../../lib/limited-threads.ts'
import { Malformed } from '../../lib/limited.ts'
import { openInside, type NotInside } from '../../lib/open-inside.ts'
import type { Applicant } from '../../pipeline/gate.ts'
import {
  differenceTo,
  otherControl,
  type FileAnswer,
  type FilesQuestion,
  type ReadFile,
  type TreeFile,
} from './read-files.ts'

/** A file of a tree, copied into `incoming/`; or why it was not, in a sentence without its path. */
export type Arrival =
  { readonly file: SpooledFile; readonly read: Applicant['read'] } | { readonly failed: string; readonly code?: string }

/** Where files of one tree are read. */
export interface Tree {
  /** Its real path. */
  readonly root: string
  readonly format: FormatId
  /** The largest file that is taken. */
  readonly limitBytes: number
}

/** Brings files of trees on this machine into `incoming/`, read as far as a thread beside this one can. */
export interface TreeReader {
  /**
   * An arrival for each, in their order; whoever gets them discards their files.
   * @throws uploads_stopped, storage_full, the signal's reason, errors of the disk; then nothing is left
   */
  read(tree: Tree, files: readonly TreeFile[], signal: AbortSignal): Promise<readonly Arrival[]>
}

export interface TreeReaderDeps {
  readonly layout: Pick<Layout, 'incoming'>
  readonly spool: Pick<Spool, 'receive'>
  readonly room: Room
  /** Of several processes on one root, this one: as for the spool. */
  readonly instance?: string
  readonly program?: string
}

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'cli', 'bulk-worker.ts')
  : join(import.meta.dirname, 'bulk-worker.mjs')
/** Small packages: what takes more of either is left to the way of an upload. */
const LIMITS: ThreadLimits = { memoryMb: 512, cpuSeconds: 60 }
/** What was read of a package is garbage once it is sent. */
const YOUNG_MB = 48
const IDLE_MS = 10_000
/** Files in one question to a thread. */
const IN_QUESTION = 64
/** One core is left for the gate; each further thread loads and compiles its program again. */
const THREADS = Math.max(1, Math.min(4, availableParallelism() - 1))
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

const SAID: Record<NotInside, string> = {
  missing: 'it is not there',
  outside: 'its path leads out of the tree',
  link: 'a symbolic link leads to it: only files that lie in the tree themselves are taken',
  special: 'it is no regular file',
  unreadable: 'the service may not read it',
}

/** Why it is not what its index says; undefined where it is. */
async function differenceOf(
  format: FormatId,
  file: TreeFile,
  { path, blob }: SpooledFile,
): Promise<string | undefined> {
  const why = differenceTo(file, blob)
  if (why !== undefined) return why
  try {
    return await otherControl(getFormat(format), file, path)
  } catch (error) {
    if (error instanceof Malformed) return error.why
    throw error
  }
}

/** Makes the reader. Its threads start at the first use and end a while after the last. */
export function createTreeReader({ layout, spool, room, instance, program = PROGRAM }: TreeReaderDeps): TreeReader {
  const { incoming } = layout
  const threads = createLimitedThreads<FilesQuestion, readonly FileAnswer[]>({
    program,
    limits: LIMITS,
    youngMb: YOUNG_MB,
    idleMs: IDLE_MS,
  })

  /** The way of an upload: as a stream, and read in the gate. */
  async function receive({ root, format, limitBytes }: Tree, file: TreeFile, signal: AbortSignal): Promise<Arrival> {
    const open = openInside(root, file.path)
    if (typeof open === 'string') return { failed: SAID[open] }
    const stream = createReadStream('', { fd: open.fd })
    try {
      const received = await spool.receive(stream as AsyncIterable<Buffer>, {
        filename: basename(file.path),
        limitBytes,
        signal,
      })
      const why = await differenceOf(format, file, received)
      if (why === undefined) return { file: received, read: {} }
      await received.discard()
      return { failed: why, code: 'digest_mismatch' }
    } catch (error) {
      if (isRefusal(error, 'upload_too_large')) return { failed: error.message, code: error.code }
      throw error
    } finally {
      stream.destroy()
    }
  }

  function spooled({ path, blob, head, inspection, contents }: ReadFile, filename: string): Arrival {
    const discard = async (): Promise<void> => {
      // mostly it was moved into the pool
      if (existsSync(path)) await rm(path, { force: true })
    }
    return {
      file: { path, filename, blob, head, discard },
      read: {
        ...(inspection === undefined ? {} : { inspection }),
        ...(contents === undefined ? {} : { contents }),
      },
    }
  }

  async function arrivalOf(
    tree: Tree,
    { file, answer }: { readonly file: TreeFile; readonly answer: FileAnswer },
    signal: AbortSignal,
  ): Promise<Arrival> {
    if ('not' in answer) return { failed: SAID[answer.not] }
    if ('differs' in answer) return { failed: answer.differs, code: 'digest_mismatch' }
    if ('large' in answer) return receive(tree, file, signal)
    if ('error' in answer) {
      if (NO_ROOM.has(answer.code ?? '')) throw new AppError('storage_full', {})
      throw Object.assign(new Error(answer.error), answer.code === undefined ? {} : { code: answer.code })
    }
    const { refused } = answer.read
    if (refused === undefined) return spooled(answer.read, basename(file.path))
    const { message } = new AppError(refused.code, refused.facts)
    return { failed: message, code: refused.code }
  }

  /** Asks a thread. What it cannot finish takes the way of an upload, which has limits for each file. */
  async function ask(tree: Tree, files: readonly TreeFile[], signal: AbortSignal): Promise<readonly FileAnswer[]> {
    const mark = `${instance === undefined ? '' : `${instance}.`}${randomBytes(6).toString('hex')}`
    const { root, format } = tree
    try {
      return await threads.run({ root, files, format, incoming, mark }, { signal })
    } catch {
      for (const name of await readdir(incoming))
        if (name.startsWith(mark)) await rm(join(incoming, name), { force: true })
      signal.throwIfAborted()
      return files.map(() => ({ large: true }))
    }
  }

  return {
    async read(tree, files, signal) {
      await room.need()
      const arrivals: Arrival[] = []
      const starts = Array.from({ length: Math.ceil(files.length / IN_QUESTION) }, (_, n) => n * IN_QUESTION).values()
      const failures: unknown[] = []
      await Promise.all(
        Array.from({ length: THREADS }, async () => {
          for (const start of starts) {
            if (failures.length > 0) return
            const some = files.slice(start, start + IN_QUESTION)
            const answers = await ask(tree, some, signal).catch((error: unknown) => {
              failures.push(error)
              return []
            })
            // all of them, also after a failure: they have copies that are removed below
            for (const [n, answer] of answers.entries())
              try {
                arrivals[start + n] = await arrivalOf(tree, { file: some[n] as TreeFile, answer }, signal)
              } catch (error) {
                failures.push(error)
              }
          }
        }),
      )
      if (failures.length === 0) return arrivals
      await discardAll(arrivals)
      throw failures[0]
    },
  }
}

/** Removes the copies of what is not taken. */
export async function discardAll(arrivals: readonly (Arrival | undefined)[]): Promise<void> {
  await Promise.all(arrivals.map(async one => one !== undefined && 'file' in one && one.file.discard()))
}
