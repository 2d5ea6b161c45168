import { hostname } from 'node:os'
import type { Env } from '../env.ts'
import { systemClock } from '../lib/clock.ts'
import { createLineFile, type LineFile } from '../lib/line-file.ts'
import { createKeptLog, createLog, type Log, type RootLog } from '../lib/log.ts'
import { seriesName, type OwnLog } from '../record/log-series.ts'

/** Where the service writes what happens. */
export interface ServiceLogs {
  readonly log: RootLog
  /** For what would fill the files and says nothing. */
  readonly aside: Log
  /** One line for each request of a tree. */
  readonly trees: Pick<LineFile, 'write'>
  /** Has `listener` called whenever a file of requests is finished. */
  onTreesFinished(listener: () => void): void
  close(): Promise<void>
}

/** Opens the log files of this machine; nothing is written before the first line. */
export function openLogs({ logLevel, logFolder, logFileMb, logFiles }: Env): ServiceLogs {
  const console = createLog(logLevel)
  let finished: (() => void) | undefined
  const fileOf = (log: OwnLog, onFinished?: () => void): LineFile =>
    createLineFile({
      folder: logFolder,
      name: seriesName(log, hostname()),
      maxBytes: logFileMb * 1024 * 1024,
      keep: logFiles,
      clock: systemClock,
      ...(onFinished === undefined ? {} : { onFinished }),
      onTrouble: (error, lost) => {
        if (error === undefined) console.warn({ log, lost }, 'the log file can be written again')
        else console.error({ err: error, log }, 'the log file cannot be written')
      },
    })
  const files = { service: fileOf('gatehouse'), trees: fileOf('trees', () => finished?.()) }
  const endNow = (): void => {
    for (const file of Object.values(files)) file.closeNow()
  }
  process.on('exit', endNow)
  return {
    ...createKeptLog(logLevel, files.service),
    trees: files.trees,
    onTreesFinished: listener => {
      finished = listener
    },
    async close() {
      await Promise.all(Object.values(files).map(file => file.close()))
      process.off('exit', endNow)
    },
  }
}
