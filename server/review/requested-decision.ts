import { fail } from '../core/errors.ts'
import type { Iso } from '../core/identity.ts'
import type { Decision } from '../core/manifest.ts'
import { readExpiry } from './expiry.ts'

/** The words of both forms of the specification, and what each does. */
export const DECISIONS: Readonly<Record<string, Decision['action']>> = {
  approve: 'approve',
  accepted: 'approve',
  accept_risk: 'approve',
  exception: 'approve',
  reject: 'reject',
  upgrade_required: 'reject',
}

/** A reviewer's decision. */
export interface Said {
  readonly decision: string
  readonly justification: string
  /** Only about these vulnerabilities; empty: about the package. */
  readonly cves: readonly string[]
  readonly expiresAt?: Iso
  /** When the request came. The reviewer cannot have seen later decisions. */
  readonly arrivedAt: Iso
  /** The `updated_at` that the reviewer looked at. If anything changed since, the decision is refused. */
  readonly seenAt?: Iso
}

/** A decision as it is sent, in either form of the specification. */
export interface SentDecision {
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
// something visible: no blank, no control or format character, nor one that is drawn as nothing (a zero-width space, a
// filler)
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

/** The word of either form. A record sent back as it was answered has both, and they may not contradict each other. */
function readDecision({ decision, action }: SentDecision): string {
  for (const [field, word] of Object.entries({ decision, action })) {
    if (word !== undefined && !Object.hasOwn(DECISIONS, word))
      fail('bad_decision', { field, why: `It is one of ${KNOWN}` })
  }
  const word = decision ?? action ?? fail('missing_decision', { decisions: KNOWN, field: 'decision' })
  if (action !== undefined && DECISIONS[action] !== DECISIONS[word])
    fail('bad_decision', { field: 'action', why: 'It says the opposite of decision. Send one of the two' })
  return word
}

/**
 * Folds the two forms of the specification into one.
 * @throws missing_decision, bad_decision, missing_justification, bad_expiry
 */
export function readSaid(body: SentDecision, now: Date): Said {
  const decision = readDecision(body)
  const justification =
    [body.justification, body.comment].map(text => text?.trim() ?? '').find(text => VISIBLE.test(text)) ??
    fail('missing_justification', { field: 'justification' })
  const expiresAt = readExpiry(body, now)
  if (expiresAt !== undefined && DECISIONS[decision] === 'reject')
    fail('bad_expiry', { field: 'expires_at', why: 'a refusal does not end; leave it out' })
  return {
    decision,
    justification,
    cves: [...(body.cve === undefined ? [] : [body.cve]), ...(body.cves ?? [])],
    arrivedAt: now.toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(body.seen_at === undefined ? {} : { seenAt: new Date(body.seen_at).toISOString() }),
  }
}
