import { join } from 'node:path'
import type { FormatId } from '../../core/identity.ts'
import type { DocumentKey } from '../../formats/documents.ts'
import { createLimitedThreads, ThreadLimit, type ThreadLimits } from '../../lib/limited-threads.ts'

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

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'cli', 'document-worker.ts')
  : join(import.meta.dirname, 'document-worker.mjs')
/** All components of Debian's main, 40 MB, need about a third of each. */
const LIMITS: ThreadLimits = { memoryMb: 768, cpuSeconds: 180 }

/**
 * Checks each document in a thread of its own, which ends at a limit of memory and of processor time: a short document
 * can be written so that its parser needs hours, or gigabytes. The clock is no limit: a busy machine must not refuse
 * what a quiet one takes.
 */
export function createDocumentCheck(limits = LIMITS): CheckDocument {
  const threads = createLimitedThreads<DocumentQuestion, DocumentAnswer>({ program: PROGRAM, limits, idleMs: 0 })
  const { memoryMb, cpuSeconds } = limits
  return async question => {
    try {
      return await threads.run(question)
    } catch (error) {
      if (!(error instanceof ThreadLimit)) throw error
      return error.limit === 'memoryMb'
        ? { why: `reading it needs more than ${memoryMb} MB of memory, the most a document may need` }
        : { why: `reading it takes more than ${cpuSeconds} s of processor time, the most a document may take` }
    }
  }
}
