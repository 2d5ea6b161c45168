import { createWorkers, type ThreadBody } from '../../lib/workers.ts'

/** Bytes and files below a folder; hard links count once per name. */
export interface FolderSize {
  readonly bytes: number
  readonly files: number
}

/**
 * Runs in the thread as source text: it may use nothing but its parameters and globals. Calls that wait cost a tenth of
 * those that answer later, and here they hold nobody up.
 */
const addUp: ThreadBody<string, FolderSize | null> = require => {
  const fs = require('node:fs') as typeof import('node:fs')
  const { join } = require('node:path') as typeof import('node:path')
  // a pause after so many entries: the walk may take minutes, but must not occupy the disk
  const [pauseEvery, pauseMs] = [2_000, 50]
  const never = new Int32Array(new SharedArrayBuffer(4))
  const isGone = (error: unknown): boolean =>
    ['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')

  return (_, root, answer) => {
    let [bytes, files, seen] = [0, 0, 0]
    const waiting = [root]
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop())
      try {
        for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
          if (++seen % pauseEvery === 0) Atomics.wait(never, 0, 0, pauseMs)
          const path = join(folder, entry.name)
          if (entry.isDirectory()) waiting.push(path)
          const found = entry.isFile() ? fs.lstatSync(path, { throwIfNoEntry: false }) : undefined
          if (found === undefined) continue
          files++
          bytes += found.size
        }
      } catch (error) {
        if (!isGone(error)) throw error
        if (folder === root) return answer(null)
      }
    answer({ bytes, files })
  }
}

/**
 * Adds up what lies below each folder, one after the other, in a thread that ends with the last. Follows no link; what
 * vanishes meanwhile counts nothing.
 * @returns null for a folder that is absent
 */
export async function* folderSizes<Name extends string>(
  folders: Readonly<Record<Name, string>>,
  signal: AbortSignal,
): AsyncGenerator<readonly [Name, FolderSize | null]> {
  const threads = createWorkers({ body: addUp, size: 1 })
  const stop = (): void => void threads.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (const [name, folder] of Object.entries(folders) as [Name, string][]) {
      signal.throwIfAborted()
      const job = threads.job()
      job.send(folder)
      yield [name, await job.answer]
    }
  } finally {
    signal.removeEventListener('abort', stop)
    await threads.close()
  }
}
