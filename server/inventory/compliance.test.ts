import { describe, expect, test } from 'vitest'
import { checkMachine, countChecks, DEFAULT_RULES, type Judged, type Rules } from './compliance.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const ago = (days: number): Date => new Date(NOW.getTime() - days * 86_400_000)
const RULES: Rules = { ...DEFAULT_RULES, update_days: 14 }
const FINE: Judged = {
  system: 'Debian 12',
  endOfLife: '2028-06-30',
  reboot: 'no',
  rebootSaid: 'The system says that it does not wait for a restart.',
  lastSeen: ago(0),
  oldest: {},
  coverageSaid: '',
  oldestUpdate: undefined,
}
const check = (id: string, machine: Partial<Judged>, rules: Partial<Rules> = {}) => {
  const found = checkMachine({ ...FINE, ...machine }, { ...RULES, ...rules }, NOW).find(one => one.check_id === id)
  return [found?.status, found?.detail]
}

test('a machine that keeps every rule passes all of them, and has nothing to do', () => {
  const checks = checkMachine(FINE, RULES, NOW)
  expect(checks.map(({ check_id, status, remediation }) => [check_id, status, remediation])).toEqual(
    ['finding-critical', 'finding-high', 'supported-release', 'no-reboot-pending', 'seen', 'updates'].map(id => [
      id,
      'pass',
      '',
    ]),
  )
  expect(countChecks(checks)).toEqual({ pass: 6, fail: 0, unknown: 0 })
})

test('a rule that is not asked is not answered', () => {
  const none: Rules = {
    finding_days: { critical: null, high: null, medium: null, low: null },
    supported_release: false,
    no_reboot_pending: false,
    seen_within_days: null,
    update_days: null,
  }
  expect(checkMachine({ ...FINE, reboot: 'needed', lastSeen: null }, none, NOW)).toEqual([])
})

describe('findings', () => {
  test('may stay as long as the rule allows, and not a day longer', () => {
    expect(check('finding-critical', { oldest: { critical: ago(7) } })).toEqual([
      'pass',
      'The oldest is there since 7 days.',
    ])
    expect(check('finding-critical', { oldest: { critical: ago(8) } })).toEqual([
      'fail',
      'A critical finding is there since 8 days; 7 days are allowed.',
    ])
  })
  test('none may stay at all where the rule says so', () => {
    const rules = { finding_days: { ...RULES.finding_days, critical: 0 } }
    expect(check('finding-critical', { oldest: { critical: ago(1) } }, rules)[0]).toBe('fail')
  })
  test('of another severity do not count, and those without a severity count as medium', () => {
    const rules = { finding_days: { critical: 7, high: 7, medium: 7, low: 7 } }
    const old = { oldest: { unknown: ago(100) } }
    expect(['critical', 'high', 'medium', 'low'].map(severity => check(`finding-${severity}`, old, rules)[0])).toEqual([
      'pass',
      'pass',
      'fail',
      'pass',
    ])
  })
  test('that nobody looked for are unknown, never none', () => {
    expect(check('finding-critical', { oldest: null, coverageSaid: 'No vulnerability data are loaded.' })).toEqual([
      'unknown',
      'No vulnerability data are loaded.',
    ])
  })
})

test.each<[string, string, Partial<Judged>, string, string]>([
  [
    'out of support',
    'supported-release',
    { endOfLife: '2026-11-19' },
    'fail',
    'Debian 12 has had no free security updates since 2026-11-19.',
  ],
  [
    'on its last day',
    'supported-release',
    { endOfLife: '2026-11-20' },
    'pass',
    'Debian 12 has security updates until 2026-11-20.',
  ],
  [
    'without an end of life',
    'supported-release',
    { endOfLife: undefined },
    'unknown',
    'Nobody has said how long Debian 12 is supported.',
  ],
  ['never seen', 'supported-release', { system: null }, 'unknown', 'Its system is not known yet.'],
  ['waiting for a restart', 'no-reboot-pending', { reboot: 'needed', rebootSaid: 'It waits.' }, 'fail', 'It waits.'],
  [
    'that tells nothing of a restart',
    'no-reboot-pending',
    { reboot: 'unknown', rebootSaid: 'Nobody tells.' },
    'unknown',
    'Nobody tells.',
  ],
  ['not seen for long', 'seen', { lastSeen: ago(8) }, 'fail', 'It told its packages 8 days ago; 7 days are allowed.'],
  ['never seen', 'seen', { lastSeen: null }, 'fail', 'It has never told its packages.'],
  [
    'with an old update',
    'updates',
    { oldestUpdate: ago(15) },
    'fail',
    'An update waits since 15 days; 14 days are allowed.',
  ],
  ['with a fresh update', 'updates', { oldestUpdate: ago(1) }, 'pass', 'The oldest update waits since 1 day.'],
  [
    'of no distribution here',
    'updates',
    { oldestUpdate: null },
    'unknown',
    'No distribution here is for its system, so nobody knows what is newer.',
  ],
])('a machine %s: %s', (_, id, machine, status, detail) => {
  expect(check(id, machine)).toEqual([status, detail])
})
