import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { vulnerabilities } from './contract.ts'
import { vulnerabilityHandlers, type VulnerabilityDeps } from './handlers.ts'

/** Known vulnerabilities. */
export function composeVulnerabilities(deps: VulnerabilityDeps): Feature {
  return { routes: bind(vulnerabilities, vulnerabilityHandlers, deps) }
}
