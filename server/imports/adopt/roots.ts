import { existsSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { fail } from '../../core/errors.ts'

/** A folder that an admin allows trees to be adopted from, and what lies in it. */
export interface AdoptRoot {
  readonly path: string
  /** False where it is not there or cannot be read: nothing can be adopted from it then. */
  readonly readable: boolean
  readonly folders: readonly { readonly path: string; readonly index: 'apt' | 'rpm' | 'none' }[]
}

/** The folders that trees may be adopted from: the variable IMPORT_ROOTS. */
export interface AdoptRoots {
  list(): Promise<readonly AdoptRoot[]>
  /**
   * The real path of a tree below one of them.
   * @throws adopt_outside for any other place, also one that a link leads to; adopt_missing
   */
  resolve(path: string): Promise<string>
}

const MOST_SHOWN = 500

const indexOf = (folder: string): AdoptRoot['folders'][number]['index'] =>
  existsSync(join(folder, 'dists')) ? 'apt' : existsSync(join(folder, 'repodata', 'repomd.xml')) ? 'rpm' : 'none'

/** @param roots  absolute paths */
export function createAdoptRoots(roots: readonly string[]): AdoptRoots {
  const isBelow = (root: string, path: string): boolean => {
    const way = relative(root, path)
    return way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`))
  }
  return {
    list: () =>
      Promise.all(
        roots.map(async (path): Promise<AdoptRoot> => {
          try {
            const entries = await readdir(path, { withFileTypes: true })
            const folders = entries
              .filter(entry => entry.isDirectory())
              .slice(0, MOST_SHOWN)
              .map(({ name }) => ({ path: join(path, name), index: indexOf(join(path, name)) }))
            return { path, readable: true, folders }
          } catch {
            return { path, readable: false, folders: [] }
          }
        }),
      ),
    async resolve(path) {
      const allowed = roots.join(', ')
      if (!isAbsolute(path)) fail('adopt_outside', { path, allowed })
      // what it says first: nobody learns from the answer what lies elsewhere
      if (!roots.some(root => isBelow(root, join(path)))) fail('adopt_outside', { path, allowed })
      const real = await realpath(path).catch(() => fail('adopt_missing', { path }))
      const realRoots = await Promise.all(roots.map(root => realpath(root).catch(() => undefined)))
      if (!realRoots.some(root => root !== undefined && isBelow(root, real))) fail('adopt_outside', { path, allowed })
      if (
        !(await readdir(real).then(
          () => true,
          () => false,
        ))
      )
        fail('adopt_missing', { path })
      return real
    },
  }
}
