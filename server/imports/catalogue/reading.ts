import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError } from '../../core/errors.ts'
import { beginning } from '../../lib/beginning.ts'
import type { FetchPath } from '../../formats/upstream.ts'
import type { ReadAnswer, ReadQuestion } from './read-entries.ts'
import type { FromThread, ToThread } from './read-thread.ts'

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'cli', 'catalogue-worker.ts')
  : join(import.meta.dirname, 'catalogue-worker.mjs')

/** Of its heap: the digests of a million entries, and the largest element of an index. */
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 }
/** Small pieces are sent together: each message costs as much as reading some kilobytes. */
const PIECE = 128 * 1024

export interface ReadOptions {
  readonly fetch: FetchPath
  readonly signal: AbortSignal
  readonly told: (entries: number) => void
}

/** The next bytes of a file, at least PIECE of them unless it ends. */
async function nextPiece(file: AsyncIterator<Buffer>): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Buffer[] = []
  let length = 0
  while (length < PIECE) {
    const { done, value } = await file.next()
    if (done === true) break
    parts.push(value)
    length += value.length
  }
  if (length === 0) return undefined
  // not Buffer.concat, whose memory may be shared with others: what is sent is gone here
  const piece = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    piece.set(part, at)
    at += part.length
  }
  return piece
}

/** Gives the thread the files that it asks for. */
function createServing(worker: Worker, fetch: FetchPath) {
  const files = new Map<number, AsyncIterator<Buffer>>()
  let failure: { readonly error: unknown } | undefined
  async function answerTo(message: Extract<FromThread, { readonly call: number }>): Promise<ToThread | undefined> {
    const { kind, call } = message
    if (kind === 'fetch') {
      const found = await fetch(message.path, message)
      if (found !== undefined) files.set(call, found[Symbol.asyncIterator]())
      return { call, isThere: found !== undefined }
    }
    if (kind === 'leave') {
      await files.get(call)?.return?.()
      files.delete(call)
      return undefined
    }
    const file = files.get(call)
    const bytes = file && (await nextPiece(file))
    return bytes === undefined ? { call } : { call, bytes }
  }
  return {
    failure: () => failure,
    serve: (message: Extract<FromThread, { readonly call: number }>): void =>
      void answerTo(message)
        .catch((error: unknown): ToThread => {
          failure ??= { error }
          return { call: message.call, failed: true }
        })
        .then(answer => {
          if (answer !== undefined) worker.postMessage(answer, answer.bytes === undefined ? [] : [answer.bytes.buffer])
        }),
    /** A file that is being waited for ends by itself: nobody waits for that. */
    close: (): void => {
      for (const file of files.values()) void Promise.resolve(file.return?.()).catch(() => undefined)
    },
  }
}

/**
 * Reads a source in a thread of its own: requests go on meanwhile, and its memory goes with it.
 * @throws upstream_refused; what `fetch` throws; the reason of `signal`
 */
export async function readInThread(question: ReadQuestion, { fetch, signal, told }: ReadOptions): Promise<ReadAnswer> {
  signal.throwIfAborted()
  const worker = new Worker(PROGRAM, { workerData: question, resourceLimits: LIMITS })
  const serving = createServing(worker, fetch)
  const ended = new AbortController()
  const began = beginning(worker)
  try {
    return await new Promise<ReadAnswer>((resolve, reject) => {
      const lose = (error: unknown): void => reject((serving.failure()?.error ?? error) as Error)
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true, signal: ended.signal })
      worker.on('message', (message: FromThread) => {
        if (message.kind === 'began') return
        if (message.kind === 'told') told(message.entries)
        else if (message.kind === 'done') resolve(message.answer)
        else if (message.kind === 'refused') lose(new AppError(message.code, message.facts as never))
        else if (message.kind === 'broke') lose(new Error(message.message))
        else serving.serve(message)
      })
      worker.on('error', lose)
      worker.on('exit', code => lose(new Error(`the thread ended with ${code} before it had read the source`)))
    })
  } finally {
    ended.abort()
    await began
    await worker.terminate()
    serving.close()
  }
}
