import { expect, test } from 'vitest'
import { multiArch } from './multi-arch.ts'

const facts = (line: string) => ({ control: `Package: a\n${line}\nDescription: a\n Multi-Arch: foreign` })

test.each([
  ['Multi-Arch: foreign', 'foreign'],
  ['multi-arch:allowed', 'allowed'],
  ['Multi-Arch: same', undefined],
  ['Multi-Arch: no', undefined],
  ['X-Multi-Arch: foreign', undefined],
  ['Section: net', undefined],
])('a package with %j reaches %s', (line, reach) => {
  expect(multiArch.reachOf(facts(line))).toBe(reach)
})

/** For which offers a need counts on arm64: of its own architecture, and of another one. As apt has it. */
test.each([
  [undefined, { no: [true, false], foreign: [true, true], allowed: [true, false] }],
  ['any', { no: [false, false], foreign: [false, false], allowed: [true, true] }],
  ['native', { no: [true, false], foreign: [true, false], allowed: [true, false] }],
  ['arm64', { no: [true, false], foreign: [true, false], allowed: [true, false] }],
  ['amd64', { no: [false, true], foreign: [false, true], allowed: [false, true] }],
])('a need for the architecture %s', (arch, expected) => {
  const need = arch === undefined ? { name: 'a' } : { name: 'a', arch }
  for (const reach of ['no', 'foreign', 'allowed'] as const)
    expect(
      ['arm64', 'amd64'].map(of =>
        multiArch.counts({ arch: of, reach: reach === 'no' ? undefined : reach }, need, 'arm64'),
      ),
      reach,
    ).toEqual(expected[reach])
})
