import { describe, expect, test } from 'vitest'
import { ALL_SEEING } from '../../core/viewer.ts'
import { partOf, reportFor, resultOf, summaryOf, type Entry, type SecurityReport } from './report.ts'
import type { Standing } from './updates.ts'

const entry = (name: string, standing: Standing): Entry => ({
  ...{ name, version: '2.0', arch: 'amd64', here: '1.0', source: name, source_id: 'secure', standing },
  ...{ why: null, is_dependency: false },
})
const synchronised: SecurityReport['synchronised'] = [
  { source_id: 'a', label: 'A', codenames: ['jammy'], state: 'ok', said: null },
  { source_id: 'b', label: 'B', codenames: ['secret'], state: 'unreachable', said: 'It does not answer.' },
]
const report: SecurityReport = {
  ...{ job_id: '0badcafe', by: 'system', started_at: 'then', ended_at: 'now', end: 'complete', result: 'partial' },
  ...{ bytes: 7, error: null, synchronised },
  parts: [
    partOf('jammy', false, [entry('web', 'published')]),
    partOf('secret', false, [entry('spy', 'pending_review')]),
  ],
}

describe('a report', () => {
  test('shows nobody what is of distributions that he may not see', () => {
    expect(reportFor(report, ALL_SEEING)).toEqual(report)
    const seen = reportFor(report, { ...ALL_SEEING, hidden: ['secret'] })
    expect(seen).toMatchObject({
      result: 'success',
      parts: [{ codename: 'jammy' }],
      synchronised: [{ source_id: 'a' }],
    })
    expect(JSON.stringify([seen, summaryOf(seen as SecurityReport)])).not.toMatch(/secret|spy|"b"/)
    expect(reportFor(report, { ...ALL_SEEING, hidden: ['secret', 'jammy'] })).toBeUndefined()
  })

  test.for<[Standing, string]>([
    ['published', 'success'],
    ['pending_review', 'partial'],
    ['blocked', 'partial'],
    ['failed', 'partial'],
    ['wanted', 'partial'],
    ['upstream_changed', 'partial'],
    ['own_build', 'success'],
    ['excluded', 'success'],
    ['removed', 'success'],
    ['frozen', 'success'],
  ])('with an update that is %s is a %s', ([standing, result]) => {
    const parts = [partOf('jammy', false, [entry('web', standing)])]
    expect(resultOf({ end: 'complete', synchronised: synchronised.slice(0, 1), parts })).toBe(result)
  })

  test('is an error where no source answered, and where it could not go on', () => {
    expect(resultOf({ end: 'complete', synchronised: synchronised.slice(1), parts: [] })).toBe('error')
    expect(resultOf({ end: 'failed', synchronised: [], parts: [] })).toBe('error')
    expect(resultOf({ end: 'complete', synchronised, parts: [] })).toBe('partial')
  })

  test('names the first 500 of a list and counts them all', () => {
    const part = partOf(
      'jammy',
      false,
      Array.from({ length: 600 }, (_, n) => entry(`p${n}`, 'published')),
    )
    expect([part.came.length, part.came_count]).toEqual([500, 600])
  })
})
