import { expect, test } from 'vitest'
import { gateInWords, gateMarks } from './words.ts'

const asks = {
  name: 'vulnerabilities',
  passed: true,
  warning: true,
  holds: true,
  verdict: 'findings',
  message: 'The policy asks for a review before it is served.',
  detail: 'warned',
}

test('a step for which the policy asked for a review holds the package; once somebody approved it, it warned', () => {
  expect(gateInWords(gateMarks([asks], 'pending_review'))).toBe('Gate: CVE scan holds it, Publish holds it')
  expect(gateInWords(gateMarks([asks], 'published'))).toBe('Gate: CVE scan warned')
  expect(gateInWords(gateMarks([{ ...asks, holds: false }], 'pending_review'))).toBe(
    'Gate: CVE scan warned, Publish holds it',
  )
})
