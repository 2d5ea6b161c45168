import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Why a path below a folder is not read; `missing`: nothing is there. */
export type NotInside = 'missing' | 'outside' | 'link' | 'special' | 'unreadable'

/** An open regular file; whoever opened it closes it. */
export interface OpenInside {
  readonly fd: number
  readonly size: number
}

const WHY: Readonly<Record<string, NotInside>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  ELOOP: 'link',
  ENXIO: 'special',
  EACCES: 'unreadable',
  EPERM: 'unreadable',
  EISDIR: 'special',
}

/**
 * Opens a regular file below a folder, to which no link of any kind of path leads: neither the last part nor a folder
 * on the way may be a symbolic link. What was opened is looked at, not what the path says: a link that is put there
 * meanwhile is found, too. Never waits for a FIFO. For Linux.
 * @param root  the real path of the folder, as `realpath` gives it
 * @param path  relative
 * @throws errors of the disk
 */
export function openInside(root: string, path: string): OpenInside | NotInside {
  const whole = join(root, path)
  if (!whole.startsWith(join(root, '/'))) return 'outside'
  let fd: number
  try {
    fd = openSync(whole, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const why = WHY[(error as NodeJS.ErrnoException).code ?? '']
    if (why === undefined) throw error
    return why
  }
  try {
    const stat = fstatSync(fd)
    const why: NotInside | undefined = !stat.isFile()
      ? 'special'
      : readlinkSync(`/proc/self/fd/${fd}`) === whole
        ? undefined
        : 'link'
    if (why === undefined) return { fd, size: stat.size }
    closeSync(fd)
    return why
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
