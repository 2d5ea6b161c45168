import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { setup } from './contract.ts'
import { createFirstAdmin, type FirstAdmin, type FirstAdminDeps } from './first-admin.ts'
import { setupHandlers } from './handlers.ts'

/** The first admin, from the wizard or from the environment. */
export function composeSetup(needs: FirstAdminDeps): Feature & { readonly firstAdmin: FirstAdmin } {
  const firstAdmin = createFirstAdmin(needs)
  return { firstAdmin, routes: bind(setup, setupHandlers, { firstAdmin }) }
}
