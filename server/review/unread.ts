import { countNewest, lastId, listNewest } from '../catalog/queries/rescans.ts'
import { isRefusal } from '../core/errors.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { ContentsOf } from '../contents/contents.ts'
import type { Queryable } from '../db/db.ts'
import type { Log } from '../lib/log.ts'
import type { Known, Matched } from './rescan.ts'

/** The result of one run. `unavailable`: no engine could answer; the nightly run asks again. */
export interface UnreadCounts {
  readonly looked: number
  readonly held: number
  readonly unavailable: number
}

export interface UnreadDeps {
  readonly db: Queryable
  readonly contents: Pick<ContentsOf, 'known'>
  /** Reads and matches a package again. May only hold it for review. */
  readonly look: (known: Known) => Promise<Matched>
  readonly signal: AbortSignal
  readonly log: Pick<Log, 'error' | 'info'>
}

export interface Unread {
  run(): Promise<UnreadCounts>
  /** How far it is; undefined while it does not run. */
  progress(): string | undefined
}

const BATCH = 50

/**
 * Reads what lies in the pool and was never read by the readers of this version, the newest first: what came before
 * contents were judged at the door, and everything after a release that reads more.
 */
export function createUnread({ db, contents, look, signal, log }: UnreadDeps): Unread {
  // after a start all packages; then only new ones
  let last = 0
  let progress: string | undefined

  async function read(): Promise<UnreadCounts> {
    const counts = { looked: 0, held: 0, unavailable: 0 }
    const upTo = await lastId(db)
    const all = upTo === last ? 0 : await countNewest(db, ALL_SEEING, { before: upTo + 1, after: last })
    let seen = 0
    for (let before = upTo + 1; !signal.aborted;) {
      const rows = await listNewest(db, ALL_SEEING, { before, after: last, limit: BATCH })
      if (rows.length === 0) {
        last = upTo
        break
      }
      for (const { id, manifest, facts } of rows) {
        before = id
        progress = `${seen++} of ${all} packages seen, ${counts.looked} of them read`
        if (signal.aborted || (await contents.known(manifest)) !== undefined) continue
        counts.looked++
        try {
          const matched = await look({ ...manifest, facts })
          if (matched === 'held') counts.held++
          if (matched === 'unavailable') counts.unavailable++
        } catch (error) {
          if (signal.aborted || isRefusal(error, 'version_not_found')) continue // deleted meanwhile
          log.error(
            { err: error, package: manifest.ref.name, version: manifest.ref.version },
            'what a package carries could not be read',
          )
        }
      }
    }
    return counts
  }

  return {
    progress: () => progress,
    async run() {
      try {
        const counts = await read()
        if (counts.looked > 0) log.info({ ...counts }, 'packages were read that nobody had read')
        return counts
      } finally {
        progress = undefined
      }
    },
  }
}
