import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import type { RelPath } from '../../core/identity.ts'
import type { FetchPath, UpstreamReader } from '../../formats/upstream.ts'
import { readEntries, type ReadAnswer, type ReadQuestion } from './read-entries.ts'

/** What the thread asks and tells. The network is not its own: it asks for files, a piece at a time. */
export type FromThread =
  | { readonly kind: 'began' }
  | { readonly kind: 'fetch'; readonly call: number; readonly path: RelPath; readonly maxBytes: number }
  | { readonly kind: 'next' | 'leave'; readonly call: number }
  | { readonly kind: 'told'; readonly entries: number }
  | { readonly kind: 'done'; readonly answer: ReadAnswer }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly facts: Readonly<Record<string, unknown>> }
  | { readonly kind: 'broke'; readonly message: string }

/** What it is answered: of a file that it is there or not, then its bytes; no bytes: its end. */
export interface ToThread {
  readonly call: number
  readonly isThere?: boolean
  readonly bytes?: Uint8Array<ArrayBuffer>
  /** The caller knows why. */
  readonly failed?: true
}

function createAsking(port: MessagePort): FetchPath {
  const waiting = new Map<number, (answer: ToThread) => void>()
  port.on('message', (answer: ToThread) => {
    const tell = waiting.get(answer.call)
    waiting.delete(answer.call)
    tell?.(answer)
  })
  const ask = async (message: Extract<FromThread, { readonly call: number }>): Promise<ToThread> => {
    const answer = await new Promise<ToThread>(resolve => {
      waiting.set(message.call, resolve)
      port.postMessage(message)
    })
    if (answer.failed === true) throw new Error('the file could not be fetched')
    return answer
  }
  let calls = 0
  async function* piecesOf(call: number): AsyncGenerator<Buffer> {
    let isRead = false
    try {
      // asked for ahead, so that it comes while the one before is read
      let next = ask({ kind: 'next', call })
      next.catch(() => undefined) // thrown below
      for (;;) {
        const { bytes } = await next
        if (bytes === undefined) break
        next = ask({ kind: 'next', call })
        next.catch(() => undefined)
        yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      }
      isRead = true
    } finally {
      if (!isRead) port.postMessage({ kind: 'leave', call } satisfies FromThread)
    }
  }
  return async (path, { maxBytes }) => {
    const call = calls++
    const { isThere } = await ask({ kind: 'fetch', call, path, maxBytes })
    return isThere === true ? piecesOf(call) : undefined
  }
}

/** The program of a thread that reads one source. @param readerOf  of a format */
export async function answerRead(readerOf: (format: ReadQuestion['format']) => UpstreamReader): Promise<void> {
  const port = parentPort
  if (port === null) throw new Error('this runs in a thread')
  const question = workerData as ReadQuestion
  const tell = (message: FromThread): void => port.postMessage(message)
  tell({ kind: 'began' })
  try {
    const answer = await readEntries(readerOf(question.format), question, {
      fetch: createAsking(port),
      told: entries => tell({ kind: 'told', entries }),
    })
    tell({ kind: 'done', answer })
  } catch (error) {
    if (error instanceof AppError) tell({ kind: 'refused', code: error.code, facts: error.facts })
    else tell({ kind: 'broke', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  } finally {
    port.close()
  }
}
