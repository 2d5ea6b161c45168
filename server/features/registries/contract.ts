import { Type } from '@sinclair/typebox'
import { MarkSchema } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { listed } from '../../core/schemas.ts'
import { AGE_SOURCES, REGISTRY_KINDS } from '../../core/registry.ts'
import { MARK_KINDS, type MarkKind, type SaidMark } from '../../core/mark.ts'
import { SIGNATURE_RULES } from '../../core/signature-words.ts'
import type { Tag } from '../../core/tag.ts'
import type { RegistrySetup } from '../../formats/registry-client.ts'

/** A registry, with what it holds as far as the caller may see it. */
export interface RegistryView {
  readonly name: string
  readonly format: string
  readonly kind: string
  readonly label: string
  /** Below the server, with a slash at both ends: `/npm/ours/`. */
  readonly path: string
  /** As the caller would reach it: `https://repo.example/npm/ours`. */
  readonly url: string
  /** Reading it asks for a credential. */
  readonly private: boolean
  /** A retired registry is served but takes no packages. */
  readonly retired: boolean
  /** The word for versions that people should leave; null where its clients know none, or others say it. */
  readonly mark: MarkKind | null
  /** REPO_FORMAT lets its packages in. */
  readonly active: boolean
  /** Of a registry that reads through: where; its secret is shown nowhere. */
  readonly upstream: { readonly url: string; readonly user: string | null; readonly has_secret: boolean } | null
  /** Younger versions are hidden; 0: none. */
  readonly min_age_days: number
  readonly age_from: string
  /** Versions whose name looks like one of the house wait for a person. */
  readonly hold_lookalikes: boolean
  /** Of a group, in the order in which they are asked: those that the caller may see. */
  readonly members: readonly string[]
  /** Names that belong to the house, as patterns. */
  readonly reserved: readonly string[]
  /** What becomes of images without a good signature: `none`, `review`, `block`. */
  readonly require_signature: string
  /** Versions of the upstream that clients do not get. */
  readonly hidden: number
  /** Of a Maven registry: how many builds of a snapshot are kept; null: the newest ten. */
  readonly snapshots_kept: number | null
  readonly packages: number
  /** One of several files is one. */
  readonly versions: number
  /** Versions of which clients do not get something. */
  readonly held: number
  readonly files: number
  readonly bytes: number
}

/** One name of a registry. */
export interface RegistryPackage {
  readonly name: string
  readonly versions: number
  /** Versions of which clients get something, and those of which something is held: one may be both. */
  readonly published: number
  readonly held: number
  /** Of all versions: archives, and what lies beside them. */
  readonly files: number
  readonly bytes: number
  readonly changed_at: string
  /** Newest first, 100 at most; a format with a file for each platform has a row for each. */
  readonly newest: readonly {
    readonly version: string
    readonly arch: string
    readonly status: string
    readonly bytes: number
    readonly uploaded_by: string
    readonly at: string
    readonly mark: SaidMark | null
  }[]
  readonly tags: readonly { readonly tag: string; readonly version: string; readonly by: string; readonly at: string }[]
}

export interface RegistrySetups {
  readonly name: string
  readonly format: string
  readonly url: string
  /** What stands in the lines where a token belongs. */
  readonly token_place: string
  readonly clients: readonly RegistrySetup[]
}

const Text = Type.String()
const OrNull = (schema: ReturnType<typeof Type.Integer>) => Type.Union([schema, Type.Null()])
const TextOrNull = Type.Union([Text, Type.Null()])
const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 80 }) })
const Count = Type.Integer({ minimum: 0 })
const Label = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))
const SnapshotsKept = Type.Optional(OrNull(Type.Integer({ minimum: 1, maximum: 10_000 })))

/** The rules of a proxy or a group. */
const Rules = {
  upstream: Type.Optional(
    Type.Object(
      {
        url: Type.Optional(Type.String({ minLength: 1, maxLength: 2_000 })),
        user: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Null()])),
        secret: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 4_000 }), Type.Null()])),
      },
      { additionalProperties: false },
    ),
  ),
  min_age_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_650 })),
  age_from: Type.Optional(listed<string>(AGE_SOURCES)),
  hold_lookalikes: Type.Optional(Type.Boolean()),
  members: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 80 }), { maxItems: 200 })),
  reserved: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200 })),
  require_signature: Type.Optional(listed<string>(SIGNATURE_RULES)),
}

const VIEW = {
  name: Text,
  format: Text,
  kind: Text,
  label: Text,
  path: Text,
  url: Text,
  private: Type.Boolean(),
  retired: Type.Boolean(),
  mark: Type.Union([Type.String({ enum: [...MARK_KINDS] }), Type.Null()]),
  active: Type.Boolean(),
  upstream: Type.Union([Type.Object({ url: Text, user: TextOrNull, has_secret: Type.Boolean() }), Type.Null()]),
  min_age_days: Count,
  age_from: Text,
  hold_lookalikes: Type.Boolean(),
  members: Type.Array(Text),
  reserved: Type.Array(Text),
  require_signature: Text,
  hidden: Count,
  snapshots_kept: OrNull(Type.Integer()),
  packages: Count,
  versions: Count,
  held: Count,
  files: Count,
  bytes: Count,
}
const View = Type.Unsafe<RegistryView>(Type.Object(VIEW))
const Changed = Type.Unsafe<RegistryView & { readonly notes: readonly string[] }>(
  Type.Object({ ...VIEW, notes: Type.Array(Text) }),
)

const Setup = Type.Unsafe<RegistrySetups>(
  Type.Object({
    name: Text,
    format: Text,
    url: Text,
    token_place: Text,
    clients: Type.Array(
      Type.Object({
        client: Text,
        files: Type.Array(
          Type.Object({
            path: Text,
            content: Text,
            secret: Type.Optional(Type.Literal(true)),
            first: Type.Optional(Type.Literal(true, { description: 'It has to be there before `setup`.' })),
          }),
        ),
        setup: Type.Array(Text),
        install: Text,
        publish: Type.Optional(Text),
        notes: Type.Array(Text),
      }),
    ),
  }),
)

const TagSchema = Type.Object({ tag: Text, version: Text, by: Text, at: Text })
const Packages = Type.Unsafe<{
  readonly name: string
  readonly total: number
  readonly page: number
  readonly per_page: number
  readonly packages: readonly RegistryPackage[]
}>(
  Type.Object({
    name: Text,
    total: Count,
    page: Count,
    per_page: Count,
    packages: Type.Array(
      Type.Object({
        name: Text,
        versions: Count,
        published: Count,
        held: Count,
        files: Count,
        bytes: Count,
        changed_at: Text,
        newest: Type.Array(
          Type.Object({
            version: Text,
            arch: Text,
            status: Text,
            bytes: Count,
            uploaded_by: Text,
            at: Text,
            mark: MarkSchema,
          }),
        ),
        tags: Type.Array(TagSchema),
      }),
    ),
  }),
)

const PACKAGE = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 80 }),
  package: Type.String({ minLength: 1, maxLength: 400 }),
})
const PACKAGE_TAG = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 80 }),
  package: Type.String({ minLength: 1, maxLength: 400 }),
  tag: Type.String({ minLength: 1, maxLength: 128 }),
})
const VERSION = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 80 }),
  package: Type.String({ minLength: 1, maxLength: 400 }),
  version: Type.String({ minLength: 1, maxLength: 400 }),
})
const OF_VERSION_FAILS = [
  'registry_not_found',
  'version_not_found',
  'bad_registry',
  'outside_distribution',
  'registry_takes_no_uploads',
] as const
const limit = { bucket: 'registries', perMinute: 30 }

/** Registries: repositories whose clients ask for each name. */
export const registries = contract({
  'GET /registries/': {
    summary: 'Lists the registries that the caller may see, with what they hold.',
    access: 'any',
    reply: Type.Object({ registries: Type.Array(View) }),
  },
  'POST /registries/': {
    summary: 'Makes a registry for packages of one format.',
    details:
      '`kind`: `hosted` (by default) takes packages, `proxy` reads through to its `upstream`, `group` is one address for its `members`, which are asked in their order. `upstream.secret` goes with every request to that server and is shown nowhere; without `user` it is sent as a token. `min_age_days` hides younger versions of an upstream, by its own dates or (`age_from`: `first_seen`) since they were first seen here. Names that a hosted registry has or had, and those that match a pattern in `reserved`, are looked up nowhere outside. `require_signature`, of images: one without a good signature of a trusted key waits for it, held for review or (`block`) in quarantine. Its `name` is part of its addresses and shares the names with distributions. Who may see it is set by `/access/distributions/{name}`, how many versions stay by `/distributions/{name}/retention`.',
    leader: true,
    access: 'admin',
    limit,
    body: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 80 }),
        format: Type.String({ minLength: 1, maxLength: 40 }),
        kind: Type.Optional(listed<string>(REGISTRY_KINDS)),
        label: Label,
        ...Rules,
        snapshots_kept: SnapshotsKept,
      },
      { additionalProperties: false },
    ),
    reply: View,
    status: 201,
    fails: ['bad_registry', 'distribution_exists'],
  },
  'GET /registries/{name}': {
    summary: 'Shows one registry.',
    access: 'any',
    params: Name,
    reply: View,
    fails: ['registry_not_found'],
  },
  'PATCH /registries/{name}': {
    summary: 'Changes the label and the rules of a registry, retires it, or lets it take packages again.',
    details:
      'What is absent stays. `snapshots_kept` null: the newest ten. An upstream on another server, or for another `user`, loses the secret unless it comes with one; `notes` then says so. With another `upstream.url` nothing that the old one said counts any more.',
    leader: true,
    access: 'admin',
    limit,
    params: Name,
    body: Type.Object(
      { label: Label, retired: Type.Optional(Type.Boolean()), ...Rules, snapshots_kept: SnapshotsKept },
      { additionalProperties: false },
    ),
    reply: Changed,
    fails: ['registry_not_found', 'bad_registry'],
  },
  'DELETE /registries/{name}': {
    summary: 'Removes a registry that has no versions.',
    details:
      'Names that it had are looked up outside from then on, unless a pattern of another registry reserves them.',
    leader: true,
    access: 'admin',
    limit,
    params: Name,
    reply: 'none',
    status: 204,
    fails: ['registry_not_found', 'registry_in_use', 'registry_is_member'],
  },
  'GET /registries/{name}/setup': {
    summary: 'Shows how each client is set up for a registry.',
    access: 'any',
    params: Name,
    reply: Setup,
    fails: ['registry_not_found'],
  },
  'GET /registries/{name}/packages': {
    summary: 'Lists the names in a registry with their versions, states, sizes and tags.',
    access: 'any',
    params: Name,
    query: Type.Object({
      q: Type.Optional(Type.String({ maxLength: 200 })),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    }),
    reply: Packages,
    fails: ['registry_not_found'],
  },
  'GET /registries/{name}/packages/{package}/tags': {
    summary: 'Lists the tags of one name; none where the registry has no such name.',
    access: 'any',
    params: PACKAGE,
    reply: Type.Object({ name: Text, package: Text, tags: Type.Unsafe<readonly Tag[]>(Type.Array(TagSchema)) }),
    fails: ['registry_not_found'],
  },
  'PUT /registries/{name}/packages/{package}/tags/{tag}': {
    summary: 'Sets or moves a tag of a package to a version that clients get.',
    access: 'uploader+',
    scoped: 'distribution',
    limit,
    params: PACKAGE_TAG,
    body: Type.Object({ version: Type.String({ minLength: 1, maxLength: 400 }) }, { additionalProperties: false }),
    reply: TagSchema,
    fails: [...OF_VERSION_FAILS, 'tag_needs_served'],
  },
  'DELETE /registries/{name}/packages/{package}/tags/{tag}': {
    summary: 'Removes a tag. Its version stays.',
    access: 'uploader+',
    scoped: 'distribution',
    limit,
    params: PACKAGE_TAG,
    reply: 'none',
    status: 204,
    fails: ['registry_not_found', 'tag_not_found', 'outside_distribution'],
  },
  'PUT /registries/{name}/packages/{package}/versions/{version}/mark': {
    summary:
      'Marks a version as one that people should leave, in the word that its clients have: yanked or deprecated.',
    details:
      'Every file of the version is marked; nothing is deleted. `mark` of the registry is the word. PyPI: yanked, clients take it only by its exact number, and show the reason. npm: deprecated, clients warn with the reason.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    params: VERSION,
    body: Type.Object({ reason: Type.String({ minLength: 1, maxLength: 500 }) }, { additionalProperties: false }),
    reply: 'none',
    status: 204,
    fails: OF_VERSION_FAILS,
  },
  'DELETE /registries/{name}/packages/{package}/versions/{version}/mark': {
    summary: 'Takes the mark of a version away.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    params: VERSION,
    reply: 'none',
    status: 204,
    fails: OF_VERSION_FAILS,
  },
  'PUT /registries/{name}/packages/{package}/versions/{version}/yank': {
    summary: 'Yanks a version: clients take it only by its exact number, and show the reason.',
    details: 'The same as `/mark`, where the word of the clients is yanked: PyPI.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    params: VERSION,
    body: Type.Object({ reason: Type.String({ minLength: 1, maxLength: 500 }) }, { additionalProperties: false }),
    reply: 'none',
    status: 204,
    fails: OF_VERSION_FAILS,
  },
  'DELETE /registries/{name}/packages/{package}/versions/{version}/yank': {
    summary: 'Takes the mark of a yanked version away.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    params: VERSION,
    reply: 'none',
    status: 204,
    fails: OF_VERSION_FAILS,
  },
})
