import pino, { type DestinationStream, type Logger } from 'pino'
import { currentRequest } from './request-scope.ts'

export type Log = Pick<Logger, 'info' | 'warn' | 'error' | 'debug' | 'fatal'>

/** The log of the whole service. */
export interface RootLog extends Log {
  /** The log of one part: its lines carry `component`. */
  of(component: string): RootLog
}

/**
 * What secrets look like in the finished line. Searching there finds them at any depth, also in messages, stacks and
 * causes.
 */
const SECRETS: readonly [RegExp, string][] = [
  // a member by its name: "password", "smtp_password", "x-setup-token", "authorization"; also in JSON quoted inside a
  // message. Names are bounded: otherwise a path of one long word would be searched again from each of its letters.
  [
    /"([\w.-]{0,60}(?:password|passphrase|secret|token|authorization|cookie|private_key)[\w.-]{0,60})(\\*)":(\s?)\2"(?:[^"\\]|\\.)*?(?:\2"|(?="))/gi,
    '"$1$2":$3$2"***$2"',
  ],
  [/\bsvc_[\w-]{16,}/g, 'svc_***'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g, '***'],
  [/\b(Bearer|Basic) +[^\s"\\]+/gi, '$1 ***'],
  [/\$2[aby]\$\d\d\$[./\w]{53}/g, '***'],
  [/(:\/\/)[^\s/"@]+@/g, '$1***@'],
]

/** Something that every pattern above needs. Most lines have none of them, and there is one for each request. */
const MAY_HOLD_SECRETS =
  /pass(?:word|phrase)|secret|token|authorization|cookie|private_key|svc_|eyJ|bearer|basic|\$2|:\/\//i

/** Replaces the secrets in a line. */
export function mask(line: string): string {
  if (!MAY_HOLD_SECRETS.test(line)) return line
  return SECRETS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line)
}

const rootOf = (logger: Logger): RootLog =>
  Object.assign(logger, { of: (component: string) => rootOf(logger.child({ component })) })

/** Standard output belongs to the ready line. */
const standardError = (): DestinationStream => pino.destination({ fd: 2, sync: false })

/**
 * Writes structured log lines, by default to standard error. What belongs to a request carries its `request_id`.
 */
export function createLog(level: string, to: DestinationStream = standardError()): RootLog {
  const mixin = (): object => {
    const id = currentRequest()
    return id === undefined ? {} : { request_id: id }
  }
  return rootOf(
    pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin, hooks: { streamWrite: mask } }, to),
  )
}

/** The log of a service that keeps log files. */
export interface KeptLog {
  readonly log: RootLog
  /** For what would fill the files and says nothing: it goes to standard error alone. */
  readonly aside: Log
}

/** Writes to standard error and to a file. */
export function createKeptLog(level: string, file: { write(line: string): void }): KeptLog {
  const console = standardError()
  const both: DestinationStream = {
    write: line => {
      console.write(line)
      file.write(line)
    },
  }
  return { log: createLog(level, both), aside: createLog(level, console) }
}
