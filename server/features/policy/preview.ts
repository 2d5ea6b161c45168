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
import { decide, hardestAction, type Action, type CvePolicy } from '../../core/policy.ts'
import type { Report } from '../../core/report.ts'
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

/** As `reconsider` in core/review.ts, from rows instead of manifests. */
function stateUnder(policy: CvePolicy, findings: readonly Finding[], waiting: Waiting | undefined): State {
  const reports = waiting === undefined || waiting.approved ? [] : waiting.reports
  const wasUnavailable = reports.some(({ step, outcome }) => step === 'vulnerabilities' && outcome === 'unavailable')
  const others = reports
    .filter(({ step }) => step !== 'vulnerabilities')
    .map(({ step, outcome, install }): Report => ({
      step,
      outcome,
      verdict: '',
      said: '',
      ...(install === undefined ? {} : { install }),
    }))
  return decide(
    [
      ...others,
      { step: 'vulnerabilities', outcome: wasUnavailable ? 'unavailable' : 'ok', verdict: '', said: '', findings },
    ],
    policy,
    'retro',
  ).state
}

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
  for (
    let rows = await listProfiles(db, viewer, { after: 0, threshold });
    rows.length > 0;
    rows = await listProfiles(db, viewer, { after: rows.at(-1)?.id ?? 0, threshold })
  ) {
    signal.throwIfAborted()
    const held = rows.filter(({ state }) => state === 'pending_review').map(({ id }) => id)
    const waiting = held.length === 0 ? new Map<number, Waiting>() : await readWaiting(db, viewer, held)
    for (const { profiles, id, state, ...name } of rows) {
      checked++
      const findings = (profiles ?? []).map(profile => findingOf(profile, threshold))
      const to = stateUnder(policy, findings, waiting.get(id))
      if (to === state) continue
      const n = moves.to_review + moves.to_published
      moves[to === 'published' ? 'to_published' : 'to_review']++
      if (n < first || shown.length >= paging.perPage) continue
      shown.push({
        id,
        ...name,
        from: state,
        to,
        severity: worst(findings) ?? null,
        action: hardestAction(findings, policy),
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
