import { describe, expect, test } from 'vitest'
import { inFull, inShort } from './audit-words.ts'
import type { AuditFacts } from './wire.ts'

const detail = 'The sentence of the server.'
const stayed = { from_state: 'published', to_state: 'published' } as const
const held = { from_state: 'published', to_state: 'pending_review' } as const

test('a line whole is as it was written in English, and made from its facts in another language, where they are known', () => {
  const facts: AuditFacts = { kind: 'group.removed', group: 'desk' }
  const unknown = { kind: 'of.tomorrow', group: 'desk' } as unknown as AuditFacts
  const lacking = { kind: 'settings.changed' } as unknown as AuditFacts
  expect([
    inFull({ detail, facts }, true),
    inFull({ detail, facts }, false),
    inFull({ detail }, false),
    inFull({ detail, facts: unknown }, false),
    inFull({ detail, facts: lacking }, false),
  ]).toEqual([detail, 'The group desk was removed.', detail, detail, detail])
})

describe('an audit line in the list of events', () => {
  test.each<[AuditFacts | undefined, string]>([
    [undefined, detail],
    [{ kind: 'index.rebuilt', manifests: 1, added: 0, changed: 0, removed: 0, unreadable: 0 }, detail],
    [{ kind: 'distributions.set_up', distributions: ['jammy'], made_key: 'AB12' }, 'Made the signing key.'],
    [{ kind: 'distributions.set_up', distributions: ['jammy', 'noble'] }, 'jammy, noble.'],
    [
      { kind: 'distributions.set_up', distributions: ['jammy'], by_package: true },
      'The first package that was published there set it up.',
    ],
    [{ kind: 'package.admitted', file: 'a.deb', sha256: '4a', state: 'pending_review' }, 'In review.'],
    [{ kind: 'package.copied', arch: 'amd64', from_distribution: 'jammy', sha256: '4a' }, 'Copied from jammy.'],
    [{ kind: 'package.deleted', arch: 'amd64', from_state: 'published', reason: 'By hand' }, 'Was published. By hand.'],
    [{ kind: 'package.deleted', arch: 'amd64', from_state: 'pending_review', reason: '' }, 'Was in review.'],
    [
      {
        kind: 'package.decided',
        ...held,
        decisions: [{ decision: 'upgrade_required', reason: 'The fixed version is there.' }],
      },
      'Upgrade required: The fixed version is there.',
    ],
    [
      {
        kind: 'package.decided',
        ...stayed,
        decisions: [
          { decision: 'accept_risk', cve: 'CVE-2026-1', until: '2031-01-09T00:00:00.000Z', reason: 'Not reachable' },
          { decision: 'reject', cve: 'CVE-2026-2', reason: 'It is used here.' },
        ],
      },
      'Risk accepted for CVE-2026-1 until 9 Jan 2031: Not reachable. Rejected for CVE-2026-2: It is used here.',
    ],
    [{ kind: 'package.quarantined', ...held, to_state: 'quarantined', reason: '' }, 'No reason given.'],
    [
      { kind: 'package.rescanned', ...held, message: 'Known holes.', found: ['CVE-2026-1'], lost: ['CVE-2026-2'] },
      'Known holes. 1 new finding: CVE-2026-1. No longer found: CVE-2026-2. Now in review.',
    ],
    [{ kind: 'package.held', ...held, reason: 'Exploited: CVE-2026-1.' }, 'Exploited: CVE-2026-1. Now in review.'],
    [
      { kind: 'package.lapsed', ...held, ended: [{ by: 'ada', ended_at: '2031-01-09T00:00:00.000Z' }] },
      'The acceptance by ada ended on 9 Jan 2031.',
    ],
  ])('%j', (facts, said) => {
    expect(inShort({ detail, ...(facts === undefined ? {} : { facts }) })).toBe(said)
  })
})
