import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import type { Audit } from '../../record/audit.ts'
import { dashboard } from './contract.ts'
import { createDashboard } from './dashboard.ts'
import { dashboardHandlers, type DashboardRouteDeps } from './handlers.ts'

/** The dashboard: numbers, history, live events. */
export function composeDashboard({
  db,
  audit,
  events,
  clock,
}: Pick<DashboardRouteDeps, 'events' | 'clock'> & { readonly db: Db; readonly audit: Audit }): Feature {
  const deps = { dashboard: createDashboard({ db, audit, clock }), events, clock }
  return { routes: bind(dashboard, dashboardHandlers, deps) }
}
