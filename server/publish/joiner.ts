import type * as Crypto from 'node:crypto'
import type * as Fs from 'node:fs'
import { createWorkers, type Require, type Workers } from '../lib/workers.ts'

/** A file, or bytes given here. `id` names the content, so that unchanged content is not hashed again. */
export type Part =
  | { readonly id: string; readonly path: string; readonly size: number }
  | { readonly id: string; readonly bytes: Uint8Array }

export interface JoinOrder {
  /** Orders with the same key are versions of one file: the hash of their common beginning is reused. */
  readonly key: string
  /** Absent where only the digest is wanted. */
  readonly out?: string
  readonly parts: readonly Part[]
  /** Skips the SHA-512, which is most of the work when nothing is written; the result is then that of no bytes. */
  readonly sha256Only?: true
}

export interface Joined {
  readonly size: number
  readonly sha256: string
  readonly sha512: string
}

/** Runs in the thread: writes the parts one after the other and hashes them on the way. */
function joinBody(require: Require) {
  const { openSync, readSync, writeSync, closeSync } = require('node:fs') as typeof Fs
  const { createHash } = require('node:crypto') as typeof Crypto
  interface Kept {
    readonly ids: string[]
    readonly states: [Crypto.Hash, Crypto.Hash][]
  }
  const kept = new Map<string, Kept>()
  const chunk = Buffer.allocUnsafe(1 << 20)

  function copy(part: Part, write: (bytes: Uint8Array) => void): number {
    if ('bytes' in part) {
      write(part.bytes)
      return part.bytes.length
    }
    const file = openSync(part.path, 'r')
    let size = 0
    try {
      for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
        write(chunk.subarray(0, read))
        size += read
      }
    } finally {
      closeSync(file)
    }
    if (size !== part.size) throw new Error(`a piece of an index has ${size} bytes, ${part.size} were expected`)
    return size
  }

  function join({ key, out, parts, sha256Only }: JoinOrder): Joined {
    const before = kept.get(key)
    let same = 0
    while (
      before !== undefined &&
      same < before.states.length &&
      same < parts.length &&
      before.ids[same] === parts[same]?.id
    )
      same++
    const ids = before?.ids.slice(0, same) ?? []
    const states = before?.states.slice(0, same) ?? []
    const [last256, last512] = states.at(-1) ?? [createHash('sha256'), createHash('sha512')]
    const [sha256, sha512] = [last256.copy(), last512.copy()]
    const target = out === undefined ? undefined : openSync(out, 'wx', 0o644)
    let size = 0
    try {
      parts.forEach((part, n) => {
        size += copy(part, bytes => {
          if (target !== undefined) for (let at = 0; at < bytes.length;) at += writeSync(target, bytes, at)
          if (n < same) return
          sha256.update(bytes)
          if (sha256Only !== true) sha512.update(bytes)
        })
        if (n < same) return
        ids.push(part.id)
        states.push([sha256.copy(), sha512.copy()])
      })
    } finally {
      if (target !== undefined) closeSync(target)
    }
    kept.set(key, { ids, states })
    return { size, sha256: sha256.digest('hex'), sha512: sha512.digest('hex') }
  }
  return (_job: number, order: JoinOrder, answer: (joined: Joined) => void): void => answer(join(order))
}

export interface Joiner {
  join(order: JoinOrder): Promise<Joined>
  close(): Promise<void>
}

/** Joins files in a thread of its own: the linear part of a publication must not hold up requests. */
export function createJoiner(): Joiner {
  // one thread: it keeps the hash states, and a publication's files share one disk anyway
  const workers: Workers<JoinOrder, Joined> = createWorkers({ body: joinBody, size: 1 })
  return {
    join: async order => {
      const job = workers.job()
      job.send(order)
      return job.answer
    },
    close: () => workers.close(),
  }
}
