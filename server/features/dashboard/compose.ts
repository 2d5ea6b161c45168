import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Audit } from '../../record/audit.ts'
import { dashboard } from './contract.ts'
import { createDashboard, type DashboardDeps } from './dashboard.ts'
import { dashboardHandlers, type DashboardRouteDeps } from './handlers.ts'

/** The dashboard: numbers, history, live events. */
export function composeDashboard(
  needs: Omit<DashboardDeps, 'audit'> & Pick<DashboardRouteDeps, 'events'> & { readonly audit: Audit },
): Feature {
  const { events, clock } = needs
  return { routes: bind(dashboard, dashboardHandlers, { dashboard: createDashboard(needs), events, clock }) }
}
