import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import { SCAN } from '../../inventory/scan.ts'
import { serviceKey } from '../../inventory/service-key.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import { getClient } from './clients.ts'
import type { inventory } from './contract.ts'

export interface ScanRouteDeps {
  readonly db: Db
  readonly box: SecretBox
  readonly clock: Clock
  readonly jobs: Jobs
}

type Rows = Pick<
  typeof inventory,
  'POST /inventory/clients/{id}/scan' | 'GET /inventory/clients/{id}/scan/status' | 'GET /inventory/ssh-key'
>

/** The job that asks a machine now, or will. */
const openJob = (
  db: Db,
  id: number,
): Promise<{ readonly id: string; readonly state: 'queued' | 'running' } | undefined> =>
  db.first(
    `select id, state from job where kind = $1 and target = $2 and state in ('queued', 'running') order by state desc, asked_at limit 1`,
    [SCAN, String(id)],
  )

export const scanHandlers: Handlers<Rows, ScanRouteDeps> = {
  'POST /inventory/clients/{id}/scan': async ({ db, jobs }, { params, viewer, who, raw }) => {
    const row = await getClient(db, viewer, params.id)
    if (row.connection_type !== 'ssh') fail('inventory_not_by_ssh', { hostname: row.hostname })
    if (!row.enabled) fail('inventory_disabled', { hostname: row.hostname })
    const { id, isNew } = await jobs.ask({
      kind: SCAN,
      target: String(row.id),
      request: { client_id: row.id },
      ...(row.distribution === null ? {} : { codenames: [row.distribution] }),
      by: who.name,
      requestId: raw.requestId,
    })
    return {
      job_id: id,
      is_new: isNew,
      status: isNew ? 'queued' : 'running',
      message: isNew ? `${row.hostname} is asked.` : `${row.hostname} is being asked already.`,
    }
  },
  'GET /inventory/clients/{id}/scan/status': async ({ db }, { params, viewer }) => {
    const row = await getClient(db, viewer, params.id)
    const job = await openJob(db, row.id)
    return {
      client_id: row.id,
      running: job !== undefined,
      job_id: job?.id ?? null,
      status: job?.state ?? row.last_scan_status,
      last_scan: row.last_scan?.toISOString() ?? null,
      last_error: row.last_error,
      last_error_code: row.last_error_code,
    }
  },
  'GET /inventory/ssh-key': async deps => {
    const { publicKey, fingerprint } = await serviceKey(deps)
    return {
      public_key: publicKey,
      fingerprint,
      command: `install -d -m 700 ~/.ssh && echo '${publicKey}' >> ~/.ssh/authorized_keys`,
    }
  },
}
