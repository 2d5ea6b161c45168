import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { audit } from './contract.ts'
import { auditHandlers, type AuditDeps } from './handlers.ts'

/** The audit log. */
export function composeAudit(deps: AuditDeps): Feature {
  return { routes: bind(audit, auditHandlers, deps) }
}
