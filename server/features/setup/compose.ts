import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { setup } from './contract.ts'
import { createFirstAdmin, type FirstAdmin, type FirstAdminDeps } from './first-admin.ts'
import { setupHandlers } from './handlers.ts'
import { createPreflight, type PreflightDeps } from './preflight.ts'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'

export interface SetupNeeds extends FirstAdminDeps, PreflightDeps {
  readonly db: Db
  readonly clock: Clock
}

/** The first admin, from the wizard or from the environment. */
export function composeSetup(needs: SetupNeeds): Feature & { readonly firstAdmin: FirstAdmin } {
  const firstAdmin = createFirstAdmin(needs)
  return {
    firstAdmin,
    routes: bind(setup, setupHandlers, { firstAdmin, clock: needs.clock, preflight: createPreflight(needs) }),
  }
}
