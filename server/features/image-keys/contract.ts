import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { KeyName } from '../../core/schemas.ts'
import type { ImageKey } from '../../signing/image-keys.ts'

const Key = Type.Unsafe<ImageKey>(
  Type.Object({
    name: Type.String(),
    fingerprint: Type.String(),
    algorithm: Type.String(),
    registries: Type.Union([Type.Array(Type.String()), Type.Null()]),
    added_by: Type.String(),
    added_at: Type.String(),
  }),
)

/** The keys whose signatures of images count. */
export const imageKeys = contract({
  'GET /image-keys': {
    summary: 'Lists the public keys whose signatures of container images count, with the registries where they do.',
    access: 'auditor+',
    reply: Type.Unsafe<{ readonly keys: readonly ImageKey[] }>(Type.Object({ keys: Type.Array(Key) })),
  },
  'POST /image-keys': {
    summary: 'Trusts a public key; `registries` limits where its signatures count.',
    details:
      'One `PUBLIC KEY` in PEM, as in `cosign.pub`: ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 bits and more. Images that wait for their signature are judged anew.',
    access: 'admin',
    body: Type.Object(
      {
        name: KeyName,
        public_key: Type.String({ minLength: 1, maxLength: 64 * 1024 }),
        registries: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 80 }), { minItems: 1, maxItems: 100, uniqueItems: true }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Key,
    status: 201,
    fails: ['bad_image_key', 'image_key_exists', 'registry_not_found', 'bad_registry'],
  },
  'DELETE /image-keys/{name}': {
    summary: 'Trusts a key no longer. Images that were published by its signature stay.',
    access: 'admin',
    params: Type.Object({ name: KeyName }),
    reply: 'none',
    status: 204,
    fails: ['image_key_not_found'],
  },
})
