import { expect, test } from 'vitest'
import { keyOfRow, type RefRow } from './manifest.ts'
import type { Published } from './published.ts'
import { wordsFor, type HereTag, type WordsThere } from './registry-words.ts'

const LIB: RefRow = ['npm', 'js', 'lib', '1.0.0', 'any']
const BARE: RefRow = ['npm', 'js', 'bare', '1.0.0', 'any']
const of = (ref: RefRow): Published => ({ ref, words: {} }) as unknown as Published
const latest: HereTag = {
  ...{ format: 'npm', codename: 'js', name: 'lib', tag: 'latest', version: '1.0.0' },
  at: new Date('2026-01-01T00:00:00Z'),
}
/** What goes along to a site that has both versions. */
function words(there: Partial<WordsThere> | undefined, names: Readonly<Record<string, readonly string[]>>) {
  const had: WordsThere = { tags: new Map([['npm js lib latest', '1.0.0']]), marks: new Map(), brought: undefined }
  return wordsFor(
    [of(LIB), of(BARE)],
    { tags: [latest], names: new Map(Object.entries(names)) },
    {
      places: new Map([LIB, BARE].map((ref, n) => [keyOfRow(ref), n])),
      going: 0,
      there: there && { ...had, ...there },
    },
  )
}

test('a bundle names every tag of its names, and counts those that are gone', () => {
  const brought = new Map([
    ['npm js lib', ['latest', 'next']],
    ['npm js bare', ['old']],
    ['npm js other', ['left']],
  ])
  expect(words({ brought }, { 'npm js lib': ['latest', 'held'] })).toMatchObject({
    tags: [],
    sets: [
      { of: 0, tags: ['latest', 'held'] },
      { of: 1, tags: [] },
    ],
    gone: 2,
  })
})

test('nothing is gone where the receipt does not say what came from here, and names without tags are not said', () => {
  expect(words({}, { 'npm js lib': ['latest'] })).toMatchObject({ sets: [{ of: 0, tags: ['latest'] }], gone: 0 })
  expect(words(undefined, {})).toMatchObject({ tags: [{ of: 0, tag: 'latest' }], sets: [], gone: 0 })
})
