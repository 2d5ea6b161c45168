import type { RpmSpec } from './packages-rpm.ts'
import type { ClosureCase } from './closure-cases-deb.ts'

/** `a 1-1; Requires: b >= 2, (c or d); Files: /usr/bin/a; Arch: noarch` */
export const RPM_CASES: readonly ClosureCase[] = [
  {
    rule: 'a versioned need is met by a name that is provided without a version',
    packages: ['a 1-1; Requires: v >= 1', 'bare 1-1; Provides: v'],
    root: 'a',
    closure: ['a', 'bare'],
  },
  {
    rule: 'of several providers the first by name comes, also where another has that very name',
    packages: ['a 1-1; Requires: v', 'v 1-1', 'b 1-1; Provides: v'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'a bound without a release is met by every release',
    packages: ['a 1-1; Requires: b = 1.0', 'b 1.0-7', 'b 1.1-1'],
    root: 'a',
    closure: ['a', 'b 1.0-7'],
  },
  {
    rule: 'a bound with a release is exact',
    packages: ['a 1-1; Requires: b = 1.0-7', 'b 1.0-8', 'b 1.0-7'],
    root: 'a',
    closure: ['a', 'b 1.0-7'],
  },
  {
    rule: 'the newest version comes, epochs before versions',
    packages: ['a 1-1; Requires: b', 'b 3-1', 'b 1:2-1'],
    root: 'a',
    closure: ['a', 'b 1:2-1'],
  },
  {
    rule: 'a package of another architecture does not count, noarch does',
    packages: ['a 1-1; Requires: v', 'b 1-1; Provides: v; Arch: aarch64', 'c 1-1; Provides: v; Arch: noarch'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'a file meets a need for its path',
    packages: ['a 1-1; Requires: /usr/bin/tool', 'b 1-1; Files: /usr/bin/tool'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'a provided path meets it too',
    packages: ['a 1-1; Requires: /usr/bin/tool', 'b 1-1; Provides: /usr/bin/tool'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'the marks of a library are part of its name',
    packages: [
      'a 1-1; Requires: libz.so.1()(64bit)',
      'b 1-1; Provides: libz.so.1',
      'c 1-1; Provides: libz.so.1()(64bit)',
    ],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'what it provides itself and what rpm requires of itself needs nobody',
    packages: ['a 1-1; Requires: own, rpmlib(CompressedFileNames) <= 3.0.4-1; Provides: own', 'b 1-1; Provides: own'],
    root: 'a',
    closure: ['a'],
  },
  {
    rule: 'of two alternatives the one that is coming anyway is enough',
    packages: ['a 1-1; Requires: (b or c), c', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'of two alternatives the first by name comes',
    packages: ['a 1-1; Requires: (c or b)', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'an alternative that nothing can complete gives way',
    packages: ['a 1-1; Requires: (b or c)', 'b 1-1; Requires: nothing', 'c 1-1'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'and wants both',
    packages: ['a 1-1; Requires: (b and c)', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a', 'b', 'c'],
  },
  {
    rule: 'if asks for nothing while its condition does not hold',
    packages: ['a 1-1; Requires: (b if c)', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a'],
  },
  {
    rule: 'if asks when its condition comes later',
    packages: ['a 1-1; Requires: (b if d), c', 'b 1-1', 'c 1-1; Requires: d', 'd 1-1'],
    root: 'a',
    closure: ['a', 'b', 'c', 'd'],
  },
  {
    rule: 'unless wants the first part and not the second',
    packages: ['a 1-1; Requires: (b unless c)', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'unless cannot be met where the second part is needed',
    packages: ['a 1-1; Requires: (b unless c), c', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'a conflict with unless does not count where its condition holds',
    packages: ['a 1-1; Requires: x, b, c', 'x 1-1; Conflicts: (b unless c)', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a', 'b', 'c', 'x'],
  },
  {
    rule: 'a conflict with unless counts where its condition does not hold',
    packages: ['a 1-1; Requires: x, b', 'x 1-1; Conflicts: (b unless c)', 'b 1-1', 'c 1-1'],
    root: 'a',
    closure: ['a', 'b', 'c', 'x'],
  },
  {
    rule: 'with wants one package for both parts',
    packages: [
      'a 1-1; Requires: (v >= 2 with v < 3)',
      'b 1-1; Provides: v = 1',
      'c 1-1; Provides: v = 3',
      'd 1-1; Provides: v = 2',
    ],
    root: 'a',
    closure: ['a', 'd'],
  },
  {
    rule: 'without wants a package that lacks the second part',
    packages: ['a 1-1; Requires: (v without w)', 'b 1-1; Provides: v, w', 'c 1-1; Provides: v'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'a nested expression',
    packages: ['a 1-1; Requires: ((b and c) or d)', 'b 1-1; Requires: nothing', 'c 1-1', 'd 1-1'],
    root: 'a',
    closure: ['a', 'd'],
  },
  {
    rule: 'a provider that a chosen package conflicts with is not taken',
    packages: ['a 1-1; Requires: x, v', 'x 1-1; Conflicts: b < 2', 'b 1-1; Provides: v', 'c 1-1; Provides: v'],
    root: 'a',
    closure: ['a', 'c', 'x'],
  },
  {
    rule: 'a rich conflict counts when all of it is there',
    packages: [
      'a 1-1; Requires: x, y, v',
      'x 1-1; Conflicts: (y and b)',
      'y 1-1',
      'b 1-1; Provides: v',
      'c 1-1; Provides: v',
    ],
    root: 'a',
    closure: ['a', 'c', 'x', 'y'],
  },
  {
    rule: 'what obsoletes a package and provides its name comes in its place',
    packages: ['a 1-1; Requires: old', 'old 1-1', 'z 2-1; Obsoletes: old < 2; Provides: old = 2'],
    root: 'a',
    closure: ['a', 'z'],
  },
  {
    rule: 'also where the old name is asked for',
    packages: ['old 1-1', 'z 2-1; Obsoletes: old < 2; Provides: old = 2'],
    root: 'old',
    closure: ['z'],
  },
  {
    rule: 'what obsoletes a package without providing its name leaves it installable',
    packages: ['a 1-1; Requires: old', 'old 1-1', 'z 2-1; Obsoletes: old < 2'],
    root: 'a',
    closure: ['a', 'old'],
  },
  {
    rule: 'a package and one that obsoletes it do not come together',
    packages: ['a 1-1; Requires: z, v', 'old 1-1; Provides: v', 'w 1-1; Provides: v', 'z 2-1; Obsoletes: old < 2'],
    root: 'a',
    closure: ['a', 'w', 'z'],
  },
  {
    rule: 'Recommends and Supplements are left out',
    packages: ['a 1-1; Recommends: b', 'b 1-1', 'c 1-1; Supplements: a'],
    root: 'a',
    closure: ['a'],
  },
  {
    rule: 'Recommends and Supplements come when asked for, those that cannot be met are left out',
    packages: [
      'a 1-1; Recommends: b, bad, none',
      'b 1-1',
      'bad 1-1; Requires: nothing',
      'c 1-1; Supplements: (a and b)',
      'd 1-1; Supplements: e',
    ],
    root: 'a',
    recommends: true,
    closure: ['a', 'b', 'c'],
  },
  {
    rule: 'an older version comes where the newest of what is asked for cannot be installed',
    packages: ['a 2-1; Requires: nothing', 'a 1-1'],
    root: 'a',
    closure: ['a 1-1'],
  },
  {
    rule: 'an older version comes where the newest lacks something further down',
    packages: ['a 1-1; Requires: d', 'd 2-1; Requires: h', 'd 1-1', 'h 1-1; Requires: x', 'h 2-1; Requires: x'],
    root: 'a',
    closure: ['a', 'd 1-1'],
  },
  {
    rule: 'a choice is taken back where all that follows it excludes it',
    packages: [
      'a 1-1; Requires: x, (f or g)',
      'd 1-1; Provides: x',
      'e 1-1; Provides: x; Conflicts: d',
      'f 1-1; Requires: e',
      'g 1-1; Requires: e',
    ],
    root: 'a',
    closure: ['a', 'e', 'f'],
  },
  {
    rule: 'what is obsoleted is taken where what obsoletes it cannot be installed',
    packages: ['a 1-1; Requires: w', 'e 1-1; Provides: w', 'j 2-1; Provides: w; Obsoletes: e < 2; Requires: nothing'],
    root: 'a',
    closure: ['a', 'e'],
  },
  {
    rule: 'if with else is met through its condition where the part after else cannot be had',
    packages: ['a 1-1; Requires: (z if h else f)', 'f 1-1; Requires: nothing', 'h 1-1', 'z 1-1'],
    root: 'a',
    closure: ['a', 'h', 'z'],
  },
  {
    rule: 'no package excludes itself, also not in an expression',
    packages: ['a 1-1; Provides: g; Conflicts: (g or b), (g and g)', 'b 1-1'],
    root: 'a',
    closure: ['a'],
  },
  {
    rule: 'a package that is part of a rich conflict of its own excludes the other part',
    packages: ['a 1-1; Requires: b, v', 'b 1-1; Conflicts: (b and c)', 'c 1-1; Provides: v', 'd 1-1; Provides: v'],
    root: 'a',
    closure: ['a', 'b', 'd'],
  },
  {
    rule: 'a cycle is no error',
    packages: ['a 1-1; Requires: b', 'b 1-1; Requires: a'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'a single way to meet a need deep down decides choices above it',
    packages: [
      'a 1-1; Requires: b, c',
      'b 1-1; Requires: v',
      'c 1-1; Requires: full',
      'full 1-1; Provides: v',
      'best 1-1; Provides: v; Conflicts: full',
    ],
    root: 'a',
    closure: ['a', 'b', 'c', 'full'],
  },
  {
    rule: 'without its needs nothing is installed',
    packages: ['a 1-1; Requires: b >= 2', 'b 1-1'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'two needs that exclude each other cannot be met',
    packages: ['a 1-1; Requires: b, c', 'b 1-1', 'c 1-1; Conflicts: b'],
    root: 'a',
    closure: undefined,
  },
]

/** What a case says of one package, by field. */
export function rpmSpec(text: string): RpmSpec & { readonly arch: string } {
  const [head = '', ...fields] = text.split('; ')
  const [, name = '', , epoch, version = '', release = ''] = /^(\S+) ((\d+):)?([^-]+)-(.+)$/.exec(head) ?? []
  const list = (field: string): string[] =>
    fields
      .find(one => one.startsWith(`${field}: `))
      ?.slice(field.length + 2)
      .split(', ') ?? []
  const files = list('Files').map(path => [path.slice(1), 'x'] as const)
  return {
    name,
    version,
    release,
    ...(epoch === undefined ? {} : { epoch: Number(epoch) }),
    arch: list('Arch')[0] ?? 'x86_64',
    files: Object.fromEntries(files.length === 0 ? [[`usr/share/${name}`, 'x']] : files),
    requires: list('Requires'),
    provides: list('Provides'),
    conflicts: list('Conflicts'),
    obsoletes: list('Obsoletes'),
    recommends: list('Recommends'),
    supplements: list('Supplements'),
  }
}
