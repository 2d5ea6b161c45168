import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { PrintName } from '../../sbom/bills.ts'
import { DistributionFilter, NameVersion } from '../../core/schemas.ts'

const NAMES = ['cyclonedx', 'spdx', 'openvex'] as const satisfies readonly PrintName[]
const Written = Type.Optional(
  Type.Unsafe<PrintName>(
    Type.Union(
      NAMES.map(name => Type.Literal(name)),
      { enum: [...NAMES], description: 'cyclonedx (1.5) by default' },
    ),
  ),
)
const Arch = Type.Optional(Type.String({ maxLength: 80 }))

/**
 * Bills of materials, for whoever may read the packages: where the two tables of the specification differ, its
 * permission summary holds.
 */
export const sbom = contract({
  'GET /sbom/export': {
    summary:
      'Streams the bill of materials of everything published, or of one distribution: CycloneDX 1.5 with decisions as VEX, SPDX 2.3, or OpenVEX.',
    access: 'any',
    edition: 'sbom',
    query: Type.Object({ format: Written, distribution: DistributionFilter }),
    reply: 'file',
    types: ['application/json'],
    fails: ['unknown_distribution'],
  },
  'GET /sbom/preview': {
    summary: 'Answers the same bill of materials for the first `limit` packages only.',
    access: 'any',
    edition: 'sbom',
    reply: 'file',
    types: ['application/json'],
    fails: ['unknown_distribution'],
    query: Type.Object({
      format: Written,
      distribution: DistributionFilter,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    }),
  },
  'GET /sbom/{name}/{version}': {
    summary:
      'Answers the bill of materials of one version. If it exists more than once: of the published one, unless `distribution` and `arch` name another.',
    access: 'any',
    edition: 'sbom',
    params: NameVersion,
    query: Type.Object({ format: Written, arch: Arch, distribution: DistributionFilter }),
    reply: 'file',
    types: ['application/json'],
    fails: ['package_not_found', 'version_not_found'],
  },
})
