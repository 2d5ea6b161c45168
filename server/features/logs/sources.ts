import { join } from 'node:path'
import { ownSeries, rotatedSeries, type LogSeries } from '../../record/log-series.ts'
import { parseAccess, parseError, parseOwn, type LogEntry } from './entry.ts'

export const SOURCE_IDS = ['backend', 'access', 'downloads', 'error'] as const
export type SourceId = (typeof SOURCE_IDS)[number]

/** One kind of log. */
export interface LogSource {
  readonly id: SourceId
  /** As `GET /logs/services` names it. */
  readonly service: string
  readonly label: string
  /** Its files, a series for each machine that writes one; none where nobody does. */
  series(): Promise<readonly LogSeries[]>
  read(line: string): LogEntry
}

export interface SourcesDeps {
  /** LOG_FOLDER. */
  readonly folder: string
  /** The access log of a web server that serves the trees; undefined where this service does. */
  readonly accessLog: () => string | undefined
}

/** The logs, in the order in which they are shown. A web server's are there when their files are. */
export function createSources({ folder, accessLog }: SourcesDeps): readonly LogSource[] {
  const proxy = async (file: string): Promise<LogSeries[]> => {
    const series = await rotatedSeries(file)
    return series === undefined ? [] : [series]
  }
  return [
    {
      id: 'backend',
      service: 'backend',
      label: 'Gatehouse',
      series: () => ownSeries(folder, 'gatehouse'),
      read: parseOwn,
    },
    {
      id: 'access',
      service: 'apt-repo/access',
      label: 'Repository: requests',
      series: async () => {
        const served = await proxy(accessLog() ?? join(folder, 'access.log'))
        return served.length > 0 ? served : ownSeries(folder, 'trees')
      },
      read: parseAccess('access'),
    },
    {
      id: 'downloads',
      service: 'apt-repo/downloads',
      label: 'Repository: downloads',
      series: () => proxy(join(folder, 'downloads.log')),
      read: parseAccess('downloads'),
    },
    {
      id: 'error',
      service: 'apt-repo/error',
      label: 'Repository: errors',
      series: () => proxy(join(folder, 'error.log')),
      read: parseError,
    },
  ]
}
