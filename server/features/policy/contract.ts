import { Type } from '@sinclair/typebox'
import { NAMED, pagingQuery } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import type { Action } from '../../core/policy.ts'
import { listed, OrNull, Text } from '../../core/schemas.ts'
import { PAGE, SeverityName, StateName } from '../../review/schemas.ts'
import type { Preview } from './preview.ts'

const ActionName = listed<Action>(['block', 'review', 'warn', 'allow'])
const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible'] as const
const POLICY = {
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
  malicious_action: ActionName,
}
const Policy = Type.Object(POLICY)

const PolicyPatch = Type.Partial(Type.Object(POLICY, { additionalProperties: false }), { additionalProperties: false })

/** What becomes of a package with findings. */
export const policy = contract({
  'GET /security/policy': {
    summary: 'Shows the action of the policy for each severity.',
    access: 'admin',
    reply: Policy,
  },
  'PATCH /security/policy': {
    summary: 'Changes the action for the given severities.',
    leader: true,
    access: 'admin',
    body: PolicyPatch,
    reply: Policy,
  },
  'POST /security/policy/preview': {
    summary:
      'Shows which packages a rescan would move under a policy that is not saved. Changes nothing; a saved policy applies to later uploads.',
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
})
