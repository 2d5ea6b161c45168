import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { license } from './contract.ts'
import { licenseHandlers, type LicenseDeps } from './handlers.ts'

/** The licence: its content, and a new key. */
export function composeLicense(deps: LicenseDeps): Feature {
  return { routes: bind(license, licenseHandlers, deps) }
}
