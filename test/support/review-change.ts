import type { Review } from '../../server/catalog/change.ts'
import type { PackageRef } from '../../server/core/identity.ts'
import { transition, type Decision, type Event } from '../../server/core/manifest.ts'

/** The catalogue change that a person's decision makes, without the review feature. */
export function judge(
  ref: PackageRef,
  event: Event,
  { why = '', decision }: { readonly why?: string; readonly decision?: Decision } = {},
): Review {
  return {
    kind: 'review',
    ref,
    judge: (before, now) => {
      const state = transition(before.state, event)
      return {
        after: { ...before, state, changed_at: now, ...(decision === undefined ? {} : { decision }) },
        fact: {
          action: event === 'quarantine' ? 'QUARANTINE' : 'SECURITY_DECISION',
          result: 'SUCCESS',
          facts: { kind: 'package.held', from_state: before.state, to_state: state, reason: why },
        },
      }
    },
  }
}
