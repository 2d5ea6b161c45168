import { expect, test } from 'vitest'
import { Malformed } from '../../lib/limited.ts'
import { bundleName, codenamesIn, readManifest, type BundleManifest, type RefRow } from './manifest.ts'

const HEX = 'a'.repeat(64)
const REF: RefRow = ['npm', 'js', '@ours/lib', '1.0.0', 'any']
const THERE: RefRow = ['npm', 'js', '@ours/lib', '0.9.0', 'any']

/** A list that carries one version of a registry and assumes another. */
const listOf = (change: Partial<BundleManifest> = {}): BundleManifest => ({
  format: 2,
  kind: 'bundle',
  name: bundleName('north', 1),
  site: 'north',
  number: 1,
  created_at: '2026-11-28T00:00:00.000Z',
  version: '0',
  sender: { id: 'x', name: 'x' },
  based_on: { kind: 'all', number: 0, receipt: null, since: 0, partial: false },
  packages: [{ ref: REF, files: [{ name: 'lib-1.0.0.tgz', sha256: HEX }], published_at: '2026-11-27T00:00:00.000Z' }],
  assumes: [THERE],
  registries: { tags: [], marks: [] },
  data: [],
  files: [{ sha256: HEX, size: 1 }],
  ...change,
})
const read = (list: unknown): BundleManifest => readManifest(Buffer.from(JSON.stringify(list)))
function whyNot(list: unknown): string {
  try {
    read(list)
  } catch (error) {
    if (error instanceof Malformed) return error.why
    throw error
  }
  return 'it is read'
}

const at = '2026-11-27T00:00:00.000Z'
const tagsOf = (...tags: { of: number; tag: string; at: string }[]) => listOf({ registries: { tags, marks: [] } })
const named = (name: string): BundleManifest => listOf({ packages: [{ ref: REF, files: [{ name, sha256: HEX }] }] })

test('a list with tags and marks of what goes and of what is there is read', () => {
  const list = listOf({
    registries: {
      tags: [
        { of: 0, tag: 'latest', at },
        { of: 1, tag: 'old', at },
      ],
      marks: [
        { of: 0, mark: { deprecated: 'Take another.' } },
        { of: 1, mark: {} },
      ],
    },
  })
  expect(read(list)).toEqual(list)
  expect(codenamesIn(list)).toEqual(['js'])
})

test('what is said of versions that are there alone brings something of their registry', () => {
  const list = listOf({ packages: [], files: [], registries: { tags: [{ of: 0, tag: 'latest', at }], marks: [] } })
  expect(codenamesIn(read(list))).toEqual(['js'])
})

test.each<[string, unknown, RegExp]>([
  ['format 1 with something of a registry', listOf({ format: 1 }), /format and what it says of registries differ/],
  ['format 2 without', { ...listOf(), registries: undefined }, /format and what it says of registries differ/],
  ['format 3', { ...listOf(), format: 3 }, /it has the format 3, and this release reads 1 and 2/],
  ['a tag of what it does not name', tagsOf({ of: 2, tag: 'latest', at }), /a version that it does not name/],
  ['a tag of a place that is none', tagsOf({ of: -1, tag: 'latest', at }), /is wrong at \/registries\/tags\/0\/of/],
  ['a tag twice', tagsOf({ of: 0, tag: 'a', at }, { of: 1, tag: 'a', at }), /the tag "a" of @ours\/lib twice/],
  ['a tag without a date', tagsOf({ of: 0, tag: 'a', at: 'soon' }), /date of the tag "a" is none/],
  ['a tag that is no text', tagsOf({ of: 0, tag: '', at }), /is wrong at/],
  [
    '10,000 tags of one name',
    tagsOf(...Array.from({ length: 10_000 }, (_, n) => ({ of: 0, tag: `t${n}`, at }))),
    /it has more than 2000 tags of @ours\/lib/,
  ],
  [
    'a mark of what it does not name',
    listOf({ registries: { tags: [], marks: [{ of: 7, mark: {} }] } }),
    /a version that it does not name/,
  ],
  [
    'two marks of one version',
    listOf({
      registries: {
        tags: [],
        marks: [
          { of: 0, mark: {} },
          { of: 0, mark: {} },
        ],
      },
    }),
    /it marks a version twice/,
  ],
  [
    'a reason of 2,000 characters',
    listOf({ registries: { tags: [], marks: [{ of: 0, mark: { yanked: { reason: 'x'.repeat(2_000) } } }] } }),
    /is wrong at/,
  ],
  ['a name that leads out', named('../../etc/passwd'), /calls a file "..\/..\/etc\/passwd"/],
  ['a name from the root', named('/etc/passwd'), /calls a file/],
  ['a name with a backslash', named('a\\b'), /calls a file/],
  ['a name with a null', named('a\u0000b'), /calls a file/],
  ['a name with a dot alone', named('./a'), /calls a file/],
  [
    '301 files of one version',
    listOf({
      packages: [{ ref: REF, files: Array.from({ length: 301 }, (_, n) => ({ name: `f${n}`, sha256: HEX })) }],
    }),
    /is wrong at/,
  ],
  [
    'a date that is none',
    listOf({ packages: [{ ref: REF, files: [{ name: 'a', sha256: HEX }], published_at: 'soon' }] }),
    /a date that is none/,
  ],
])('%s is refused', (_, list, why) => {
  expect(whyNot(list)).toMatch(why)
})

test('2,000 tags of one name are read', () => {
  const tags = Array.from({ length: 2_000 }, (_, n) => ({ of: n % 2, tag: `t${n}`, at }))
  expect(read(tagsOf(...tags)).registries?.tags).toHaveLength(2_000)
})
