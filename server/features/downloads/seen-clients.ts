import { open } from 'node:fs/promises'
import { linesBackwards } from '../../lib/lines-backwards.ts'
import type { LogSeries } from '../../record/log-series.ts'
import { clientOf, parseAccessLine, type ClientType } from './access-log.ts'
import { codenameIn } from './tally.ts'

/** A machine that asked for the index of a distribution. `at` is ISO 8601. */
export interface SeenClient {
  readonly at: string
  readonly address: string
  readonly client: ClientType
  readonly distribution: string
}

/** Who asked since a moment, or why nobody can know. */
export type SeenClients =
  | { readonly known: true; readonly clients: readonly SeenClient[] }
  /** `no_log`: nothing is there; `unreadable`: it is not for this service. */
  | { readonly known: false; readonly why: 'no_log' | 'unreadable' }

/** So many machines are named; and so far back is read: a busy log has more, and then the question has its answer. */
const MOST = 20
const BYTES = 4 * 1024 * 1024

async function readEnd(path: string, since: string, take: (line: string) => string | undefined): Promise<void> {
  await using handle = await open(path)
  const { size } = await handle.stat()
  for await (const { text, start } of linesBackwards(handle, size)) {
    const at = take(text)
    if ((at !== undefined && at < since) || size - start > BYTES) return
  }
}

/**
 * Reads the ends of the logs for machines that asked for an index of a distribution since then, the newest of each
 * first. The key alone is no index.
 * @param since  ISO 8601
 */
export async function seenClients(
  series: readonly LogSeries[],
  { since, isCodename }: { readonly since: string; readonly isCodename: (name: string) => boolean },
): Promise<SeenClients> {
  const from = `${since.slice(0, 19)}Z`
  const found = new Map<string, SeenClient>()
  const take = (line: string): string | undefined => {
    const access = parseAccessLine(line)
    if (access === undefined) return undefined
    const at = `${access.hour}:${access.rest}Z`
    const distribution = codenameIn(access.path, isCodename)
    if (at < from || distribution === '' || !['index', 'not_modified'].includes(access.kind)) return at
    const key = `${access.address} ${distribution}`
    if (!found.has(key) && found.size < MOST)
      found.set(key, { at, address: access.address, client: clientOf(access.agent), distribution })
    return at
  }
  for (const { files } of series) {
    const last = files.at(-1)
    if (last === undefined) continue
    try {
      await readEnd(last, from, take)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EACCES' || code === 'EPERM' || code === 'EISDIR') return { known: false, why: 'unreadable' }
      if (code !== 'ENOENT') throw error
    }
  }
  return { known: true, clients: [...found.values()].sort((a, b) => (a.at < b.at ? 1 : -1)) }
}
