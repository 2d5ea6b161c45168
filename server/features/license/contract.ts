import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { LicenseCard } from '../../settings/licensing.ts'
import { OrNull, Text } from '../../core/schemas.ts'

const Card = Type.Unsafe<LicenseCard>(
  Type.Object({
    edition: Type.String({ enum: ['enterprise', 'community'] }),
    active: Type.Boolean(),
    standing: Type.String({ enum: ['unlicensed', 'valid', 'expiring', 'grace', 'expired', 'invalid'] }),
    issued_to: OrNull(Text),
    issued_at: OrNull(Text),
    expires_at: OrNull(Text),
    max_packages: OrNull(Type.Integer()),
    max_users: OrNull(Type.Integer()),
    max_distributions: OrNull(Type.Integer()),
    features: Type.Array(Text),
    license_id: OrNull(Text),
    valid: Type.Boolean(),
    days_remaining: OrNull(Type.Integer()),
    warning: OrNull(Text),
  }),
)

/** The edition, and the licence that stands behind it. */
export const license = contract({
  'GET /license': {
    summary: 'Shows the edition, the licensee and the end of the licence.',
    access: 'any',
    reply: Card,
  },
  'PUT /license': {
    summary: 'Sets the licence key; an empty one removes it.',
    leader: true,
    access: 'admin',
    body: Type.Object({ key: Type.String({ maxLength: 4_000 }) }),
    reply: Card,
    fails: ['bad_license'],
  },
})
