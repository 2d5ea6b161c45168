import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findProgram, mustRun } from '../../../test/support/tools.ts'
import { findScalibr, readScalibr, type VersionPair } from '../../../test/support/scalibr-vectors.ts'
import * as apkVersion from '../../formats/apk/version.ts'
import * as debVersion from '../../formats/deb/version.ts'
import { createOrders, type OrderId } from './orders.ts'

const formats = { deb: debVersion, rpm: debVersion, apk: apkVersion }
const orders = createOrders({ compare: (format, a, b) => formats[format].compareVersions(a, b) })
const tables = await findScalibr()

/** Composer itself has these in our order. */
const COMPOSER = [
  ...['v3.0 v3.0.0-beta', 'v3.4 v3.4.0-alpha', 'v4-beta4 v4.0-alpha', 'v1.9.0-ALPHA.1 v1.9.0-BETA.1'],
  ...['v1.9.0-BETA.1 v1.9.0-ALPHA.2', 'v1.9.0-ALPHA.2 v1.9.0-BETA.2', '5.1.0-stable 5.1.0-beta2'],
  ...['v4.4 v4.4.0-beta', 'v6.5 v6.5.0-beta-0', 'v6.6 v6.6.0-beta'],
]

const TABLES: readonly (readonly [OrderId, string, number, readonly string[]])[] = [
  ['apk', 'alpine', 13_979, []],
  ['deb', 'debian', 14_442, []],
  ['pep440', 'pypi', 12_375, ['-class.-jw.util.version.Version- 1.0.dev1', 'trunk 3.2.3']],
  ['packagist', 'packagist', 10_630, COMPOSER],
  ['rubygems', 'rubygems', 4_098, []],
  ['cran', 'cran', 57, []],
]

describe.skipIf(tables === undefined)('versions as registries list them are in the order of osv-scalibr', () => {
  test.each(TABLES)('%s', (id, name, least, otherwise) => {
    const pairs = readScalibr(tables ?? '', `${name}-versions-generated.txt`)
    expect(pairs.length).toBeGreaterThanOrEqual(least)
    const { compare, reads } = orders[id]
    const wrong = pairs.filter(({ a, b, sign }) => !reads(a) || !reads(b) || Math.sign(compare(a, b)) !== sign)
    expect(wrong.map(({ a, b }) => `${a} ${b}`).sort()).toEqual([...otherwise].sort())
  })
})

/** Every version of a table beside the one some places after it, so that most pairs are not in the table. */
function crossed(name: string): VersionPair[] {
  const versions = readScalibr(tables ?? '', `${name}-versions-generated.txt`).flatMap(({ a, b }) => [a, b])
  return versions.map((a, n) => ({ a, b: versions[(n * 7 + 13) % versions.length] ?? a, sign: 0 }))
}

/** Runs a program over a file of pairs, one a line; it prints a sign for each, or `x`. */
async function ask(command: string, args: readonly string[], pairs: readonly VersionPair[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-versions-'))
  try {
    const file = join(folder, 'pairs')
    await writeFile(file, pairs.map(({ a, b }) => `${a} ${b}\n`).join(''))
    return (await mustRun(command, [...args, file])).trim().split('\n')
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The pairs that a tool answers with another sign than we do; it prints one for each pair, or `x` where it refuses. */
function otherwise(id: OrderId, pairs: readonly VersionPair[], answers: readonly string[]): string[] {
  expect(answers.length).toBe(pairs.length)
  expect(answers.filter(answer => answer !== 'x').length).toBeGreaterThan(pairs.length / 2)
  return pairs
    .filter(({ a, b }, n) => answers[n] !== 'x' && Number(answers[n]) !== Math.sign(orders[id].compare(a, b)))
    .map(({ a, b }) => `${a} ${b}`)
}

const RUBY = `File.foreach(ARGV[0]) { |line| a, b = line.split; puts((Gem::Version.new(a) <=> Gem::Version.new(b)) || 'x') }`
test.skipIf(tables === undefined || findProgram('ruby') === undefined)('RubyGems orders gems as we do', async () => {
  const pairs = crossed('rubygems')
  expect(otherwise('rubygems', pairs, await ask('ruby', ['-e', RUBY], pairs))).toEqual([])
})

const PYTHON = `
import sys
from packaging.version import Version, InvalidVersion
for line in open(sys.argv[1]):
    try:
        a, b = map(Version, line.split())
        print((a > b) - (a < b))
    except InvalidVersion:
        print('x')
`
const hasPackaging = await mustRun('python3', ['-c', 'import packaging.version']).then(
  () => true,
  () => false,
)
test.skipIf(tables === undefined || !hasPackaging)("PyPA's packaging orders Python's versions as we do", async () => {
  const pairs = crossed('pypi')
  expect(otherwise('pep440', pairs, await ask('python3', ['-c', PYTHON], pairs))).toEqual([])
})
