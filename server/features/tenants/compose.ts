import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { tenants } from './contract.ts'
import { tenantHandlers, type TenantDeps } from './handlers.ts'

/** What whoever hosts this service asks it: whom it serves. */
export function composeTenants(deps: TenantDeps): Feature {
  return { routes: bind(tenants, tenantHandlers, deps) }
}
