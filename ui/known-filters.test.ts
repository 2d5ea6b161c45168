import { expect, test } from 'vitest'
import { knownIn, unknownIn } from './known-filters.ts'
import type { Query } from './routes.svelte.ts'
import type { Place } from './screens.ts'

test.each<[Place, Query, Query]>([
  ['downloads', { days: 'abc', view: 'never' }, { days: 'abc' }],
  ['dashboard', { days: '31', as: 'table' }, { days: '31' }],
  ['vulnerabilities', { epss: 'zzz', kev: '1', q: 'zzz' }, { epss: 'zzz' }],
  ['vulnerabilities', { epss: '2', over: 'x', by: 'x' }, { epss: '2', over: 'x', by: 'x' }],
  ['vulnerabilities', { by: 'package', sort: 'packages' }, { sort: 'packages' }],
  ['vulnerabilities', { by: 'package', sort: 'age' }, {}],
  ['review', { sort: 'evil', who: 'them', severity: 'critical,high' }, { sort: 'evil', who: 'them' }],
  ['review', { severity: 'critical,worst', kev: 'maybe' }, { severity: 'critical,worst', kev: 'maybe' }],
  ['packages', { state: 'foo', dist: 'foo', sort: '-size' }, { state: 'foo' }],
  [
    'packages',
    { gate: 'vulnerabilities:refused', since: 'never', origin: 'space' },
    { since: 'never', origin: 'space' },
  ],
  ['audit', { action: 'UPLOAD', result: 'foo', from: '2026-11-26', to: 'then' }, { result: 'foo', to: 'then' }],
  ['audit', { tab: 'decisions', action: 'UPLOAD', standing: '1' }, { action: 'UPLOAD' }],
  ['audit', { tab: 'decisions', action: 'approve' }, {}],
  ['jobs', { state: 'foo', log: 'foo' }, { state: 'foo' }],
  ['logs', { level: 'LOUD', service: 'all', span: 'year' }, { level: 'LOUD', span: 'year' }],
  ['inventory', { late: 'long', status: 'never', sort: '-behind' }, { late: 'long' }],
])('on %s, of %o only %o is left out', (screen, query, unknown) => {
  expect(Object.fromEntries(unknownIn(screen, query))).toEqual(unknown)
  const left = Object.entries(query).filter(([key]) => !(key in unknown))
  expect(knownIn(screen, query)).toEqual(Object.fromEntries(left))
})

test('what takes any value, is empty, or opens something is never left out', () => {
  const query = { q: 'zzz', dist: 'zzz', pick: 'curl', page: '3', state: '', constructor: 'x', tab: 'inside' }
  expect(unknownIn('packages', query)).toEqual([])
  expect(unknownIn('users', { state: 'foo', tab: 'foo' })).toEqual([])
})

const known = { dist: ['jammy'], format: ['deb'], source: ['debian-12'] }
test.each<[Place, Query, Query]>([
  ['packages', { dist: 'foo', format: 'exe', q: 'zzz' }, { dist: 'foo', format: 'exe' }],
  ['review', { dist: 'jammy', format: 'rpm' }, { format: 'rpm' }],
  ['vulnerabilities', { dist: 'foo' }, { dist: 'foo' }],
  ['import', { for: '*', source: 'debian-13', which: 'on', tab: 'sources' }, { source: 'debian-13', which: 'on' }],
  ['import', { for: 'foo', versions: 'some', which: 'on', tab: 'mirror' }, { for: 'foo', versions: 'some' }],
])('on %s, of %o only %o is left out once the values are read', (screen, query, unknown) => {
  expect(Object.fromEntries(unknownIn(screen, query, known))).toEqual(unknown)
})

test('what the server knows counts only once it was read', () => {
  expect(unknownIn('packages', { dist: 'foo', format: 'exe' })).toEqual([])
  expect(unknownIn('import', { source: 'foo', for: 'foo' })).toEqual([])
})
