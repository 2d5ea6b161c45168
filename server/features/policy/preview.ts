import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import {
  listProfiles,
  readOpenCves,
  readProfile,
  readWaiting,
  type Waiting,
} from '../../catalog/queries/policy-preview.ts'
import type { Finding, Severity } from '../../core/findings.ts'
import { DEPENDENCY_RULE, severityOfRank, worst } from '../../core/findings.ts'
import type { Named } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import { forbiddenIn } from '../../core/licences/forbidden.ts'
import { judgeRecord, type LicencePolicy } from '../../core/licences/policy.ts'
import { harder, hardestAction, type Action, type CvePolicy } from '../../core/policy.ts'
import { judgeAgain } from '../../core/review.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'

/** A package that the other policy would move. */
export interface Move extends Named {
  readonly from: State
  readonly to: State
  /** The worst of its findings that count, and the action for all of them. */
  readonly severity: Severity | null
  readonly action: Action
  readonly cves: readonly string[]
  /** What is said of its licence, where that counts against it. */
  readonly licence: string | null
}

export interface Preview extends Page<Move> {
  /** How many packages were judged. */
  readonly checked: number
  readonly by_move: { readonly to_review: number; readonly to_published: number }
}

const SHOWN_CVES = 10

const DEPENDENCY = { purl: '', path: '', rule: DEPENDENCY_RULE, confidence: 'certain', presence: 'declared' } as const

function findingOf(profile: number, threshold: number): Finding {
  const { rank, kev, isFixable, isLikely, isMalicious, isOfDependency } = readProfile(profile)
  return {
    id: '',
    package: '',
    detected_by: [],
    severity: severityOfRank(rank) ?? 'negligible',
    kev,
    ...(isFixable ? { fixed_in: '' } : {}),
    ...(isLikely ? { epss: threshold } : {}),
    ...(isMalicious ? { malicious: true } : {}),
    ...(isOfDependency ? { at: DEPENDENCY } : {}),
  }
}

/** Whether a policy says anything of licences. */
const heedsLicences = (licences: LicencePolicy | undefined): boolean =>
  licences !== undefined && (forbiddenIn(licences.forbidden).length > 0 || licences.undeclared_action !== 'allow')

/**
 * The packages that an unsaved policy would move when each is scanned again. Saving it moves none, and the nightly run
 * only holds those with new ids. Changes nothing. Quarantined and rejected packages stay where they are under any
 * policy, until somebody decides.
 * @param signal  ends the walk when the caller is gone
 */
export async function previewPolicy(
  db: Queryable,
  viewer: Viewer,
  { policy, paging, signal }: { readonly policy: CvePolicy; readonly paging: Paging; readonly signal: AbortSignal },
): Promise<Preview> {
  const threshold = policy.epss_threshold ?? 1
  const first = (paging.page - 1) * paging.perPage
  const shown: (Omit<Move, 'cves'> & { readonly id: number })[] = []
  const moves = { to_review: 0, to_published: 0 }
  let checked = 0
  const licences = heedsLicences(policy.licences)
  const rowsAfter = (after: number) => listProfiles(db, viewer, { after, threshold, licences })
  for (let rows = await rowsAfter(0); rows.length > 0; rows = await rowsAfter(rows.at(-1)?.id ?? 0)) {
    signal.throwIfAborted()
    const held = rows.filter(({ state }) => state === 'pending_review').map(({ id }) => id)
    const waiting = held.length === 0 ? new Map<number, Waiting>() : await readWaiting(db, viewer, held)
    for (const { profiles, id, state, licence, approved, ...name } of rows) {
      checked++
      const findings = (profiles ?? []).map(profile => findingOf(profile, threshold))
      const reports = waiting.get(id)?.reports ?? (licence === null ? [] : [licence])
      const known = { isServed: state === 'published', isApproved: approved, reports }
      const to = judgeAgain(known, findings, policy).state
      if (to === state) continue
      const n = moves.to_review + moves.to_published
      moves[to === 'published' ? 'to_published' : 'to_review']++
      if (n < first || shown.length >= paging.perPage) continue
      const ofLicence = judgeRecord(approved ? undefined : licence?.licence, policy.licences)
      shown.push({
        id,
        ...name,
        from: state,
        to,
        severity: worst(findings) ?? null,
        action: harder(hardestAction(findings, policy), ofLicence.action),
        licence: ofLicence.said ?? null,
      })
    }
  }
  const cves = await readOpenCves(
    db,
    viewer,
    shown.map(({ id }) => id),
  )
  const items = shown.map(({ id, ...move }): Move => ({ ...move, cves: (cves.get(id) ?? []).slice(0, SHOWN_CVES) }))
  return { ...pageOf(items, moves.to_review + moves.to_published, paging), checked, by_move: moves }
}
