import type * as Crypto from 'node:crypto'
import type * as Fs from 'node:fs'
import type * as Path from 'node:path'
import { takeSteps, type FileStep } from '../lib/file-steps.ts'
import { createWorkers, oneOf, type Require, type Workers } from '../lib/workers.ts'

/** A file, or bytes given here. `id` names the content, so that unchanged content is not hashed again. */
export type Part =
  | { readonly id: string; readonly path: string; readonly size: number }
  | { readonly id: string; readonly bytes: Uint8Array }

export interface JoinOrder {
  /** Orders with the same key are versions of one file: what they begin with is not hashed again. */
  readonly key: string
  /** Absent where only the digest is wanted. */
  readonly out?: string
  readonly parts: readonly Part[]
  /** The version before. What it shares with this one is read from it, instead of from hundreds of pieces. */
  readonly was?: { readonly path: string; readonly sha256: string } | undefined
}

export interface Joined {
  readonly size: number
  readonly sha256: string
}

/** Runs in the thread: writes the parts one after the other and hashes them on the way. */
function joinBody(require: Require) {
  const { openSync, readSync, writeSync, closeSync, fstatSync, mkdirSync } = require('node:fs') as typeof Fs
  const { dirname } = require('node:path') as typeof Path
  const { createHash } = require('node:crypto') as typeof Crypto
  interface Kept {
    readonly ids: readonly string[]
    /** Where each part begins. */
    readonly starts: readonly number[]
    /** The hash of the first `parts` parts, every quarter of a MiB. */
    readonly marks: readonly { readonly parts: number; readonly hash: Crypto.Hash }[]
    readonly size: number
    readonly sha256: string
  }
  const MARK_EVERY = 1 << 18
  const kept = new Map<string, Kept>()
  const chunk = Buffer.allocUnsafe(1 << 20)
  const sizeOf = (part: Part | undefined): number =>
    part === undefined ? 0 : 'bytes' in part ? part.bytes.length : part.size

  /** How many parts two versions begin with, and then end with, alike. */
  function alike(ids: readonly string[], before: readonly string[]): { readonly head: number; readonly tail: number } {
    const most = Math.min(ids.length, before.length)
    let head = 0
    while (head < most && ids[head] === before[head]) head++
    let tail = 0
    while (tail < most - head && ids[ids.length - 1 - tail] === before[before.length - 1 - tail]) tail++
    return { head, tail }
  }

  /** The version before, open, or undefined when it is gone or is another one. */
  function openBefore({ was }: JoinOrder, before: Kept | undefined): number | undefined {
    if (was === undefined || before?.sha256 !== was.sha256) return undefined
    try {
      const file = openSync(was.path, 'r')
      if (fstatSync(file).size === before.size) return file
      closeSync(file)
    } catch {
      // removed meanwhile: the pieces have it all
    }
    return undefined
  }

  /** A new file. Its folder is made where it is missing. */
  function create(path: string): number {
    try {
      return openSync(path, 'wx', 0o644)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      mkdirSync(dirname(path), { recursive: true })
      return openSync(path, 'wx', 0o644)
    }
  }

  /** Collects bytes and passes them on in large chunks. */
  function createSink(target: number | undefined) {
    let [filled, hashed] = [0, undefined as Crypto.Hash | undefined]
    const pass = (bytes: Uint8Array): void => {
      if (target !== undefined) for (let at = 0; at < bytes.length;) at += writeSync(target, bytes, at)
      hashed?.update(bytes)
    }
    function flush(): void {
      if (filled > 0) pass(chunk.subarray(0, filled))
      filled = 0
    }
    return {
      flush,
      /** From here on, the bytes go into this hash, too. */
      hash(into: Crypto.Hash): void {
        flush()
        hashed = into
      },
      put(bytes: Uint8Array): void {
        flush()
        pass(bytes)
      },
      pour(file: number, from: number, size: number): void {
        for (let done = 0; done < size;) {
          const read = readSync(file, chunk, filled, Math.min(chunk.length - filled, size - done), from + done)
          if (read === 0) throw new Error('an index ended before its end')
          filled += read
          done += read
          if (filled === chunk.length) flush()
        }
      },
    }
  }

  function pourPiece(
    sink: ReturnType<typeof createSink>,
    { path, size }: Extract<Part, { readonly path: string }>,
  ): void {
    const file = openSync(path, 'r')
    try {
      const there = fstatSync(file).size
      if (there !== size) throw new Error(`a piece of an index has ${there} bytes, ${size} were expected`)
      sink.pour(file, 0, size)
    } finally {
      closeSync(file)
    }
  }

  function join(order: JoinOrder): Joined {
    const { key, out, parts } = order
    const before = kept.get(key)
    const ids = parts.map(part => part.id)
    const { head, tail } = alike(ids, before?.ids ?? [])
    const marks = (before?.marks ?? []).filter(mark => mark.parts <= head)
    const mark = marks.at(-1)
    const old = openBefore(order, before)
    const target = out === undefined ? undefined : create(out)
    try {
      const sink = createSink(target)
      const hash = mark?.hash.copy() ?? createHash('sha256')
      const shift = (before?.ids.length ?? 0) - parts.length
      const starts: number[] = []
      let [at, unmarked] = [0, 0]
      for (const [n, part] of parts.entries()) {
        const length = sizeOf(part)
        if (n === (mark?.parts ?? 0)) sink.hash(hash)
        // what is neither hashed nor written need not be read
        if (target !== undefined || n >= (mark?.parts ?? 0)) {
          if ('bytes' in part) sink.put(part.bytes)
          else if (old !== undefined && n < head) sink.pour(old, at, length)
          else if (old !== undefined && n >= parts.length - tail) sink.pour(old, before?.starts[n + shift] ?? 0, length)
          else pourPiece(sink, part)
        }
        starts.push(at)
        at += length
        if (n < (mark?.parts ?? 0)) continue
        unmarked += length
        if (unmarked < MARK_EVERY) continue
        sink.flush()
        marks.push({ parts: n + 1, hash: hash.copy() })
        unmarked = 0
      }
      sink.flush()
      const sha256 = hash.digest('hex')
      kept.set(key, { ids, starts, marks, size: at, sha256 })
      return { size: at, sha256 }
    } finally {
      if (target !== undefined) closeSync(target)
      if (old !== undefined) closeSync(old)
    }
  }
  return (_job: number, orders: readonly JoinOrder[], answer: (joined: Joined[]) => void): void =>
    answer(orders.map(join))
}

/** Runs in the thread: whole files, which are small. */
function readBody(require: Require) {
  const { readFileSync } = require('node:fs') as typeof Fs
  return (_job: number, paths: readonly string[], answer: (files: Uint8Array[]) => void): void =>
    answer(paths.map(path => readFileSync(path)))
}

/**
 * Works on the files of trees in a thread of its own: neither bytes nor folders hold up requests, and many calls take
 * one wake-up.
 */
export interface Joiner {
  /** Joins files in order, up to the first that fails. @returns what came of each. @throws Error */
  join(orders: readonly JoinOrder[]): Promise<readonly Joined[]>
  /** Takes steps in order, up to the first that fails. @throws Error with the `code` of the system */
  take(steps: readonly FileStep[]): Promise<void>
  /** The bytes of each. @throws Error with the `code` of the system */
  read(paths: readonly string[]): Promise<readonly Buffer[]>
  close(): Promise<void>
}

type Order =
  | { readonly kind: 'join'; readonly message: readonly JoinOrder[] }
  | { readonly kind: 'take'; readonly message: readonly FileStep[] }
  | { readonly kind: 'read'; readonly message: readonly string[] }
type Answer = readonly Joined[] | readonly Uint8Array[] | undefined

/** The thread behind the trees of one root. It starts with the first order. */
export function createJoiner(): Joiner {
  // one thread: it keeps the hash states, and a publication's files share one disk anyway
  const workers: Workers<Order, Answer> = createWorkers({
    body: oneOf<Order, Answer>({ join: joinBody, take: takeSteps, read: readBody }),
    size: 1,
  })
  const ask = async (order: Order): Promise<Answer> => {
    if (order.message.length === 0) return []
    const job = workers.job()
    job.send(order)
    return job.answer
  }
  return {
    // each kind of order has its kind of answer
    join: async message => (await ask({ kind: 'join', message })) as readonly Joined[],
    take: async message => {
      await ask({ kind: 'take', message })
    },
    read: async message =>
      ((await ask({ kind: 'read', message })) as readonly Uint8Array[]).map(({ buffer, byteOffset, byteLength }) =>
        Buffer.from(buffer, byteOffset, byteLength),
      ),
    close: () => workers.close(),
  }
}
