import pino, { type Logger } from 'pino'

export type Log = Pick<Logger, 'info' | 'warn' | 'error' | 'debug' | 'fatal'>

// names under which a secret may travel; whatever stands there is never printed
const SECRETS = ['authorization', 'cookie', 'password', 'new_password', 'current_password', 'admin_password', 'token', 'access_token', 'mfa_token', 'secret', 'smtp_password', 'bind_password']
const PATHS = SECRETS.flatMap(name => [name, `*.${name}`, `*.*.${name}`])

/** Structured log lines on standard error: standard output belongs to the ready line. */
export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: [...PATHS, 'headers["x-setup-token"]'], censor: '***' } }, pino.destination({ fd: 2, sync: false }))
}
