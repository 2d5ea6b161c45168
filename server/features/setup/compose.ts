import { randomUUID } from 'node:crypto'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { GuardedFetch } from '../../outbound/fetch.ts'
import { createAddressCheck } from './address.ts'
import { askClockSync } from './clock.ts'
import { setup } from './contract.ts'
import { createFirstAdmin, type FirstAdmin, type FirstAdminDeps } from './first-admin.ts'
import { setupHandlers } from './handlers.ts'
import { createPreflight, type PreflightDeps } from './preflight.ts'
import type { Db } from '../../db/db.ts'
import type { Settings } from '../../settings/store.ts'
import type { Clock } from '../../lib/clock.ts'
import { runTool } from '../../lib/exec.ts'

export interface SetupNeeds extends FirstAdminDeps, PreflightDeps {
  readonly db: Db
  readonly clock: Clock
  readonly settings: Pick<Settings, 'now'>
  readonly fetch: GuardedFetch
}

/** The first admin, from the wizard or from the environment. */
export function composeSetup(needs: SetupNeeds): Feature & { readonly firstAdmin: FirstAdmin } {
  const firstAdmin = createFirstAdmin(needs)
  return {
    firstAdmin,
    routes: bind(setup, setupHandlers, {
      firstAdmin,
      clock: needs.clock,
      settings: needs.settings,
      address: createAddressCheck({ fetch: needs.fetch, newId: randomUUID }),
      clockSync: () => askClockSync(runTool),
      preflight: createPreflight(needs),
    }),
  }
}
