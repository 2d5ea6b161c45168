import { parentPort, Worker } from 'node:worker_threads'

/** What a thread may use. */
export interface ThreadLimits {
  /** Of its heap. */
  readonly memoryMb: number
  /** Of the processor: how long that takes by the clock is the machine's affair. */
  readonly cpuSeconds: number
}

/** Work ended at a limit of its thread, which is gone. */
export class ThreadLimit extends Error {
  readonly limit: keyof ThreadLimits
  constructor(limit: keyof ThreadLimits) {
    super(limit === 'memoryMb' ? 'the thread needs more memory than it may' : 'the thread takes longer than it may')
    this.name = 'ThreadLimit'
    this.limit = limit
  }
}

export interface RunOptions {
  /** Ends the thread. */
  readonly signal?: AbortSignal
  /** Processor time counts from the last change of this number; without it from the beginning. */
  readonly progress?: () => number
  /** The thread ends with this job, and what it left in memory with it. */
  readonly isLast?: boolean
}

/** Threads that run one program, each one job at a time, under limits. */
export interface LimitedThreads<In, Out> {
  /**
   * Whatever happens, the job is no longer running when this settles.
   * @throws ThreadLimit; the signal's reason; what the program throws, as a plain error
   */
  run(job: In, options?: RunOptions): Promise<Out>
  /** Ends the threads that have no work. */
  close(): Promise<void>
}

export interface LimitedThreadsOptions {
  /** The path of the program; it calls `answerJobs`. */
  readonly program: string
  readonly limits: ThreadLimits
  /** Of the heap, for what is soon garbage: 8 MB by default. With more, less often is looked for it. */
  readonly youngMb?: number
  /** How long a thread without work waits for more; 0: each job gets a thread of its own. */
  readonly idleMs: number
}

/** How often the processor time of a thread is read. */
const LOOK_MS = 500
const YOUNG_MB = 8

/** What a thread says before it takes jobs. */
const BEGAN = 'began'

interface Thread {
  readonly worker: Worker
  began?: true
  idle?: NodeJS.Timeout
}

/** Seconds of the processor that a thread has used; 0 for one that has ended. */
async function cpuOf(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
  return (user + system) / 1e6
}

/** Calls `over` when the thread has used too much. @returns what ends the watch */
function watch(
  worker: Worker,
  { cpuSeconds, progress, over }: { cpuSeconds: number; progress: () => number; over: () => void },
): () => void {
  let from: { readonly step: number; readonly cpu: number } | undefined
  const timer = setInterval(() => {
    const step = progress()
    void cpuOf(worker).then(cpu => {
      // the first look comes half a second late, which spares short jobs the asking
      if (from?.step !== step) from = { step, cpu }
      else if (cpu - from.cpu > cpuSeconds) over()
    })
  }, LOOK_MS).unref()
  return () => clearInterval(timer)
}

function runOn<In, Out>(
  thread: Thread,
  job: In,
  { limits, signal, progress = () => 0 }: RunOptions & { readonly limits: ThreadLimits },
): Promise<Out> {
  const { worker } = thread
  return new Promise((resolve, reject) => {
    let failed: unknown
    const ended = new AbortController()
    const end = (): void => {
      ended.abort()
      unwatch()
      worker.removeAllListeners()
    }
    const kill = (error: unknown): void => {
      failed ??= error
      // otherwise when it has begun: see beginning.ts
      if (thread.began) void worker.terminate()
    }
    const unwatch = watch(worker, {
      cpuSeconds: limits.cpuSeconds,
      progress,
      over: () => kill(new ThreadLimit('cpuSeconds')),
    })
    signal?.addEventListener('abort', () => kill(signal.reason), { once: true, signal: ended.signal })
    worker.on('message', (out: Out | typeof BEGAN) => {
      if (out === BEGAN) {
        thread.began = true
        if (failed !== undefined) void worker.terminate()
        return
      }
      end()
      resolve(out)
    })
    worker.once('error', (error: NodeJS.ErrnoException) => {
      failed ??= error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new ThreadLimit('memoryMb') : error
    })
    worker.once('exit', code => {
      end()
      reject((failed ?? new Error(`the thread ended with ${code} before it had answered`)) as Error)
    })
    worker.postMessage(job)
  })
}

/** Makes threads as they are needed; how many jobs run at once is the caller's affair. */
export function createLimitedThreads<In, Out>({
  program,
  limits,
  youngMb = YOUNG_MB,
  idleMs,
}: LimitedThreadsOptions): LimitedThreads<In, Out> {
  const idle: Thread[] = []
  const start = (): Thread => ({
    worker: new Worker(program, {
      resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb, maxYoungGenerationSizeMb: youngMb },
    }),
  })
  const end = async (thread: Thread): Promise<void> => {
    clearTimeout(thread.idle)
    const at = idle.indexOf(thread)
    if (at >= 0) idle.splice(at, 1)
    await thread.worker.terminate()
  }
  const rest = (thread: Thread): void => {
    const { worker } = thread
    // one that dies while it has no work is not taken again
    const gone = (): void => void end(thread)
    worker.once('error', gone).once('exit', gone).unref()
    idle.push(thread)
    thread.idle = setTimeout(gone, idleMs).unref()
  }

  return {
    async run(job, options = {}) {
      options.signal?.throwIfAborted()
      const thread = idle.pop() ?? start()
      clearTimeout(thread.idle)
      thread.worker.removeAllListeners()
      thread.worker.ref()
      const out = await runOn<In, Out>(thread, job, { ...options, limits })
      if (idleMs > 0 && options.isLast !== true) rest(thread)
      else await end(thread)
      return out
    },
    async close() {
      await Promise.all(idle.map(end))
    },
  }
}

/** To be called by the program of a thread, once. What `answer` throws ends the thread. */
export function answerJobs<In, Out>(answer: (job: In) => Promise<Out>): void {
  parentPort?.postMessage(BEGAN)
  parentPort?.on('message', (job: In) => void answer(job).then(out => parentPort?.postMessage(out)))
}
