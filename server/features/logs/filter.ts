import { LEVELS, type Level, type LogEntry } from './entry.ts'

/** Which lines are wanted; a member that is absent asks for nothing. */
export interface LogFilter {
  /** Exactly this level. */
  readonly level?: Level
  /** This level and those above. */
  readonly minLevel?: Level
  readonly component?: string
  readonly requestId?: string
  /** Words of the line, in whatever case. */
  readonly q?: string
  /** In seconds since 1970, both included. */
  readonly from?: number
  readonly to?: number
}

/** Whether a line is wanted; of one that is, its entry. */
export function createFilter(
  filter: LogFilter,
  read: (line: string) => LogEntry,
): (line: string) => LogEntry | undefined {
  const { level, minLevel, component, requestId, from, to } = filter
  const q = filter.q?.toLowerCase()
  const least = minLevel === undefined ? 0 : LEVELS.indexOf(minLevel)
  return line => {
    // most lines are not of the request: they need not be read
    if (requestId !== undefined && !line.includes(requestId)) return undefined
    const entry = read(line)
    const isWanted =
      (level === undefined || entry.level === level) &&
      LEVELS.indexOf(entry.level) >= least &&
      (component === undefined || entry.name === component) &&
      (requestId === undefined || entry.request_id === requestId) &&
      (q === undefined || entry.message.toLowerCase().includes(q) || line.toLowerCase().includes(q)) &&
      (from === undefined || (entry.ts ?? from) >= from) &&
      (to === undefined || (entry.ts ?? to) <= to)
    return isWanted ? entry : undefined
  }
}
