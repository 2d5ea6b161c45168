import { Type } from '@sinclair/typebox'
import {
  InstallFactSchema,
  InstallSchema,
  NAMED,
  OrderQuery,
  PACKAGE_QUERY,
  PackageDetailSchema,
  PackageItemSchema,
  pageSchema,
  StateQuery,
  StepSchema,
} from '../../catalog/schemas.ts'
import { STEP_RESULTS } from '../../catalog/queries/gate-flow.ts'
import { VERSION_FACTS } from '../../catalog/version-facts.ts'
import type { PackageItem } from '../../catalog/view.ts'
import { contract } from '../../core/contract.ts'
import { STEP_NAMES } from '../../core/report.ts'
import type { Artifact, ArtifactItem } from './artifacts.ts'
import type { Changes } from './changes.ts'
import type { Dependencies } from './dependencies.ts'
import type { Install } from './install.ts'
import { DistributionFilter, FormatFilter, listed, NameVersion, OrNull } from '../../core/schemas.ts'

const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 300 }) })
const PLACE = { distribution: DistributionFilter, format: FormatFilter }
const PlaceQuery = Type.Object({
  distribution: DistributionFilter,
  arch: Type.Optional(Type.String({ maxLength: 80 })),
})
/** Routes about the newest version that is served, or the one that `version` names. */
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
  latest_version: Type.String(),
  status: StateQuery,
  cve_status: Type.String(),
  newer: OrNull(Type.Object({ version: Type.String(), status: StateQuery })),
  security_status: Type.String(),
  severity: Type.Union([Type.String(), Type.Null()]),
  distributions: Type.Array(Type.String()),
  versions_total: Type.Integer(),
  updated_at: Type.String({ format: 'date-time' }),
}

const Lists = { added: Type.Array(Type.String()), removed: Type.Array(Type.String()) }

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
    details: 'With `gate` or `since`, packages in all states are listed unless `state` or `within` says otherwise.',
    access: 'any',
    query: Type.Object({
      ...PACKAGE_QUERY,
      ...PLACE,
      scanned: Type.Optional(
        Type.Boolean({
          description:
            'Whether a vulnerability engine answered for all of it: `false` finds what was not scanned in full.',
        }),
      ),
      gate: Type.Optional(
        Type.String({
          pattern: `^(${STEP_NAMES.join('|')}):(${STEP_RESULTS.join('|')})$`,
          rule: 'a step and its result, such as vulnerabilities:held',
          description: 'What a step of the gate made of them.',
        }),
      ),
      since: Type.Optional(Type.String({ format: 'date-time', description: 'When they came in, or later.' })),
      origin: Type.Optional(listed(['uploaded', 'imported'])),
      within: Type.Optional(
        Type.Unsafe<'any' | 'not_published'>({
          ...listed(['any', 'not_published']),
          description: 'Packages in any state, or in any but `published`; `state` names one.',
        }),
      ),
      sort: Type.Optional(OrderQuery),
    }),
    reply: pageSchema<PackageItem>(PackageItemSchema),
  },
  'GET /artifacts/': {
    summary: 'Lists packages with their versions, newest first, and their security status.',
    details:
      '`latest`, `status` and the facts beside them are of the newest version that is served, in `distribution` where it is given; a newer one that is held or refused is `newer`. `status` asks for what a package says of itself, `state` for packages with any version in that state.',
    access: 'any',
    query: Type.Object({ ...PACKAGE_QUERY, ...PLACE }),
    reply: pageSchema<ArtifactItem>(
      Type.Object({
        ...VersionsReply,
        ...VERSION_FACTS,
        description: Type.String(),
        section: Type.String(),
        versions: Type.Array(Type.String()),
        packages: Type.Array(PackageItemSchema),
      }),
    ),
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
        info: Type.Object({
          versions: Type.Record(Type.String(), Type.Object(VERSION_FACTS)),
          latest: Type.String(),
          description: Type.String(),
          section: Type.String(),
        }),
        history: Type.Array(
          Type.Object({
            timestamp: Type.String({ format: 'date-time' }),
            action: Type.String(),
            user: Type.String(),
            result: Type.String(),
            package: Type.String(),
            version: Type.String(),
            detail: Type.String(),
            validation_steps: Type.Array(StepSchema),
            cve_status: Type.String(),
            repo_format: Type.String(),
          }),
        ),
        validation_steps: Type.Array(StepSchema),
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
    details:
      '`upstream` says of a missing one whether the sources of the distribution list it; `unknown` while not all of those that are switched on have been synchronised. `install_blocked` is true when the package is not published, when something it needs is held here, or when nobody has what is missing.',
    ...OF_VERSION,
    reply: Type.Unsafe<Dependencies>(
      Type.Object({
        name: Type.String(),
        package: Type.String(),
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
            upstream: OrNull(listed(['listed', 'unlisted', 'unknown'])),
          }),
        ),
      }),
    ),
  },
  'GET /artifacts/{name}/install': {
    summary:
      'Shows the commands with which a client sets up this repository and installs the package, or fetches its source.',
    ...OF_VERSION,
    fails: [...OF_VERSION.fails, 'not_served'],
    reply: Type.Unsafe<Install>(
      Type.Object({
        ...NAMED,
        installable: Type.Literal(true),
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
  'GET /artifacts/{name}/{version}/changes': {
    summary:
      'Shows what installing one version does (scripts, setuid files, services, hosts), and what of that is new since the version that clients have.',
    access: 'any',
    params: NameVersion,
    query: PlaceQuery,
    fails: ['package_not_found', 'version_not_found'],
    reply: Type.Unsafe<Changes>(
      Type.Object({
        ...NAMED,
        since: OrNull(Type.Object(NAMED)),
        said: Type.String(),
        install: OrNull(InstallSchema),
        changes: OrNull(
          Type.Object({
            facts: Type.Object({ added: Type.Array(InstallFactSchema), removed: Type.Array(InstallFactSchema) }),
            scripts: Type.Object({ ...Lists, changed: Type.Array(Type.String()) }),
            hosts: Type.Object(Lists),
            listens: Type.Object(Lists),
            components: Type.Object(Lists),
            cut: Type.Optional(Type.String({ description: 'Why there may be more.' })),
          }),
        ),
      }),
    ),
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
    summary: 'Deletes one version, of every architecture unless `arch` narrows it.',
    details:
      'A version in several distributions is deleted in the one that `distribution` names, or with `all=true` in all of them; without either it is refused.',
    access: 'maintainer+',
    scoped: 'distribution',
    params: NameVersion,
    query: Type.Object({ ...PlaceQuery.properties, all: Type.Optional(Type.Boolean()) }),
    reply: Deleted,
    fails: ['package_not_found', 'version_not_found', 'ambiguous_version'],
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
