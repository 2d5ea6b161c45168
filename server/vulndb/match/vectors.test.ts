import { describe, expect, test } from 'vitest'
import { readVectors } from '../../../test/support/reference-data.ts'
import { compareMaven } from '../../core/versions/maven.ts'
import { comparePep440, isPep440 } from '../../core/versions/pep440.ts'
import { compareSemver } from '../../core/versions/semver.ts'
import { scoreOf } from './severity.ts'

const isHere = readVectors('semver-node.tsv').length > 0

/** Rows whose order, in either direction, is not what the table says. */
function wrong(name: string, compare: (a: string, b: string) => number): string[] {
  return readVectors(name)
    .filter(
      ([a = '', b = '', sign]) =>
        Math.sign(compare(a, b)) !== Number(sign) || Math.sign(compare(b, a)) !== 0 - Number(sign),
    )
    .map(row => row.join(' '))
}

describe.skipIf(!isHere)("the order of versions is that of each ecosystem's own tables", () => {
  test('Maven', () => expect(wrong('maven-comparableversion.tsv', compareMaven)).toEqual([]))
  test('npm', () => expect(wrong('semver-node.tsv', compareSemver)).toEqual([]))
  test('Python: what is normalised is equal', () => {
    const pairs = readVectors('pep440-normalize.tsv')
      .slice(1)
      .map(row =>
        row.map(cell =>
          cell
            .replaceAll('\\N{NARROW NO-BREAK SPACE}', '\u202f')
            .replaceAll('\\N{PARAGRAPH SEPARATOR}', '\u2029')
            .replaceAll('\\t', '\t')
            .replaceAll('\\n', '\n'),
        ),
      )
    expect(pairs.length).toBeGreaterThan(80)
    expect(pairs.filter(([a = '', b = '']) => !isPep440(a) || !isPep440(b) || comparePep440(a, b) !== 0)).toEqual([])
  })
  test.each(['cvss31.tsv', 'cvss40.tsv'])('scores: %s', name => {
    expect(
      readVectors(name)
        .filter(([vector = '', score]) => scoreOf(vector)?.score !== Number(score))
        .map(row => row.join(' ')),
    ).toEqual([])
  })
})

describe('the order of versions, in short', () => {
  const ascends = (versions: readonly string[], compare: (a: string, b: string) => number): void => {
    versions.forEach((a, i) =>
      versions.forEach((b, j) => expect(Math.sign(compare(a, b)), `${a} ${b}`).toBe(Math.sign(i - j))),
    )
  }
  test('Maven', () =>
    ascends(
      ['1-alpha-1', '1-beta', '1-m2', '1-rc1', '1-SNAPSHOT', '1.0', '1-sp', '1-foo', '1-1', '1.1', '1.10'],
      compareMaven,
    ))
  test('Maven 3.9: a hyphen before the number of a word means nothing, and a word before a dot is an item', () => {
    ascends(['3.5.0-CR-1', '3.5.0-CR2', '3.5.0', '3.6.2', '3.6.2-FL', '3.6.2-FL-2009-05-11', '3.6.2-1'], compareMaven)
    ascends(['2.rc.1', '2-rc.1', '2', '2-1', '2.1'], compareMaven)
    expect(compareMaven('3.5.0-CR-2', '3.5.0-CR2')).toBe(0)
  })
  test('npm', () =>
    ascends(
      [
        '0.9',
        '1.0.0-alpha',
        '1.0.0-alpha.1',
        '1.0.0-alpha.beta',
        '1.0.0-beta.2',
        '1.0.0-beta.11',
        '1.0.0-rc.1',
        '1.0.0',
        '1.0.1',
        '1.1',
        '2',
      ],
      compareSemver,
    ))
  test('Python', () =>
    ascends(
      [
        '0.9',
        '1.0.dev1',
        '1.0a1.dev2',
        '1.0a1',
        '1.0a2',
        '1.0b1',
        '1.0rc1',
        '1.0',
        '1.0+abc',
        '1.0+abc.1',
        '1.0+5',
        '1.0.post1.dev3',
        '1.0.post1',
        '1.0.1',
        '1.1',
        '1!0.1',
      ],
      comparePep440,
    ))
  test.each(['', 'unknown', '<0', '1.0-', '1..0', 'not a version'])('%j is no Python version', text =>
    expect(isPep440(text)).toBe(false),
  )
})
