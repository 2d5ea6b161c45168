import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import { contents } from './contract.ts'
import { contentsHandlers, type ContentsRoutesDeps } from './handlers.ts'

/** What lies inside packages, for whoever may read them. */
export function composeContentsRoutes(deps: Pick<ContentsRoutesDeps, 'contents'> & { readonly db: Db }): Feature {
  return { routes: bind(contents, contentsHandlers, deps) }
}
