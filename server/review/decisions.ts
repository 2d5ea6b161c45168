import type { Catalog } from '../catalog/catalog.ts'
import type { Actor, Changed, Judgement, Review, Within } from '../catalog/change.ts'
import { fail } from '../core/errors.ts'
import type { Iso, PackageRef } from '../core/identity.ts'
import { transition, type Decision, type Manifest, type State } from '../core/manifest.ts'
import { dueAt, isNamed, reconsider, slaDays } from '../core/review.ts'
import { policyOf } from '../core/policy.ts'
import type { Queryable } from '../db/db.ts'
import type { Outcome } from '../lib/groups.ts'
import type { AuditFacts, DecidedFact } from '../record/audit-facts.ts'
import type { Settings } from '../settings/store.ts'
import { DECISIONS, type RequestedDecision } from './requested-decision.ts'
import type { Found } from './find-version.ts'
import { namesOfPerson, needFourEyes } from './four-eyes.ts'

export interface Decided {
  readonly decisions: readonly Decision[]
  readonly changed: Changed
}

/** A waiting package as it was seen by whoever decides on many. */
export interface Seen {
  readonly ref: PackageRef
  /** Who uploaded it. */
  readonly by: string
  /** When it had been changed last. If anything changed since, the decision is refused. */
  readonly seenAt: Iso
  /** How much later its tree may follow, in ms; absent: at once. */
  readonly publishWithinMs?: number
}

/** Who decides on many, and what is written in the same transaction. */
export interface Together {
  readonly actor: Actor
  readonly within: Within
}

export interface Decisions {
  /** @throws four_eyes, already_decided, not_possible, finding_not_found, version_not_found */
  decide(found: Found, said: RequestedDecision, actor: Actor): Promise<Decided>
  /**
   * One decision about many packages that wait, in one transaction with what `within` writes.
   * @returns an outcome for each, in their order: what `decide` throws concerns one. @throws what concerns all
   */
  decideAll(many: readonly Seen[], said: RequestedDecision, how: Together): Promise<readonly Outcome<Changed>[]>
  /** Assigns a held package to a reviewer, or removes the assignment. @throws bad_assignee, not_possible */
  assign(found: Found, username: string | undefined, actor: Actor): Promise<Changed>
  /** Takes a package out of its distribution at once. @throws not_possible */
  quarantine(found: Found, why: string, actor: Actor): Promise<Changed>
}

export interface DecisionDeps {
  readonly db: Queryable
  readonly catalog: Pick<Catalog, 'change' | 'reviewAll'>
  readonly settings: Pick<Settings, 'now'>
}

const withoutStanding = ({ decision: _, ...rest }: Manifest): Manifest => rest
const lastWord = (manifest: Manifest): Decision | undefined => manifest.review?.history?.at(-1) ?? manifest.decision

/** Refuses a decision when somebody else decided since the reviewer looked. */
function refuseStale(
  before: Manifest,
  found: Pick<Found, 'state'>,
  { seenAt, arrivedAt }: Pick<RequestedDecision, 'seenAt' | 'arrivedAt'>,
): void {
  const last = lastWord(before)
  const isStale =
    before.state !== found.state ||
    (last !== undefined && last.at > arrivedAt) ||
    (seenAt !== undefined && before.changed_at > seenAt)
  if (isStale)
    fail('already_decided', {
      name: before.ref.name,
      version: before.ref.version,
      state: before.state,
      by: last?.by ?? 'somebody',
    })
}

/** The decisions in a request: one for each named vulnerability, or one about the package. */
function decisionsOf(
  before: Manifest,
  said: RequestedDecision,
  { by, at, due }: { readonly by: string; readonly at: Iso; readonly due: Iso | undefined },
): Decision[] {
  const base: Decision = {
    decision: said.decision,
    action: DECISIONS[said.decision] ?? 'reject',
    justification: said.justification,
    by,
    at,
    ...(said.expiresAt === undefined ? {} : { expires_at: said.expiresAt }),
    ...(due === undefined ? {} : { due_at: due }),
  }
  if (said.cves.length === 0)
    return [base.action === 'approve' ? { ...base, covers: before.findings.map(({ id }) => id) } : base]
  const named = said.cves.map(
    cve =>
      before.findings.find(finding => isNamed(finding, cve))?.id ??
      fail('finding_not_found', { cve, name: before.ref.name, version: before.ref.version }),
  )
  return [...new Set(named)].map(cve => ({ ...base, cve }))
}

/** Publishes a held package that nothing holds any more; holds a published one whose vulnerability counts again. */
export function follow(manifest: Manifest, wanted: State): State {
  if (manifest.state === 'pending_review' && wanted === 'published') return transition(manifest.state, 'approve')
  if (manifest.state === 'published' && wanted === 'pending_review') return transition(manifest.state, 'hold')
  return manifest.state
}

/** What an audit line keeps of a decision. */
const factOf = ({ decision, justification, cve, expires_at }: Decision): DecidedFact => ({
  decision,
  ...(cve === undefined ? {} : { cve }),
  ...(expires_at === undefined ? {} : { until: expires_at }),
  reason: justification,
})

/** People's decisions about held packages. All is computed from the locked row, so of two reviewers one wins. */
export function createDecisions({ db, catalog, settings }: DecisionDeps): Decisions {
  function judge(before: Manifest, now: Iso, made: readonly Decision[]): Judgement {
    const [first] = made
    if (first === undefined) throw new Error('a decision about nothing')
    const history = [...(before.review?.history ?? []), ...made]
    const noted: Manifest = { ...before, changed_at: now, review: { ...before.review, history } }
    const state =
      first.cve === undefined
        ? transition(before.state, first.action)
        : follow(before, reconsider(noted, policyOf(settings.now()), now).state)
    const after = { ...noted, state, ...(first.cve === undefined ? { decision: first } : {}) }
    const facts: AuditFacts = {
      kind: 'package.decided',
      from_state: before.state,
      to_state: state,
      decisions: made.map(factOf),
    }
    return { after, fact: { action: 'SECURITY_DECISION', result: 'SUCCESS', facts } }
  }

  async function checkAssignee(username: string): Promise<void> {
    const row = await db.first<{ role: string; active: boolean }>(
      'select role, active from account where username = $1',
      [username],
    )
    const why =
      row === undefined
        ? 'there is no such user'
        : !row.active
          ? 'the account is deactivated'
          : row.role !== 'maintainer' && row.role !== 'admin'
            ? `a review needs a maintainer or an admin, and ${username} is ${row.role}`
            : undefined
    if (why !== undefined) fail('bad_assignee', { username: username.slice(0, 100), why, field: 'assignee' })
  }

  async function review(
    ref: PackageRef,
    actor: Actor,
    work: (before: Manifest, now: Iso) => Judgement,
  ): Promise<Changed> {
    return catalog.change({ kind: 'review', ref, judge: work }, actor)
  }

  return {
    async decide(found, said, actor) {
      const { cve_policy, review: rules } = settings.now()
      if (rules.four_eyes && DECISIONS[said.decision] === 'approve') await needFourEyes(db, found, actor.name)
      let made: readonly Decision[] = []
      const changed = await review(found.ref, actor, (before, now) => {
        refuseStale(before, found, said)
        made = decisionsOf(before, said, { by: actor.name, at: now, due: dueAt(before, slaDays(cve_policy), now) })
        return judge(before, now, made)
      })
      return { decisions: made, changed }
    },
    async decideAll(many, said, { actor, within }) {
      const { cve_policy, review: rules } = settings.now()
      const mustBeTwo = rules.four_eyes && DECISIONS[said.decision] === 'approve'
      const uploaders = [...new Set(many.map(({ by }) => by))]
      const own = mustBeTwo ? await namesOfPerson(db, uploaders, actor.name) : new Set<string>()
      const changes = many.map(({ ref, seenAt, publishWithinMs }): Review => ({
        kind: 'review',
        ref,
        ...(publishWithinMs === undefined ? {} : { publishWithinMs }),
        judge: (before, now) => {
          refuseStale(before, { state: 'pending_review' }, { ...said, seenAt })
          if (own.has(before.by)) fail('four_eyes', { name: ref.name, version: ref.version })
          return judge(
            before,
            now,
            decisionsOf(before, said, { by: actor.name, at: now, due: dueAt(before, slaDays(cve_policy), now) }),
          )
        },
      }))
      return catalog.reviewAll(changes, actor, within)
    },
    async assign({ ref }, username, actor) {
      if (username !== undefined) await checkAssignee(username)
      return review(ref, actor, (before, now) => {
        if (before.state !== 'pending_review')
          fail('not_possible', { event: 'assign', state: before.state, possible: 'quarantine, rescan' })
        const { assigned_to: _, ...rest } = before.review ?? {}
        return {
          after: {
            ...before,
            changed_at: now,
            review: {
              ...rest,
              held_at: rest.held_at ?? before.changed_at,
              ...(username === undefined ? {} : { assigned_to: username }),
            },
          },
          fact: {
            action: 'SECURITY_DECISION',
            result: 'SUCCESS',
            facts: { kind: 'package.assigned', ...(username === undefined ? {} : { to: username }) },
          },
        }
      })
    },
    async quarantine({ ref }, why, actor) {
      return review(ref, actor, (before, now) => {
        const state = transition(before.state, 'quarantine')
        // an approval ends with quarantine: leaving it takes another
        return {
          after: {
            ...withoutStanding(before),
            state,
            changed_at: now,
            ...(why === '' ? {} : { review: { ...before.review, held_for: why } }),
          },
          fact: {
            action: 'QUARANTINE',
            result: 'SUCCESS',
            facts: { kind: 'package.quarantined', from_state: before.state, to_state: state, reason: why },
          },
        }
      })
    },
  }
}
