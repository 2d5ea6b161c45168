import { expect, test } from 'vitest'
import { visibleTags } from './proxy.ts'

test.each<[string, Record<string, string>, string[], Record<string, string>]>([
  [
    'what is served keeps its tags',
    { latest: '1.0.0', next: '2.0.0-1' },
    ['1.0.0', '2.0.0-1'],
    { latest: '1.0.0', next: '2.0.0-1' },
  ],
  ['other tags go with their version', { latest: '1.0.0', next: '2.0.0' }, ['1.0.0'], { latest: '1.0.0' }],
  ['latest goes down to the next release', { latest: '1.2.0' }, ['1.0.0', '1.1.0', '1.2.0-rc.1'], { latest: '1.1.0' }],
  ['and never up', { latest: '1.2.0' }, ['1.1.0', '1.3.0', '2.0.0'], { latest: '1.1.0' }],
  [
    'to a prerelease where there is no release',
    { latest: '1.0.0' },
    ['1.0.0-a', '1.0.0-b', '2.0.0'],
    { latest: '1.0.0-b' },
  ],
  ['or nowhere', { latest: '1.0.0' }, ['2.0.0'], {}],
  ['what is out of order at the upstream stays so', { latest: '1.0.0' }, ['1.0.0', '2.0.0'], { latest: '1.0.0' }],
  ['without latest it is the highest release', {}, ['1.0.0', '2.0.0', '3.0.0-1'], { latest: '2.0.0' }],
  ['a latest that is no version bounds nothing', { latest: 'x' }, ['1.0.0', '2.0.0'], { latest: '2.0.0' }],
  ['nothing is served', { latest: '1.0.0' }, [], {}],
])('tags: %s', (_, upstream, served, expected) => {
  expect(Object.fromEntries(visibleTags(upstream, served))).toEqual(expected)
})
