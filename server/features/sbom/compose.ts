import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import { sbom } from './contract.ts'
import { sbomHandlers, type SbomDeps } from './handlers.ts'

/** Bills of materials. */
export function composeSbomRoutes({
  db,
  bills,
  repositories,
}: Pick<SbomDeps, 'bills' | 'repositories'> & { readonly db: Db }): Feature {
  return { routes: bind(sbom, sbomHandlers, { db, bills, repositories }) }
}
