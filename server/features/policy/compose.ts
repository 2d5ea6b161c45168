import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { policy } from './contract.ts'
import { policyHandlers, type PolicyDeps } from './handlers.ts'

/** What becomes of packages with findings. */
export function composePolicy(deps: PolicyDeps): Feature {
  return { routes: bind(policy, policyHandlers, deps) }
}
