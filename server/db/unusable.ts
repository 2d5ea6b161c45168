type Fault = Error & { readonly code?: string; readonly errors?: readonly Fault[] }

/** What somebody does about it, by what PostgreSQL or the network says. Source: PostgreSQL, appendix A. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  '28P01': 'Correct the user name and the password in DATABASE_URL.',
  '28000': 'Let this user in with pg_hba.conf, or correct DATABASE_URL.',
  '3D000': 'Create it with createdb, or correct DATABASE_URL.',
  '42501': 'Make the user of DATABASE_URL the owner of the database.',
  'ENOTFOUND': 'Correct the host in DATABASE_URL.',
  'EAI_AGAIN': 'Correct the host in DATABASE_URL, or look at the name server.',
}
const UNREACHED = 'Start PostgreSQL there, or correct DATABASE_URL.'

/** Host, port and name, without who logs in and how. */
function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}

/**
 * Why the database that DATABASE_URL names cannot be used, as one sentence with the way out and without a secret.
 * @param error  what the first statement threw; anything that is not about reaching the database is given back as it is
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
  // knex puts the statement and a dash before what PostgreSQL says
  const said = isLate ? 'it does not answer' : message.replace(/^(create|select|insert) .* - /is, '').replace(/\.$/, '')
  return new Error(`The database at ${placeOf(url)} cannot be used: ${said}. ${wayOut}`, { cause: error })
}
