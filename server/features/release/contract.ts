import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { ReleaseCard } from './release.ts'
import { CodenamePath } from '../../core/schemas.ts'

const Reply = Type.Unsafe<ReleaseCard>(
  Type.Object({
    codename: Type.String(),
    not_automatic: Type.Boolean(),
    but_automatic_upgrades: Type.Boolean(),
    valid_days: Type.Integer(),
    valid_until: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    renew_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  }),
)

/** The Release fields of a distribution: reading and changing them. */
export const release = contract({
  'GET /distributions/{codename}/release': {
    summary: 'Shows the NotAutomatic, ButAutomaticUpgrades and Valid-Until fields of the Release file.',
    access: 'any',
    params: CodenamePath,
    reply: Reply,
    fails: ['distribution_not_found'],
  },
  'PATCH /distributions/{codename}/release': {
    summary:
      'Sets NotAutomatic, ButAutomaticUpgrades and Valid-Until (in days; 0: none) of the Release file, and signs the tree again at once. Machines that use it already refuse a change of the first two until `apt-get update --allow-releaseinfo-change`.',
    access: 'maintainer+',
    limit: { bucket: 'distributions', perMinute: 5 },
    params: CodenamePath,
    body: Type.Object(
      {
        not_automatic: Type.Optional(Type.Boolean()),
        but_automatic_upgrades: Type.Optional(Type.Boolean()),
        valid_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 3650 })),
      },
      { additionalProperties: false },
    ),
    reply: Reply,
    fails: ['distribution_not_found', 'no_release_words', 'bad_release_words'],
  },
})
