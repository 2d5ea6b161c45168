import { pageOf, pagingOf } from '../../catalog/page.ts'
import type { Handlers } from '../../core/contract.ts'
import { checksOf, noFindings } from '../../inventory/client-row.ts'
import { countChecks } from '../../inventory/compliance.ts'
import { askedOf, readRules, writeRules } from '../../inventory/rules.ts'
import { checkDeps, type ClientRouteDeps } from './client-handlers.ts'
import { getClient, listClients } from './clients.ts'
import { exportTable } from './export.ts'
import type { inventory } from './contract.ts'
import { countUpdates, listCves, listPackages, listScans, listUpdates } from './lists.ts'
import { sumUp } from './summary.ts'
import type { ComplianceView } from './views.ts'

export type InventoryRouteDeps = ClientRouteDeps

type Rows = Omit<
  typeof inventory,
  | 'POST /inventory/clients/{id}/scan'
  | 'GET /inventory/clients/{id}/scan/status'
  | 'GET /inventory/ssh-key'
  | 'GET /inventory/agent.sh'
  | 'POST /inventory/report'
>

/** What installs the updates on a machine, by the format of its packages. */
const COMMANDS = {
  deb: 'sudo apt update && sudo apt upgrade',
  rpm: 'sudo dnf upgrade --refresh',
  apk: 'sudo apk upgrade --update-cache',
} as const

const paging = (query: { readonly page?: number; readonly per_page?: number }) =>
  pagingOf({
    ...(query.page === undefined ? {} : { page: query.page }),
    ...(query.per_page === undefined ? {} : { per_page: query.per_page }),
  })

export const inventoryHandlers: Handlers<Rows, InventoryRouteDeps> = {
  'GET /inventory/summary': async (deps, { viewer }) => sumUp(deps.db, viewer, await checkDeps(deps)),
  'GET /inventory/clients/{id}/packages': async ({ db }, { params, query, viewer }) => {
    const { id } = await getClient(db, viewer, params.id)
    return listPackages(db, { clientId: id, q: query.q, paging: paging(query) })
  },
  'GET /inventory/clients/{id}/updates': async ({ db }, { params, query, viewer }) => {
    const { id } = await getClient(db, viewer, params.id)
    return listUpdates(db, { clientId: id, q: query.q, state: query.state, paging: paging(query) })
  },
  'GET /inventory/clients/{id}/summary': async (deps, { params, viewer }) => {
    const row = await getClient(deps.db, viewer, params.id)
    return {
      client_id: row.id,
      hostname: row.hostname,
      packages: row.packages,
      updates: row.behind === null ? null : await countUpdates(deps.db, row.id),
      closes: row.closes ?? noFindings(),
      findings: row.findings,
      coverage: row.coverage,
      coverage_said: row.coverage_said,
      compliance: countChecks(checksOf(row, await checkDeps(deps))),
      reboot: row.reboot,
      last_seen: row.last_seen?.toISOString() ?? null,
      command: row.format === null ? null : COMMANDS[row.format],
    }
  },
  'GET /inventory/clients/{id}/history': async ({ db }, { params, query, viewer }) => {
    const { id } = await getClient(db, viewer, params.id)
    return listScans(db, viewer, { clientId: id, paging: paging(query) })
  },
  'GET /inventory/scans': async ({ db }, { query, viewer }) =>
    listScans(db, viewer, { clientId: query.client_id, status: query.status, paging: paging(query) }),
  'GET /inventory/cve': async ({ db }, { query, viewer }) => listCves(db, viewer, query, paging(query)),
  'GET /inventory/compliance': async (deps, { query, viewer }) => {
    const { client_id, status, check_id } = query
    const filter = client_id === undefined ? {} : { client_id }
    const { rows } = await listClients(deps.db, viewer, { filter })
    const rules = await checkDeps(deps)
    const all = rows.flatMap(row =>
      checksOf(row, rules)
        .filter(
          one =>
            (status === undefined || one.status === status) && (check_id === undefined || one.check_id === check_id),
        )
        .map((one): ComplianceView => ({
          client_id: row.id,
          hostname: row.hostname,
          ...one,
          scanned_at: row.last_seen?.toISOString() ?? null,
        })),
    )
    const { page, perPage } = paging(query)
    return pageOf(all.slice((page - 1) * perPage, page * perPage), all.length, { page, perPage })
  },
  'GET /inventory/export': async (deps, { query, viewer }) => {
    const { what, format = 'csv', client_id: clientId } = query
    if (clientId !== undefined) await getClient(deps.db, viewer, clientId)
    return {
      body: exportTable(deps.db, viewer, { what, clientId, format, checks: await checkDeps(deps) }),
      type: format === 'csv' ? 'text/csv' : 'application/json',
      name: `inventory-${what}.${format}`,
    }
  },
  'GET /inventory/compliance/rules': ({ db }) => readRules(db),
  'PUT /inventory/compliance/rules': async ({ db, audit }, { body, who, raw }) => {
    await db.tx(async tx => {
      await writeRules(tx, body)
      await audit.owe(tx, {
        action: 'INVENTORY_CHANGE',
        result: 'SUCCESS',
        user: who.name,
        ip: raw.clientIp,
        facts: { kind: 'machine.rules', asked: askedOf(body) },
      })
    })
    return readRules(db)
  },
}
