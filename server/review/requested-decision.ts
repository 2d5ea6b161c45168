import { fail } from '../core/errors.ts'
import type { Iso } from '../core/identity.ts'
import type { Decision } from '../core/manifest.ts'
import { readExpiry } from './expiry.ts'

/** The values of `decision` and `action` that a request may send, and what each does. */
export const DECISIONS: Readonly<Record<string, Decision['action']>> = {
  approve: 'approve',
  accepted: 'approve',
  accept_risk: 'approve',
  exception: 'approve',
  false_positive: 'approve',
  reject: 'reject',
  upgrade_required: 'reject',
}

/** A reviewer's decision, read from either form of the request. */
export interface RequestedDecision {
  readonly decision: string
  readonly justification: string
  /** The decision is about these vulnerabilities only; empty: about the version. */
  readonly cves: readonly string[]
  readonly expiresAt?: Iso
  /** When the request came. The reviewer cannot have seen later decisions. */
  readonly arrivedAt: Iso
  /** The `updated_at` that the reviewer looked at. If anything changed since, the decision is refused. */
  readonly seenAt?: Iso
}

/** The body of a request, in either form of the specification. */
export interface DecisionBody {
  readonly decision?: string
  readonly action?: string
  readonly justification?: string
  readonly comment?: string
  readonly cve?: string
  readonly cves?: readonly string[]
  readonly expires_at?: string | null
  readonly expires_days?: number
  readonly seen_at?: string
}

const KNOWN = Object.keys(DECISIONS).join(', ')
// one visible character: no blank, control or format character, nor one without a shape (zero-width space, filler)
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * The value of either form. An answer sent back has both; they must agree.
 * @param cves  what the decision is about; none means the version
 * @throws missing_decision, bad_decision
 */
export function readDecision(
  { decision, action }: Pick<DecisionBody, 'decision' | 'action'>,
  cves: readonly string[],
): string {
  for (const [field, word] of Object.entries({ decision, action })) {
    if (word !== undefined && !Object.hasOwn(DECISIONS, word))
      fail('bad_decision', { field, why: `It is one of ${KNOWN}` })
  }
  const word = decision ?? action ?? fail('missing_decision', { decisions: KNOWN, field: 'decision' })
  if (action !== undefined && DECISIONS[action] !== DECISIONS[word])
    fail('bad_decision', { field: 'action', why: 'It says the opposite of decision. Send one of the two' })
  if (word === 'false_positive' && cves.length === 0)
    fail('bad_decision', { field: 'cves', why: 'It names the findings that are wrong' })
  return word
}

/**
 * Reads a decision from either form of the request.
 * @throws missing_decision, bad_decision, missing_justification, bad_expiry
 */
export function readRequestedDecision(body: DecisionBody, now: Date): RequestedDecision {
  const cves = [...(body.cve === undefined ? [] : [body.cve]), ...(body.cves ?? [])]
  const decision = readDecision(body, cves)
  const justification =
    [body.justification, body.comment].map(text => text?.trim() ?? '').find(text => VISIBLE.test(text)) ??
    fail('missing_justification', { field: 'justification' })
  const expiresAt = readExpiry(body, now)
  if (expiresAt !== undefined && DECISIONS[decision] === 'reject')
    fail('bad_expiry', { field: 'expires_at', why: 'a refusal does not end; leave it out' })
  return {
    decision,
    justification,
    cves,
    arrivedAt: now.toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(body.seen_at === undefined ? {} : { seenAt: new Date(body.seen_at).toISOString() }),
  }
}
