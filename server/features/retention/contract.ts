import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { ImportedCleaned } from './imported.ts'
import type { Cleaned, Rule } from './retention.ts'
import type { AuditCleaned } from './work.ts'
import { CodenamePath, OrNull, Text } from '../../core/schemas.ts'

const Keep = Type.Integer({ minimum: 1, maximum: 1000, description: 'Versions of each name and architecture.' })
const RuleReply = Type.Unsafe<Rule>(
  Type.Object({
    codename: Type.String(),
    keep: Type.Union([Type.Integer(), Type.Null()]),
    pins: Type.Array(
      Type.Object({
        name: Type.String(),
        version: Type.String(),
        reason: Type.String(),
        by: Type.String(),
        at: Type.String({ format: 'date-time' }),
      }),
    ),
  }),
)
const Surplus = Type.Array(
  Type.Object({ name: Type.String(), version: Type.String(), arch: Type.String(), size: Type.Integer() }),
)
const CleanedReply = Type.Unsafe<Cleaned>(
  Type.Object({
    codename: Type.String(),
    keep: Type.Integer(),
    dry_run: Type.Boolean(),
    removed: Surplus,
    pinned: Surplus,
    bytes: Type.Integer(),
    message: Type.String(),
  }),
)
const AuditCleanedReply = Type.Unsafe<AuditCleaned>(
  Type.Object({
    days: Type.Integer({ description: 'retention.audit_days' }),
    files: Type.Integer(),
    lines: Type.Integer(),
    bytes: Type.Integer(),
    first_day: OrNull(Text),
    last_day: OrNull(Text),
    message: Text,
  }),
)
const OF = { codename: Text, name: Text, version: Text, arch: Text }
const ImportedCleanedReply = Type.Unsafe<ImportedCleaned>(
  Type.Object({
    days: Type.Integer({ description: 'retention.import_cleanup_days' }),
    dry_run: Type.Boolean(),
    removed_count: Type.Integer(),
    removed: Type.Array(Type.Object({ ...OF, size: Type.Integer(), newer: Text }), { description: 'The first 500.' }),
    kept_count: Type.Integer(),
    kept: Type.Array(Type.Object({ ...OF, why: Text }), { description: 'The first 500.' }),
    bytes: Type.Integer(),
    message: Text,
  }),
)
const limit = { bucket: 'distributions', perMinute: 5 }

/** How many versions a distribution keeps. */
export const retention = contract({
  'POST /settings/run-retention': {
    summary:
      'Runs now what the night does: removes versions that no rule keeps, imported ones that nothing needs, and old files of the audit log.',
    details:
      'Three jobs, which go on when the caller goes away. With `dry_run` nothing is removed: the answer names the versions that would go, and `audit` is null. `audit` and `imports` are null where the edition keeps both for ever. An imported version goes when a newer one of its name and architecture has been published beside it for `retention.import_cleanup_days`, unless it is pinned, tagged, or all that a published package can be installed with; a distribution that is rolled back loses none. Audit files that were changed stay, as evidence, unless `accept_broken` is true; the log records that.',
    access: 'admin',
    limit,
    query: Type.Object({
      accept_broken: Type.Optional(Type.Boolean()),
      dry_run: Type.Optional(Type.Boolean()),
    }),
    fails: ['audit_not_whole'],
    reply: Type.Object({
      status: Text,
      job: Text,
      message: Text,
      distributions: Type.Array(CleanedReply),
      removed: Type.Integer(),
      bytes: Type.Integer(),
      imports: OrNull(ImportedCleanedReply),
      audit: OrNull(AuditCleanedReply),
    }),
  },
  'GET /distributions/{codename}/retention': {
    summary: 'Shows how many versions of each package the distribution keeps, and which are pinned.',
    access: 'any',
    params: CodenamePath,
    reply: RuleReply,
    fails: ['distribution_not_found'],
  },
  'PATCH /distributions/{codename}/retention': {
    summary:
      'Sets how many versions of each package are kept; null keeps all. Removal happens in the nightly run or with POST …/run.',
    access: 'maintainer+',
    params: CodenamePath,
    body: Type.Object({ keep: Type.Union([Keep, Type.Null()]) }),
    reply: RuleReply,
    fails: ['distribution_not_found'],
  },
  'POST /distributions/{codename}/retention/preview': {
    summary: 'Lists what a retention run would remove, by the saved rule or by `keep`. Changes nothing.',
    access: 'maintainer+',
    limit,
    params: CodenamePath,
    body: Type.Object({ keep: Type.Optional(Keep) }),
    reply: CleanedReply,
    fails: ['distribution_not_found', 'no_retention_rule'],
  },
  'POST /distributions/{codename}/retention/run': {
    summary: 'Removes the versions that the saved retention rule does not keep.',
    access: 'maintainer+',
    limit,
    params: CodenamePath,
    reply: CleanedReply,
    fails: ['distribution_not_found', 'no_retention_rule'],
  },
  'POST /distributions/{codename}/pins': {
    summary: 'Pins a version: retention keeps it whatever the rule.',
    access: 'maintainer+',
    limit,
    params: CodenamePath,
    body: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 300 }),
      version: Type.String({ minLength: 1, maxLength: 300 }),
      reason: Type.Optional(Type.String({ maxLength: 500 })),
    }),
    reply: RuleReply,
    fails: ['distribution_not_found', 'version_not_found'],
  },
  'DELETE /distributions/{codename}/pins/{name}/{version}': {
    summary: 'Removes a pin.',
    access: 'maintainer+',
    params: Type.Object({
      codename: Type.String({ maxLength: 80 }),
      name: Type.String({ minLength: 1, maxLength: 300 }),
      version: Type.String({ minLength: 1, maxLength: 300 }),
    }),
    reply: RuleReply,
    fails: ['distribution_not_found', 'pin_not_found'],
  },
})
