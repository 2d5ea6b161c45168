import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Rescans } from '../../review/rescan.ts'
import { review } from './contract.ts'
import { reviewHandlers, type ReviewHandlerDeps } from './handlers.ts'
import { rescanWork } from './rescan-work.ts'

/** The review queue, decisions, rescans and deadlines. */
export function composeReviewRoutes(deps: ReviewHandlerDeps & { readonly rescans: Pick<Rescans, 'rescan'> }): Feature {
  return { routes: bind(review, reviewHandlers, deps), work: [rescanWork(deps) as WorkKind] }
}
