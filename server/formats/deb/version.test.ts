import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { compareVersions, complainVersion, versionKey } from './version.ts'

const sign = (a: string, b: string): number => Math.sign(compareVersions(a, b))
/** Byte order, as PostgreSQL has it under `collate "C"`. */
const byKey = (a: string, b: string): number => Math.sign(Buffer.compare(Buffer.from(versionKey(a)), Buffer.from(versionKey(b))))

describe('two versions stand in dpkg’s order', () => {
  test.each([
    ['1.0', '1.0', 0], ['1.0', '1.1', -1], ['1.9', '1.10', -1], ['1.0-1', '1.0-2', -1], ['1.0-9', '1.0-10', -1],
    // tildes come before everything, the end included
    ['1.0~', '1.0', -1], ['1.0~rc1', '1.0', -1], ['1.0~~', '1.0~', -1], ['1.0~~a', '1.0~', -1], ['1.0~rc1-1', '1.0-1', -1],
      ['1.0-1~bpo1', '1.0-1', -1], ['~', '', -1],
    // letters before other characters, after the end
    ['1.0', '1.0a', -1], ['1.0a', '1.0+', -1], ['1.0a', '1.0.', -1], ['1.0Z', '1.0a', -1], ['1.0+', '1.0-', 1], ['1.0+1', '1.0.1', -1],
      ['1.0.1', '1:0', -1],
    // leading zeros, absent parts
    ['1.0', '1.00', 0], ['1.01', '1.1', 0], ['1.0', '0:1.0', 0], ['1.0', '1.0-0', 0], ['1.0', '1.0-1', -1], ['1.', '1.0', 0], ['1a', '1a0', 0],
      ['00:1', '1', 0],
    // the last hyphen divides, the first colon divides
    ['1-2-3', '1-2-4', -1], ['1-2', '1-2-0', -1], ['2:1.0', '10:0.1', -1], ['1:2:3', '1:2:4', -1],
    // numbers of any length
    ['1.99999999999999999998', '1.99999999999999999999', -1], ['1.9', '1.100000000000000000000000000000000', -1],
  ])('%s to %s is %i', (a, b, expected) => {
    expect(sign(a, b)).toBe(expected)
    expect(sign(b, a)).toBe(-expected + 0)
    expect(byKey(a, b)).toBe(expected)
  })
})

/** A small generator with a seed, so that a failure can be had again. */
function randoms(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

const ALPHABET = ['0', '0', '1', '2', '9', '10', '09', '.', '.', '+', '~', '~', 'a', 'b', 'Z', 'rc', '-', '-']

function generate(count: number): string[] {
  const random = randoms(20260115)
  const pick = (): string => ALPHABET[Math.floor(random() * ALPHABET.length)] ?? '0'
  const versions: string[] = []
  while (versions.length < count) {
    const body = Array.from({ length: Math.floor(random() * 7) }, pick).join('')
    const version = `${random() < 0.2 ? `${Math.floor(random() * 12)}:` : ''}${Math.floor(random() * 3)}${body}`
    if (complainVersion(version) === undefined) versions.push(version)
  }
  return versions
}

test('for 40,000 generated pairs the key has the order of the comparison', () => {
  const versions = generate(400)
  const wrong: string[] = []
  for (let i = 0; i < versions.length; i++) {
    for (let j = i; j < i + 100; j++) {
      const a = versions[i] ?? ''
      // neighbours differ in their last characters only
      const b = j % 3 === 0 ? `${a.slice(0, -1)}${'~1.a+0'[j % 6] ?? ''}` : versions[j % versions.length] ?? ''
      if (sign(a, b) !== byKey(a, b)) wrong.push(`${a} ${b}`)
    }
  }
  expect(wrong).toEqual([])
})

const hasPerl = spawnSync('perl', ['-MDpkg::Version', '-e', '1']).status === 0
test.skipIf(!hasPerl)('Dpkg::Version agrees on 20,000 generated pairs', () => {
  const versions = generate(300)
  const pairs = versions.flatMap((a, i) => Array.from({ length: 67 }, (_, k) => [a, versions[(i * 7 + k * 31 + 1) % versions.length] ?? ''] as const))
  const script = 'use Dpkg::Version; while (<STDIN>) { chomp; my ($a, $b) = split / /; print version_compare($a, $b), "\\n" }'
  const answers = execFileSync('perl', ['-e', script], { input: pairs.map(pair => pair.join(' ')).join('\n'),
    maxBuffer: 2 ** 24 }).toString().trim().split('\n').map(Number)
  expect(answers.length).toBe(pairs.length)
  expect(pairs.filter(([a, b], i) => sign(a, b) !== answers[i])).toEqual([])
})

const hasDpkg = spawnSync('dpkg', ['--version']).status === 0
test.skipIf(!hasDpkg)('dpkg --compare-versions agrees on 300 pairs', () => {
  const versions = generate(60)
  const pairs = versions.flatMap((a, i) => [1, 2, 3, 11, 29].map(k => [a, versions[(i + k) % versions.length] ?? ''] as const))
  const script = `while read -r a b; do
    if dpkg --compare-versions "$a" lt "$b"; then echo -1; elif dpkg --compare-versions "$a" eq "$b"; then echo 0; else echo 1; fi
  done`
  const answers = execFileSync('sh', ['-c', script],
    { input: `${pairs.map(pair => pair.join(' ')).join('\n')}\n` }).toString().trim().split('\n').map(Number)
  expect(pairs.filter(([a, b], i) => sign(a, b) !== answers[i])).toEqual([])
})

const vectors = fileURLToPath(new URL('../../../../shared/data/vectors/deb-dpkg-perl.tsv', import.meta.url))
describe.skipIf(!existsSync(vectors))('dpkg’s own table', () => {
  const rows = existsSync(vectors) ? readFileSync(vectors,
    'utf8').split('\n').filter(line => line !== '' && !line.startsWith('#')).map(line => line.split('\t')) : []
  test.each(rows)('%s to %s is %s', (a = '', b = '', expected) => {
    expect(sign(a, b)).toBe(Number(expected))
    expect(byKey(a, b)).toBe(Number(expected))
  })
})

describe('what is a version', () => {
  const good = ['0', '1', '1.0-1', '1:1.0', '0:1.0', '1:2:3', '1.0-1-2', '2147483647:1', '1.0+dfsg~rc1-1+b2', '20240101', '1-~', '0~']
  const bad = ['', '1:', '-1', '1.0-', 'v1.0', '~1', '+1', 'a:1', '1.0:2', '1.0-1:2', ':1', '2147483648:1', '1.0_1', '1.0 1', '1.0/1', '1.0-1_',
    '1,0', '1.0é', '1.0\n', '9'.repeat(129)]
  test.each(good)('%s is', version => { expect(complainVersion(version)).toBeUndefined() })
  test.each(bad)('%s is not', version => { expect(complainVersion(version)).toMatch(/.{10}/) })

  test.skipIf(!hasDpkg)('dpkg --validate-version says the same', () => {
    const verdict = (version: string): boolean => spawnSync('dpkg', ['--validate-version', version]).status === 0
    for (const version of good) expect(verdict(version), version).toBe(true)
    // dpkg trims blanks and has no limit on the length
    for (const version of bad.filter(one => one.length < 100 && one !== '1.0\n')) expect(verdict(version), version).toBe(false)
  })
})
