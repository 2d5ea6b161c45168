import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

/** Not there, not readable, or no file at all. */
const NO_FILE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR', 'ENXIO', 'ELOOP'])

/**
 * Opens a regular file for reading; undefined for what is gone, may not be read, or is something else. Never waits: to
 * open a FIFO would, for whoever writes to it.
 */
export async function openRegular(path: string): Promise<FileHandle | undefined> {
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (NO_FILE.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  return undefined
}
