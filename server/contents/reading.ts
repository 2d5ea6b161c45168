import { join } from 'node:path'
import type { FormatId } from '../core/identity.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { CopiedPart, Copies, Unpacked } from '../files/unpacked.ts'
import { getFormat } from '../formats/index.ts'
import { createLanes, type Lane } from '../lib/lanes.ts'
import { createLimitedThreads, ThreadLimit, type ThreadLimits } from '../lib/limited-threads.ts'
import type { Contents } from './component.ts'
import { LIMITS } from './limits.ts'
import { readContents } from './read.ts'

/** A package to read: its file, and what reading it before has unpacked. */
export interface Read {
  readonly format: FormatId
  readonly file: SpooledFile
  readonly unpacked?: Pick<Unpacked, 'copies' | 'read'> | undefined
}

/** A file as it crosses threads, where functions cannot. */
export type SentFile = Pick<SpooledFile, 'path' | 'filename' | 'blob'> & {
  readonly bytes?: Uint8Array
  readonly beside?: readonly SentFile[]
}

/** What the thread is asked. */
export interface ReadQuestion {
  readonly format: FormatId
  readonly file: SentFile
  readonly copies: readonly CopiedPart[]
  readonly incoming: string
  readonly limits: typeof LIMITS
  /** As in `Tries`. */
  readonly skip: ReadonlyMap<number, string>
  readonly end: number | undefined
  /** Written by the thread: how many steps it has taken, and the number of the file that it reads. */
  readonly progress: Int32Array
}

/** What the thread answers: errors lose their code on the way. */
export type ReadAnswer = { readonly contents: Contents } | { readonly message: string; readonly code?: string }

/** Reads a package in a thread. @throws the signal's reason; faults of ours or of the machine */
export type ReadPackage = (what: Read, signal: AbortSignal) => Promise<Contents>

export interface ReadingDeps {
  /** Where files that are too large for memory are held while they are read. */
  readonly incoming: string
  /** Processor time for one package: the setting `validation.contents_cpu_seconds`. */
  readonly cpuSeconds: () => number
  /** Of one file: a reader that takes more without a step forward is given up. */
  readonly threadLimits?: ThreadLimits
  /** The program of the threads. */
  readonly program?: string
}

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', 'cli', 'contents-worker.ts')
  : join(import.meta.dirname, 'contents-worker.mjs')
/** A lock file of 32 MB needs half of that memory, the slowest reader a second for one file. */
const THREAD_LIMITS: ThreadLimits = { memoryMb: 512, cpuSeconds: 20 }
const IDLE_MS = 5_000
/** Small packages do not wait behind large ones. */
const LANES: readonly Lane[] = [
  { upToBytes: 2 ** 20, atOnce: 2, mostWaiting: Infinity },
  { upToBytes: Infinity, atOnce: 2, mostWaiting: Infinity },
]
/**
 * To start a thread costs a hundred times what the usual small package takes, so that is read by the thread that asks,
 * as far as it unpacks to no more than this.
 */
const SMALL_BYTES = 64 * 2 ** 10
const SMALL = { ...LIMITS, inflatedBytes: SMALL_BYTES, readBytes: 2 ** 20, files: 1_000, cpuSeconds: 0.25 }
const NO_COPIES: Copies = { parts: [], bytes: undefined }
/** So many files of a package may break their reader; reading ends at the next. */
const MOST_BROKEN = 3

// a view is sent with the whole of the memory that it looks at
const sent = ({ path, filename, blob, bytes, beside }: SpooledFile): SentFile => ({
  path,
  filename,
  blob,
  ...(bytes === undefined ? {} : { bytes: new Uint8Array(bytes) }),
  ...(beside === undefined ? {} : { beside: beside.map(sent) }),
})

/** Why a file was given up, in one sentence. */
function whyBroken(error: unknown, { memoryMb, cpuSeconds }: ThreadLimits): string {
  if (!(error instanceof ThreadLimit))
    return `Its reader broke: ${(error instanceof Error ? error.message : String(error)).slice(0, 200)}.`
  return error.limit === 'memoryMb'
    ? `To read it takes more than ${memoryMb} MB of memory.`
    : `To read it takes more than ${cpuSeconds} s of processor time.`
}

/** The files that broke earlier tries. */
function createBroken() {
  const skip = new Map<number, string>()
  let end: number | undefined
  return {
    next: () => ({ skip, end }),
    add(n: number, why: string): void {
      // what lies in a file that is skipped now is not counted any more
      for (const later of [...skip.keys()]) if (later > n) skip.delete(later)
      if (skip.size < MOST_BROKEN) skip.set(n, why)
      else end = n
    },
  }
}

function contentsOf(answer: ReadAnswer): Contents {
  if ('contents' in answer) return answer.contents
  const { message, code } = answer
  throw Object.assign(new Error(message), code === undefined ? {} : { code })
}

/** Reads a package in the thread that asks, where little is in it; undefined: it is to be read in one of its own. */
export async function readSmall(
  { format, file, unpacked }: Read,
  where: { readonly incoming: string; readonly signal: AbortSignal },
): Promise<Contents | undefined> {
  const copies = unpacked?.copies() ?? NO_COPIES
  if (Math.max(file.blob.size, copies.bytes ?? Infinity) > SMALL_BYTES) return undefined
  const here = await readContents({ format: getFormat(format), file, unpacked }, { ...where, limits: SMALL })
  return here.cut === undefined ? here : undefined
}

/**
 * Reads packages in threads of their own: requests go on meanwhile. A file that makes its reader hang, break or take
 * all memory ends that thread alone, and the package is read again without it.
 */
export function createReading({
  incoming,
  cpuSeconds,
  threadLimits = THREAD_LIMITS,
  program = PROGRAM,
}: ReadingDeps): ReadPackage {
  const threads = createLimitedThreads<ReadQuestion, ReadAnswer>({ program, limits: threadLimits, idleMs: IDLE_MS })
  const lanes = createLanes(LANES, () => {
    throw new Error('more packages wait to be read than a queue without an end holds')
  })

  async function readInThread({ format, file }: Read, copies: Copies, signal: AbortSignal): Promise<Contents> {
    const broken = createBroken()
    const asked = {
      format,
      file: sent(file),
      copies: copies.parts,
      incoming,
      limits: { ...LIMITS, cpuSeconds: cpuSeconds() },
    }
    for (let tries = 0; ; tries++) {
      const progress = new Int32Array(new SharedArrayBuffer(8))
      try {
        return contentsOf(
          await threads.run(
            { ...asked, ...broken.next(), progress },
            { signal, progress: () => Atomics.load(progress, 0) },
          ),
        )
      } catch (error) {
        signal.throwIfAborted()
        const n = Atomics.load(progress, 1)
        const why = whyBroken(error, threadLimits)
        if (n > 0 && tries < 2 * MOST_BROKEN) broken.add(n, why)
        else if (error instanceof ThreadLimit) return { components: [], unopened: [], cut: `The package: ${why}` }
        else throw error
      }
    }
  }
  return async (what, signal) => {
    const here = await readSmall(what, { incoming, signal })
    if (here !== undefined) return here
    const copies = what.unpacked?.copies() ?? NO_COPIES
    return lanes.run({ sizeBytes: what.file.blob.size, signal }, () => readInThread(what, copies, signal))
  }
}
