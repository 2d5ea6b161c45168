import { execFileSync, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { BAD, generateVersions, GOOD } from '../../../test/support/deb-versions.ts'
import { compareVersions } from './version.ts'

const sign = (a: string, b: string): number => Math.sign(compareVersions(a, b))

const hasPerl = spawnSync('perl', ['-MDpkg::Version', '-e', '1']).status === 0
test.skipIf(!hasPerl)('Dpkg::Version agrees on 20,000 generated pairs', () => {
  const versions = generateVersions(300)
  const pairs = versions.flatMap((a, i) =>
    Array.from({ length: 67 }, (_, k) => [a, versions[(i * 7 + k * 31 + 1) % versions.length] ?? ''] as const),
  )
  const script =
    'use Dpkg::Version; while (<STDIN>) { chomp; my ($a, $b) = split / /; print version_compare($a, $b), "\\n" }'
  const answers = execFileSync('perl', ['-e', script], {
    input: pairs.map(pair => pair.join(' ')).join('\n'),
    maxBuffer: 2 ** 24,
  })
    .toString()
    .trim()
    .split('\n')
    .map(Number)
  expect(answers.length).toBe(pairs.length)
  expect(pairs.filter(([a, b], i) => sign(a, b) !== answers[i])).toEqual([])
})

const hasDpkg = spawnSync('dpkg', ['--version']).status === 0
test.skipIf(!hasDpkg)('dpkg --compare-versions agrees on 300 pairs', () => {
  const versions = generateVersions(60)
  const pairs = versions.flatMap((a, i) =>
    [1, 2, 3, 11, 29].map(k => [a, versions[(i + k) % versions.length] ?? ''] as const),
  )
  const script = `while read -r a b; do
    if dpkg --compare-versions "$a" lt "$b"; then echo -1; elif dpkg --compare-versions "$a" eq "$b"; then echo 0; else echo 1; fi
  done`
  const answers = execFileSync('sh', ['-c', script], { input: `${pairs.map(pair => pair.join(' ')).join('\n')}\n` })
    .toString()
    .trim()
    .split('\n')
    .map(Number)
  expect(pairs.filter(([a, b], i) => sign(a, b) !== answers[i])).toEqual([])
})

test.skipIf(!hasDpkg)('dpkg --validate-version says the same', () => {
  const verdict = (version: string): boolean => spawnSync('dpkg', ['--validate-version', version]).status === 0
  for (const version of GOOD) expect(verdict(version), version).toBe(true)
  // dpkg trims blanks and has no limit on the length
  for (const version of BAD.filter(one => one.length < 100 && one !== '1.0\n'))
    expect(verdict(version), version).toBe(false)
})
