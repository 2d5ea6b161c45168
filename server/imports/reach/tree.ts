import { constants } from 'node:fs'
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { RelPath } from '../../core/identity.ts'

/** A directory that is read as a repository: a USB stick, a mounted image, a file server. */
export interface Tree {
  /** Undefined where there is no such file. @throws tree_refused for what is no plain file inside the directory */
  read(
    path: RelPath,
    options: { readonly signal: AbortSignal; readonly onBytes?: (bytes: number) => void },
  ): Promise<AsyncIterable<Buffer> | undefined>
}

const CHUNK = 256 * 1024
const ABSENT = new Set(['ENOENT', 'ENOTDIR'])

const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

/** The directory itself, without links. @throws tree_refused unless it lies below an allowed root */
export async function findTree(roots: readonly string[], folder: string): Promise<string> {
  if (!isAbsolute(folder)) return fail('tree_refused', { folder, why: 'it does not begin with /' })
  const real = await realpath(folder).catch((error: unknown) =>
    ABSENT.has(codeOf(error)) ? undefined : Promise.reject(error as Error),
  )
  const allowed = await Promise.all(roots.map(root => realpath(root).catch(() => undefined)))
  const isAllowed = allowed.some(root => root !== undefined && isBelow(real ?? folder, root))
  // said first: what exists elsewhere is nobody's business
  if (!isAllowed)
    return fail('tree_refused', {
      folder,
      why: 'it does not lie below a directory of IMPORT_ROOTS, which an admin sets',
    })
  return real ?? fail('tree_refused', { folder, why: 'it does not exist; is the medium mounted?' })
}

/** Opens a plain file inside a directory, wherever links lead. */
async function openInside(folder: string, path: RelPath): Promise<FileHandle | undefined> {
  let handle: FileHandle
  try {
    // links inside the directory are usual: dists/stable
    const real = await realpath(join(folder, path))
    if (!isBelow(real, folder)) return fail('tree_refused', { folder, why: `${path} leads out of it` })
    handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (ABSENT.has(codeOf(error))) return undefined
    if (codeOf(error) === 'ELOOP') return fail('tree_refused', { folder, why: `${path} leads in a circle` })
    throw error
  }
  try {
    // what was opened, and not what had that name a moment ago
    const opened = await readlink(`/proc/self/fd/${handle.fd}`)
    if (!isBelow(opened, folder)) fail('tree_refused', { folder, why: `${path} leads out of it` })
    if (!(await handle.stat()).isFile()) fail('tree_refused', { folder, why: `${path} is no plain file` })
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** @param given.roots  directories that an admin allowed; without one nothing is read */
export function openTree({ roots, folder }: { readonly roots: readonly string[]; readonly folder: string }): Tree {
  return {
    async read(path, { signal, onBytes }) {
      const handle = await openInside(await findTree(roots, folder), path)
      if (handle === undefined) return undefined
      return (async function* () {
        try {
          for (let at = 0; ;) {
            signal.throwIfAborted()
            const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, at)
            if (bytesRead === 0) return
            at += bytesRead
            onBytes?.(bytesRead)
            yield buffer.subarray(0, bytesRead)
          }
        } finally {
          await handle.close()
        }
      })()
    },
  }
}
