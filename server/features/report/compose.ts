import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { report } from './contract.ts'
import { reportHandlers, type ReportDeps } from './handlers.ts'

/** The security report. */
export function composeReport(deps: ReportDeps): Feature {
  return { routes: bind(report, reportHandlers, deps) }
}
