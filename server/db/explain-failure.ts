import { systemErrorInWords } from '../lib/system-errors.ts'

type Fault = Error & { readonly code?: string; readonly errors?: readonly Fault[] }

/** The way out, by the code that PostgreSQL or the network gave. Source: PostgreSQL, appendix A. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  '28P01': 'Correct the user name and the password in DATABASE_URL.',
  '28000': 'Let this user in with pg_hba.conf, or correct DATABASE_URL.',
  '3D000': 'Create it with createdb, or correct DATABASE_URL.',
  '42501': 'Make the user of DATABASE_URL the owner of the database.',
  'ENOTFOUND': 'Correct the host in DATABASE_URL.',
  'EAI_AGAIN': 'Correct the host in DATABASE_URL, or look at the name server.',
}
const UNREACHED = 'Start PostgreSQL there, or correct DATABASE_URL.'

/** Host, port and name, without user and password. */
function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}

/**
 * Says in one sentence why the database of DATABASE_URL cannot be used and what to do, without a secret.
 * @param error  thrown by the first statement; returned as it is when it does not concern reaching the database
 */
export function databaseUnusable(url: string, error: unknown): unknown {
  const fault = error as Fault
  // a name with several addresses fails with one error for each
  const { code = '', message } = fault.errors?.[0] ?? fault
  const isLate = /timeout acquiring a connection|connection timeout/i.test(message)
  const isReach =
    isLate ||
    /^E[A-Z_]+$/.test(code) ||
    /terminated unexpectedly|does not support SSL|self-signed|certificate/i.test(message)
  const wayOut = WAYS_OUT[code] ?? (isReach ? UNREACHED : undefined)
  if (wayOut === undefined) return error
  // knex puts the statement and a dash in front of PostgreSQL's message
  const said = isLate
    ? 'it does not answer'
    : (systemErrorInWords(fault)?.replace(/;.*$/, '') ??
      message.replace(/^(create|select|insert) .* - /is, '').replace(/\.$/, ''))
  return new Error(`The database at ${placeOf(url)} cannot be used: ${said}. ${wayOut}`, { cause: error })
}
