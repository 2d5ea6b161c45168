import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AppAddress } from '../../core/app-address.ts'
import type { RawRequest } from '../../core/contract.ts'
import type { Db } from '../../db/db.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import type { AntivirusScanner, VulnerabilityScanner } from '../../scanners/scanner.ts'

/** What one look found, in a sentence without a path or an address. */
export interface Check {
  readonly ok: boolean
  readonly detail: string
}

/** What the service needs, looked at now. */
export interface Preflight {
  readonly checks: Readonly<Record<'database' | 'disk_space' | 'clamav' | 'grype' | 'secrets' | 'tls', Check>>
  /** Database, disk and secrets are as they must be; the other checks are advice. */
  readonly ready: boolean
}

export interface PreflightDeps {
  readonly db: Pick<Db, 'query'>
  readonly disk: () => Promise<{ readonly ok: boolean; readonly free_gb?: number; readonly error?: string }>
  readonly antivirus: Pick<AntivirusScanner, 'status'>
  readonly vulnerability: readonly Pick<VulnerabilityScanner, 'id' | 'status' | 'isPresent'>[]
  /** The folder of secrets that were made at random. */
  readonly secrets: string
  readonly address: Pick<AppAddress, 'console'>
}

async function database({ db }: PreflightDeps): Promise<Check> {
  const [row] = await db.query<{ server_version: string }>('show server_version')
  return { ok: true, detail: `PostgreSQL ${row?.server_version.split(' ')[0] ?? ''} answers.` }
}

async function diskSpace({ disk }: PreflightDeps): Promise<Check> {
  const { ok, free_gb, error } = await disk()
  const free = free_gb === undefined ? '' : `${free_gb} GB are free.`
  return ok ? { ok, detail: free } : { ok, detail: `The disk cannot be used: ${error ?? 'it failed'}. ${free}`.trim() }
}

async function clamav({ antivirus }: PreflightDeps): Promise<Check> {
  const { ok, version, error } = await antivirus.status()
  return { ok, detail: ok ? `clamd ${version ?? ''} answers.` : (error ?? 'clamd does not answer.') }
}

async function grype({ vulnerability }: PreflightDeps): Promise<Check> {
  const engine = vulnerability.find(({ id }) => id === 'grype')
  if (engine === undefined || (await engine.isPresent?.()) === false)
    return { ok: false, detail: 'grype is not installed. The built-in matcher looks for vulnerabilities without it.' }
  const { ok, version, error } = await engine.status()
  return { ok, detail: ok ? `grype ${version ?? ''} answers.` : (error ?? 'grype does not answer.') }
}

/** Secrets that were not given were made at random; nobody else may read them. */
async function secrets({ secrets: folder }: PreflightDeps): Promise<Check> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const modes = await Promise.all(names.map(async name => (await stat(join(folder, name))).mode))
  const open = names.filter((_, n) => ((modes[n] ?? 0) & 0o077) !== 0)
  if (names.length === 0) return { ok: true, detail: 'Every secret was given to this service when it was started.' }
  return open.length > 0
    ? { ok: false, detail: `Others on this machine can read the secret ${open.join(', ')}. Set its mode to 0600.` }
    : { ok: true, detail: `${names.length} secrets were made at random; only this service can read them.` }
}

function tls({ address }: PreflightDeps, raw: Pick<RawRequest, 'stream'>): Check {
  return address.console(raw).startsWith('https:')
    ? { ok: true, detail: 'This page came over TLS.' }
    : { ok: false, detail: 'This page came without TLS: put a proxy with TLS in front before others use it.' }
}

/** Looks at everything at once. A check that breaks says so; it is never ok. */
export function createPreflight(deps: PreflightDeps): (raw: Pick<RawRequest, 'stream'>) => Promise<Preflight> {
  const look = (what: (given: PreflightDeps) => Promise<Check>): Promise<Check> =>
    what(deps).catch((error: unknown) => ({
      ok: false,
      detail: `This could not be looked at: ${systemErrorInWords(error) ?? 'it failed'}.`,
    }))
  return async raw => {
    const looks = [look(database), look(diskSpace), look(clamav), look(grype), look(secrets)] as const
    const [db, disk, antivirus, matcher, kept] = await Promise.all(looks)
    const checks = {
      database: db,
      disk_space: disk,
      clamav: antivirus,
      grype: matcher,
      secrets: kept,
      tls: tls(deps, raw),
    }
    return { checks, ready: checks.database.ok && checks.disk_space.ok && checks.secrets.ok }
  }
}
