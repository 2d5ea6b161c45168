import type { UpstreamPackage } from '../../server/formats/upstream.ts'
import type { Candidate } from '../../server/imports/resolve/closure.ts'

/** Packages of an index as the catalogue gives them to resolution. */
export const candidatesOf = (packages: readonly UpstreamPackage[], sourceKey: string): Candidate[] =>
  packages.map(({ identity: { name, version, arch }, size, relations }, at) => ({
    id: `${sourceKey}-${at}`,
    name,
    version,
    arch,
    size,
    sourceKey,
    relations,
  }))
