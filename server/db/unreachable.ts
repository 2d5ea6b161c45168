type Fault = Error & { readonly code?: string; readonly errors?: readonly Fault[] }

// Source: PostgreSQL, appendix A: connection exceptions, and what a server says that stops, starts or has no place left
const SAID = /^(08...|57P0[1-5]|53300)$/
const NETWORK = new Set([
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
const WORDS =
  /Connection terminated|not queryable|timeout exceeded when trying to connect|Timeout acquiring a connection/i

/** The database could not be asked, or went away before it answered: what was wanted may have been done or not. */
export class DatabaseGone extends Error {
  readonly code: string

  constructor(cause: Fault) {
    super(cause.message, { cause })
    this.name = 'DatabaseGone'
    this.code = cause.code ?? ''
  }
}

/**
 * The same error, or that the database is gone where that is what it says. @param error  what a statement or a
 * connection threw
 */
export function orGone(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const fault = error as Fault
  const first = fault.errors?.[0] ?? fault // a name with several addresses fails with one error for each
  const { code = '' } = first
  return SAID.test(code) || NETWORK.has(code) || WORDS.test(first.message) ? new DatabaseGone(first) : error
}
