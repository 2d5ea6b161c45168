import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { review } from './contract.ts'
import { reviewHandlers, type ReviewHandlerDeps } from './handlers.ts'

/** The review queue, decisions, rescans and deadlines. */
export function composeReviewRoutes(deps: ReviewHandlerDeps): Feature {
  return { routes: bind(review, reviewHandlers, deps) }
}
