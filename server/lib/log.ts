import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Pick<Logger, 'info' | 'warn' | 'error' | 'debug' | 'fatal'>

/**
 * What a secret looks like, in the finished line: there it is found at any depth, in messages, stacks and causes too.
 */
const SECRETS: readonly [RegExp, string][] = [
  // a member by its name: "password", "smtp_password", "x-setup-token", "authorization"; also of JSON that is quoted in
  // a message. Names are bounded, or a path of one long word would be gone over from each of its letters.
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

/** The line without what must not be read in it. */
export function mask(line: string): string {
  return SECRETS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), line)
}

/** Structured log lines on standard error, unless said otherwise: standard output belongs to the ready line. */
export function createLog(level: string, to?: DestinationStream): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: mask } },
    to ?? pino.destination({ fd: 2, sync: false }),
  )
}
