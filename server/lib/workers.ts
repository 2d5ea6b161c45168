import { Worker } from 'node:worker_threads'

/** What a function in a thread is given: Node's `require`, since it runs outside any module. */
export type Require = NodeJS.Require
/**
 * Runs in the thread. Called once; returns the function that gets each message. `answer` may be called at most once a
 * job.
 */
export type ThreadBody<In, Out> = (require: Require) => (job: number, message: In, answer: (out: Out) => void) => void

/** Work for one thread: messages arrive in order, one answer comes back. */
export interface Job<In, Out> {
  send(message: In): void
  /** Rejects when the function threw or the thread died. */
  readonly answer: Promise<Out>
}

/** Threads that all run one function. They start at the first job and never keep the process alive. */
export interface Workers<In, Out> {
  job(): Job<In, Out>
  close(): Promise<void>
}

interface Waiting<Out> {
  readonly resolve: (out: Out) => void
  readonly reject: (error: Error) => void
}
interface Thread<Out> {
  readonly worker: Worker
  readonly waiting: Map<number, Waiting<Out>>
  idle?: NodeJS.Timeout
}
type Reply<Out> =
  { readonly job: number; readonly out: Out } | { readonly job: number; readonly error: string; readonly code?: string }

// the function travels as text, so a bundle needs no second entry; it may use nothing but its parameters
function sourceOf(body: { toString(): string }): string {
  return `const { parentPort } = require('node:worker_threads')
const handle = (${body.toString()})(require)
parentPort.on('message', ({ job, message }) => {
  try { handle(job, message, out => parentPort.postMessage({ job, out })) }
  catch (error) { parentPort.postMessage({ job, error: String(error && error.message || error), code: error && error.code }) }
})`
}

/** Several bodies in one thread: each message goes to the one of its `kind`. */
export function oneOf<In extends { readonly kind: string; readonly message: unknown }, Out>(bodies: {
  readonly [Kind in In['kind']]: ThreadBody<Extract<In, { readonly kind: Kind }>['message'], Out>
}): { toString(): string } {
  const each = Object.entries<{ toString(): string }>(bodies)
  const sources = each.map(([kind, body]) => `${JSON.stringify(kind)}: (${body.toString()})(require)`).join(', ')
  const source = `require => { const bodies = { ${sources} }
    return (job, { kind, message }, answer) => bodies[kind](job, message, answer) }`
  return { toString: () => source }
}

/**
 * Makes up to `size` threads that run `body`. A thread that dies fails its jobs; the next job starts a new one.
 * @param body  must be closed: the thread gets it as source text and sees only its parameters
 * @param idleMs  how long a thread without a job waits for one before it ends, with all it remembers; absent: for ever
 */
export function createWorkers<In, Out>({
  body,
  size,
  idleMs,
}: {
  readonly body: ThreadBody<In, Out> | ReturnType<typeof oneOf>
  readonly size: number
  readonly idleMs?: number
}): Workers<In, Out> {
  const threads = new Set<Thread<Out>>()
  let next = 0

  function rest(thread: Thread<Out>): void {
    const { worker } = thread
    worker.unref()
    if (idleMs === undefined) return
    const end = (): void => {
      threads.delete(thread)
      void worker.terminate()
    }
    // of one job a second reply comes, too: what is sent behind a fault fails again
    clearTimeout(thread.idle)
    thread.idle = setTimeout(end, idleMs).unref()
  }

  function start(): Thread<Out> {
    const worker = new Worker(sourceOf(body), { eval: true })
    const thread: Thread<Out> = { worker, waiting: new Map() }
    const lose = (why: string): void => {
      threads.delete(thread)
      for (const { reject } of thread.waiting.values()) reject(new Error(why))
      thread.waiting.clear()
    }
    worker.on('message', (reply: Reply<Out>) => {
      const waiting = thread.waiting.get(reply.job)
      thread.waiting.delete(reply.job)
      if (thread.waiting.size === 0) rest(thread)
      // with its code, so that the caller recognises a full disk
      if ('error' in reply)
        waiting?.reject(Object.assign(new Error(reply.error), reply.code === undefined ? {} : { code: reply.code }))
      else waiting?.resolve(reply.out)
    })
    worker.on('error', error => lose(error.message))
    worker.on('exit', code => lose(`the thread ended with ${code}`))
    worker.unref()
    threads.add(thread)
    return thread
  }

  function leastBusy(): Thread<Out> {
    const idlest = [...threads].sort((a, b) => a.waiting.size - b.waiting.size)[0]
    return idlest !== undefined && (idlest.waiting.size === 0 || threads.size >= size) ? idlest : start()
  }

  return {
    job() {
      const { worker, waiting, idle } = leastBusy()
      clearTimeout(idle)
      const job = next++
      const answer = new Promise<Out>((resolve, reject) => waiting.set(job, { resolve, reject }))
      answer.catch(() => undefined) // a job may be aborted before its answer is awaited
      worker.ref()
      return { answer, send: message => worker.postMessage({ job, message }) }
    },
    close: async () => {
      for (const { idle } of threads) clearTimeout(idle)
      await Promise.all([...threads].map(({ worker }) => worker.terminate()))
    },
  }
}
