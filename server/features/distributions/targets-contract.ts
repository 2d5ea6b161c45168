import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text } from '../../core/schemas.ts'
import type { Targets } from './targets.ts'

const Word = (maxLength: number) => Type.Optional(Type.String({ minLength: 1, maxLength }))
const Findings = Type.Array(Type.Object({ id: Text, package: Text, severity: Text }))

/** What a promotion could do, before anybody asks for it. */
export const promotionTargets = contract({
  'GET /artifacts/{name}/promote/targets': {
    summary:
      'Lists the distributions that a package of `from_dist` could be promoted to, and what the policy says of it.',
    details:
      'Of the newest published version, or of `version`. A distribution with other bytes under that version is no target; `differences` names it.',
    access: 'any',
    params: Type.Object({ name: Type.String({ minLength: 1, maxLength: 300 }) }),
    query: Type.Object({ from_dist: Word(80), from_distribution: Word(80), version: Word(300), arch: Word(80) }),
    reply: Type.Unsafe<Targets>(
      Type.Object({
        package: Text,
        version: Text,
        from_dist: Text,
        targets: Type.Array(Text),
        differences: Type.Array(
          Type.Object({
            distribution: Text,
            name: Text,
            version: Text,
            arch: Text,
            target: OrNull(Text),
            standing: listed(['new', 'newer', 'same', 'older', 'conflict']),
          }),
        ),
        policy_verdict: Type.Object({
          verdict: listed(['block', 'review', 'warn', 'allow']),
          reason: Text,
          warnings: Findings,
          blocking: Findings,
          reviewing: Findings,
        }),
      }),
    ),
    fails: [
      'unknown_distribution',
      'missing_property',
      'two_answers',
      'package_not_found',
      'version_not_found',
      'not_promotable',
    ],
  },
})
