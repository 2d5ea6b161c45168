import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { OrNull, Text } from '../../core/schemas.ts'

/** What whoever hosts this service asks it. */
export const tenants = contract({
  'GET /internal/tenants': {
    summary:
      'Shows whoever hosts this service whom it serves. Send INTERNAL_TOKEN as the bearer token; 404 where none is set.',
    access: 'public',
    root: true,
    reply: Type.Object({
      tenants: Type.Array(
        Type.Object({
          issued_to: OrNull(Text),
          edition: Type.String({ enum: ['enterprise', 'community'] }),
          app_url: Text,
          version: Text,
          users: Type.Integer(),
          packages: Type.Integer(),
          package_bytes: Type.Integer(),
        }),
      ),
      total: Type.Integer(),
    }),
    fails: ['not_found', 'not_authenticated', 'bad_credential'],
  },
})
