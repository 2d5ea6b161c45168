import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Pick<Logger, 'info' | 'warn' | 'error' | 'debug' | 'fatal'>

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

/** Writes structured log lines, by default to standard error: standard output belongs to the ready line. */
export function createLog(level: string, to?: DestinationStream): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: mask } },
    to ?? pino.destination({ fd: 2, sync: false }),
  )
}
