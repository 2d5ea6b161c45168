import { Type } from '@sinclair/typebox'
import { OrderQuery, PackageItemSchema, pageSchema, pagingQuery, StateQuery, Term } from '../../catalog/schemas.ts'
import type { PackageItem } from '../../catalog/view.ts'
import { contract } from '../../core/contract.ts'
import type { DistributionCard, Initialized } from './distributions.ts'

const Card = Type.Object({
  codename: Type.String(), format: Type.String(), label: Type.String(), component: Type.String(), architectures: Type.Array(Type.String()),
  description: Type.String(), initialized: Type.Boolean(), active: Type.Boolean(), publishable: Type.Boolean(),
  packages: Type.Integer(), pending: Type.Integer(), quarantined: Type.Integer(),
  generation: Type.Union([Type.Integer(), Type.Null()]), published_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    client_line: Type.String(),
})

/** The fixed list of distributions, what is in them, and setting them up. */
export const distributions = contract({
  'GET /distributions/': {
    summary: 'Every distribution of the fixed list, with what it holds and the line a client needs.',
    access: 'any',
    reply: Type.Unsafe<{ readonly distributions: readonly DistributionCard[] }>(Type.Object({ distributions: Type.Array(Card) })),
  },
  'GET /distributions/{codename}/packages': {
    summary: 'Packages of one distribution. Without `state`: what its index names.',
    access: 'any',
    params: Type.Object({ codename: Type.String({ maxLength: 80 }) }),
    query: Type.Object({ q: Type.Optional(Term), search: Type.Optional(Term), state: Type.Optional(StateQuery), status: Type.Optional(StateQuery),
      sort: Type.Optional(OrderQuery), ...pagingQuery(200) }),
    reply: pageSchema<PackageItem>(PackageItemSchema),
    fails: ['distribution_not_found'],
  },
  // The endpoint table says admin, the permission summary maintainer and admin: every row of the summary is to hold.
  'POST /distributions/init': {
    summary: 'Sets up one distribution, or every APT one, and publishes its tree; makes a signing key when there is none.',
    access: 'maintainer+',
    limit: { bucket: 'distributions', perMinute: 5 },
    body: Type.Object({
      codename: Type.Optional(Type.Union([Type.String({ maxLength: 80 }), Type.Null()])),
      description: Type.Optional(Type.Union([Type.String({ maxLength: 500 }), Type.Null()])),
    }),
    reply: Type.Unsafe<Initialized>(Type.Object({
      status: Type.String({ enum: ['ok', 'pending'] }), message: Type.String(), initialized: Type.Array(Type.String()),
        pending: Type.Array(Type.String()),
      key_generated: Type.Boolean(), fingerprint: Type.String(), distributions: Type.Array(Card),
    })),
    fails: ['unknown_distribution', 'not_publishable', 'format_not_active'],
  },
})
