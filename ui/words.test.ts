import { describe, expect, test } from 'vitest'
import { plainly } from './words.ts'

describe('a line of the audit log for the events', () => {
  test.each([
    [`hello_1.0_amd64.deb, SHA-256 ${'4a'.repeat(32)}: published.`, 'Published.'],
    [
      `hello-1.0.rpm, SHA-256 ${'4a'.repeat(32)}, signed with 92DC44, now SHA-256 ${'5b'.repeat(32)}: pending_review.`,
      'In review.',
    ],
    [
      'upgrade_required: The fixed version is there. pending_review → rejected.',
      'Upgrade required: The fixed version is there.',
    ],
    ['approve: Looked at.', 'Approved: Looked at.'],
    ['reject CVE-2026-1: It is used here.', 'Rejected CVE-2026-1: It is used here.'],
    [
      'accept_risk CVE-2026-1 until 2027-01-01T00:00:00.000Z: Not reachable. pending_review → published.',
      'Risk accepted CVE-2026-1 until 2027-01-01T00:00:00.000Z: Not reachable.',
    ],
    ['amd64, was published. By hand.', 'Was published. By hand.'],
    ['We reject: this is a sentence of a person.', 'We reject: this is a sentence of a person.'],
    ['Assigned to nobody.', 'Assigned to nobody.'],
    ['', ''],
  ])('%s', (detail, said) => {
    expect(plainly(detail)).toBe(said)
  })
})
