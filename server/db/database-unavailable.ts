type Fault = Error & { readonly code?: string; readonly errors?: readonly Fault[] }

// Source: PostgreSQL, appendix A: connection exceptions, and the codes of a server that stops, starts or has no room
// left, or ended a session that was silent in a transaction
const UNAVAILABLE_CODES = /^(08...|25P03|57P0[1-5]|53300)$/
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
// pg and knex give these no code
const UNAVAILABLE_MESSAGES =
  /Connection terminated|not queryable|timeout expired|timeout exceeded when trying to connect|Timeout acquiring a connection/i

/** The database did not answer. It may or may not have carried out the statement. */
export class DatabaseUnavailable extends Error {
  readonly code: string

  constructor(cause: Fault) {
    super(cause.message, { cause })
    this.name = 'DatabaseGone'
    this.code = cause.code ?? ''
  }
}

/**
 * Returns the same error, or `DatabaseUnavailable` when that is what it means. @param error  thrown by a statement or a
 * connection
 */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const fault = error as Fault
  const first = fault.errors?.[0] ?? fault // a name with several addresses fails with one error for each
  const { code = '' } = first
  return UNAVAILABLE_CODES.test(code) || NETWORK_CODES.has(code) || UNAVAILABLE_MESSAGES.test(first.message)
    ? new DatabaseUnavailable(first)
    : error
}

/** Whether any other statement would fail with it, too: the database does not answer. */
export const isUnavailable = (error: unknown): boolean => error instanceof DatabaseUnavailable
