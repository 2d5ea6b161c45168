import type { PackageName, PackageRef } from '../core/identity.ts'
import type { RegistryRequest } from './protocol.ts'

/** The package of this name in the registry that is asked. */
export const packageOf = ({ registry }: Pick<RegistryRequest, 'registry'>, name: string): PackageName => ({
  format: registry.format,
  codename: registry.codename,
  name,
})

/** One version of it, where a format has one file for all machines. */
export const refOf = (asked: Pick<RegistryRequest, 'registry'>, name: string, version: string): PackageRef => ({
  ...packageOf(asked, name),
  version,
  arch: 'any',
})
