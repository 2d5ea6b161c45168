import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { KeyName } from '../../core/schemas.ts'
import type { UploaderKey } from '../../signing/uploader-keys.ts'

const Key = Type.Unsafe<UploaderKey>(
  Type.Object({
    name: Type.String(),
    fingerprint: Type.String(),
    user_ids: Type.Array(Type.String()),
    algorithm: Type.String(),
    created_at: Type.String(),
    expires_at: Type.Optional(Type.String()),
    distributions: Type.Union([Type.Array(Type.String()), Type.Null()]),
    added_by: Type.String(),
    added_at: Type.String(),
  }),
)

/** The keys whose signature an upload of a developer needs. */
export const uploaderKeys = contract({
  'GET /uploader-keys': {
    summary:
      'Lists the public keys of developers whose signed .changes are accepted, with their expiry and distributions.',
    access: 'auditor+',
    reply: Type.Unsafe<{ readonly keys: readonly UploaderKey[] }>(Type.Object({ keys: Type.Array(Key) })),
  },
  'POST /uploader-keys': {
    summary: 'Adds the public key of a developer; `distributions` limits where it may upload.',
    access: 'admin',
    body: Type.Object(
      {
        name: KeyName,
        public_key: Type.String({
          minLength: 1,
          maxLength: 512 * 1024,
          description: 'Armoured, as gpg --armor --export writes it.',
        }),
        distributions: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 80 }), { minItems: 1, maxItems: 100, uniqueItems: true }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Key,
    status: 201,
    fails: ['bad_uploader_key', 'uploader_key_exists', 'unknown_distribution'],
  },
  'DELETE /uploader-keys/{name}': {
    summary: 'Removes a developer key. Packages it uploaded stay.',
    access: 'admin',
    params: Type.Object({ name: KeyName }),
    reply: 'none',
    status: 204,
    fails: ['uploader_key_not_found'],
  },
})
