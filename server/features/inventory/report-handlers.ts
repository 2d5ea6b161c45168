import type { Handlers, RawRequest } from '../../core/contract.ts'
import { AppError, fail } from '../../core/errors.ts'
import { AGENT_SCRIPT } from '../../inventory/agent-script.ts'
import { hashAgentToken } from '../../inventory/agent-token.ts'
import { BadReport } from '../../inventory/bad-report.ts'
import { takeReport, type IntakeDeps } from '../../inventory/intake.ts'
import { readReport, REPORT_LIMIT_BYTES, type Report } from '../../inventory/report.ts'
import { logFailure } from '../../inventory/scan-log.ts'
import { readBytes } from '../../lib/read-bytes.ts'
import type { inventory } from './contract.ts'

export type ReportDeps = IntakeDeps

type Rows = Pick<typeof inventory, 'GET /inventory/agent.sh' | 'POST /inventory/report'>

/** The machine whose token this is. @throws not_authenticated, bad_credential, inventory_disabled */
async function machineOf({ db }: ReportDeps, { headers }: RawRequest): Promise<{ readonly id: number }> {
  const sent = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (sent === undefined) fail('not_authenticated', {})
  const hash = hashAgentToken(sent)
  const row =
    hash === undefined
      ? undefined
      : await db.first<{ id: number; hostname: string; enabled: boolean }>(
          'select id, hostname, enabled from inventory_client where agent_token_hash = $1',
          [hash],
        )
  if (row === undefined) fail('bad_credential', {})
  if (!row.enabled) fail('inventory_disabled', { hostname: row.hostname })
  return row
}

/** What it told. @throws body_too_large, inventory_bad_report */
async function read(raw: RawRequest): Promise<Report> {
  try {
    return readReport(await readBytes(raw.stream, REPORT_LIMIT_BYTES))
  } catch (error) {
    return error instanceof BadReport
      ? fail('inventory_bad_report', { why: error.message }, error)
      : Promise.reject(error as Error)
  }
}

export const reportHandlers: Handlers<Rows, ReportDeps> = {
  'GET /inventory/agent.sh': () => ({
    body: Buffer.from(AGENT_SCRIPT),
    type: 'text/x-shellscript',
    name: 'agent.sh',
    size: Buffer.byteLength(AGENT_SCRIPT),
  }),
  'POST /inventory/report': async (deps, { raw }) => {
    const { id: clientId } = await machineOf(deps, raw)
    const began = performance.now()
    const arrival = { clientId, connection: 'agent', by: 'agent' } as const
    let report: Report
    try {
      report = await read(raw)
    } catch (error) {
      if (error instanceof AppError)
        await logFailure(deps.db, {
          ...arrival,
          at: deps.clock.now(),
          durationMs: performance.now() - began,
          failed: { code: error.code, message: error.message },
        })
      throw error
    }
    const isTaken = await takeReport(deps, report, {
      ...arrival,
      ip: raw.clientIp,
      durationMs: performance.now() - began,
    })
    if (!isTaken) fail('bad_credential', {})
    const { length } = report.packages
    return { client_id: clientId, packages: length, message: `${length} packages are taken.` }
  },
}
