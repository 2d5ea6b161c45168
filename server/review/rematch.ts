import { setImmediate as breathe } from 'node:timers/promises'
import { listStale, markScanned, type ScannedPackage } from '../catalog/queries/rescans.ts'
import { isRefusal } from '../core/errors.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Matched, Rescans } from './rescan.ts'

export interface RematchDeps {
  readonly db: Queryable
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

/** Matches all served and held packages again: at night, and whenever an engine has new data. */
export interface Rematch {
  /** Every package once. A second call during a run shares it. */
  run(): Promise<RematchCounts>
  /** Runs soon, in the background; during a run, once more after it. For engines whose data changed. */
  soon(): void
  /** Ends a run after the current packages. */
  stop(): Promise<void>
}

const BATCH = 100
// an engine that failed for so many in a row will fail for the next
const GIVE_UP = 25

export function createRematch({ db, rescans, clock, log, isOn, parallel = 2 }: RematchDeps): Rematch {
  const stopping = new AbortController()
  let running: Promise<RematchCounts> | undefined
  let again = false

  async function matchOne({ manifest, facts }: ScannedPackage): Promise<Matched | 'failed'> {
    await breathe() // requests go first
    try {
      return await rescans.rematch({ ...manifest, facts }, stopping.signal)
    } catch (error) {
      if (stopping.signal.aborted || isRefusal(error, 'version_not_found')) return 'same' // deleted meanwhile
      log.error(
        { err: error, package: manifest.ref.name, version: manifest.ref.version },
        'a package could not be matched again',
      )
      return 'failed'
    }
  }

  async function runOnce(): Promise<RematchCounts> {
    const start = clock.now()
    const counts: Record<Matched | 'failed', number> = { same: 0, changed: 0, held: 0, unavailable: 0, failed: 0 }
    let silent = 0
    let last = 0
    while (!stopping.signal.aborted && silent < GIVE_UP) {
      const rows = await listStale(db, ALL_SEEING, { before: start, after: last, limit: BATCH })
      if (rows.length === 0) break
      const waiting = [...rows]
      const looked: number[] = []
      const worker = async (): Promise<void> => {
        for (
          let row = waiting.shift();
          row !== undefined && !stopping.signal.aborted && silent < GIVE_UP;
          row = waiting.shift()
        ) {
          const matched = await matchOne(row)
          counts[matched]++
          if (matched !== 'unavailable' && matched !== 'failed') looked.push(row.id)
          silent = matched === 'unavailable' ? silent + 1 : 0
        }
      }
      await Promise.all(Array.from({ length: parallel }, worker))
      last = rows.at(-1)?.id ?? last
      await markScanned(db, ALL_SEEING, { ids: looked, at: start })
    }
    if (silent >= GIVE_UP) log.warn({ ...counts }, 'no vulnerability engine answers: packages were not matched again')
    else log.info({ ...counts }, 'packages were matched again')
    return counts
  }

  function run(): Promise<RematchCounts> {
    running ??= runOnce().finally(() => {
      running = undefined
      if (again && !stopping.signal.aborted) soon()
      again = false
    })
    return running
  }

  function soon(): void {
    if (!isOn()) return
    if (running !== undefined) {
      again = true
      return
    }
    run().catch((error: unknown) => log.error({ err: error }, 'matching packages again failed'))
  }

  return {
    run,
    soon,
    stop: async () => {
      stopping.abort(new Error('the service stops'))
      await running?.catch(() => undefined)
    },
  }
}
