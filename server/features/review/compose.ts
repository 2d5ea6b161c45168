import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { review } from './contract.ts'
import { reviewHandlers, type ReviewHandlerDeps } from './handlers.ts'

/** What waits, and what people decide. */
export function composeReviewRoutes(deps: ReviewHandlerDeps): Feature {
  return { routes: bind(review, reviewHandlers, deps) }
}
