import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { savedFilters } from './contract.ts'
import { savedFilterHandlers, type SavedFilterDeps } from './handlers.ts'

/** What people keep of the console's lists. */
export function composeSavedFilters(deps: SavedFilterDeps): Feature {
  return { routes: bind(savedFilters, savedFilterHandlers, deps) }
}
