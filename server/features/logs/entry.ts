import { mask } from '../../lib/log.ts'

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const
export type Level = (typeof LEVELS)[number]

/** One line of a log, as `GET /logs` shows it. */
export interface LogEntry {
  /** Seconds since 1970; null where the line does not say. */
  readonly ts: number | null
  readonly level: Level
  /** The part of the service that wrote it, or the kind of proxy log. */
  readonly name: string
  readonly message: string
  readonly service: 'backend' | 'apt-repo'
  readonly log_type?: 'access' | 'downloads' | 'error'
  readonly request_id?: string
  /** What the line says beside that. */
  readonly data?: Readonly<Record<string, unknown>>
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** pino's numbers: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal. */
const levelOf = (n: unknown): Level =>
  typeof n !== 'number' ? 'INFO' : n < 30 ? 'DEBUG' : n < 40 ? 'INFO' : n < 50 ? 'WARNING' : 'ERROR'

function messageOf({ msg, method, path, status, ms, err }: Record<string, unknown>): string {
  if (msg === 'request') return `${text(method)} ${text(path)} ${String(status)}, ${String(ms)} ms`
  const why = typeof err === 'object' && err !== null && 'message' in err ? text(err.message) : undefined
  return [text(msg), why].filter(one => one !== undefined && one !== '').join(': ')
}

/** A line of the service itself. What is no JSON object, such as half a line, is shown as it is. */
export function parseOwn(line: string): LogEntry {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ts: null, level: 'INFO', name: 'gatehouse', message: mask(line), service: 'backend' }
  const { time, level, component, msg, request_id: requestId, ...data } = value as Record<string, unknown>
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN
  const id = text(requestId)
  return {
    ts: Number.isNaN(ms) ? null : ms / 1000,
    level: levelOf(level),
    name: text(component) ?? 'gatehouse',
    message: messageOf({ ...data, msg }),
    service: 'backend',
    ...(id === undefined ? {} : { request_id: id }),
    ...(Object.keys(data).length === 0 ? {} : { data }),
  }
}

// the time and the status of nginx's combined format, which other formats usually begin with
const ACCESS = /\[(\d\d)\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)\](?: "(?:[^"\\]|\\.)*" (\d{3})\b)?/
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** Our own lines end in the request's id, behind the quoted header Range. */
const OWN_ID = /" ([\w.:-]{1,128})$/

/** A line of an access log. */
export const parseAccess =
  (log: 'access' | 'downloads') =>
  (line: string): LogEntry => {
    const [, day, month = '', year, time, hours, minutes, status = '200'] = ACCESS.exec(line) ?? []
    const date = `${year}-${String(MONTHS.indexOf(month) + 1).padStart(2, '0')}-${day}T${time}${hours}:${minutes}`
    const ms = day === undefined ? Number.NaN : Date.parse(date)
    const [, id] = OWN_ID.exec(line) ?? []
    return {
      ts: Number.isNaN(ms) ? null : ms / 1000,
      level: status >= '500' ? 'ERROR' : status >= '400' ? 'WARNING' : 'INFO',
      name: log,
      message: mask(line),
      service: 'apt-repo',
      log_type: log,
      ...(id === undefined ? {} : { request_id: id }),
    }
  }

// 2026/11/23 15:04:05 [error] 71#71: *1 open() failed, in the time of that machine. Source: nginx, ngx_log.c
const ERROR_LINE = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d) \[(\w+)\]/
const WORDS: Readonly<Record<string, Level>> = { debug: 'DEBUG', info: 'INFO', notice: 'INFO', warn: 'WARNING' }

/** A line of nginx's error log. */
export function parseError(line: string): LogEntry {
  const [, year, month, day, time, word] = ERROR_LINE.exec(line) ?? []
  const ms = Date.parse(`${year}-${month}-${day}T${time}`)
  return {
    ts: Number.isNaN(ms) ? null : ms / 1000,
    level: word === undefined ? 'INFO' : (WORDS[word] ?? 'ERROR'),
    name: 'error',
    message: mask(line),
    service: 'apt-repo',
    log_type: 'error',
  }
}
