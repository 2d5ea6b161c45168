import { cachedByViewer } from '../../lib/cached.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { ownSeries, rotatedSeries, type LogSeries } from '../../record/log-series.ts'
import type { Settings } from '../../settings/store.ts'
import type { Viewer } from '../../core/viewer.ts'
import { downloads, type DownloadStats } from './contract.ts'
import { createCounting, type CountDeps } from './count.ts'
import { downloadHandlers, type DownloadRouteDeps } from './handlers.ts'
import { seenClients } from './seen-clients.ts'
import { readStats } from './stats.ts'
import { forgetBefore, shortenOne } from './store.ts'

export interface DownloadNeeds extends Omit<CountDeps, 'series'> {
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  readonly log: Log
  /** LOG_FOLDER. */
  readonly logFolder: string
}

/** Lines that came less than this ago may not be counted yet. */
const FRESH_MS = 10_000
/** How long an answer is kept: one over a month with millions of rows takes seconds. */
const KEPT_MS = 10_000
/** The longest question is about 365 days. */
const KEEP_DAYS = 400
const DAY_MS = 86_400_000

/** The statistics of downloads. */
export function composeDownloads(needs: DownloadNeeds): Feature & {
  /** Counts in the background, for example when a log file is finished. */
  readonly soon: () => void
} {
  const { db, clock, settings, log, logFolder } = needs
  const dayBefore = (days: number): string => new Date(clock.now().getTime() - days * DAY_MS).toISOString().slice(0, 10)
  const stopping = new AbortController()

  async function series(): Promise<readonly LogSeries[]> {
    const path = settings.now().downloads.access_log
    if (path === '') return ownSeries(logFolder, 'trees')
    const found = await rotatedSeries(path)
    // by its path: another log is another one, also under the same name
    return found === undefined ? [] : [{ ...found, name: path }]
  }
  const counting = createCounting({ ...needs, series })
  let ranAt = -Infinity
  let running: Promise<void> | undefined
  function count(): Promise<void> {
    running ??= counting.run(stopping.signal).finally(() => {
      ranAt = clock.now().getTime()
      running = undefined
    })
    return running
  }
  const failed = (error: unknown): void => {
    if (!stopping.signal.aborted) log.error({ err: error }, 'downloads could not be counted')
  }

  const reads = new Map<string, (viewer: Viewer) => Promise<DownloadStats>>()
  const stats: DownloadRouteDeps['stats'] = (viewer, { days, isWhole, most }) => {
    const readFor = async (one: Viewer): Promise<DownloadStats> =>
      readStats(
        db,
        { viewer: one, since: dayBefore(days - 1), most },
        { isWhole, isAvailable: (await series()).length > 0 },
      )
    // a long list is for a file, and asked for seldom
    if (most !== undefined) return readFor(viewer)
    const key = `${days} ${isWhole}`
    const read =
      reads.get(key) ??
      cachedByViewer({
        clock,
        ms: KEPT_MS,
        read: readFor,
      })
    reads.set(key, read)
    return read(viewer)
  }

  return {
    routes: bind(downloads, downloadHandlers, {
      clock,
      fresh: async () => {
        const age = clock.now().getTime() - ranAt
        if (age < 0 || age >= FRESH_MS) await count().catch(failed)
      },
      stats,
      clients: async since => {
        const log = settings.now().downloads.access_log
        const all = await series()
        // our own log begins with the first request
        const seen =
          log !== '' && all.length === 0
            ? ({ known: false, why: 'no_log' } as const)
            : await seenClients(all, { since, isCodename: name => needs.repositories.find(name) !== undefined })
        return { log, seen }
      },
    }),
    jobs: [
      {
        id: 'download-statistics',
        name: 'Count downloads in the access log',
        when: () => '*/5 * * * *',
        listed: true,
        run: count,
      },
      {
        id: 'download-cleaning',
        name: 'Shorten addresses of older downloads, and forget those of long ago',
        when: () => '20 3 * * *',
        daily: true,
        run: async () => {
          const before = dayBefore(settings.now().downloads.address_days)
          while (!stopping.signal.aborted && (await db.tx(tx => shortenOne(tx, before)))) {
            // a day at a time: no transaction is long
          }
          await db.tx(tx => forgetBefore(tx, dayBefore(KEEP_DAYS)))
        },
      },
    ],
    soon: () => void count().catch(failed),
    stop: async () => {
      stopping.abort(new Error('the service stops'))
      await running?.catch(() => undefined)
    },
  }
}
