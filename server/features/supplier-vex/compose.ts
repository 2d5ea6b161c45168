import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { supplierVex } from './contract.ts'
import { supplierVexHandlers, type SupplierVexRouteDeps } from './handlers.ts'

/** Documents of suppliers beside packages. */
export function composeSupplierVex(deps: SupplierVexRouteDeps): Feature {
  return { routes: bind(supplierVex, supplierVexHandlers, deps) }
}
