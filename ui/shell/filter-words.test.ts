import { expect, test } from 'vitest'
import { filteredScreens, keysOf } from '../saved-filters.ts'
import { filterInWords } from './filter-words.ts'

test.each([
  [{}, ''],
  [{ state: 'pending_review', kev: '1' }, 'state: In review, known exploited'],
  [
    { severity: 'critical,high', dist: 'jammy', pick: 'curl', page: '2' },
    'severity: critical, high, distribution: jammy',
  ],
  [
    { gate: 'vulnerabilities:refused', origin: 'imported', span: 'day' },
    'gate: CVE scan refused, origin: imported, time: last day',
  ],
  [{ q: 'ssh', who: 'none', sort: 'age', tab: 'decisions' }, 'search: ssh, assigned to: nobody'],
])('paper says the filter %o in words', (query, words) => {
  expect(filterInWords(query)).toBe(words)
})

test('paper names whatever narrows a list; how it is laid out stands on it anyway', () => {
  const LAYOUT = ['sort', 'tab', 'by', 'view', 'as', 'versions']
  const keys = filteredScreens.flatMap(keysOf).filter(key => !LAYOUT.includes(key))
  expect(keys.filter(key => filterInWords({ [key]: 'x' }) === '')).toEqual([])
})
