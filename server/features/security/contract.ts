import { Type } from '@sinclair/typebox'
import { pagingQuery } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import type { Action } from '../../core/policy.ts'
import { findingRows } from './contract-findings.ts'
import { reviewRows } from './contract-review.ts'
import type { Preview } from './policy-preview.ts'
import { NAMED, OrNull, PAGE, SeverityName, StateName, Text, Time } from '../../review/schemas.ts'

const ActionName = Type.Unsafe<Action>(
  Type.Union(
    (['block', 'review', 'warn', 'allow'] as const).map(action => Type.Literal(action)),
    { enum: ['block', 'review', 'warn', 'allow'] },
  ),
)
const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible'] as const
const policy = {
  ...(Object.fromEntries(SEVERITIES.map(severity => [severity, ActionName])) as Record<
    (typeof SEVERITIES)[number],
    typeof ActionName
  >),
  unknown_as: Type.Unsafe<(typeof SEVERITIES)[number]>(
    Type.Union(
      SEVERITIES.map(severity => Type.Literal(severity)),
      { enum: [...SEVERITIES] },
    ),
  ),
  kev_action: ActionName,
  epss_threshold: Type.Number({ minimum: 0, maximum: 1 }),
  epss_action: ActionName,
  require_fix: Type.Boolean(),
}
const Policy = Type.Object(policy)

const PolicyPatch = Type.Partial(Type.Object(policy, { additionalProperties: false }), { additionalProperties: false })
const SignatureFiles = Type.Array(
  Type.Object({ file: Text, version: OrNull(Text), signatures: OrNull(Type.Integer()), built_at: Time }),
)

/** The rules, and the engine that looks for malware. */
const ruleRows = contract({
  'GET /security/policy': { summary: 'The action for each severity.', access: 'admin', reply: Policy },
  'PATCH /security/policy': {
    summary: 'Changes the action for the severities that are given.',
    access: 'admin',
    body: PolicyPatch,
    reply: Policy,
  },
  'POST /security/policy/preview': {
    summary:
      'Which packages a rescan would move under a policy that is not saved. Changes nothing; nor does saving, which decides what comes in from then on.',
    access: 'admin',
    query: Type.Object(pagingQuery(200)),
    body: PolicyPatch,
    reply: Type.Unsafe<Preview & { readonly policy: Record<string, unknown> }>(
      Type.Object({
        policy: Policy,
        checked: Type.Integer(),
        by_move: Type.Object({ to_review: Type.Integer(), to_published: Type.Integer() }),
        ...PAGE,
        items: Type.Array(
          Type.Object({
            ...NAMED,
            from: StateName,
            to: StateName,
            severity: OrNull(SeverityName),
            action: ActionName,
            cves: Type.Array(Text),
          }),
        ),
      }),
    ),
  },
  'GET /security/clamav/status': {
    summary: 'The antivirus engine and its signatures.',
    access: 'any',
    reply: Type.Object({
      ok: Type.Boolean(),
      enabled: Type.Boolean(),
      engine: Type.String(),
      version: Type.Union([Type.String(), Type.Null()]),
      signatures_version: Type.Union([Type.String(), Type.Null()]),
      signatures_at: Type.Union([Type.String(), Type.Null()]),
      error: Type.Optional(Type.String()),
      signatures_age_hours: OrNull(Type.Integer()),
      databases: SignatureFiles,
    }),
  },
  'POST /security/clamav/update': {
    summary:
      'Brings the antivirus signatures up to date with freshclam, and has the engine load them while it goes on scanning.',
    access: 'admin',
    fails: ['signatures_not_updated', 'engine_unavailable'],
    reply: Type.Object({
      status: Type.String({ enum: ['updated', 'current'] }),
      source: Text,
      databases: SignatureFiles,
      said: Type.Array(Text),
      /**
       * `started`: the engine reads the new files beside the old ones. `failed` and `not_configured`: it goes on with
       * the old ones.
       */
      reload: Type.String({ enum: ['started', 'failed', 'not_configured'] }),
      signatures_version: OrNull(Text),
      signatures_at: OrNull(Time),
    }),
  },
})

/** Findings, review, rules and engines: the specification's Security table. */
export const security = contract({ ...ruleRows, ...reviewRows, ...findingRows })
