import { setImmediate as breathe } from 'node:timers/promises'
import { countStale, listStale, markScanned, type ScannedPackage } from '../catalog/queries/rescans.ts'
import { isRefusal } from '../core/errors.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Jobs, Run, WorkKind } from '../core/work.ts'
import type { Queryable } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Matched, Rescans } from './rescan.ts'

export interface RematchDeps {
  readonly db: Queryable
  readonly jobs: Pick<Jobs, 'ask'>
  readonly rescans: Pick<Rescans, 'rematch'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Whether the settings want it; only `soon` asks. */
  readonly isOn: () => boolean
  /** How many packages are matched at once; 2 by default. */
  readonly parallel?: number
}

/** The result of one run over all packages. */
export type RematchCounts = Readonly<Record<Matched | 'failed', number>>

interface Cursor {
  /** When the run began: packages that were scanned since are left out. ISO 8601. */
  readonly start: string
  /** Row ids up to this one are done. */
  readonly last: number
  readonly counts: RematchCounts
}

/** Matches all served and held packages again: at night, and whenever an engine has new data. */
export interface Rematch {
  readonly work: WorkKind
  /** Asks for a run over every package. */
  ask(): Promise<void>
  /** Asks for one if the settings want it; during a run, for once more after it. For engines whose data changed. */
  soon(): void
}

const KIND = 'rematch'
const BATCH = 100
// an engine that failed for so many in a row will fail for the next
const GIVE_UP = 25
const NONE: RematchCounts = { same: 0, changed: 0, held: 0, unavailable: 0, failed: 0 }

export function createRematch({ db, jobs, rescans, clock, log, isOn, parallel = 2 }: RematchDeps): Rematch {
  let isRunning = false
  let again = false

  async function matchOne({ manifest, facts }: ScannedPackage, signal: AbortSignal): Promise<Matched | 'failed'> {
    await breathe() // requests go first
    try {
      return await rescans.rematch({ ...manifest, facts }, signal)
    } catch (error) {
      if (signal.aborted || isRefusal(error, 'version_not_found')) return 'same' // deleted meanwhile
      log.error(
        { err: error, package: manifest.ref.name, version: manifest.ref.version },
        'a package could not be matched again',
      )
      return 'failed'
    }
  }

  /** Once over all packages, from the cursor of an earlier run on. */
  async function once(run: Run<Cursor>, from: Cursor): Promise<RematchCounts> {
    const start = new Date(from.start)
    const counts: Record<Matched | 'failed', number> = { ...from.counts }
    let { last } = from
    let silent = 0
    let done = 0
    const total = await countStale(db, ALL_SEEING, { before: start, after: last })
    while (silent < GIVE_UP) {
      const rows = await listStale(db, ALL_SEEING, { before: start, after: last, limit: BATCH })
      if (rows.length === 0) break
      const waiting = [...rows]
      const looked: number[] = []
      const worker = async (): Promise<void> => {
        for (
          let row = waiting.shift();
          row !== undefined && !run.signal.aborted && silent < GIVE_UP;
          row = waiting.shift()
        ) {
          const matched = await matchOne(row, run.signal)
          counts[matched]++
          if (matched !== 'unavailable' && matched !== 'failed') looked.push(row.id)
          silent = matched === 'unavailable' ? silent + 1 : 0
        }
      }
      await Promise.all(Array.from({ length: parallel }, worker))
      run.signal.throwIfAborted()
      last = rows.at(-1)?.id ?? last
      done += rows.length
      await markScanned(db, ALL_SEEING, { ids: looked, at: start })
      await run.step({ cursor: { start: from.start, last, counts }, done: Math.min(done, total), total })
    }
    if (silent >= GIVE_UP) {
      const message = 'No vulnerability engine answers: the other packages were not matched again.'
      log.warn({ ...counts }, 'no vulnerability engine answers: packages were not matched again')
      await run.step({ say: [{ level: 'warning', message }] })
    } else log.info({ ...counts }, 'packages were matched again')
    return counts
  }

  const work: WorkKind<unknown, Cursor, RematchCounts> = {
    kind: KIND,
    name: 'Look packages up again with new vulnerability data',
    see: 'any',
    cancel: 'maintainer+',
    run: async run => {
      isRunning = true
      try {
        for (let from = run.cursor; ; from = undefined) {
          again = false
          const counts = await once(run, from ?? { start: clock.now().toISOString(), last: 0, counts: NONE })
          if (!again) return counts
        }
      } finally {
        isRunning = false
      }
    },
  }
  const ask = async (): Promise<void> => {
    again = isRunning
    await jobs.ask({ kind: KIND, request: {}, by: 'system', codenames: 'all' })
  }
  return {
    work: work as WorkKind,
    ask,
    soon: () => {
      if (isOn()) ask().catch((error: unknown) => log.error({ err: error }, 'matching packages again failed'))
    },
  }
}
