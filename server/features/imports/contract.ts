import { Type, type Static } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { DistributionFilter, listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { ITEM_STATES } from '../../imports/run/planned.ts'

const Name = Type.String({ minLength: 1, maxLength: 300 })
const Version = Type.String({ minLength: 1, maxLength: 300 })
const Codename = Type.String({ minLength: 1, maxLength: 80 })
const Arch = Type.String({ minLength: 1, maxLength: 40 })
/** For clients of old it is also the name of a folder. */
export const GROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9_.+-]*$/
const GroupName = Type.String({
  maxLength: 100,
  pattern: GROUP_NAME.source,
  rule: 'letters, digits, `_`, `.`, `-` and `+`',
})
const Base = listed(['none', 'minbase', 'upstream'])
const Count = Type.Integer()

/** A package that is asked for; `name` and `package` are the same. */
const WISH = {
  name: Type.Optional(Name),
  package: Type.Optional(Name),
  version: Type.Optional(Version),
  arch: Type.Optional(Arch),
}
const HOW = {
  distribution: Type.Optional(Codename),
  group: Type.Optional(GroupName),
  recommends: Type.Optional(Type.Boolean()),
  base: Type.Optional(Base),
}
const Wish = Type.Object({ ...WISH, distribution: Type.Optional(Codename) })
export type WishBody = Static<typeof Wish>
/** How it is asked for. */
export type HowBody = Static<ReturnType<typeof Type.Object<typeof HOW>>> & { readonly arch?: string }

const ImportedPackage = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  status: listed(ITEM_STATES),
  why: OrNull(Text),
})
export type ImportedPackage = Static<typeof ImportedPackage>
const Counts = Type.Unsafe<Readonly<Record<string, number>>>(Type.Record(Text, Count))

const Imported = Type.Object({
  status: listed(['complete', 'partial', 'none']),
  message: Text,
  job_id: Text,
  group: Text,
  distribution: Text,
  /** `out_of_space`: the disk had no room for the rest, which is `waiting`. Null: it came to its end. */
  stopped: OrNull(listed(['time', 'disk', 'out_of_space'])),
  counts: Counts,
  packages: Type.Readonly(Type.Unsafe<readonly ImportedPackage[]>(Type.Array(ImportedPackage))),
  unresolved: Type.Readonly(Type.Unsafe<readonly string[]>(Type.Array(Text))),
})
export type ImportReply = Static<typeof Imported>

const ResolvedPackage = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  size: Count,
  source: Text,
  component: OrNull(Text),
  already_in_repo: Type.Boolean(),
  is_root: Type.Boolean(),
  needs: Type.Array(Count),
  virtual: Type.Optional(Text),
  /** What the policy does with it for its known vulnerabilities; null where that is not known. */
  forecast: OrNull(
    Type.Object({
      action: listed(['allow', 'warn', 'review', 'block']),
      worst: OrNull(listed(SEVERITIES)),
      findings: Count,
    }),
  ),
})
export type ResolvedPackage = Static<typeof ResolvedPackage>
const Resolved = Type.Object({
  success: Type.Boolean(),
  package: Text,
  distribution: Text,
  arch: Text,
  base: Base,
  total_deps: Count,
  already_in_repo: Count,
  to_download: Count,
  download_bytes: Count,
  packages: Type.Array(ResolvedPackage),
  forecast: Type.Object({
    coverage: listed(['covered', 'partial', 'not_covered', 'no_data', 'stale']),
    message: Text,
    review: Count,
    block: Count,
  }),
  assumed: Type.Array(Type.Object({ name: Text, version: Text, arch: Text })),
  unresolved: Type.Array(Type.Object({ needed_by: Text, group: Text, reason: Text })),
  conflicts: Type.Array(Type.Object({ package: Text, excluded_by: Text, relation: Text })),
  /** Published here with other bytes than a source lists for the same version; what is here stays. */
  upstream_changed: Type.Array(
    Type.Object({ name: Text, version: Text, arch: Text, source: Text, is_root: Type.Boolean(), message: Text }),
  ),
})
export type ResolveReply = Static<typeof Resolved>

const GroupView = Type.Object({
  name: Text,
  distribution: Text,
  asked: Type.Array(Text),
  created_by: Text,
  imported_at: Time,
  package_count: Count,
  total_size_bytes: Count,
  counts: Counts,
  packages: Type.Array(
    Type.Object({
      filename: Text,
      size_bytes: Count,
      name: Text,
      version: Text,
      arch: Text,
      source: Text,
      is_root: Type.Boolean(),
      status: listed([...ITEM_STATES, 'not_reached']),
      why: OrNull(Text),
    }),
  ),
})
export type GroupView = Static<typeof GroupView>

const DockerfilePackage = Type.Object({
  name: Text,
  status: listed(['available', 'importable', 'unknown']),
  pkg_manager: listed(['apt', 'rpm', 'apk']),
  upstream_info: OrNull(Type.Object({ version: Text, section: OrNull(Text), size: Count, source_id: Count })),
})
const Dockerfile = Type.Object({
  packages_found: Type.Array(DockerfilePackage),
  total: Count,
  available: Count,
  missing: Count,
  importable: Count,
  unknown: Count,
  distribution: OrNull(Text),
  base_image: Type.Object({ pkg_manager: OrNull(listed(['apt', 'rpm', 'apk'])), distribution: OrNull(Text) }),
  note: OrNull(Text),
})
export type DockerfileReply = Static<typeof Dockerfile>

const RESOLVING = [
  'catalogue_empty',
  'distribution_not_synchronised',
  'import_unknown',
  'import_unknown_version',
  'import_ambiguous',
  'import_no_tree',
  'unknown_distribution',
  'wrong_arch',
] as const
const FAILS = [
  ...RESOLVING,
  'import_group_elsewhere',
  'import_no_room',
  'distribution_retired',
  'outside_distribution',
  'missing_field',
  'job_cancelled',
  'job_failed',
] as const

const STREAM =
  'With `Accept: text/event-stream` it streams lines `data: level|text` (info, success, warning, error), the last always `data: done|DONE`. The job goes on when the caller goes away; `GET /jobs/{id}` tells how it ends.'
const ORDER =
  'Every package passes the gate, what is needed before what needs it, and all are published together. What is held or missing holds what needs it. One bad file never ends the job. `status` is `complete` when all that was asked for is served.'

/** Packages from other repositories, with what they need. */
export const imports = contract({
  'GET /import/resolve/{name}': {
    summary: 'Tells what would have to be imported with a package, and what nobody has.',
    details:
      '`base` says what clients have anyway: `none`, `minbase` (what every machine of the distribution has) or `upstream` (they keep the repositories of the distribution itself); absent: as the settings say for the distribution. `packages` stand after what they need; `needs` are places in that list. `forecast` is what the policy does for vulnerabilities that are known of this name and version; null is not looked up, never fine. What cannot be met is in `unresolved`, with the reason. `upstream_changed` is what is published here with other bytes than its source lists for the same version: that is never replaced.',
    access: 'any',
    params: Type.Object({ name: Name }),
    query: Type.Object({
      distribution: DistributionFilter,
      version: Type.Optional(Version),
      arch: Type.Optional(Arch),
      recommends: Type.Optional(Type.Boolean()),
      base: Type.Optional(Base),
    }),
    reply: Resolved,
    fails: RESOLVING,
  },
  'POST /import/fetch': {
    summary: 'Imports a package with everything it needs, and answers when that is done.',
    details: `${ORDER} ${STREAM}`,
    access: 'uploader+',
    scoped: 'distribution',
    limit: { bucket: 'import-fetch', perMinute: 10 },
    body: Type.Object({ ...WISH, ...HOW }),
    reply: Imported,
    alsoEvents: true,
    lastLine: 'done|DONE',
    fails: FAILS,
  },
  'POST /import/batch': {
    summary: 'Imports several packages with everything they need, as one job.',
    details: `${ORDER} ${STREAM}`,
    access: 'uploader+',
    scoped: 'distribution',
    limit: { bucket: 'import-batch', perMinute: 5 },
    body: Type.Object({
      packages: Type.Array(Type.Union([Name, Wish]), { maxItems: 1000 }),
      arch: Type.Optional(Arch),
      ...HOW,
    }),
    reply: Imported,
    alsoEvents: true,
    lastLine: 'done|DONE',
    fails: [...FAILS, 'bad_request'],
  },
  'POST /import/packages': {
    summary: 'Imports one version of a package from one source, with everything it needs.',
    details: `${ORDER} What it needs may come from every source of the distribution. ${STREAM}`,
    access: 'maintainer+',
    scoped: 'distribution',
    limit: { bucket: 'import', perMinute: 10 },
    body: Type.Object({ source_id: Type.Integer({ minimum: 1 }), ...WISH, ...HOW }),
    reply: Imported,
    alsoEvents: true,
    lastLine: 'done|DONE',
    fails: [...FAILS, 'source_not_found'],
  },
  'POST /import/analyze-dockerfile': {
    summary: 'Tells which packages a Dockerfile installs, and which of them are here or can be imported.',
    details:
      'At most 500,000 characters are read. Nothing is imported, and nothing of the file is executed: names in variables and scripts are not found. The distribution is the one that is named, else the one that the last image is made of. `available`: published here; `importable`: one of its sources lists it; `unknown`: neither, and `note` says where that was not looked up everywhere.',
    access: 'uploader+',
    scoped: 'distribution',
    limit: { bucket: 'import-dockerfile', perMinute: 30 },
    body: Type.Object({ content: Type.String(), distribution: Type.Optional(Codename) }),
    reply: Dockerfile,
    fails: ['bad_request', 'unknown_distribution'],
  },
  'GET /import/groups': {
    summary: 'Lists what was imported together, the newest first.',
    access: 'any',
    reply: Type.Object({ groups: Type.Array(GroupView) }),
  },
  'DELETE /import/groups/{name}': {
    summary: 'Removes a group; with `packages=true` also its packages that nothing else needs.',
    details:
      'A package stays when it is in another group, was here before, or is needed by a published package of the distribution that is not removed with it.',
    access: 'admin',
    limit: { bucket: 'import', perMinute: 10 },
    params: Type.Object({ name: Name }),
    query: Type.Object({ packages: Type.Optional(Type.Boolean()) }),
    reply: Type.Object({
      deleted: Text,
      removed: Type.Array(Text),
      kept: Type.Array(Type.Object({ package: Text, why: Text })),
    }),
    fails: ['bad_request', 'import_group_not_found'],
  },
})
