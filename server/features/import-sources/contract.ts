import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { SYNC_STATES, type SyncState } from '../../imports/source.ts'

/** What type a source is of: the words of the specification, and Alpine's. */
export const SOURCE_TYPES = ['apt', 'rpm', 'apk'] as const
export type SourceType = (typeof SOURCE_TYPES)[number]

/** A key as a source names it. */
export interface NamedKey {
  /** Fingerprint, or the file name of an APK key. */
  readonly name: string
  /** Null where no such key is known any more. */
  readonly label: string | null
}

/** A repository of others. Times are ISO 8601. */
export interface SourceView {
  readonly id: number
  readonly key: string
  readonly name: string
  readonly type: SourceType
  readonly kind: 'http' | 'tree'
  readonly url: string
  readonly mirrors: readonly string[]
  readonly suite: string | null
  readonly components: readonly string[]
  readonly architectures: readonly string[]
  /** Codenames that the caller sees. */
  readonly distributions: readonly string[]
  readonly security: boolean
  readonly keys: readonly NamedKey[]
  readonly signed: boolean
  readonly allow_expired: boolean
  readonly newest: number | null
  readonly enabled: boolean
  readonly builtin: boolean
  readonly retired: boolean
  readonly state: SyncState
  /** What is wrong, with the way out; null when nothing is. */
  readonly said: string | null
  /** What a person should know although it went well. */
  readonly notes: readonly string[]
  readonly packages: number
  readonly made_at: string | null
  readonly valid_until: string | null
  readonly signed_by: readonly NamedKey[]
  /** The base address that answered last. */
  readonly mirror: string | null
  readonly tried_at: string | null
  readonly synced_at: string | null
}

/** What a look at a source found. */
export interface TestView {
  readonly state: SyncState
  readonly said: string | null
  readonly roots: readonly {
    readonly path: string
    readonly sha256: string
    readonly made_at: string | null
    readonly valid_until: string | null
    readonly origin: string | null
    readonly label: string | null
    readonly suite: string | null
    readonly codename: string | null
    readonly signed_by: readonly NamedKey[]
  }[]
  readonly sample: { readonly name: string; readonly version: string; readonly arch: string } | null
  readonly bytes: number
  readonly mirror: string | null
}

/** A key that repositories of others are trusted by. */
export interface KeyView {
  readonly name: string
  readonly kind: 'openpgp' | 'rsa'
  readonly label: string
  readonly public_key: string
  readonly expires_at: string | null
  readonly accepted_until: string | null
  readonly builtin: boolean
  readonly added_by: string | null
  readonly added_at: string
  /** Keys of the sources that name it. */
  readonly sources: readonly string[]
}

const Names = (rule: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 50, description: rule })
const Named = Type.Object({ name: Text, label: OrNull(Text) })
const View = Type.Unsafe<SourceView>(
  Type.Object({
    id: Type.Integer(),
    key: Text,
    name: Text,
    type: listed(SOURCE_TYPES),
    kind: listed(['http', 'tree'] as const),
    url: Text,
    mirrors: Type.Array(Text),
    suite: OrNull(Text),
    components: Type.Array(Text),
    architectures: Type.Array(Text),
    distributions: Type.Array(Text),
    security: Type.Boolean(),
    keys: Type.Array(Named),
    signed: Type.Boolean(),
    allow_expired: Type.Boolean(),
    newest: OrNull(Type.Integer()),
    enabled: Type.Boolean(),
    builtin: Type.Boolean(),
    retired: Type.Boolean(),
    state: listed(SYNC_STATES),
    said: OrNull(Text),
    notes: Type.Array(Text),
    packages: Type.Integer(),
    made_at: OrNull(Time),
    valid_until: OrNull(Time),
    signed_by: Type.Array(Named),
    mirror: OrNull(Text),
    tried_at: OrNull(Time),
    synced_at: OrNull(Time),
  }),
)
const Tested = Type.Unsafe<TestView>(
  Type.Object({
    state: listed(SYNC_STATES),
    said: OrNull(Text),
    roots: Type.Array(
      Type.Object({
        path: Text,
        sha256: Text,
        made_at: OrNull(Time),
        valid_until: OrNull(Time),
        origin: OrNull(Text),
        label: OrNull(Text),
        suite: OrNull(Text),
        codename: OrNull(Text),
        signed_by: Type.Array(Named),
      }),
    ),
    sample: OrNull(Type.Object({ name: Text, version: Text, arch: Text })),
    bytes: Type.Integer(),
    mirror: OrNull(Text),
  }),
)
const Key = Type.Unsafe<KeyView>(
  Type.Object({
    name: Text,
    kind: listed(['openpgp', 'rsa'] as const),
    label: Text,
    public_key: Text,
    expires_at: OrNull(Time),
    accepted_until: OrNull(Time),
    builtin: Type.Boolean(),
    added_by: OrNull(Text),
    added_at: Time,
    sources: Type.Array(Text),
  }),
)

const Address = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description: 'Base address, or the path of a directory below IMPORT_ROOTS.',
})
const Label = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f]*$',
  rule: 'one line',
})
const FIELDS = {
  mirrors: Type.Optional(Names('Other servers with the same files, asked in this order.')),
  distribution: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
  distributions: Type.Optional(Names('Codenames that its packages are for.')),
  suite: Type.Optional(
    Type.String({ minLength: 1, maxLength: 120, description: 'APT: as in sources.list; a flat one ends in a slash.' }),
  ),
  components: Type.Optional(Names('APT: main by default.')),
  architectures: Type.Optional(Names('Those of the distribution by default.')),
  security: Type.Optional(Type.Boolean({ description: 'The security synchronisation looks here.' })),
  keys: Type.Optional(Names('Fingerprints, or file names of APK keys, that it has to be signed with.')),
  signed: Type.Optional(
    Type.Boolean({ description: 'False: only its packages are signed. An admin says so, and it is read over HTTPS.' }),
  ),
  allow_expired: Type.Optional(Type.Boolean({ description: 'Data past their end are taken. An admin says so.' })),
  newest: Type.Optional(OrNull(Type.Integer({ minimum: 1, maximum: 1_000 }))),
  enabled: Type.Optional(Type.Boolean()),
}
const NEW = { name: Label, type: listed(SOURCE_TYPES), url: Address, ...FIELDS }
const ById = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 80, description: 'The number of the source, or its key.' }),
})
const ByName = Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) })
const Reason = Type.String({ minLength: 3, maxLength: 1_000 })
const limit = { bucket: 'import', perMinute: 10 }
const REFUSALS = ['bad_import_source', 'outbound_refused', 'unknown_distribution'] as const

/** Repositories of others, and the keys that they are trusted by. */
export const importSources = contract({
  'GET /import/sources': {
    summary: 'Lists the repositories that packages can be imported from, with how their last synchronisation ended.',
    access: 'maintainer+',
    reply: Type.Unsafe<{ readonly sources: readonly SourceView[] }>(Type.Object({ sources: Type.Array(View) })),
  },
  'POST /import/sources': {
    summary: 'Adds a repository of others. Its keys are added before, by an admin.',
    access: 'maintainer+',
    limit,
    body: Type.Object(NEW, { additionalProperties: false }),
    reply: View,
    status: 201,
    fails: [...REFUSALS, 'import_source_exists', 'forbidden'],
  },
  'POST /import/sources/test': {
    summary: 'Fetches and verifies the root of a repository and says what it found. Changes nothing.',
    details: 'With `id` it tests that source, with the fields of the body in place of its own.',
    access: 'maintainer+',
    limit,
    body: Type.Object(
      {
        ...FIELDS,
        id: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
        name: Type.Optional(Label),
        type: Type.Optional(listed(SOURCE_TYPES)),
        url: Type.Optional(Address),
      },
      { additionalProperties: false },
    ),
    reply: Tested,
    fails: [...REFUSALS, 'source_not_found'],
  },
  'PATCH /import/sources/{id}': {
    summary: 'Changes a repository of others. Of one that comes with the product, changed fields stay as you set them.',
    access: 'maintainer+',
    params: ById,
    body: Type.Object(
      { name: Type.Optional(Label), url: Type.Optional(Address), ...FIELDS },
      { additionalProperties: false },
    ),
    reply: View,
    fails: [...REFUSALS, 'source_not_found', 'forbidden'],
  },
  'DELETE /import/sources/{id}': {
    summary: 'Removes a repository of others, from which nothing here came, and what the catalogue holds of it.',
    access: 'maintainer+',
    params: ById,
    reply: 'none',
    status: 204,
    fails: ['source_not_found', 'import_source_builtin', 'import_source_used'],
  },
  'POST /import/sources/{id}/accept': {
    summary: 'Accepts, once, a root that is older than the one before, or of another owner or release.',
    access: 'admin',
    limit,
    params: ById,
    body: Type.Object({ what: listed(['older', 'origin'] as const), reason: Reason }, { additionalProperties: false }),
    reply: View,
    fails: ['source_not_found'],
  },
  'GET /import/keys': {
    summary: 'Lists the keys that repositories of others are trusted by, and warns of those that end.',
    access: 'maintainer+',
    reply: Type.Unsafe<{ readonly keys: readonly KeyView[]; readonly warnings: readonly string[] }>(
      Type.Object({ keys: Type.Array(Key), warnings: Type.Array(Text) }),
    ),
  },
  'POST /import/keys': {
    summary: 'Adds the keys of a file: armoured blocks, or one RSA key of an APK repository.',
    access: 'admin',
    limit,
    body: Type.Object(
      {
        public_key: Type.String({ minLength: 1, maxLength: 512 * 1024 }),
        label: Type.Optional(Label),
        key_name: Type.Optional(
          Type.String({ minLength: 1, maxLength: 200, description: 'Of an RSA key: its file name.' }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Type.Unsafe<{ readonly keys: readonly KeyView[] }>(Type.Object({ keys: Type.Array(Key) })),
    status: 201,
    fails: ['bad_import_key'],
  },
  'PATCH /import/keys/{name}': {
    summary: 'Accepts a key past its end until a day, or no longer.',
    access: 'admin',
    params: ByName,
    body: Type.Object(
      { accepted_until: OrNull(Type.String({ format: 'date-time', maxLength: 40 })), reason: Reason },
      { additionalProperties: false },
    ),
    reply: Key,
    fails: ['import_key_not_found', 'bad_import_key'],
  },
  'DELETE /import/keys/{name}': {
    summary: 'Removes a key. Sources that name it are trusted by it no more, at once.',
    access: 'admin',
    params: ByName,
    reply: 'none',
    status: 204,
    fails: ['import_key_not_found'],
  },
})
