import { randomBytes } from 'node:crypto'
import { link, mkdir, open, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Makes the entries of a folder durable. Without it a power cut may undo a rename. */
export async function fsyncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The name of a file while it is written in the place of `path`. */
export function unfinishedName(path: string): string {
  return join(dirname(path), `.${basename(path).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
}

/** True for the name of a file that `writeAtomic` is writing, or was when the process was killed. */
export const isUnfinished = (name: string): boolean => /^\..*\.[0-9a-f]{12}\.tmp$/s.test(name)

/**
 * Replaces a whole file: readers see the old bytes or the new ones, also after a power cut. Makes the folder if needed.
 */
export async function writeAtomic(
  path: string,
  bytes: string | Uint8Array,
  options: { readonly mode?: number } = {},
): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const part = unfinishedName(path)
  try {
    const handle = await open(part, 'wx', options.mode ?? 0o644)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  await fsyncFolder(dirname(path))
}

/** Points the symbolic link `path` at `target` with one rename: there is never a moment without a link. */
export async function swapLink(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const part = unfinishedName(path)
  await symlink(target, part)
  await rename(part, path)
  await fsyncFolder(dirname(path))
}

/** Hard-links `from` as `to`. Does nothing when `to` exists. */
export async function linkOnce(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EEXIST') return
    if (code !== 'ENOENT') throw error
    await mkdir(dirname(to), { recursive: true })
    await link(from, to).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again
    })
  }
}
