import { hardestAction, decide, type CvePolicy, type Verdict } from './policy.ts'
import type { Report, StepName } from './report.ts'
import { worst, type Finding, type Severity } from './findings.ts'
import type { Iso } from './identity.ts'
import type { Decision, Manifest } from './manifest.ts'
import { closingWordOn } from './vex.ts'

/** The parts of a manifest that matter for a review. */
export type Reviewed = Pick<Manifest, 'state' | 'reports' | 'findings' | 'decision' | 'review' | 'changed_at'>

const hasEnded = (decision: Decision, now: Iso): boolean =>
  decision.expires_at !== undefined && decision.expires_at <= now
const historyOf = ({ review, decision }: Pick<Reviewed, 'review' | 'decision'>): readonly Decision[] =>
  review?.history ?? (decision === undefined ? [] : [decision])

/** True when `id` names this finding: by its id or one of its aliases, upper and lower case alike. */
export function isNamed(finding: Pick<Finding, 'id' | 'aliases'>, id: string): boolean {
  return [finding.id, ...(finding.aliases ?? [])].some(one => one.toUpperCase() === id.toUpperCase())
}

/** An accepted word of a supplier as the decision that it comes to. */
function suppliedDecision({ review }: Pick<Reviewed, 'review'>, finding: Finding): Decision | undefined {
  const word = closingWordOn(review?.vex ?? [], finding)
  if (word === undefined) return undefined
  const { status, said, by, at } = word
  return { decision: status, action: 'approve', justification: said, by, at, cve: finding.id }
}

/**
 * The decision that stands for a finding at `now`: one about this vulnerability, an approval of the package that
 * already had it, or a supplier's word that somebody took. A later refusal takes it back; an ended one does not stand.
 */
export function acceptanceOf(
  manifest: Pick<Reviewed, 'review' | 'decision'>,
  finding: Finding,
  now: Iso,
): Decision | undefined {
  const supplied = suppliedDecision(manifest, finding)
  const decided = historyOf(manifest).filter(({ cve, action, covers }) =>
    cve !== undefined
      ? isNamed(finding, cve)
      : action === 'reject' || covers?.some(id => isNamed(finding, id)) === true,
  )
  const about =
    supplied === undefined
      ? decided
      : [...decided.filter(({ at }) => at <= supplied.at), supplied, ...decided.filter(({ at }) => at > supplied.at)]
  const since = about.slice(about.findLastIndex(({ action }) => action === 'reject') + 1)
  return since.findLast(decision => !hasEnded(decision, now))
}

/** The findings that count for the policy: not accepted, or no longer. */
export function openFindings(
  manifest: Pick<Reviewed, 'findings' | 'review' | 'decision'>,
  now: Iso,
): readonly Finding[] {
  return manifest.findings.filter(finding => acceptanceOf(manifest, finding, now) === undefined)
}

/** True while an approval of the whole package stands. */
export function isApproved({ decision }: Pick<Reviewed, 'decision'>, now: Iso): boolean {
  return decision?.action === 'approve' && !hasEnded(decision, now)
}

/** What is known of a package beside the findings that count. */
export interface Known {
  readonly isServed: boolean
  /** An approval of all of it stands. */
  readonly isApproved: boolean
  readonly reports: readonly Report[]
}

/**
 * The policy's verdict on a known package, from its last findings and later acceptances. May only hold it for review,
 * like everything after admission. What could not be scanned holds a waiting package, but does not remove one that is
 * served or that somebody approved.
 */
export const reconsider = (manifest: Reviewed, policy: CvePolicy, now: Iso): Verdict =>
  judgeAgain(
    {
      isServed: manifest.state === 'published',
      isApproved: isApproved(manifest, now),
      reports: manifest.reports,
    },
    openFindings(manifest, now),
    policy,
  )

/** As `reconsider`, from what counts of a manifest. */
export function judgeAgain(known: Known, findings: readonly Finding[], policy: CvePolicy): Verdict {
  const { isServed, isApproved: wasApproved, reports } = known
  const isSettled = isServed || wasApproved
  const found = reports.find(({ step }) => step === 'vulnerabilities')
  // what is served is judged by its licence too, unless a person let it through
  const licences = wasApproved
    ? []
    : reports.flatMap(({ step, verdict, said, licence }): Report[] =>
        licence === undefined ? [] : [{ step, outcome: 'ok', verdict, said, licence }],
      )
  // findings of any step are in the manifest, where acceptances count
  const others = isSettled
    ? licences
    : reports.filter(({ step }) => step !== 'vulnerabilities').map(({ findings: _, ...report }): Report => report)
  // the outcome of a scan followed the policy of its day; its findings are judged by today's
  const counted: Report = {
    step: 'vulnerabilities',
    verdict: found?.verdict ?? 'findings',
    said: found?.said ?? '',
    outcome: found?.outcome === 'unavailable' && !isSettled ? 'unavailable' : 'ok',
    findings,
  }
  return decide([...others, counted], policy, 'retro')
}

/** Why a version is held or in quarantine: sentences for people, and the steps of the gate that decided. */
export interface Cause {
  readonly reasons: readonly string[]
  /** Undefined when it was held after admission: no step of the gate decided that. */
  readonly steps: readonly StepName[] | undefined
}

/**
 * The cause of the state that a version has just got, as the policy that gave it says: what else is wrong with it, or
 * what only gave a warning, is no cause.
 */
export function causeOf(manifest: Reviewed, policy: CvePolicy, now: Iso): Cause {
  if (manifest.state === 'published') return { reasons: [], steps: [] }
  const heldFor = manifest.review?.held_for
  if (heldFor !== undefined) return { reasons: [heldFor], steps: undefined }
  const verdict = [decide(manifest.reports, policy, 'native'), reconsider(manifest, policy, now)].find(
    ({ state }) => state === manifest.state,
  )
  const because = verdict?.because ?? []
  return {
    reasons: because.map(report => report.said).filter(said => said !== ''),
    steps: because.map(report => report.step),
  }
}

/** Whether a vulnerability engine answered for all of it. What was not scanned in full is never "no findings". */
export function wasScanned({ reports }: Pick<Reviewed, 'reports'>): boolean {
  return reports.some(
    ({ step, outcome }) => step === 'vulnerabilities' && outcome !== 'unavailable' && outcome !== 'skipped',
  )
}

/** The ids in a new scan that no earlier one had. One that disappeared and comes back is not new. */
export function newFindings(
  manifest: Pick<Reviewed, 'findings' | 'review'>,
  found: readonly Finding[],
): readonly Finding[] {
  const gone = manifest.review?.gone ?? []
  return found.filter(
    finding =>
      !manifest.findings.some(known => isNamed(finding, known.id) || isNamed(known, finding.id)) &&
      !gone.some(id => isNamed(finding, id)),
  )
}

/** Whether findings ask for more than a warning. */
export function asksForReview(findings: readonly Finding[], policy: CvePolicy): boolean {
  const action = hardestAction(findings, policy)
  return action === 'block' || action === 'review'
}

/** Since when a package waits for a decision; undefined while it does not wait. */
export function heldSince({
  state,
  review,
  changed_at,
}: Pick<Reviewed, 'state' | 'review' | 'changed_at'>): Iso | undefined {
  return state === 'pending_review' ? (review?.held_at ?? changed_at) : undefined
}

/** When the next acceptance ends on which the package depends; undefined when none does. */
export function reopensAt({
  state,
  decision,
  review,
}: Pick<Reviewed, 'state' | 'decision' | 'review'>): Iso | undefined {
  const about = historyOf({
    ...(review === undefined ? {} : { review }),
    ...(decision === undefined ? {} : { decision }),
  })
  const standing = about.filter(
    (one, n) =>
      one.action === 'approve' &&
      (one.cve === undefined
        ? one.at === decision?.at && state === 'published'
        : !about.slice(n + 1).some(later => later.cve === one.cve)),
  )
  const ends = standing.flatMap(({ expires_at }) =>
    expires_at === undefined || expires_at <= (review?.lapsed_at ?? '') ? [] : [expires_at],
  )
  return ends.sort()[0]
}

/** Days to decide, by the worst finding that counts; severities that are not named have no deadline. */
export type SlaDays = Readonly<Partial<Record<Severity, number>>>

/** The deadlines from the settings. `unknown` has that of `medium`, beside which it ranks. */
export function slaDays(policy: {
  readonly sla_critical_days: number
  readonly sla_high_days: number
  readonly sla_medium_days: number
}): SlaDays {
  return {
    critical: policy.sla_critical_days,
    high: policy.sla_high_days,
    medium: policy.sla_medium_days,
    unknown: policy.sla_medium_days,
  }
}

/** When a waiting package must be decided; undefined when it does not wait or nothing in it has a deadline. */
export function dueAt(manifest: Reviewed, days: SlaDays, now: Iso): Iso | undefined {
  const held = heldSince(manifest)
  const severity = worst(openFindings(manifest, now))
  const allowed = severity === undefined ? undefined : days[severity]
  return held === undefined || allowed === undefined
    ? undefined
    : new Date(Date.parse(held) + allowed * 86_400_000).toISOString()
}

/** Records what a change means for the review: since when it waits, who has it, and every decision. */
export function keepBooks(before: Manifest, after: Manifest): Manifest {
  const { held_at: _, assigned_to, held_for, ...rest } = after.review ?? {}
  const history = historyOf(after)
  const isNoted =
    after.decision === undefined || history.some(({ at, cve }) => cve === undefined && at === after.decision?.at)
  const held = after.state !== 'pending_review' ? undefined : (heldSince(before) ?? after.changed_at)
  // the reason belonged to the state before
  const isOver = before.state !== after.state && held_for === before.review?.held_for
  const review = {
    ...rest,
    ...(history.length === 0 && isNoted
      ? {}
      : { history: isNoted || after.decision === undefined ? history : [...history, after.decision] }),
    ...(held === undefined ? {} : { held_at: held, ...(assigned_to === undefined ? {} : { assigned_to }) }),
    ...(held_for === undefined || isOver ? {} : { held_for }),
  }
  const { review: __, ...manifest } = after
  return Object.keys(review).length === 0 ? manifest : { ...manifest, review }
}
