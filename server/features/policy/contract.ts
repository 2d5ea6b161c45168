import { Type } from '@sinclair/typebox'
import { NAMED, pagingQuery } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { RATED, type Contradiction } from '../../core/contradictions.ts'
import type { Action } from '../../core/policy.ts'
import { listed, OrNull, Text } from '../../core/schemas.ts'
import { PAGE, SeverityName, StateName } from '../../review/schemas.ts'
import type { Preview } from './preview.ts'

const ActionName = listed<Action>(['block', 'review', 'warn', 'allow'])
const RatedName = listed(RATED)
const POLICY = {
  ...(Object.fromEntries(RATED.map(severity => [severity, ActionName])) as Record<
    (typeof RATED)[number],
    typeof ActionName
  >),
  unknown_as: RatedName,
  kev_action: ActionName,
  epss_threshold: Type.Number({ minimum: 0, maximum: 1 }),
  epss_action: ActionName,
  require_fix: Type.Boolean(),
  malicious_action: ActionName,
}
const LICENCES = Type.Object({
  forbidden: Type.String({ maxLength: 2_000 }),
  action: ActionName,
  undeclared_action: ActionName,
})
const Policy = Type.Object(POLICY)
const Warnings = Type.Array(Text, { description: 'Where the policy contradicts itself; empty where it does not.' })
const Warned = Type.Object({ ...POLICY, warnings: Warnings })
const CLOSED = { additionalProperties: false }
// a client may send back all that it read
const PolicyPatch = Type.Partial(
  Type.Object({ ...POLICY, warnings: Type.Array(Text, { description: 'As it was read; without effect.' }) }, CLOSED),
  CLOSED,
)
const PreviewBody = Type.Partial(
  Type.Object({ ...PolicyPatch.properties, license_policy: Type.Partial(LICENCES, CLOSED) }, CLOSED),
  CLOSED,
)
const ContradictionView = Type.Unsafe<Contradiction>(
  Type.Object({ worse: RatedName, action: ActionName, lesser: RatedName, lesser_action: ActionName }),
)

/** What becomes of a package with findings. */
export const policy = contract({
  'GET /security/policy': {
    summary: 'Shows the action of the policy for each severity.',
    access: 'admin',
    reply: Warned,
  },
  'PATCH /security/policy': {
    summary: 'Changes the action for the given severities.',
    leader: true,
    details:
      'With `confirm=false` a change that makes the policy contradict itself (medium: block, high: review) is refused until it is sent with `confirm=true`. Without `confirm` it is saved, and `warnings` name it.',
    access: 'admin',
    query: Type.Object({ confirm: Type.Optional(Type.Boolean()) }),
    body: PolicyPatch,
    reply: Warned,
    fails: ['policy_contradiction'],
  },
  'POST /security/policy/rescan': {
    summary: 'Scans the packages again that the saved policy would move, as one job, so that they move.',
    details: 'At most 500 in one job: `left` says how many are left for the next. Without any, `job_id` is null.',
    access: 'admin',
    status: 202,
    reply: Type.Object({ job_id: OrNull(Text), packages: Type.Integer(), left: Type.Integer(), message: Text }),
  },
  'POST /security/policy/preview': {
    summary:
      'Shows which packages a rescan would move under a policy that is not saved. Changes nothing; a saved policy applies to later uploads.',
    access: 'admin',
    details:
      '`license_policy` has what is to be changed of that section of the settings; a list that the settings would refuse is refused. `licence` says what counts against a package for its licence.',
    query: Type.Object(pagingQuery(200)),
    body: PreviewBody,
    fails: ['bad_setting'],
    reply: Type.Unsafe<
      Preview & { readonly policy: Record<string, unknown>; readonly contradictions: readonly Contradiction[] }
    >(
      Type.Object({
        policy: Policy,
        contradictions: Type.Array(ContradictionView),
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
            licence: OrNull(Text),
          }),
        ),
      }),
    ),
  },
})
