import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fsyncFolder, isUnfinished, unfinishedName } from '../../lib/atomic.ts'
import { space } from '../../lib/disk-space.ts'
import { piecesOf } from '../../lib/pieces.ts'
import { listFiles } from '../../lib/list-files.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import { TargetTrouble, type Kept, type TargetStore } from './target-store.ts'

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** The disk's errors name the directory and what to do; others pass as they are. */
async function inWords<T>(address: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const words = systemErrorInWords(error)
    if (words === undefined || error instanceof TargetTrouble) throw error
    throw new TargetTrouble(`The directory ${address}: ${words}.`, { cause: error })
  }
}

/** Removes a folder. @returns false where there is more in it */
const isEmptied = (folder: string): Promise<boolean> =>
  rmdir(folder).then(
    () => true,
    () => false,
  )

/**
 * A directory as a target: a USB disk, a share. The directory itself is never made: where it is missing, nothing is
 * mounted.
 */
export function createFolderStore(address: string): TargetStore {
  const touched = new Set<string>()
  const at = (key: string): string => join(address, key)

  async function makeFolder(folder: string): Promise<void> {
    const made = await mkdir(folder, { recursive: true, mode: 0o700 })
    touched.add(folder)
    // a new folder is an entry of the one above
    for (let one = folder; made !== undefined && one !== dirname(made); one = dirname(one)) touched.add(dirname(one))
  }

  async function put(key: string, body: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
    const path = at(key)
    const part = unfinishedName(path)
    await stat(address) // never made here
    await makeFolder(dirname(path))
    try {
      const handle = await open(part, 'wx', 0o600)
      try {
        for await (const piece of body) {
          signal.throwIfAborted()
          await handle.writeFile(piece)
        }
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(part, path)
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined) // why it failed matters more
      throw error
    }
  }

  async function* list(prefix: string): AsyncGenerator<Kept> {
    for (const path of await listFiles(at(prefix))) {
      if (isUnfinished(path.slice(path.lastIndexOf('/') + 1))) continue
      const found = await stat(path).catch(() => undefined) // went in between
      if (found?.isFile() === true)
        yield { key: path.slice(at('').length).replace(/^\//, ''), sizeBytes: found.size, modifiedAt: found.mtime }
    }
  }

  return {
    address,
    list: (prefix, signal) =>
      (async function* listed() {
        const found = list(prefix)
        for (;;) {
          signal.throwIfAborted()
          const next = await inWords(address, () => found.next())
          if (next.done === true) return
          yield next.value
        }
      })(),
    read: (key, signal) =>
      inWords(address, async () => {
        const isThere = await stat(at(key)).then(
          found => found.isFile(),
          (error: unknown) => {
            if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false
            throw error
          },
        )
        if (!isThere) return undefined
        return (async function* pieces() {
          for await (const piece of piecesOf(at(key))) {
            signal.throwIfAborted()
            yield piece
          }
        })()
      }),
    put: (key, body, signal) => inWords(address, () => put(key, body, signal)),
    settle: () =>
      inWords(address, async () => {
        for (const folder of touched) await fsyncFolder(folder)
        touched.clear()
      }),
    remove: key =>
      inWords(address, async () => {
        await rm(at(key), { force: true })
        for (let above = dirname(key); above !== '.'; above = dirname(above)) if (!(await isEmptied(at(above)))) return
      }),
    now: () =>
      inWords(address, async () => {
        const probe = at(`.probe-${randomBytes(6).toString('hex')}`)
        const handle = await open(probe, 'wx', 0o600)
        try {
          await handle.writeFile('probe')
          return (await handle.stat()).mtime
        } finally {
          await handle.close()
          await rm(probe, { force: true })
        }
      }),
    free: () => inWords(address, async () => (await space(address)).freeBytes),
    sweepUnfinished: (before, signal) =>
      inWords(address, async () => {
        for (const name of await readdir(address).catch(() => []))
          for (const path of await listFiles(at(name)).catch(() => [])) {
            signal.throwIfAborted()
            if (!isUnfinished(path.slice(path.lastIndexOf('/') + 1))) continue
            const found = await stat(path).catch(() => undefined)
            if (found !== undefined && found.mtime < before) await rm(path, { force: true })
          }
      }),
    close: () => undefined,
  }
}
