import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { FormatId } from '../../core/identity.ts'
import type { DocumentKey } from '../../formats/documents.ts'

/** A document to check: its kind within a format, and the file that holds it. */
export interface DocumentQuestion {
  readonly format: FormatId
  readonly kind: string
  readonly path: string
  readonly key: DocumentKey
}

/** How many entries it holds, or why clients would fail on it. */
export type DocumentAnswer = { readonly entries: number } | { readonly why: string }

/** Checks a document. @throws only for faults of ours */
export type CheckDocument = (question: DocumentQuestion) => Promise<DocumentAnswer>

export interface CheckLimits {
  readonly memoryMb: number
  /** Of the processor: how long that takes by the clock is the machine's affair. */
  readonly cpuSeconds: number
}

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'cli', 'document-worker.ts')
  : join(import.meta.dirname, 'document-worker.mjs')
/** All components of Debian's main, 40 MB, need about a third of each. */
const LIMITS: CheckLimits = { memoryMb: 768, cpuSeconds: 180 }
/** How often the processor time of a thread is read. */
const LOOK_MS = 500

/** Seconds of the processor that a thread has used; 0 for one that has ended. */
async function cpuOf(thread: Worker): Promise<number> {
  const { user, system } = await thread.cpuUsage().catch(() => ({ user: 0, system: 0 }))
  return (user + system) / 1e6
}

/**
 * Checks each document in a thread of its own, which ends at a limit of memory and of processor time: a short document
 * can be written so that its parser needs hours, or gigabytes. The clock is no limit: a busy machine must not refuse
 * what a quiet one takes.
 */
export function createDocumentCheck({ memoryMb, cpuSeconds }: CheckLimits = LIMITS): CheckDocument {
  return question =>
    new Promise((resolve, reject) => {
      const thread = new Worker(PROGRAM, {
        workerData: question,
        resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32 },
      })
      const looking = setInterval(() => {
        void cpuOf(thread).then(used => {
          if (used <= cpuSeconds) return
          resolve({ why: `reading it takes more than ${cpuSeconds} s of processor time, the most a document may take` })
          void thread.terminate()
        })
      }, LOOK_MS).unref()
      thread.unref()
      thread.once('message', resolve)
      thread.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
          resolve({ why: `reading it needs more than ${memoryMb} MB of memory, the most a document may need` })
        else reject(error)
      })
      thread.once('exit', code => {
        clearInterval(looking)
        reject(new Error(`the thread ended with ${code} before it had answered`))
      })
    })
}
