import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { Action } from '../../core/policy.ts'

const ActionName = Type.Unsafe<Action>(Type.Union((['block', 'review', 'warn', 'allow'] as const).map(action => Type.Literal(action)), { enum: ['block', 'review', 'warn', 'allow'] }))
const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible'] as const
const policy = Object.fromEntries(SEVERITIES.map(severity => [severity, ActionName])) as Record<typeof SEVERITIES[number], typeof ActionName>
const Policy = Type.Object(policy)

/** What happens to a package with findings. */
export const security = contract({
  'GET /security/policy': { summary: 'The action for each severity.', access: 'admin', reply: Policy },
  'PATCH /security/policy': {
    summary: 'Changes the action for the severities that are given.', access: 'admin',
    body: Type.Partial(Type.Object(policy, { additionalProperties: false }), { additionalProperties: false }), reply: Policy,
  },
  'GET /security/clamav/status': {
    summary: 'The antivirus engine and its signatures.', access: 'any',
    reply: Type.Object({
      ok: Type.Boolean(), enabled: Type.Boolean(), engine: Type.String(), version: Type.Union([Type.String(), Type.Null()]),
      signatures_version: Type.Union([Type.String(), Type.Null()]), signatures_at: Type.Union([Type.String(), Type.Null()]), error: Type.Optional(Type.String()),
    }),
  },
})
