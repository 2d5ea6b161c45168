import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { generateVersions } from '../../../test/support/rpm-versions.ts'
import { compareVersions } from './version.ts'

const sign = (a: string, b: string): number => Math.sign(compareVersions(a, b))

/** Asks rpm itself. */
function vercmp(pairs: readonly (readonly [string, string])[]): number[] {
  const program = `%{lua: for a, b in string.gmatch([[${pairs.map(pair => pair.join(' ')).join('\n')}]], "(%S+) (%S+)") do print(rpm.vercmp(a, b) .. "\\n") end}`
  return spawnSync('rpm', ['--eval', program], { encoding: 'utf8', maxBuffer: 2 ** 26 })
    .stdout.trim()
    .split(/\s+/)
    .map(Number)
}
const hasRpm = spawnSync('rpm', ['--version']).status === 0

test.skipIf(!hasRpm)('rpm agrees on 6,000 generated pairs', () => {
  const versions = generateVersions(300)
  const pairs = versions.flatMap((a, i) =>
    Array.from({ length: 20 }, (_, k) => [a, versions[(i * 7 + k * 31 + 1) % versions.length] ?? ''] as const),
  )
  // an argument holds 128 KiB at most
  const parts = Array.from({ length: pairs.length / 1000 }, (_, part) => pairs.slice(part * 1000, part * 1000 + 1000))
  const answers = parts.flatMap(vercmp)
  expect(answers.length).toBe(pairs.length)
  expect(pairs.filter(([a, b], i) => sign(a, b) !== answers[i])).toEqual([])
})
