import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Packed } from './packed.ts'
import { Malformed } from './limited.ts'

/*
 * Decoders give their output in small buffers that do not belong to V8, which collects the whole heap again and again
 * for them: for a package of 62 MB 123 collections of a daemon's 38 MB, 5 of the 17 s it took. In a thread of their own
 * they burden a heap of 6 MB, and requests go on meanwhile.
 */
/** Jobs for the thread. Bytes come from `place`, or by messages. */
export type ToThread =
  | { readonly job: number; readonly kind: 'open'; readonly packed: Omit<Packed, 'chunks'> }
  | { readonly job: number; readonly kind: 'input'; readonly bytes: Uint8Array }
  | { readonly job: number; readonly kind: 'input-end' | 'taken' | 'close' }

/** What the thread answers. `closed` is the last message of every job. */
export type FromThread =
  | { readonly job: number; readonly kind: 'output'; readonly bytes: ArrayBuffer }
  | { readonly job: number; readonly kind: 'failed'; readonly why?: string; readonly message: string }
  | { readonly job: number; readonly kind: 'wanted' | 'end' | 'closed' }

/** Buffers under way in each direction of a job. */
export const AHEAD = 4
const IDLE_MS = 5_000

// beside the bundle's main program; in the sources below cli/
const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', 'cli', 'unpack-worker.ts')
  : join(import.meta.dirname, 'unpack-worker.mjs')

interface Thread {
  readonly worker: Worker
  readonly jobs: Map<number, (message: FromThread) => void>
  idle: NodeJS.Timeout | undefined
}

let running: Thread | undefined
let jobs = 0

function start(): Thread {
  const worker = new Worker(PROGRAM, { resourceLimits: { maxYoungGenerationSizeMb: 8 } })
  const thread: Thread = { worker, jobs: new Map(), idle: undefined }
  const lose = (message: string): void => {
    if (running === thread) running = undefined
    for (const [job, tell] of thread.jobs) {
      tell({ job, kind: 'failed', message })
      tell({ job, kind: 'closed' })
    }
  }
  worker.on('message', (message: FromThread) => thread.jobs.get(message.job)?.(message))
  worker.on('error', error => lose(error instanceof Error ? error.message : String(error)))
  worker.on('exit', code => lose(`the thread that unpacks ended with ${code}`))
  return thread
}

/** Joins the thread, which starts at the first job and ends a while after the last. */
function enter(job: number, tell: (message: FromThread) => void): Thread {
  const thread = (running ??= start())
  clearTimeout(thread.idle)
  thread.worker.ref()
  thread.jobs.set(job, tell)
  return thread
}

function leave(thread: Thread, job: number): void {
  thread.jobs.delete(job)
  if (thread.jobs.size > 0) return
  thread.worker.unref()
  thread.idle = setTimeout(() => {
    if (running === thread) running = undefined
    void thread.worker.terminate()
  }, IDLE_MS).unref()
}

/** Gives the thread input when it wants some; keeps the error of the source for the reader. */
function createPump({ chunks }: Packed, send: (bytes: Uint8Array | undefined) => void) {
  const source = chunks()
  const failed: { by?: unknown } = {}
  let work: Promise<void> = Promise.resolve()
  return {
    failed,
    wanted(): void {
      work = work.then(async () => {
        try {
          const { done, value } = await source.next()
          send(done === true ? undefined : value)
        } catch (error) {
          failed.by ??= error
          send(undefined)
        }
      })
    },
    async close(): Promise<void> {
      await work
      await source.return(undefined)
    },
  }
}

/**
 * Unpacks in another thread, at most a few buffers ahead of the reader. Whatever happens, nothing of it is open when
 * the reader is done.
 * @throws as `unpackStream` does
 */
export async function* unpackInThread(packed: Packed): AsyncGenerator<Buffer> {
  const job = jobs++
  const messages: FromThread[] = []
  const closed = Promise.withResolvers<undefined>()
  let wake: (() => void) | undefined
  const thread = enter(job, message => {
    if (message.kind === 'wanted') return pump.wanted()
    if (message.kind === 'closed') return closed.resolve(undefined)
    messages.push(message)
    wake?.()
  })
  const send = (message: ToThread): void => thread.worker.postMessage(message)
  const pump = createPump(packed, bytes => send(bytes ? { job, kind: 'input', bytes } : { job, kind: 'input-end' }))
  const { what, compression, size, place } = packed
  send({ job, kind: 'open', packed: { what, compression, size, ...(place === undefined ? {} : { place }) } })
  try {
    for (;;) {
      const message = messages.shift()
      if (message === undefined) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      } else if (message.kind === 'output') {
        yield Buffer.from(message.bytes)
        send({ job, kind: 'taken' })
      } else if (pump.failed.by !== undefined) throw pump.failed.by
      else if (message.kind !== 'failed') return
      else throw message.why === undefined ? new Error(message.message) : new Malformed(message.why)
    }
  } finally {
    send({ job, kind: 'close' })
    await closed.promise
    await pump.close()
    leave(thread, job)
  }
}
