import { readFile, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { isAlive, processFacts } from '../lib/process.ts'

/**
 * A process that runs on a REPOS_ROOT. `begun` tells it from a later process with the same number; empty where there is
 * no /proc.
 */
export interface Holder {
  readonly pid: number
  readonly host: string
  readonly begun: string
  /** The database whose processes may run on it together; absent: this one runs alone. */
  readonly installation?: string
}

/** This process. */
export async function selfAsHolder(installation?: string): Promise<Holder> {
  return {
    pid: process.pid,
    host: hostname(),
    begun: (await processFacts(process.pid))?.begun ?? '',
    ...(installation === undefined ? {} : { installation }),
  }
}

export function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, host, begun, installation } = JSON.parse(text) as Partial<Holder>
    return typeof pid === 'number' && typeof host === 'string' && typeof begun === 'string'
      ? { pid, host, begun, ...(typeof installation === 'string' ? { installation } : {}) }
      : undefined
  } catch {
    return undefined // half written by a process that was killed
  }
}

/** A holder touches its file this often. */
export const BEAT_MS = 4_000
/** A file of another machine that nobody touches for so long, by this process's own watch, was left by a dead one. */
export const WATCH_MS = 20_000

/** Touches the file until it is told to stop. A failure is made up by the next touch. */
export function beat(path: string): () => void {
  const timer = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => undefined)
  }, BEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

const touchedAt = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  )

/** Whether somebody on another machine touches it. Its clock may be any: only a change counts. */
async function isTouched(path: string, watchMs: number): Promise<boolean> {
  const before = await touchedAt(path)
  for (const until = performance.now() + watchMs; performance.now() < until;) {
    await setTimeout(Math.min(1_000, watchMs))
    const now = await touchedAt(path)
    if (now === undefined) return false
    if (now !== before) return true
  }
  return false
}

/** Whether the process that wrote this file is there: asked by its number on this machine, watched on another one. */
export async function isRunning(path: string, { pid, host, begun }: Holder, watchMs = WATCH_MS): Promise<boolean> {
  if (host !== hostname()) return isTouched(path, watchMs)
  if (pid === process.pid || !isAlive(pid)) return false
  const now = await processFacts(pid)
  return begun === '' || (now?.begun === begun && !now.defunct)
}

export const readHolder = async (path: string): Promise<Holder | undefined> =>
  parseHolder(await readFile(path, 'utf8').catch(() => ''))
