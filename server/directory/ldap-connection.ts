import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { Client, type Filter, ResultCodeError } from 'ldapts'
import { systemErrorInWords } from '../lib/system-errors.ts'

/** Where a directory is and how to reach it: part of the settings section `ldap`. */
export interface LdapAddress {
  readonly host: string
  readonly port: number
  readonly use_ssl: boolean
  readonly use_starttls: boolean
  readonly verify_cert: boolean
  readonly ca_bundle_path: string
}

/** One entry: its DN and the values of the requested attributes, as text. */
export interface LdapEntry {
  readonly dn: string
  values(attribute: string): readonly string[]
}

/** An open connection, encrypted where configured so. Every call throws DirectoryFault when the directory fails. */
export interface LdapConnection {
  /**
   * @returns false when the directory knows no such name or password. Never sends an empty password: that would be an
   * anonymous bind (RFC 4513, 5.1.2)
   */
  bind(dn: string, password: string): Promise<boolean>
  /** At most two entries: callers want exactly one. */
  findTwo(base: string, filter: string, attributes: readonly string[]): Promise<readonly LdapEntry[]>
  search(base: string, filter: Filter, attributes: readonly string[]): Promise<readonly LdapEntry[]>
}

/** How far it gets: the server is reached, the connection is safe, the service account is taken, a person is found. */
export type DirectoryStep = 'reach' | 'secure' | 'bind' | 'person'

/** The directory cannot be used, for a reason that an admin can act on. `why` holds no secret. */
export class DirectoryFault extends Error {
  readonly step: DirectoryStep
  readonly why: string
  constructor(step: DirectoryStep, why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'DirectoryFault'
    this.step = step
    this.why = why
  }
}

// result codes of a bind about name and password, not about the directory (RFC 4511, appendix A)
const REFUSALS = new Set([19, 32, 34, 48, 49, 50, 53])
const MOST_GROUPS = 1_000

async function tlsOptions({
  host,
  verify_cert: verify,
  ca_bundle_path: path,
}: LdapAddress): Promise<ConnectionOptions> {
  const ca =
    path === ''
      ? undefined
      : await readFile(path).catch((cause: NodeJS.ErrnoException) => {
          throw new DirectoryFault(
            'secure',
            `ldap.ca_bundle_path cannot be read: ${systemErrorInWords(cause) ?? 'it failed'}`,
            cause,
          )
        })
  // without `host`, the certificate on an upgraded connection would be compared with "localhost"
  return {
    host,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: verify,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
}

/** Causes of the commoner result codes of a search or StartTLS (RFC 4511, appendix A). */
const CAUSES: Readonly<Record<number, string>> = {
  1: 'it wants a bind first: set ldap.bind_dn',
  2: 'it knows no StartTLS, or does not understand the request',
  8: 'it wants an encrypted connection',
  13: 'it wants an encrypted connection',
  32: 'it has no entry that ldap.base_dn names, or hides it from this account',
  34: 'ldap.base_dn is no DN',
  50: 'ldap.bind_dn may not search there',
  51: 'it is busy',
  52: 'it is shutting down',
}

function explain(error: unknown): string {
  if (error instanceof ResultCodeError) {
    const said = error.message
      .replace(/\s*Code: 0x[\da-f]+$/i, '')
      .trim()
      .slice(0, 200)
    return `${CAUSES[error.code] ?? 'it refused'} (code ${error.code}${said === '' ? '' : `: ${said}`})`
  }
  const { code, message } = error as NodeJS.ErrnoException
  return systemErrorInWords(error) ?? (code === undefined ? message : `${message} (${code})`).slice(0, 300)
}

/** The step that an error is about. The connection is made with the first request, so a request may meet its faults. */
function stepOf(error: unknown, during: DirectoryStep, isEncrypted: boolean): DirectoryStep {
  // 8 strongerAuthRequired, 13 confidentialityRequired (RFC 4511, appendix A)
  if (error instanceof ResultCodeError) return error.code === 8 || error.code === 13 ? 'secure' : during
  const { code } = error as NodeJS.ErrnoException
  return isEncrypted && code !== undefined && !/^E[A-Z]+$/.test(code) ? 'secure' : 'reach'
}

function entryOf(found: Record<string, unknown> & { readonly dn: string }): LdapEntry {
  const byName = new Map(Object.entries(found).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    dn: found.dn,
    values: attribute =>
      [byName.get(attribute.toLowerCase()) ?? []]
        .flat()
        .map(value => (Buffer.isBuffer(value) ? value.toString('utf8') : String(value)))
        .filter(value => value !== ''),
  }
}

/** Connects, upgrades where StartTLS is set, runs `work`, and closes, all within `timeoutMs`. @throws DirectoryFault */
export async function withLdap<T>(
  address: LdapAddress,
  timeoutMs: number,
  work: (connection: LdapConnection) => Promise<T>,
): Promise<T> {
  const { host, port, use_ssl: ssl, use_starttls: startTls } = address
  if (host === '') throw new DirectoryFault('reach', 'ldap.host is empty')
  const tls = ssl || startTls ? await tlsOptions(address) : undefined
  const authority = isIP(host) === 6 ? `[${host}]` : host
  const client = new Client({
    url: `${ssl ? 'ldaps' : 'ldap'}://${authority}:${port}`,
    timeout: timeoutMs,
    connectTimeout: timeoutMs,
    strictDN: false,
    ...(ssl && tls !== undefined ? { tlsOptions: tls } : {}),
  })
  let upgraded = false
  let answered = false
  let step: DirectoryStep = 'reach'

  /**
   * The library reconnects when it notices a cut connection. After StartTLS that would be in the clear, with the
   * password to follow.
   */
  async function say<R>(at: DirectoryStep, call: () => Promise<R>): Promise<R> {
    step = at
    if (upgraded && !client.isConnected) throw new DirectoryFault('secure', 'the encrypted connection was cut')
    const answer = await call()
    answered = true
    return answer
  }
  const connection: LdapConnection = {
    bind: async (dn, password) => {
      if (password === '') return false
      try {
        await say('bind', () => client.bind(dn, password))
        return true
      } catch (error) {
        if (error instanceof ResultCodeError && REFUSALS.has(error.code)) return false
        throw error
      }
    },
    findTwo: async (base, filter, attributes) =>
      (
        await say('person', () =>
          client.search(base, { scope: 'sub', filter, attributes: [...attributes], sizeLimit: 2 }),
        )
      ).searchEntries.map(entryOf),
    search: async (base, filter, attributes) =>
      (
        await say('person', () =>
          client.search(base, { scope: 'sub', filter, attributes: [...attributes], sizeLimit: MOST_GROUPS }),
        )
      ).searchEntries.map(entryOf),
  }

  async function talk(): Promise<T> {
    if (startTls && !ssl && tls !== undefined) {
      await say('secure', () => client.startTLS(tls))
      upgraded = true
    }
    return work(connection)
  }
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DirectoryFault(answered ? step : 'reach', `it did not answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([talk(), overdue])
  } catch (error) {
    if (error instanceof DirectoryFault) throw error
    throw new DirectoryFault(stepOf(error, step, tls !== undefined), explain(error), error)
  } finally {
    clearTimeout(timer)
    // do not wait a second time for a directory that hangs
    void client.unbind().catch(() => undefined)
  }
}
