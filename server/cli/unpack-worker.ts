import { parentPort } from 'node:worker_threads'
import { unpackStream } from '../lib/decompress.ts'
import { openWindow } from '../lib/file-window.ts'
import { Malformed } from '../lib/limited.ts'
import { AHEAD, type FromThread, type ToThread } from '../lib/unpack-thread.ts'

/**
 * The thread that decodes what is large. It is a separate program because it needs the decoders' modules, and functions
 * cannot be passed to a thread.
 */
const OUT = 256 * 1024

interface Job {
  readonly input: (Uint8Array | undefined)[]
  /** Buffers that the reader has not taken yet. */
  ahead: number
  isClosed: boolean
  wake: (() => void) | undefined
}

const jobs = new Map<number, Job>()
const tell = (message: FromThread, transfer: readonly ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, transfer)

/** Resolves when a message for this job has come: both who waits for input and who waits for the reader are told. */
const change = (job: Job): Promise<void> =>
  new Promise(resolve => {
    const others = job.wake
    job.wake = () => {
      others?.()
      resolve()
    }
  })

/** The bytes to decode, as the other thread sends them. */
async function* received(id: number, job: Job): AsyncGenerator<Buffer> {
  for (let i = 0; i < AHEAD; i++) tell({ job: id, kind: 'wanted' })
  while (!job.isClosed) {
    if (job.input.length === 0) await change(job)
    else {
      const bytes = job.input.shift()
      if (bytes === undefined) return
      yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      tell({ job: id, kind: 'wanted' })
    }
  }
}

async function* stored(
  place: { readonly path: string; readonly offset: number },
  size: number,
): AsyncGenerator<Buffer> {
  const window = await openWindow(place)
  try {
    yield* window.stream(place.offset, size)
  } finally {
    await window.close()
  }
}

/** Joins the decoder's small buffers to larger ones that belong to V8, and gives them away. */
async function decode(id: number, job: Job, packed: Extract<ToThread, { kind: 'open' }>['packed']): Promise<void> {
  const { place, size } = packed
  const chunks = (): AsyncGenerator<Buffer> => (place === undefined ? received(id, job) : stored(place, size))
  let out = Buffer.from(new ArrayBuffer(OUT))
  let filled = 0
  const give = async (): Promise<void> => {
    const bytes = filled === OUT ? out.buffer : out.buffer.slice(0, filled)
    job.ahead += 1
    tell({ job: id, kind: 'output', bytes }, [bytes])
    out = Buffer.from(new ArrayBuffer(OUT))
    filled = 0
    while (job.ahead >= AHEAD && !job.isClosed) await change(job)
  }
  for await (const chunk of unpackStream({ ...packed, chunks })) {
    for (let at = 0; at < chunk.length && !job.isClosed;) {
      const copied = chunk.copy(out, filled, at)
      at += copied
      filled += copied
      if (filled === OUT) await give()
    }
    if (job.isClosed) return
  }
  if (filled > 0) await give()
}

async function run(id: number, job: Job, packed: Extract<ToThread, { kind: 'open' }>['packed']): Promise<void> {
  try {
    await decode(id, job, packed)
    tell({ job: id, kind: 'end' })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    tell({ job: id, kind: 'failed', message, ...(error instanceof Malformed ? { why: error.why } : {}) })
  }
  while (!job.isClosed) await change(job)
  jobs.delete(id)
  tell({ job: id, kind: 'closed' })
}

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'open') {
    const job: Job = { input: [], ahead: 0, isClosed: false, wake: undefined }
    jobs.set(message.job, job)
    void run(message.job, job, message.packed)
    return
  }
  const job = jobs.get(message.job)
  if (job === undefined) return
  if (message.kind === 'input') job.input.push(message.bytes)
  else if (message.kind === 'input-end') job.input.push(undefined)
  else if (message.kind === 'taken') job.ahead -= 1
  else job.isClosed = true
  const { wake } = job
  job.wake = undefined
  wake?.()
})
