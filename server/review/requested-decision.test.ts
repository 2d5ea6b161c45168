import { expect, test } from 'vitest'
import { isRefusal } from '../core/errors.ts'
import { readRequestedDecision, type DecisionBody } from './requested-decision.ts'

const NOW = new Date('2026-05-01T10:00:00.000Z')
function refusal(body: DecisionBody): string {
  try {
    return readRequestedDecision(body, NOW).decision
  } catch (error) {
    return isRefusal(error) ? `${error.code}: ${error.message}` : String(error)
  }
}
const KNOWN = 'approve, accepted, accept_risk, exception, false_positive, reject, upgrade_required'

test.each<[DecisionBody, string]>([
  [{ decision: 'accepted', comment: 'c' }, 'accepted'],
  [{ action: 'reject', justification: 'c' }, 'reject'],
  [{ decision: 'false_positive', justification: 'c', cve: 'CVE-2026-1' }, 'false_positive'],
  [{ decision: 'approve', justification: '\u200b', comment: 'seen' }, 'approve'],
  [{ decision: 'approve', justification: '理由' }, 'approve'],
  [{ decision: 'accept_risk', action: 'approve', justification: '', comment: 'as it was answered' }, 'accept_risk'],
])('both forms of the specification are read: %j', (body, decision) => {
  expect(refusal(body)).toBe(decision)
})

test.each<[DecisionBody, string]>([
  [{ justification: 'c' }, `missing_decision: The field decision is missing. It is one of ${KNOWN}.`],
  [{ decision: 'maybe', justification: 'c' }, `bad_decision: decision: It is one of ${KNOWN}.`],
  [{ decision: 'maybe', action: 'approve', justification: 'c' }, `bad_decision: decision: It is one of ${KNOWN}.`],
  // names that every object has are no decisions
  [{ decision: 'toString', justification: 'c' }, `bad_decision: decision: It is one of ${KNOWN}.`],
  [{ action: '__proto__', justification: 'c' }, `bad_decision: action: It is one of ${KNOWN}.`],
  [
    { decision: 'approve', action: 'reject', justification: 'c' },
    'bad_decision: action: It says the opposite of decision. Send one of the two.',
  ],
  [
    { decision: 'approve', justification: ' \n' },
    'missing_justification: A decision needs a justification: say why in a sentence, as justification or comment.',
  ],
  [{ decision: 'false_positive', justification: 'c' }, 'bad_decision: cves: It names the findings that are wrong.'],
  // what nobody sees says nothing
  [
    { decision: 'approve', justification: '\u00a0\u200b\u2003', comment: '\u3164\u2800\u202e' },
    'missing_justification: A decision needs a justification: say why in a sentence, as justification or comment.',
  ],
  [
    { decision: 'reject', justification: 'c', expires_days: 3 },
    'bad_expiry: expires_at: a refusal does not end; leave it out.',
  ],
])('what is no decision is refused with the field and the way out: %j', (body, said) => {
  expect(refusal(body)).toBe(said)
})
