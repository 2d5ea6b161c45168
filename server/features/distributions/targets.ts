import type { Catalog } from '../../catalog/catalog.ts'
import { listHeld } from '../../catalog/queries/distributions.ts'
import type { Finding, Severity } from '../../core/findings.ts'
import { actionOf, hardestAction, type Action, type CvePolicy } from '../../core/policy.ts'
import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import { openFindings } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { compare, type Difference } from './compare.ts'
import { choose, type Choice } from './promote.ts'

interface CountedFinding {
  readonly id: string
  readonly package: string
  readonly severity: Severity
}

/** Where a package could be promoted to, and what today's policy says of it. */
export interface Targets {
  readonly package: string
  readonly version: string
  readonly from_dist: string
  readonly targets: readonly string[]
  /** How each architecture of the version compares with what a target has. */
  readonly differences: readonly (Difference & { readonly distribution: string })[]
  readonly policy_verdict: {
    readonly verdict: Action
    readonly reason: string
    readonly warnings: readonly CountedFinding[]
    readonly blocking: readonly CountedFinding[]
    readonly reviewing: readonly CountedFinding[]
  }
}

export interface TargetDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'find'>
  readonly repositories: SeenRepositories
  /** Whether packages of a distribution can be published. */
  readonly isTarget: (distribution: Distribution) => boolean
}

export interface TargetAsk {
  readonly from: string
  readonly viewer: Viewer
  readonly policy: CvePolicy
  readonly now: string
}

const SAID: Record<Action, string> = {
  allow: 'No finding counts for the policy of today.',
  warn: 'The policy of today warns of what was found.',
  review: 'The policy of today asks for a review of what was found.',
  block: 'The policy of today blocks what was found.',
}
const KEPT = 'A promotion copies the decision that the package has.'

function verdictOf(findings: readonly Finding[], policy: CvePolicy): Targets['policy_verdict'] {
  const by = (action: Action): CountedFinding[] =>
    findings
      .filter(finding => actionOf(finding, policy) === action)
      .map(({ id, package: of, severity }) => ({ id, package: of, severity }))
  const verdict = hardestAction(findings, policy)
  return {
    verdict,
    reason: `${SAID[verdict]} ${KEPT}`,
    warnings: by('warn'),
    blocking: by('block'),
    reviewing: by('review'),
  }
}

/**
 * Distributions of the same format that take the package: those with other bytes under the same version are left out.
 * @throws unknown_distribution, and what `choose` does
 */
export async function listTargets(
  { db, catalog, repositories, isTarget }: TargetDeps,
  choice: Choice,
  { from, viewer, policy, now }: TargetAsk,
): Promise<Targets> {
  const source = repositories.get(from)
  const held = await choose(db, viewer, { codename: source.codename, ...choice })
  const possible = repositories
    .all()
    .filter(one => one.codename !== from && one.format === source.format && one.state === 'active' && isTarget(one))
  const states = ['published', 'pending_review', 'quarantined', 'rejected'] as const
  const compared = await Promise.all(
    possible.map(async ({ codename }) => {
      const there = await listHeld(db, viewer, { codename, names: [choice.name], states })
      return { codename, differences: compare(held, there) }
    }),
  )
  const manifests = await Promise.all(
    held.map(({ name, version, arch }) =>
      catalog.find(viewer, { format: source.format, codename: source.codename, name, version, arch }),
    ),
  )
  const findings = manifests.flatMap(manifest => (manifest === undefined ? [] : openFindings(manifest, now)))
  const takers = compared.filter(({ differences }) => differences.every(({ standing }) => standing !== 'conflict'))
  return {
    package: choice.name,
    version: held[0]?.version ?? '',
    from_dist: from,
    targets: takers.map(({ codename }) => codename),
    differences: compared.flatMap(({ codename, differences }) =>
      differences.map(one => ({ ...one, distribution: codename })),
    ),
    policy_verdict: verdictOf(
      [...new Map(findings.map(finding => [`${finding.id} ${finding.package}`, finding])).values()],
      policy,
    ),
  }
}
