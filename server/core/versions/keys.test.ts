import { expect, test } from 'vitest'
import { createRandom } from '../../../test/support/random.ts'
import { orderOf, wrongPairs } from '../../../test/support/version-order.ts'
import { mavenKey } from './maven-key.ts'
import { compareMaven } from './maven.ts'
import { comparePep440, isPrePep440, normalPep440, pep440Key } from './pep440.ts'
import { compareSemver, semverKey } from './semver.ts'

const semver = orderOf({ compareVersions: compareSemver, versionKey: semverKey })
const pep440 = orderOf({ compareVersions: comparePep440, versionKey: pep440Key })
const maven = orderOf({ compareVersions: compareMaven, versionKey: mavenKey })

function generate(count: number, make: (random: ReturnType<typeof createRandom>) => string): string[] {
  const random = createRandom(23)
  return Array.from({ length: count }, () => make(random))
}

const NUMBERS = ['0', '1', '2', '9', '10', '11', '20260101', '99999999999', '9007199254740993', '9007199254740994']
const NUMERALS = [
  '0',
  '1',
  '01',
  '2',
  '9',
  '10',
  '99999999999999999999999999999998',
  '99999999999999999999999999999999',
]

test('keys of semantic versions sort as they compare', () => {
  const parts = ['alpha', 'beta', 'a', 'a-b', 'ab', 'A', '-', 'rc', '0', '1', '9', '10', 'x1', '0a', '1-1']
  const versions = generate(1_500, random => {
    const list = (max: number): string =>
      Array.from({ length: 1 + random.below(max) }, () => random.pick(parts)).join('.')
    const label = random.below(2) === 0 ? '' : `-${list(3)}`
    const numbers = Array.from({ length: random.below(6) === 0 ? 1 + random.below(5) : 3 }, () => random.pick(NUMBERS))
    return `${random.below(9) === 0 ? 'v' : ''}${numbers.join('.')}${label}${random.below(5) === 0 ? `+${list(2)}` : ''}`
  })
  expect(wrongPairs(versions, '012579', semver)).toEqual([])
  expect(semverKey('v1.2+build')).toBe(semverKey('1.2.0'))
  expect(() => semverKey('latest')).toThrow('latest is no semantic version')
})

test('keys of Python versions sort as they compare', () => {
  const versions = generate(1_500, random => {
    const maybe = (text: () => string): string => (random.below(3) === 0 ? text() : '')
    const number = (): string => random.pick(NUMERALS)
    const release = Array.from({ length: 1 + random.below(4) }, number).join('.')
    if (random.below(8) === 0) return `${release}${random.pick(['d', '-x', '.dev-r', '~ä', '_1~'])}${number()}`
    return [
      maybe(() => `${number()}!`),
      release,
      maybe(() => `${random.pick(['a', '.beta', '-rc', 'c', 'pre'])}${maybe(number)}`),
      maybe(() => `${random.pick(['.post', 'r', '-rev'])}${maybe(number)}`),
      maybe(() => `.dev${maybe(number)}`),
      maybe(() => `+${random.pick(['local', 'a', 'ab', number()])}${maybe(() => `.${random.pick(['a', '1', '0'])}`)}`),
    ].join('')
  })
  expect(wrongPairs(versions, '019abz', pep440)).toEqual([])
  expect(pep440Key('v1.0.0')).toBe(pep440Key('1'))
})

test.each([
  ['v1.0-preview_01', '1.0rc1'],
  ['1.0.0', '1.0.0'],
  ['00!01.02.ALPHA', '1.2a0'],
  ['3!1.0-4', '3!1.0.post4'],
  ['1.0.dev', '1.0.dev0'],
  ['1.0+Ubuntu-01', '1.0+ubuntu.1'],
  ['1.0.post.dev2', '1.0.post0.dev2'],
  ['2004d', undefined],
])('PEP 440 writes %s as %s', (text, written) => {
  expect(normalPep440(text)).toBe(written)
})

test('pre-releases are those that PEP 440 calls so', () => {
  const pre = ['1.0a1', '1.0.dev1', '1.0.post1.dev2', '1.0', '1.0.post1', '1.0+rc1', '2004d'].filter(isPrePep440)
  expect(pre).toEqual(['1.0a1', '1.0.dev1', '1.0.post1.dev2'])
})

const WORDS = ['alpha', 'beta', 'milestone', 'rc', 'CR', 'SNAPSHOT', 'ga', 'Final', 'sp', 'jre', 'redhat', 'x', 'ünï']

test('keys of Maven versions sort as they compare, as people write them', () => {
  const versions = generate(1_500, random => {
    const numbers = Array.from({ length: 1 + random.below(4) }, () => random.pick(NUMERALS)).join('.')
    const ending = (): string =>
      `${random.pick(['-', '.', ''])}${random.pick(WORDS)}${random.pick(['', '', '1', '2', '-3', '.4'])}`
    const word = random.below(3) === 0 ? '' : ending()
    return `${numbers}${word.replace(/^([.]?)(\p{L}+)[-.](\d)$/u, '$1$2$3')}${random.below(4) === 0 ? '-SNAPSHOT' : ''}`.replace(
      /(\D)-SNAPSHOT$/,
      '$1',
    )
  })
  expect(versions.some(version => /redhat/.test(version))).toBe(true)
  expect(wrongPairs(versions, '019axz', maven)).toEqual([])
  expect(mavenKey('1-ga')).toBe(mavenKey('1.0.0'))
})

test('keys of any Maven version stand to their release as Maven has it, and in no circle', () => {
  const tokens = [...WORDS, '0', '00', '1', '2', '10', 'a', 'b', 'm']
  const marks = ['.', '.', '-', '-', '', '_', '..', '--', '.-']
  const versions = generate(1_500, random => {
    const parts = Array.from({ length: random.below(6) }, () => `${random.pick(marks)}${random.pick(tokens)}`)
    return `1${parts.join('')}`
  })
  expect(versions.filter(version => maven.sign(version, '1') !== maven.byKey(version, '1'))).toEqual([])
  // pairs that differ are only those of Maven's circles: a third version, that of the release, stands between them
  let circles = 0
  for (let n = 1; n < versions.length; n++) {
    const [a = '', b = ''] = [versions[n - 1], versions[n]]
    if (maven.sign(a, b) !== maven.byKey(a, b)) circles++
  }
  expect(circles).toBeGreaterThan(0)
  expect(circles).toBeLessThan(versions.length / 10)
  expect(maven.byKey('1-rc', '1.sp.1')).toBe(-1)
})
