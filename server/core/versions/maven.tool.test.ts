import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../test/support/random.ts'
import { findProgram, mustRun } from '../../../test/support/tools.ts'
import { compareMaven } from './maven.ts'

const mvn = findProgram('mvn')
const lib = mvn === undefined ? '' : join(dirname(realpathSync(mvn)), '../lib')
const isHere =
  findProgram('java') !== undefined &&
  existsSync(lib) &&
  readdirSync(lib).some(name => /^maven-artifact-3.*\.jar$/.test(name))

const WORDS = [
  ...['alpha', 'beta', 'milestone', 'rc', 'CR', 'SNAPSHOT', 'ga', 'Final', 'release', 'sp', 'a', 'b', 'm'],
  ...['FL', 'x', 'jre', 'v', '00', '007', '0', '1', '2', '10', '20090511', '99999999999', '99999999999999999999'],
]
const MARKS = ['.', '.', '-', '-', '', '', '_', '+', '..', '--', '.-', '-.']

/** As people write versions, and worse. */
function generate(count: number): string[] {
  const random = createRandom(11)
  return Array.from({ length: count }, () => {
    const parts = Array.from({ length: random.below(6) }, () => `${random.pick(MARKS)}${random.pick(WORDS)}`)
    return `${random.below(3)}${parts.join('')}`
  })
}

describe.skipIf(!isHere)("the order of Maven versions is that of Maven's own class", () => {
  test('for generated versions, each with the one after it', async () => {
    const versions = generate(4_000)
    const out = await mustRun('java', [
      '-cp',
      join(lib, '*'),
      'org.apache.maven.artifact.versioning.ComparableVersion',
      ...versions,
    ])
    // `   1.0 > 1-cr2`
    const rows = [...out.matchAll(/^ {3}(\S+) (<|==|>) (\S+)$/gm)]
    expect(rows.length).toBe(versions.length - 1)
    const wrong = rows.filter(
      ([, a = '', sign, b = '']) => Math.sign(compareMaven(a, b)) !== { '<': -1, '==': 0, '>': 1 }[sign ?? ''],
    )
    expect(wrong.map(([row]) => row)).toEqual([])
  })
})
