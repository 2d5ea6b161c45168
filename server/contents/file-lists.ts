import { readPooled, type Pool } from '../files/pool.ts'
import { getFormat } from '../formats/index.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { Carrier } from './contents.ts'
import { listFiles, type FileList } from './file-list.ts'
import { keyOfKept } from './key.ts'
import { LIMITS } from './limits.ts'
import { createRoom } from './room.ts'

/** The lists of files of packages in the pool, read when somebody asks. */
export interface FileLists {
  /** A source package installs nothing. @throws the signal's reason; faults of the machine */
  of(carrier: Carrier, signal: AbortSignal): Promise<FileList>
}

export interface FileListsDeps {
  readonly pool: Pick<Pool, 'locate'>
  /** Where files that are too large for memory are held while they are read. */
  readonly incoming: string
}

/** Somebody who turns pages asks for the same two again. */
const KEPT = 4
const KEPT_MS = 60_000
// the processor's time is that of all requests, since they share this thread
const OF_ONE = { ...LIMITS, cpuSeconds: Infinity }

/** Reads one package at a time, and keeps the last few lists for a minute. */
export function createFileLists({ pool, incoming }: FileListsDeps): FileLists {
  const lock = createKeyedLock()
  const kept = new Map<string, { readonly list: FileList; readonly timer: NodeJS.Timeout }>()

  function keep(digest: string, list: FileList): void {
    clearTimeout(kept.get(digest)?.timer)
    kept.delete(digest)
    kept.set(digest, { list, timer: setTimeout(() => kept.delete(digest), KEPT_MS).unref() })
    const [oldest] = kept.keys()
    if (kept.size > KEPT && oldest !== undefined) {
      clearTimeout(kept.get(oldest)?.timer)
      kept.delete(oldest)
    }
  }

  return {
    of: ({ ref, files, kind }, signal) =>
      lock.run('one at a time', async () => {
        if (kind === 'source') return { files: new Map() }
        const digest = keyOfKept(files)
        const known = kept.get(digest)?.list
        if (known !== undefined) return known
        const streams = getFormat(ref.format).inner(await readPooled(pool, files))
        const list = await listFiles(streams, { room: createRoom(incoming, OF_ONE), signal })
        keep(digest, list)
        return list
      }),
  }
}
