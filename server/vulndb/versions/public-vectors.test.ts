import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { signOf } from '../../../test/support/scalibr-vectors.ts'
import { compareVersions } from '../../formats/rpm/version.ts'
import { createOrders, type OrderId } from './orders.ts'

const orders = createOrders({ compare: (_, a, b) => compareVersions(a, b) })

const ROWS = readFileSync(join(import.meta.dirname, 'public-vectors.tsv'), 'utf8')
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => line.split('\t') as [OrderId, string, string, string])

/** Rows that the tool of the ecosystem orders otherwise, too, or refuses to order. */
const OTHERWISE: Readonly<Record<string, string>> = {
  '1.0.0 > 1.0': 'Composer makes 1.0.0.0 of both',
  '1.2.3.# = 1.2.3.1': 'Composer refuses the first',
  'dev-foo < 1.26.0': 'no branch matches a range of Composer',
  '1.26.0 > dev-foo': 'no branch matches a range of Composer',
  '-class.-jw.util.version.version-pre < 1.0': 'a word alone is no version of PyPI',
  '-class.-jw.util.version.version-preview < 1.0': 'a word alone is no version of PyPI',
  '-class.-jw.util.version.version-dev < 1.0': 'a word alone is no version of PyPI',
}

test.each([
  ['cran', 21],
  ['hackage', 11],
  ['nuget', 35],
  ['packagist', 95],
  ['pub', 100],
  ['pep440', 37],
  ['rpm', 165],
  ['rubygems', 25],
  ['semver', 86],
] as const)('the public vectors of %s are in order, in both directions', (id, count) => {
  const rows = ROWS.filter(([kind]) => kind === id)
  expect(rows.length).toBe(count)
  const { compare, reads } = orders[id]
  const wrong = rows
    .filter(([, a, mark, b]) => {
      const sign = signOf(mark)
      return !reads(a) || !reads(b) || Math.sign(compare(a, b)) !== sign || Math.sign(compare(b, a)) !== 0 - sign
    })
    .map(([, a, mark, b]) => `${a} ${mark} ${b}`)
  expect(wrong.filter(row => OTHERWISE[row] === undefined)).toEqual([])
})
