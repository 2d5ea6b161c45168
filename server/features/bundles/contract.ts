import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { Done, listed, OrNull, Text } from '../../core/schemas.ts'
import { MEDIUM_FAILS } from '../../machine/protocol.ts'
import { BASES } from '../../imports/bundle/make.ts'
import { SITE_NAME } from '../../imports/bundle/manifest.ts'
import {
  InspectionSchema,
  MadeSchema,
  MediumSchema,
  PreviewSchema,
  ReceiptReadSchema,
  SenderSchema,
  SiteSchema,
  TakenSchema,
  UploadSchema,
} from './schemas.ts'

const SiteName = Type.String({
  pattern: SITE_NAME,
  rule: '1 to 40 lower-case letters, digits or hyphens, and first a letter or digit',
})
const Label = Type.String({ minLength: 1, maxLength: 80, pattern: '^[^\\x00-\\x1f]+$', rule: 'one line' })
const Site = Type.Object({ site: Type.String({ maxLength: 80 }) })
const Id = Type.Object({ id: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) })
const UploadId = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
  minItems: 1,
  maxItems: 1_000,
  uniqueItems: true,
})
const Codenames = Type.Array(Type.String({ minLength: 1, maxLength: 80 }), {
  minItems: 1,
  maxItems: 200,
  uniqueItems: true,
})
const Pin = {
  fingerprint: Type.Optional(Type.String({ minLength: 8, maxLength: 200, description: 'Of the primary key.' })),
  public_key: Type.Optional(Type.String({ minLength: 1, maxLength: 512 * 1024, description: 'Armoured.' })),
}
/** Where a file is: one of the two. */
const Where = {
  upload: Type.Optional(Type.String({ maxLength: 60, description: 'A whole upload of POST /bundles/uploads.' })),
  path: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description: 'A path below a directory of IMPORT_ROOTS, or below a stick in the machine.',
    }),
  ),
}
const WHERE_FAILS = [
  ...MEDIUM_FAILS,
  'bundle_place_refused',
  'bundle_upload_not_found',
  'bundle_upload_incomplete',
  'bundle_refused',
  'bad_request',
] as const
const Asked = Type.Object({ status: Text, job_id: Text, message: Text })
const limit = { bucket: 'bundles', perMinute: 120 } as const
/** A large file comes in many pieces. */
const pieces = { bucket: 'bundle-pieces', perMinute: 3_000 } as const
const CHOICE = {
  base: Type.Optional(
    Type.Unsafe<(typeof BASES)[number]>({
      ...listed(BASES),
      description:
        'What is left out: `receipt` (what the last receipt says is there; the default), `bundle` (that, and what later bundles brought, if they arrive), `all` (nothing).',
    }),
  ),
  distributions: Type.Optional(Codenames),
  registries: Type.Optional(
    Type.Unsafe<string[]>({
      ...Codenames,
      description: 'Registries, hosted ones and proxies; a group has no versions of its own.',
    }),
  ),
  packages: Type.Optional(Names),
  groups: Type.Optional(Names),
}

/** Bundles that carry packages and data to sites without a network, and receipts for the way back. */
export const bundles = contract({
  'GET /bundles': {
    summary: 'Lists the bundles that were made here, and those that came from elsewhere, newest first.',
    access: 'maintainer+',
    reply: Type.Object({
      bundles: Type.Array(MadeSchema),
      imports: Type.Array(TakenSchema),
      late_days: Type.Integer(),
      key: OrNull(Type.Object({ fingerprint: Text, user_id: Text })),
    }),
  },
  'POST /bundles': {
    summary: 'Makes a bundle for a site: packages, vulnerability data and antivirus signatures that it lacks.',
    details:
      'It is made as a job. Without `distributions`, `registries` and `packages` everything goes that is published in distributions and that the caller sees; `registries` adds registries, alone where no distribution is named. `packages` names some (of registries also `name@version` and `name:tag`), and `groups` what was imported together: they go with all that they need of what is published here.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    status: 202,
    body: Type.Object(
      {
        site: SiteName,
        ...CHOICE,
        vulnerability: Type.Optional(Type.Boolean({ description: 'Vulnerability data go along; true by default.' })),
        antivirus: Type.Optional(Type.Boolean({ description: 'Antivirus signatures go along; true by default.' })),
      },
      { additionalProperties: false },
    ),
    reply: Asked,
    fails: [
      'bundle_site_not_found',
      'unknown_distribution',
      'registry_not_found',
      'bundle_group_chosen',
      'outside_distribution',
      'no_signing_key',
      'import_group_not_found',
    ],
  },
  'GET /bundles/{id}/download': {
    summary: 'Downloads a bundle.',
    access: 'maintainer+',
    params: Id,
    reply: 'file',
    types: ['application/x-tar'],
    fails: ['bundle_not_found'],
  },
  'POST /bundles/{id}/copy': {
    summary: 'Writes a bundle to a directory of IMPORT_ROOTS, such as a USB stick, as a job.',
    access: 'maintainer+',
    limit,
    params: Id,
    status: 202,
    body: Type.Object({ directory: Type.String({ minLength: 1, maxLength: 2_000 }) }, { additionalProperties: false }),
    reply: Asked,
    fails: ['bundle_not_found', 'bundle_place_refused'],
  },
  'DELETE /bundles/{id}': {
    summary: 'Removes the file of a bundle here. What it brought is still taken to be there.',
    access: 'maintainer+',
    params: Id,
    reply: Done,
    fails: ['bundle_not_found'],
  },
  'GET /bundles/sites': {
    summary: 'Lists the sites that get bundles, and what is new for each since its last receipt.',
    access: 'maintainer+',
    reply: Type.Object({ sites: Type.Array(SiteSchema) }),
  },
  'POST /bundles/sites': {
    summary: 'Adds a site. Its key, which signs its receipts, is pinned with PUT /bundles/sites/{site}/key.',
    access: 'maintainer+',
    limit,
    status: 201,
    body: Type.Object({ name: SiteName, label: Type.Optional(Label) }, { additionalProperties: false }),
    reply: SiteSchema,
    fails: ['bundle_site_exists'],
  },
  'PUT /bundles/sites/{site}/key': {
    summary: 'Pins the key that signs the receipts of a site, by its fingerprint or as an armoured key.',
    access: 'admin',
    limit,
    params: Site,
    body: Type.Object(Pin, { additionalProperties: false }),
    reply: SiteSchema,
    fails: ['bundle_site_not_found', 'bundle_bad_key'],
  },
  'DELETE /bundles/sites/{site}': {
    summary: 'Forgets a site, with its bundles and receipts.',
    access: 'admin',
    params: Site,
    reply: Done,
    fails: ['bundle_site_not_found'],
  },
  'GET /bundles/sites/{site}/preview': {
    summary: 'Shows what a bundle for a site would hold now.',
    access: 'maintainer+',
    limit,
    params: Site,
    query: Type.Object({
      base: CHOICE.base,
      distribution: Type.Optional(Type.String({ maxLength: 80 })),
      registry: Type.Optional(Type.String({ maxLength: 80, description: 'Alone where no distribution is named.' })),
      package: Type.Optional(Type.String({ maxLength: 300, description: 'With all that it needs.' })),
      group: Type.Optional(Type.String({ maxLength: 300, description: 'What was imported together.' })),
    }),
    reply: PreviewSchema,
    fails: [
      'bundle_site_not_found',
      'unknown_distribution',
      'registry_not_found',
      'bundle_group_chosen',
      'bundle_unknown_packages',
      'bundle_held_packages',
      'bundle_withheld_packages',
      'import_group_not_found',
      'bundle_group_empty',
    ],
  },
  'POST /bundles/receipts': {
    summary: 'Reads the receipt of a site: the next bundle holds only what it lacks.',
    details: 'Send the file as the body itself, or as `file` of multipart/form-data.',
    access: 'maintainer+',
    upload: 'data',
    limit,
    query: Type.Object({ filename: Type.Optional(Type.String({ maxLength: 255 })) }),
    reply: ReceiptReadSchema,
    fails: [
      'receipt_refused',
      'receipt_unknown_key',
      'receipt_older',
      'bundle_site_not_found',
      'upload_too_large',
      'upload_incomplete',
      'missing_field',
      'storage_full',
      'uploads_stopped',
      'bad_request',
    ],
  },
  'POST /bundles/receipts/read': {
    summary: 'Reads the receipt of a site from a stick in the machine or a directory of IMPORT_ROOTS.',
    access: 'maintainer+',
    limit,
    body: Type.Object({ path: Type.String({ minLength: 1, maxLength: 2_000 }) }, { additionalProperties: false }),
    reply: ReceiptReadSchema,
    fails: [
      'receipt_refused',
      'receipt_unknown_key',
      'receipt_older',
      'bundle_site_not_found',
      'bundle_place_refused',
      ...MEDIUM_FAILS,
    ],
  },
  'GET /bundles/senders': {
    summary: 'Lists the installations whose bundles are taken.',
    access: 'maintainer+',
    reply: Type.Object({ senders: Type.Array(SenderSchema) }),
  },
  'POST /bundles/senders': {
    summary: 'Pins the key of a sender: its bundles are taken from now on. A known name gets more keys.',
    access: 'admin',
    limit,
    status: 201,
    body: Type.Object({ name: Label, ...Pin, site: Type.Optional(SiteName) }, { additionalProperties: false }),
    reply: SenderSchema,
    fails: ['bundle_bad_key'],
  },
  'DELETE /bundles/senders/{id}': {
    summary: 'Takes no bundles of a sender any more. What came from it stays.',
    access: 'admin',
    params: Id,
    reply: Done,
    fails: ['bundle_sender_not_found'],
  },
  'GET /bundles/senders/{id}/receipt': {
    summary: 'Makes a receipt for a sender: what is here now, which bundles came, and what was held or refused.',
    access: 'maintainer+',
    limit,
    params: Id,
    reply: 'file',
    types: ['application/x-tar'],
    fails: ['bundle_sender_not_found', 'no_signing_key', 'bundle_nothing_came'],
  },
  'GET /bundles/media': {
    summary: 'Lists bundles and receipts on sticks in the machine and in the directories of IMPORT_ROOTS.',
    access: 'maintainer+',
    reply: Type.Object({ media: Type.Array(MediumSchema) }),
  },
  'POST /bundles/uploads': {
    summary: 'Begins the upload of a bundle in pieces, or goes on with one of the same name and size.',
    access: 'maintainer+',
    limit,
    body: Type.Object(
      {
        file_name: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^/\\x00-\\x1f]+$', rule: 'a file name' }),
        size: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      },
      { additionalProperties: false },
    ),
    reply: UploadSchema,
    fails: ['bundle_no_room'],
  },
  'GET /bundles/uploads/{id}': {
    summary: 'Shows how much of an upload has arrived.',
    access: 'maintainer+',
    params: UploadId,
    reply: UploadSchema,
    fails: ['bundle_upload_not_found'],
  },
  'PUT /bundles/uploads/{id}': {
    summary: 'Adds the next piece of an upload. What came before a lost connection stays.',
    access: 'maintainer+',
    upload: 'data',
    limit: pieces,
    params: UploadId,
    query: Type.Object({ offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) }),
    reply: UploadSchema,
    fails: ['bundle_upload_not_found', 'bundle_offset', 'upload_too_large', 'upload_incomplete', 'storage_full'],
  },
  'DELETE /bundles/uploads/{id}': {
    summary: 'Removes an upload.',
    access: 'maintainer+',
    params: UploadId,
    reply: Done,
    fails: ['bundle_upload_not_found'],
  },
  'POST /bundles/inspect': {
    summary: 'Shows what a bundle holds, who signed it, and whether it follows the last one. Takes nothing in.',
    access: 'maintainer+',
    limit,
    body: Type.Object(Where, { additionalProperties: false }),
    reply: InspectionSchema,
    fails: [...WHERE_FAILS],
  },
  'POST /bundles/import': {
    summary: 'Takes a bundle in: verified whole, then every package through the gate of this site.',
    details:
      'It is a job, which goes on after a restart. `allow_older` is for admins: it takes a bundle that is older than the last one, and data older than what is loaded.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    status: 202,
    body: Type.Object({ ...Where, allow_older: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
    reply: Type.Composite([Asked, Type.Object({ name: Text, sender: Text, missing: Type.Array(Type.Integer()) })]),
    fails: [
      ...WHERE_FAILS,
      'bundle_unknown_sender',
      'bundle_other_site',
      'bundle_older',
      'bundle_allow_older',
      'outside_distribution',
    ],
  },
})
