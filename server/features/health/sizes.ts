import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes and files below a folder; hard links count once per name. */
export interface FolderSize {
  readonly bytes: number
  readonly files: number
}

/** A walk pauses for this long after so many entries: it may take minutes, but must not occupy the disk. */
const PAUSE_EVERY = 2_000
const PAUSE_MS = 50

const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')

/**
 * Adds up what lies below a folder, one entry after the other. Follows no link; what vanishes meanwhile counts nothing.
 * @returns null when the folder is absent
 */
export async function folderSize(root: string, signal: AbortSignal): Promise<FolderSize | null> {
  let bytes = 0,
    files = 0,
    seen = 0
  const waiting = [root]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    try {
      for await (const entry of await opendir(folder)) {
        signal.throwIfAborted()
        if (++seen % PAUSE_EVERY === 0)
          await new Promise(resolve => {
            setTimeout(resolve, PAUSE_MS).unref()
          })
        const path = join(folder, entry.name)
        if (entry.isDirectory()) waiting.push(path)
        if (!entry.isFile()) continue
        const found = await stat(path).catch((error: unknown) => {
          if (isGone(error)) return undefined
          throw error
        })
        if (found === undefined) continue
        files++
        bytes += found.size
      }
    } catch (error) {
      if (!isGone(error)) throw error
      if (folder === root) return null
    }
  }
  return { bytes, files }
}
