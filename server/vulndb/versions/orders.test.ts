import { describe, expect, test } from 'vitest'
import * as apkVersion from '../../formats/apk/version.ts'
import * as debVersion from '../../formats/deb/version.ts'
import * as rpmVersion from '../../formats/rpm/version.ts'
import { createOrders, type OrderId } from './orders.ts'

const formats = { deb: debVersion, rpm: rpmVersion, apk: apkVersion }
const orders = createOrders({ compare: (format, a, b) => formats[format].compareVersions(a, b) })

/** Each list ascends; versions in one cell are equal. */
const ASCENDING: readonly (readonly [OrderId, readonly string[]])[] = [
  ['rubygems', ['0.9', '1.0.a.9', '1.0.a10', '1.0.b1', '1.0-rc1 1.0.pre.rc1', '1 1.0 1.0.0', '1.0.1', '1.10', '2.0.0']],
  [
    'packagist',
    [
      '1.0-dev',
      '1.0a1 1.0.0-alpha1',
      '1.0b1',
      '1.0RC1 v1.0.0-rc.1',
      '1.0 1.0.0 v1 1.0.0.0+x',
      '1.0pl1 1.0-p1',
      '1.0.0.1',
    ],
  ],
  ['packagist', ['1.2.99', '1.2.x-dev', '1.99', '1.x-dev', '2.0', '2013-01-02', '20130103']],
  [
    'nuget',
    ['0.9.9.1', '1.0.0-alpha', '1.0-BETA 1.0.0-beta', '1.0-beta.2', '1.0-beta.11', '1 1.0 1.0.0.0+x', '1.0.0.1'],
  ],
  ['pub', ['1.0.0-a', '1.0.0-a+1', '1.0.0', '1.0.0+1', '1.0.0+2', '1.0.0+a', '1.0.0+a1', '1.0.1', '1.10.0']],
  ['hackage', ['1', '1.0', '1.0.0', '1.0.9', '1.0.10', '1.1']],
  ['cran', ['0.9', '0.75', '1.0', '1.0-0 1.0.0', '1.0-1', '1.0-10', '1.1']],
  ['semver', ['v1.2.3-rc.1 1.2.3-rc.1', '1.2.3 v1.2.3 1.2.3+x', '1.2.3.4 v1.2.3.4', '1.2.3.10', '1.2.4', 'v4 4.0.0']],
  ['pep440', ['2004d', '2013-01-21T20:33:09+0100', '0.1.dev0', '1.0rc9007199254740993', '1.0rc9007199254740994']],
  ['rpm', ['a:1', '1-', '1-1 1.α-1', '1.a-1', '1.a+2-1', '1.0-1']],
  [
    'native',
    [
      '1.0.2-beta1 1.0.2beta1',
      '1.0.2-pre2',
      '1.0.2 1.0.2.0',
      '1.0.2a',
      '1.0.2z',
      '1.0.2za',
      '1.0.2zg',
      '1.0.10',
      '3.0.0-alpha1',
      '3.0.0-alpha10',
      '3.0.0',
    ],
  ],
  ['native', ['3.9.0a1', '3.9.0b1', '3.9.0rc1', '3.9 3.9.0', '9.2p1', '9.2p2', '9.2.1', '9.10', '2024.1']],
  [
    'apk',
    ['6.6.2', '6.6.2-r3', '6.6.2_p2-r0', '6.6.2p-r0', '6.6.2p1-r0', '6.6.2p1-r1', '6.6.2p2', '6.6.2p10', '6.6.10'],
  ],
]

test.each(ASCENDING)('%s orders %j', (id, cells) => {
  const { compare, reads } = orders[id]
  const places = cells.flatMap((cell, place) => cell.split(' ').map(version => ({ version, place })))
  for (const a of places) {
    expect(reads(a.version), a.version).toBe(true)
    for (const b of places)
      expect(Math.sign(compare(a.version, b.version)), `${a.version} to ${b.version}`).toBe(
        Math.sign(a.place - b.place),
      )
  }
})

describe('no feed ends a range with a word', () => {
  const all = Object.entries(orders)
  test.each(['', 'unknown', '<unfixed>', '2024-01-01 and later', 'n/a', '1'.repeat(300)])('%j', text => {
    expect(all.filter(([, { isVersion }]) => isVersion(text)).map(([id]) => id)).toEqual([])
  })
  test('each order reads plain numbers', () => {
    expect(all.filter(([, { isVersion }]) => !isVersion('1.2.3')).map(([id]) => id)).toEqual([])
  })
})

test.each([
  ['hackage', '1.0-rc1'],
  ['cran', '1.0rc1'],
  ['nuget', '1.0.0.0.0'],
  ['packagist', 'dev-main'],
  ['pep440', 'trunk'],
  ['apk', '1..0'],
  ['rubygems', '1..0'],
] as const)('no version of %s: %s', (id, text) => expect(orders[id].reads(text)).toBe(false))
