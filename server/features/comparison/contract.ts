import { Type, type TSchema } from '@sinclair/typebox'
import { InstallFactSchema, NAMED, pagingQuery, Term } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { STATES } from '../../core/manifest.ts'
import { ArchFilter, counts, DistributionFilter, listed, NameVersion, OrNull, Text, Time } from '../../core/schemas.ts'
import { SnapshotSchema } from '../../catalog/snapshot.ts'
import type { Comparison } from './between.ts'
import type { ComparedSnapshots } from './snapshots.ts'
import { FILE_CHANGES, FILE_DIFFERENCES, type FilePage } from './files.ts'

const OF_TWO = {
  access: 'any',
  params: NameVersion,
  fails: ['package_not_found', 'version_not_found'],
} as const
const WHICH = {
  distribution: DistributionFilter,
  arch: ArchFilter,
  with: Type.String({ minLength: 1, maxLength: 300, description: 'The version it is compared with: `before`.' }),
  with_distribution: DistributionFilter,
  with_arch: ArchFilter,
}
const Version = Type.String({ minLength: 1, maxLength: 300 })
const Side = Type.Object({
  ...NAMED,
  status: Type.String({ enum: [...STATES] }),
  size: Type.Integer(),
  installed_size: OrNull(Type.Integer()),
  sha256: Text,
  created_at: Time,
  license: OrNull(Text),
  maintainer: OrNull(Text),
  scanned: Type.Boolean({ description: 'False: no finding does not mean none.' }),
  no_data: Type.Boolean({ description: 'The vulnerability data do not name it: no finding does not mean none.' }),
  counts: counts(SEVERITIES),
})
const both = <T extends TSchema>(row: T) => ({ added: Type.Array(row), removed: Type.Array(row) })
const lists = <T extends TSchema>(row: T) =>
  Type.Object({ ...both(row), kept: Type.Integer({ description: 'How many both have.' }) })
const Finding = Type.Object({
  id: Text,
  package: Text,
  severity: Type.String({ enum: [...SEVERITIES] }),
  fixed_version: OrNull(Text),
})
const Totals = Type.Object({ files: Type.Integer(), size: Type.Integer({ description: 'Bytes.' }) })
const File = OrNull(
  Type.Object({
    type: Text,
    size: Type.Optional(Type.Integer()),
    mode: Type.Optional(Type.Integer()),
    owner: Type.Optional(Type.String({ description: 'User and group: `root:adm`.' })),
    link: Type.Optional(Text),
    capabilities: Type.Optional(Text),
    sha256: Type.Optional(Type.String({ description: 'Absent where the file could not be read.' })),
    unread: Type.Optional(Type.String({ description: 'Why the file could not be read.' })),
  }),
)

/** Two versions of a package side by side. */
export const comparison = contract({
  'GET /artifacts/{name}/versions/compare': {
    summary: 'Compares two versions in the words of existing clients: facts, dependencies, vulnerabilities.',
    access: 'any',
    params: Type.Object({ name: NameVersion.properties.name }),
    query: Type.Object({ distribution: DistributionFilter, arch: ArchFilter, v1: Version, v2: Version }),
    fails: ['package_not_found', 'version_not_found'],
    reply: Type.Unsafe<ComparedSnapshots>(
      Type.Object({
        package: Text,
        arch: Text,
        v1: Text,
        v2: Text,
        v1_manifest: SnapshotSchema,
        v2_manifest: SnapshotSchema,
        diff: Type.Object({
          changed: Type.Array(Type.Object({ field: Text, v1: Type.Unknown(), v2: Type.Unknown() })),
          dependencies: Type.Object(both(Text)),
          cves: Type.Object(both(Text)),
        }),
      }),
    ),
  },
  'GET /artifacts/{name}/{version}/compare': {
    summary:
      'Compares a version with another one of the same name, also of another distribution: findings, dependencies, components, what installing it does.',
    details:
      '`added` is what only this version has, `removed` what only the other one has. What could not be compared stands in `unknown`.',
    ...OF_TWO,
    query: Type.Object(WHICH),
    reply: Type.Unsafe<Comparison>(
      Type.Object({
        before: Side,
        after: Side,
        findings: lists(Finding),
        dependencies: Type.Object({ ...lists(Text).properties, both: Type.Array(Text) }),
        provides: lists(Text),
        conflicts: lists(Text),
        components: OrNull(
          Type.Object({
            ...lists(Text).properties,
            changed: Type.Array(Type.Object({ purl: Text, before: Type.Array(Text), after: Type.Array(Text) })),
            cut: Type.Optional(Type.String({ description: 'Why not all components of one are known.' })),
          }),
        ),
        install: OrNull(
          Type.Object({
            said: Text,
            facts: Type.Object(both(InstallFactSchema)),
            scripts: Type.Object({ ...both(Text), changed: Type.Array(Text) }),
            hosts: Type.Object(both(Text)),
            listens: Type.Object(both(Text)),
            cut: Type.Optional(Type.String({ description: 'Why there may be more.' })),
          }),
        ),
        unknown: Type.Array(Text),
      }),
    ),
  },
  'GET /artifacts/{name}/{version}/compare/files': {
    summary: 'Lists the files that two versions of a package do not have alike, by path.',
    details: 'Both packages are read for it. Refused while the file of one is not in the pool.',
    ...OF_TWO,
    fails: [...OF_TWO.fails, 'files_not_at_hand'],
    query: Type.Object({
      ...WHICH,
      q: Type.Optional(Type.String({ ...Term, description: 'Part of the path.' })),
      change: Type.Optional(listed(FILE_CHANGES)),
      ...pagingQuery(500),
    }),
    reply: Type.Unsafe<FilePage>(
      Type.Object({
        items: Type.Array(
          Type.Object({
            path: Text,
            change: listed(FILE_CHANGES),
            differs: Type.Array(listed(FILE_DIFFERENCES)),
            before: File,
            after: File,
          }),
        ),
        total: Type.Integer(),
        page: Type.Integer(),
        per_page: Type.Integer(),
        pages: Type.Integer(),
        before: Totals,
        after: Totals,
        added: Type.Integer(),
        removed: Type.Integer(),
        changed: Type.Integer(),
        same: Type.Integer(),
        uncompared: Type.Integer({ description: 'Files of one size of which one could not be read.' }),
        cut: Type.Optional(Type.String({ description: 'Why the list may lack files.' })),
      }),
    ),
  },
})
