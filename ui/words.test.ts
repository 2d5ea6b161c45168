import { expect, test } from 'vitest'
import { gateInWords, gateMarks, gateTook, type StepMark } from './words.ts'

const asks = {
  name: 'vulnerabilities',
  passed: true,
  warning: true,
  holds: true,
  verdict: 'findings',
  message: 'The policy asks for a review before it is served.',
  detail: 'warned',
}

const marks = (step: typeof asks, state: 'pending_review' | 'published'): StepMark[] =>
  gateMarks({ steps: [step], publication: 'What clients see.' }, state)

test('a step for which the policy asked for a review holds the package; once somebody approved it, it warned', () => {
  expect(gateInWords(marks(asks, 'pending_review'))).toBe('Gate: CVE scan holds it, Publish holds it')
  expect(gateInWords(marks(asks, 'published'))).toBe('Gate: CVE scan warned')
  expect(gateInWords(marks({ ...asks, holds: false }, 'pending_review'))).toBe(
    'Gate: CVE scan warned, Publish holds it',
  )
})

test('what could not be opened in a package is no fault of an engine', () => {
  const partial = { ...asks, passed: false, holds: false, verdict: 'partial', detail: 'unavailable' }
  expect(gateInWords(marks(partial, 'pending_review'))).toBe('Gate: CVE scan holds it, Publish holds it')
  expect(gateInWords(marks(partial, 'published'))).toBe('Gate: CVE scan warned')
})

test('a step that nobody timed has no time, and not none', () => {
  expect(marks(asks, 'published').map(({ tookMs }) => tookMs)).not.toContain(0)
  expect(gateTook({ steps: [asks] })).toBeUndefined()
  const [timed] = marks({ ...asks, took_ms: 40 } as typeof asks, 'published').filter(({ mark }) => mark === 'warned')
  expect([timed?.tookMs, gateTook({ steps: [asks, { ...asks, took_ms: 40 }] })]).toEqual([40, 40])
})
