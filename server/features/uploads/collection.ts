import { fail } from '../../core/errors.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { printBytes } from '../../lib/limited.ts'
import type { Clock } from '../../lib/clock.ts'

/**
 * Files that wait for the .changes that names them: one box per sender and distribution. They lie in `incoming/`,
 * which a start empties, so only this process knows them.
 */
export interface Collection {
  /** Keeps a file; it replaces one of the same name. @throws incoming_full */
  put(box: string, file: SpooledFile): Promise<void>
  /** Takes out those that are here, by name; the caller then owns them. */
  take(box: string, names: readonly string[]): ReadonlyMap<string, SpooledFile>
  /** Has taken files wait again, but for those that came anew meanwhile. */
  giveBack(box: string, files: ReadonlyMap<string, SpooledFile>): Promise<void>
  /** Removes files that no announcement named for six hours. */
  sweep(): Promise<void>
}

const MOST_FILES = 500
/** The most that may wait for one sender; a kernel with its debug symbols has about 2 GiB. */
const MOST_BYTES = 8 * 2 ** 30
/** The most that may wait at all: a sender has a box for each distribution and for each credential. */
const MOST_BYTES_IN_ALL = 4 * MOST_BYTES
const KEPT_MS = 6 * 60 * 60 * 1000

interface Waiting {
  readonly file: SpooledFile
  readonly since: number
}

/** Makes the collection; it is empty. */
export function createCollection(clock: Clock): Collection {
  const boxes = new Map<string, Map<string, Waiting>>()
  const sizeOf = (files: ReadonlyMap<string, Waiting>): number =>
    [...files.values()].reduce((sum, { file: { blob } }) => sum + blob.size, 0)

  function forget(box: string, name: string): void {
    const files = boxes.get(box)
    files?.delete(name)
    if (files?.size === 0) boxes.delete(box)
  }

  return {
    async put(box, file) {
      const files = boxes.get(box) ?? new Map<string, Waiting>()
      const before = files.get(file.filename)
      const added = file.blob.size - (before?.file.blob.size ?? 0)
      const isFull = (before === undefined && files.size >= MOST_FILES) || sizeOf(files) + added > MOST_BYTES
      const all = [...boxes.values()].reduce((sum, one) => sum + sizeOf(one), 0)
      if (isFull || all + added > MOST_BYTES_IN_ALL) {
        await file.discard()
        fail(
          'incoming_full',
          isFull
            ? { whose: 'this sender', most: `${MOST_FILES} or ${printBytes(MOST_BYTES)}` }
            : { whose: 'all senders', most: printBytes(MOST_BYTES_IN_ALL) },
        )
      }
      files.set(file.filename, { file, since: clock.now().getTime() })
      boxes.set(box, files)
      await before?.file.discard()
    },
    take(box, names) {
      const taken = new Map<string, SpooledFile>()
      for (const name of names) {
        const file = boxes.get(box)?.get(name)?.file
        if (file !== undefined) taken.set(name, file)
        forget(box, name)
      }
      return taken
    },
    async giveBack(box, taken) {
      const files = boxes.get(box) ?? new Map<string, Waiting>()
      for (const [name, file] of taken)
        if (files.has(name)) await file.discard()
        else files.set(name, { file, since: clock.now().getTime() })
      if (files.size > 0) boxes.set(box, files)
    },
    async sweep() {
      const oldest = clock.now().getTime() - KEPT_MS
      for (const [box, files] of [...boxes])
        for (const [name, { file, since }] of [...files]) {
          if (since > oldest) continue
          forget(box, name)
          await file.discard()
        }
    },
  }
}
