import { Type } from '@sinclair/typebox'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { SEQUENCES } from '../../imports/bundle/accept.ts'
import { BASES } from '../../imports/bundle/make.ts'
import { NOT_TAKEN } from '../../imports/bundle/manifest.ts'
import type { Medium } from './media.ts'
import type { UploadView } from './uploads.ts'

/** What the routes of bundles answer. Sizes in bytes. */

const Count = Type.Integer()
const Base = Type.Object({
  kind: listed(BASES),
  number: Count,
  receipt: OrNull(Text),
  since: Count,
  partial: Type.Boolean(),
})
const NotPublishedSchema = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  distribution: Text,
  format: Text,
  outcome: listed(NOT_TAKEN),
  why: Text,
})
const COUNTS = { published: Count, already: Count, held: Count, refused: Count, upstream_changed: Count, waits: Count }

/** How a bundle stands at its site, by its receipts. */
export const STANDINGS = ['unconfirmed', 'late', 'imported', 'partly', 'lost'] as const

const Confirmed = Type.Object({
  taken_at: Time,
  receipt_at: Time,
  packages: Count,
  ...COUNTS,
  missing: Type.Array(Count),
  not_published: Type.Array(NotPublishedSchema),
})

/** A bundle that was made here. */
export const MadeSchema = Type.Object({
  id: Count,
  site: Text,
  number: Count,
  name: Text,
  file_name: OrNull(Text),
  based_on: Base,
  packages: Count,
  data: Type.Array(Text),
  size: Count,
  sha256: Text,
  distributions: Type.Array(Text),
  made_by: Text,
  made_at: Time,
  standing: listed(STANDINGS),
  receipt: OrNull(Confirmed),
})

/** A bundle that came from elsewhere. */
export const TakenSchema = Type.Object({
  id: Count,
  sender_id: Count,
  sender: Text,
  number: Count,
  name: Text,
  sha256: Text,
  state: listed(['running', 'done', 'failed']),
  why: OrNull(Text),
  packages: Count,
  size: Count,
  ...COUNTS,
  missing: Type.Array(Count),
  not_published: Type.Array(NotPublishedSchema),
  data: Type.Array(
    Type.Object({
      kind: Text,
      name: Text,
      outcome: listed(['loaded', 'already', 'older', 'failed', 'unknown_kind']),
      why: OrNull(Text),
    }),
  ),
  /** Tags and marks of registries that are not as they were carried, or took the place of others. */
  words: Type.Array(
    Type.Object({
      word: listed(['tag', 'mark']),
      tag: OrNull(Text),
      name: Text,
      version: Text,
      registry: Text,
      outcome: listed(['done', 'already', 'stays', 'waits', 'refused']),
      why: Text,
    }),
  ),
  made_at: Time,
  job_id: Text,
  taken_by: Text,
  started_at: Time,
  ended_at: OrNull(Time),
})

export const SiteSchema = Type.Object({
  name: Text,
  label: Text,
  fingerprints: Type.Array(Text),
  last_number: Count,
  receipt_at: OrNull(Time),
  receipt_read_at: OrNull(Time),
  receipt_number: Count,
  /** Packages that its last receipt does not have. */
  new_packages: Count,
  new_bytes: Count,
  created_by: Text,
  created_at: Time,
})

export const SenderSchema = Type.Object({
  id: Count,
  name: Text,
  fingerprints: Type.Array(Text),
  has_key: Type.Boolean(),
  site: OrNull(Text),
  last_number: Count,
  missing: Type.Array(Count),
  added_by: Text,
  added_at: Time,
})

const Named = { name: Text, version: Text, arch: Text, distribution: Text, format: Text }

/** So many packages are named in a preview. */
export const NAMED = 200

export const PreviewSchema = Type.Object({
  site: Text,
  based_on: Base,
  packages: Count,
  bytes: Count,
  /** Versions that the site has and that therefore stay here. */
  there: Count,
  different: Count,
  /** Of registries: tags that the site does not have so, and versions that something else is said of there. */
  tags: Count,
  marks: Count,
  /** The first of them, each with the newest version of its name that is there. */
  named: Type.Array(Type.Object({ ...Named, size: Count, version_there: OrNull(Text) })),
  vulnerability: Type.Object({ configured: Type.Boolean() }),
  antivirus: Type.Object({ files: Count, bytes: Count, newest: OrNull(Time) }),
})

export const ReceiptReadSchema = Type.Object({
  site: Text,
  name: Text,
  made_at: Time,
  number: Count,
  packages: Count,
  held: Count,
  missing: Type.Array(Count),
  message: Text,
})

export const MediumSchema = Type.Unsafe<Medium>(
  Type.Object({
    directory: Text,
    label: OrNull(Text),
    is_writable: Type.Boolean(),
    free_bytes: OrNull(Count),
    trouble: OrNull(Text),
    files: Type.Array(
      Type.Object({
        path: Text,
        name: Text,
        kind: listed(['bundle', 'receipt']),
        size: Count,
        modified_at: Time,
      }),
    ),
  }),
)

export const UploadSchema = Type.Unsafe<UploadView>(
  Type.Object({ id: Text, file_name: Text, size: Count, received: Count }),
)

/** What a bundle says of itself, and how it stands here. */
export const InspectionSchema = Type.Object({
  file: Text,
  name: Text,
  site: Text,
  number: Count,
  made_at: Time,
  release: Text,
  made_by: Text,
  size: Count,
  based_on: Base,
  packages: Count,
  assumes: Count,
  /** Packages that it builds on and that are not here. */
  assumed_missing: Count,
  distributions: Type.Array(Type.Object({ distribution: Text, packages: Count, here: Type.Boolean() })),
  /** Of registries. */
  tags: Count,
  marks: Count,
  data: Type.Array(Type.Object({ kind: Text, files: Count, newest: OrNull(Text) })),
  signature: Type.Object({
    state: listed(['trusted', 'unknown_key', 'bad']),
    fingerprints: Type.Array(Text),
    sender: OrNull(Text),
    why: OrNull(Text),
  }),
  sequence: listed(SEQUENCES),
  last_number: OrNull(Count),
  missing: Type.Array(Count),
  may_import: Type.Boolean(),
  said: Text,
})
