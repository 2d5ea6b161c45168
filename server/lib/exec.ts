import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { cpuOfGroup } from './process.ts'

/** How a tool is run. */
export interface RunOptions {
  /** The whole environment of the tool. It inherits nothing. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /**
   * How long it may compute, in processor time; it may stand still for half as long by the clock. So a busy machine
   * gives it as long as it takes. It is never ended earlier than this by the clock.
   */
  readonly deadlineMs: number
  /** More than this on standard output ends the run: cut output must not pass for complete. */
  readonly maxOutputBytes: number
  readonly signal?: AbortSignal
}

/** How a run ended by itself. `err` is the end of its standard error, for messages. */
export interface Ended {
  readonly code: number
  readonly out: Buffer
  readonly err: string
}

/** Why a run did not end by itself. */
export type Cut = 'not_started' | 'deadline' | 'too_much_output' | 'aborted' | 'killed'

/** The run was cut short or never began. Its output must not be used. */
export class ToolFailed extends Error {
  readonly cut: Cut
  constructor(cut: Cut, why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'ToolFailed'
    this.cut = cut
  }
}

/** Runs one program by its path. @throws ToolFailed */
export type Exec = (file: string, args: readonly string[], options: RunOptions) => Promise<Ended>

const KEPT_ERR = 4_000
/** A group that gets less of a processor than this stands still: no load takes that much from one that computes. */
const LEAST_SHARE = 0.005

/** Keeps the last bytes of a stream of any length. */
function tailOf(stream: Readable): () => string {
  let tail = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-KEPT_ERR)
  })
  return () => tail.toString('utf8').trim()
}

/** Ends the program and everything it started: it leads a process group of its own. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Calls `cut` when `ms` have passed by the clock and a process group has computed for longer than that, or has stood
 * still for the last half of it. @returns what ends the watch
 */
function watchCpu(group: number, ms: number, cut: (why: string) => void): () => void {
  const half = ms / 2
  let isOver = false
  let timer: NodeJS.Timeout
  const look = async (before?: number): Promise<void> => {
    const used = (await cpuOfGroup(group)) ?? before ?? 0
    if (isOver) return
    if (before !== undefined && (used - before) * 1000 < half * LEAST_SHARE)
      cut(`it stood still for ${Math.round(half / 1000)} s`)
    else if (before !== undefined && used * 1000 > ms) cut(`it computed for more than ${Math.round(ms / 1000)} s`)
    else timer = setTimeout(() => void look(used), half)
  }
  timer = setTimeout(() => void look(), half)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

/**
 * Runs a tool without a shell, in a process group of its own. The whole group has ended when this returns: at the
 * deadline, above the limit, when the signal is aborted, and when the tool ended and left children behind.
 */
export const runTool: Exec = (file, args, { env, cwd, deadlineMs, maxOutputBytes, signal }) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new ToolFailed('aborted', 'it was not started any more', signal.reason))
      return
    }
    const child = spawn(file, args, {
      env: { ...env },
      ...(cwd === undefined ? {} : { cwd }),
      detached: true,
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const chunks: Buffer[] = []
    let size = 0
    let failed: ToolFailed | undefined
    const errText = tailOf(child.stderr)

    const cut = (kind: Cut, why: string, cause?: unknown): void => {
      failed ??= new ToolFailed(kind, why, cause)
      killGroup(child.pid)
      // a child that left the group may hold the pipes open; a run that was cut short needs nothing more from them
      child.stdout.destroy()
      child.stderr.destroy()
    }
    const unwatch = child.pid === undefined ? undefined : watchCpu(child.pid, deadlineMs, why => cut('deadline', why))
    const abort = (): void => cut('aborted', 'it was not waited for any longer', signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })

    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxOutputBytes) cut('too_much_output', `it printed more than ${maxOutputBytes} bytes`)
      else chunks.push(chunk)
    })
    // children may outlive the tool and hold its pipes; ending them lets `close` come
    child.once('exit', () => killGroup(child.pid))
    child.once('error', error => {
      failed ??= new ToolFailed(
        'not_started',
        `it could not be started (${(error as NodeJS.ErrnoException).code ?? error.message})`,
        error,
      )
    })
    child.once('close', (code, killedBy) => {
      unwatch?.()
      signal?.removeEventListener('abort', abort)
      if (failed !== undefined) reject(failed)
      else if (code === null) reject(new ToolFailed('killed', `it was ended by ${killedBy ?? 'a signal'}`))
      else resolve({ code, out: Buffer.concat(chunks), err: errText() })
    })
  })
