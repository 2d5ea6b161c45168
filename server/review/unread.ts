import { countNewest, lastId, listNewest } from '../catalog/queries/rescans.ts'
import { isRefusal } from '../core/errors.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Jobs, Run, WorkKind } from '../core/work.ts'
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

interface Cursor {
  /** The last row there was when the run began, and the one before which to go on. */
  readonly upTo: number
  readonly before: number
  readonly seen: number
  readonly counts: UnreadCounts
}

export interface UnreadDeps {
  readonly db: Queryable
  readonly jobs: Pick<Jobs, 'ask'>
  readonly contents: Pick<ContentsOf, 'known'>
  /** Reads and matches a package again. May only hold it for review. */
  readonly look: (known: Known, signal: AbortSignal) => Promise<Matched>
  readonly log: Pick<Log, 'error' | 'info'>
}

export interface Unread {
  readonly work: WorkKind
  /** Asks for a run if packages came since the last one. */
  ask(): Promise<void>
}

const KIND = 'contents'
const BATCH = 50

/**
 * Reads what lies in the pool and was never read by the readers of this version, the newest first: what came before
 * contents were judged at the door, and everything after a release that reads more.
 */
export function createUnread({ db, jobs, contents, look, log }: UnreadDeps): Unread {
  // after a start all packages; then only new ones
  let last = 0

  async function read(run: Run<Cursor>): Promise<UnreadCounts> {
    const upTo = run.cursor?.upTo ?? (await lastId(db))
    let { before, seen } = run.cursor ?? { before: upTo + 1, seen: 0 }
    const counts = { ...(run.cursor?.counts ?? { looked: 0, held: 0, unavailable: 0 }) }
    const total = seen + (await countNewest(db, ALL_SEEING, { before, after: last }))
    for (;;) {
      const rows = await listNewest(db, ALL_SEEING, { before, after: last, limit: BATCH })
      if (rows.length === 0) break
      for (const { manifest, facts } of rows) {
        if ((await contents.known(manifest)) !== undefined) continue
        run.signal.throwIfAborted()
        counts.looked++
        try {
          const matched = await look({ ...manifest, facts }, run.signal)
          if (matched === 'held') counts.held++
          if (matched === 'unavailable') counts.unavailable++
        } catch (error) {
          if (run.signal.aborted || isRefusal(error, 'version_not_found')) continue // deleted meanwhile
          log.error(
            { err: error, package: manifest.ref.name, version: manifest.ref.version },
            'what a package carries could not be read',
          )
        }
      }
      seen += rows.length
      before = rows.at(-1)?.id ?? before
      await run.step({ cursor: { upTo, before, seen, counts }, done: seen, total: Math.max(total, seen) })
    }
    last = Math.max(last, upTo)
    if (counts.looked > 0) log.info({ ...counts }, 'packages were read that nobody had read')
    return counts
  }

  const work: WorkKind<unknown, Cursor, UnreadCounts> = {
    kind: KIND,
    name: 'Read what packages carry inside, where nobody has',
    see: 'any',
    cancel: 'maintainer+',
    run: run => read(run),
  }
  return {
    work: work as WorkKind,
    ask: async () => {
      if ((await lastId(db)) > last) await jobs.ask({ kind: KIND, request: {}, by: 'system', codenames: 'all' })
    },
  }
}
