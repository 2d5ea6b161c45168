import { Type } from '@sinclair/typebox'
import {
  NAMED,
  OrderQuery,
  PACKAGE_QUERY,
  PackageDetailSchema,
  PackageItemSchema,
  pageSchema,
} from '../../catalog/schemas.ts'
import type { PackageItem } from '../../catalog/view.ts'
import { contract } from '../../core/contract.ts'
import type { Artifact, ArtifactItem } from './artifacts.ts'
import type { Dependencies } from './dependencies.ts'
import type { Install } from './install.ts'
import { NameVersion } from '../../core/schemas.ts'

const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 300 }) })
const Codename = Type.Optional(Type.String({ maxLength: 80 }))
const PLACE = { distribution: Codename, format: Type.Optional(Type.String({ maxLength: 20 })) }
const PlaceQuery = Type.Object({ distribution: Codename, arch: Type.Optional(Type.String({ maxLength: 80 })) })
/** Routes about the newest version, or the one that `version` names. */
const OF_VERSION = {
  access: 'any',
  params: Name,
  query: Type.Object({ ...PlaceQuery.properties, version: Type.Optional(Type.String({ maxLength: 300 })) }),
  fails: ['package_not_found', 'version_not_found'],
} as const

const VersionsReply = {
  name: Type.String(),
  format: Type.String(),
  summary: Type.String(),
  latest: Type.String(),
  status: Type.String(),
  cve_status: Type.String(),
  security_status: Type.String(),
  severity: Type.Union([Type.String(), Type.Null()]),
  distributions: Type.Array(Type.String()),
  versions_total: Type.Integer(),
  updated_at: Type.String({ format: 'date-time' }),
}

const Deleted = Type.Object({
  status: Type.Literal('deleted'),
  deleted: Type.Array(Type.Object(NAMED)),
  /** False when the trees did not follow within 30 seconds; they will. */
  published: Type.Boolean(),
})

/**
 * Packages and artifacts: reading them back, and deleting them. A *package* is one file, an *artifact* a name with all
 * its versions.
 */
export const artifacts = contract({
  'GET /packages/': {
    summary:
      'Lists the package files in the pool, one for each version, architecture and distribution. Without `state`: published and held ones.',
    access: 'any',
    query: Type.Object({
      ...PACKAGE_QUERY,
      ...PLACE,
      sort: Type.Optional(OrderQuery),
    }),
    reply: pageSchema<PackageItem>(PackageItemSchema),
  },
  'GET /artifacts/': {
    summary: 'Lists packages with their versions, newest first, and their security status.',
    access: 'any',
    query: Type.Object({ ...PACKAGE_QUERY, ...PLACE }),
    reply: pageSchema<ArtifactItem>(Type.Object({ ...VersionsReply, versions: Type.Array(PackageItemSchema) })),
  },
  'GET /artifacts/{name}': {
    summary: 'Shows one package with every version: reports of the gate, findings, decision.',
    access: 'any',
    params: Name,
    query: PlaceQuery,
    fails: ['package_not_found'],
    reply: Type.Unsafe<Artifact>(
      Type.Object({
        ...VersionsReply,
        description: Type.String(),
        validation: PackageDetailSchema.properties.validation,
        cves: PackageDetailSchema.properties.cves,
        versions: Type.Array(PackageDetailSchema),
      }),
    ),
  },
  'GET /artifacts/{name}/dependencies': {
    summary:
      'Shows which dependencies of a package its distribution satisfies: of the newest version, or of `version`.',
    ...OF_VERSION,
    reply: Type.Unsafe<Dependencies>(
      Type.Object({
        name: Type.String(),
        version: Type.String(),
        arch: Type.String(),
        distribution: Type.String(),
        all_satisfied: Type.Boolean(),
        missing: Type.Array(Type.String()),
        install_blocked: Type.Boolean(),
        dependencies: Type.Array(
          Type.Object({
            need: Type.String(),
            status: Type.String({ enum: ['satisfied', 'blocked', 'missing'] }),
            by: Type.Union([
              Type.Null(),
              Type.Object({ name: Type.String(), version: Type.String(), status: Type.String() }),
            ]),
          }),
        ),
      }),
    ),
  },
  'GET /artifacts/{name}/install': {
    summary:
      'Shows the commands with which a client sets up this repository and installs the package, or fetches its source.',
    ...OF_VERSION,
    reply: Type.Unsafe<Install>(
      Type.Object({
        ...NAMED,
        installable: Type.Boolean(),
        command: Type.String(),
        setup: Type.Array(Type.String()),
        client_line: Type.String(),
        commands: Type.Record(Type.String(), Type.Array(Type.String())),
      }),
    ),
  },
  'GET /artifacts/{name}/{version}': {
    summary: 'Shows one version. If it exists more than once: the published one, with the others under `variants`.',
    access: 'any',
    params: NameVersion,
    query: PlaceQuery,
    fails: ['package_not_found', 'version_not_found'],
    reply: Type.Intersect([
      PackageDetailSchema,
      Type.Object({
        variants: Type.Array(Type.Object({ distribution: Type.String(), arch: Type.String(), status: Type.String() })),
      }),
    ]),
  },
  'DELETE /artifacts/{name}': {
    summary: 'Deletes all versions of a package, or those in `distribution` and `arch`.',
    access: 'maintainer+',
    scoped: 'distribution',
    params: Name,
    query: PlaceQuery,
    reply: Deleted,
    fails: ['package_not_found'],
  },
  'DELETE /artifacts/{name}/{version}': {
    summary: 'Deletes one version, in every distribution unless `distribution` or `arch` narrow it.',
    access: 'maintainer+',
    scoped: 'distribution',
    params: NameVersion,
    query: PlaceQuery,
    reply: Deleted,
    fails: ['package_not_found', 'version_not_found'],
  },
  'POST /artifacts/admin/sync-index': {
    summary: 'Rebuilds the packages in the database from the manifests on disk.',
    access: 'maintainer+',
    reply: Type.Object({
      status: Type.Literal('ok'),
      manifests: Type.Integer(),
      added: Type.Integer(),
      changed: Type.Integer(),
      removed: Type.Integer(),
      unreadable: Type.Integer(),
    }),
  },
})
