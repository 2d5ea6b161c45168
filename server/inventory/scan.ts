import { fail, type ErrorCode } from '../core/errors.ts'
import type { WorkKind } from '../core/work.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import type { Audit } from '../record/audit.ts'
import type { Settings } from '../settings/store.ts'
import { BadReport } from './bad-report.ts'
import type { ClientRow } from './client-row.ts'
import { askScript } from './collect-script.ts'
import { takeReport, type IntakeDeps } from './intake.ts'
import { readReport, REPORT_LIMIT_BYTES } from './report.ts'
import { logFailure } from './scan-log.ts'
import { serviceKey } from './service-key.ts'
import { askOverSsh, HostKeyChanged, SshFailure, type HostKey } from './ssh-session.ts'

export const SCAN = 'inventory-scan'

export interface ScanDeps extends IntakeDeps {
  readonly box: SecretBox
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'record'>
}

/** What a job is told. */
export interface ScanRequest {
  readonly client_id: number
}

/** How many machines are asked at once: sshd itself drops some logins of more. */
const AT_ONCE = 10

interface KnownHost {
  readonly key_type: string
  readonly fingerprint: string
  readonly offered_fingerprint: string | null
}

const knownHost = ({ db }: ScanDeps, id: number): Promise<KnownHost | undefined> =>
  db.first<KnownHost>(
    'select key_type, fingerprint, offered_fingerprint from inventory_known_host where client_id = $1',
    [id],
  )

/** Trusts the first key that is seen. */
async function pin(
  { db, clock }: ScanDeps,
  { id, hostname }: ClientRow,
  { type, fingerprint }: HostKey,
): Promise<void> {
  await db.query(
    `insert into inventory_known_host (client_id, hostname, key_type, fingerprint, trusted_at, trusted_by)
    values ($1, $2, $3, $4, $5, 'first sight') on conflict (client_id) do nothing`,
    [id, hostname, type, fingerprint, clock.now()],
  )
}

/** Remembers the other key: the machine is not asked until an admin has compared them. */
async function block(deps: ScanDeps, row: ClientRow, trusted: string, { type, fingerprint }: HostKey): Promise<void> {
  const { db, clock, audit } = deps
  await db.query(
    `update inventory_known_host set offered_key_type = $2, offered_fingerprint = $3, offered_at = $4 where client_id = $1`,
    [row.id, type, fingerprint, clock.now()],
  )
  await audit.record({
    action: 'INVENTORY_HOST_KEY',
    result: 'FAILURE',
    user: 'system',
    facts: { kind: 'machine.key_changed', client: row.id, hostname: row.hostname, trusted, offered: fingerprint },
  })
}

/** What a failure is called, with everything that its sentence needs. */
function refuse(row: ClientRow, error: unknown, { trusted, seconds }: { trusted: string; seconds: number }): never {
  const { hostname } = row
  if (error instanceof BadReport) return fail('inventory_bad_report', { why: error.message }, error)
  if (!(error instanceof SshFailure)) throw error
  const why = error.message
  switch (error.code) {
    case 'inventory_host_key_changed':
      return fail(error.code, {
        hostname,
        trusted,
        offered: error instanceof HostKeyChanged ? error.offered.fingerprint : why,
      })
    case 'inventory_unreachable':
      return fail(error.code, { hostname, address: `${row.ip}, port ${row.ssh_port}`, why })
    case 'inventory_login_refused':
      return fail(error.code, { hostname, user: row.ssh_user, why })
    case 'inventory_timeout':
      return fail(error.code, { hostname, seconds })
    default:
      return fail(error.code, { hostname, why })
  }
}

/** Asks one machine. @throws SshFailure, BadReport, or the reason of the signal */
async function ask(deps: ScanDeps, row: ClientRow, known: KnownHost | undefined, signal: AbortSignal) {
  const { box, settings } = deps
  const ms = settings.now().inventory.command_seconds * 1_000
  const { output, hostKey } = await askOverSsh({
    host: row.ip === '' ? row.hostname : row.ip,
    port: row.ssh_port,
    user: row.ssh_user,
    login:
      row.ssh_password === null
        ? { privateKey: (await serviceKey(deps)).privateKey }
        : { password: box.open(row.ssh_password).toString('utf8') },
    trusted: known && { type: known.key_type, fingerprint: known.fingerprint },
    script: askScript(row.pkg_type),
    connectMs: ms,
    commandMs: ms,
    limitBytes: REPORT_LIMIT_BYTES,
    signal,
  })
  if (known === undefined) await pin(deps, row, hostKey)
  return readReport(output)
}

/** Machines are asked over SSH, some at once, each at most once at a time. A run that was cut short asks again. */
export const scanWork = (deps: ScanDeps): WorkKind<ScanRequest, never, { readonly packages: number }> => ({
  kind: SCAN,
  name: 'Ask a machine over SSH',
  see: 'auditor+',
  cancel: 'maintainer+',
  limit: AT_ONCE,
  run: async (run, { client_id: id }) => {
    const { db, clock, settings } = deps
    const row = await db.first<ClientRow>('select * from inventory_client where id = $1', [id])
    if (row === undefined) return fail('inventory_client_not_found', { id })
    if (row.connection_type !== 'ssh') return fail('inventory_not_by_ssh', { hostname: row.hostname })
    const known = await knownHost(deps, id)
    const began = performance.now()
    const arrival = { clientId: id, connection: 'ssh', by: run.by } as const
    try {
      if (known !== undefined && known.offered_fingerprint !== null)
        throw new HostKeyChanged({ type: '', fingerprint: known.offered_fingerprint })
      const report = await ask(deps, row, known, run.signal)
      await takeReport(deps, report, { ...arrival, durationMs: performance.now() - began })
      return { packages: report.packages.length }
    } catch (error) {
      run.signal.throwIfAborted()
      if (error instanceof HostKeyChanged && known !== undefined && known.offered_fingerprint === null)
        await block(deps, row, known.fingerprint, error.offered)
      try {
        const seconds = settings.now().inventory.command_seconds
        return refuse(row, error, { trusted: known?.fingerprint ?? 'none', seconds })
      } catch (refusal) {
        const { code = 'job_failed', message } = refusal as { readonly code?: ErrorCode; readonly message: string }
        await logFailure(db, {
          ...arrival,
          at: clock.now(),
          durationMs: performance.now() - began,
          failed: { code, message },
        })
        throw refusal
      }
    }
  },
})
