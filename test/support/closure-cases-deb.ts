/** One rule of how apt chooses, on a repository made for it. */
export interface ClosureCase {
  readonly rule: string
  /** A stanza each: `a 1.0; Depends: b | c; Provides: x`. Architecture amd64 unless a field says otherwise. */
  readonly packages: readonly string[]
  readonly root: string
  /** Names in the repository that the machine has. */
  readonly base?: readonly string[]
  readonly recommends?: true
  /** `name` or `name version`, sorted; undefined where nothing can be installed. */
  readonly closure: readonly string[] | undefined
}

const HOG = 'x 1; Breaks: hog (<< 2)'

export const DEB_CASES: readonly ClosureCase[] = [
  {
    rule: 'a versioned need is not met by a name that is provided without a version',
    packages: ['a 1; Depends: v (>= 1)', 'bare 1; Provides: v', 'versioned 1; Provides: v (= 1)'],
    root: 'a',
    closure: ['a', 'versioned'],
  },
  {
    rule: 'the first alternative comes',
    packages: ['a 1; Depends: c | b', 'b 1', 'c 1'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'the second alternative comes where the first cannot be installed',
    packages: ['a 1; Depends: c | b', 'b 1', 'c 1; Depends: nothing'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'an alternative that is coming anyway is enough',
    packages: ['a 1; Depends: b, c | b', 'b 1', 'c 1'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'the package of that very name comes before its providers',
    packages: ['a 1; Depends: v', 'b 1; Provides: v; Essential: yes', 'v 1; Priority: extra'],
    root: 'a',
    closure: ['a', 'v'],
  },
  {
    rule: 'an essential provider comes before one of higher priority',
    packages: ['a 1; Depends: v', 'b 1; Provides: v; Priority: required', 'c 1; Provides: v; Essential: yes'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'an important provider comes before one of higher priority',
    packages: ['a 1; Depends: v', 'b 1; Provides: v; Priority: required', 'c 1; Provides: v; Important: yes'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'the provider of the highest priority comes',
    packages: ['a 1; Depends: v', 'b 1; Provides: v; Priority: optional', 'c 1; Provides: v; Priority: standard'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'providers of the first alternative come before the second one',
    packages: ['a 1; Depends: v | c', 'b 1; Provides: v; Priority: extra', 'c 1; Priority: required'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: ':any needs Multi-Arch: allowed',
    packages: ['a 1; Depends: b:any | c:any', 'b 1', 'c 1; Multi-Arch: allowed'],
    root: 'a',
    closure: ['a', 'c'],
  },
  { rule: ':i386 is never met by amd64', packages: ['a 1; Depends: b:i386', 'b 1'], root: 'a', closure: undefined },
  {
    rule: 'a conflict with :i386 does not touch amd64',
    packages: ['a 1; Depends: b, c', 'b 1; Conflicts: c:i386', 'c 1'],
    root: 'a',
    closure: ['a', 'b', 'c'],
  },
  {
    rule: 'an alternative that a chosen package conflicts with is not taken',
    packages: ['a 1; Depends: b, c | d', 'b 1; Conflicts: c', 'c 1', 'd 1'],
    root: 'a',
    closure: ['a', 'b', 'd'],
  },
  {
    rule: 'an alternative that conflicts with the root is not taken',
    packages: ['a 1; Depends: c | d', 'c 1; Conflicts: a', 'd 1'],
    root: 'a',
    closure: ['a', 'd'],
  },
  {
    rule: 'Breaks counts for the versions that it names',
    packages: ['a 1; Depends: x, hog | d', HOG, 'hog 1', 'd 1'],
    root: 'a',
    closure: ['a', 'd', 'x'],
  },
  {
    rule: 'Breaks leaves other versions alone',
    packages: ['a 1; Depends: x, hog | d', HOG, 'hog 2', 'd 1'],
    root: 'a',
    closure: ['a', 'hog', 'x'],
  },
  {
    rule: 'a conflict reaches packages that provide the name',
    packages: ['a 1; Depends: b, c | d', 'b 1; Conflicts: mta', 'c 1; Provides: mta', 'd 1'],
    root: 'a',
    closure: ['a', 'b', 'd'],
  },
  {
    rule: 'a versioned conflict does not reach a name provided without a version',
    packages: ['a 1; Depends: b, c | d', 'b 1; Conflicts: mta (>= 1)', 'c 1; Provides: mta', 'd 1'],
    root: 'a',
    closure: ['a', 'b', 'c'],
  },
  {
    rule: 'a package does not conflict with the name that it provides itself',
    packages: ['a 1; Depends: b', 'b 1; Provides: mta; Conflicts: mta; Replaces: mta'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'Replaces is no need and no conflict',
    packages: ['a 1; Depends: b, c; Replaces: d', 'b 1; Replaces: c', 'c 1', 'd 1'],
    root: 'a',
    closure: ['a', 'b', 'c'],
  },
  {
    rule: 'Pre-Depends are met before Depends',
    packages: ['a 1; Depends: b | c; Pre-Depends: c', 'b 1', 'c 1'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'alternatives of Pre-Depends do not wait for Depends',
    packages: ['r 1; Depends: a', 'a 1; Depends: c; Pre-Depends: b | c', 'b 1', 'c 1'],
    root: 'r',
    closure: ['a', 'b', 'c', 'r'],
  },
  {
    rule: 'a single way to meet a need deep down decides alternatives above it',
    packages: [
      'a 1; Depends: b, c',
      'b 1; Depends: light | full',
      'c 1; Depends: full',
      'full 1',
      'light 1; Conflicts: full',
    ],
    root: 'a',
    closure: ['a', 'b', 'c', 'full'],
  },
  { rule: 'a cycle is no error', packages: ['a 1; Depends: b', 'b 1; Depends: a'], root: 'a', closure: ['a', 'b'] },
  {
    rule: 'the newest version comes',
    packages: ['a 1; Depends: b', 'b 1', 'b 2', 'b 1.5'],
    root: 'a',
    closure: ['a', 'b 2'],
  },
  {
    rule: 'Recommends are left out',
    packages: ['a 1; Recommends: b', 'b 1'],
    root: 'a',
    closure: ['a'],
  },
  {
    rule: 'Recommends come when asked for, those that cannot be met are left out',
    packages: ['a 1; Recommends: b, c, d; Suggests: e', 'b 1; Depends: nothing', 'd 1', 'e 1'],
    root: 'a',
    recommends: true,
    closure: ['a', 'd'],
  },
  {
    rule: 'what the machine has does not come again',
    packages: ['a 1; Depends: b, c', 'b 1; Depends: d', 'c 1', 'd 1'],
    root: 'a',
    base: ['b', 'd'],
    closure: ['a', 'c'],
  },
  {
    rule: 'a package of another architecture does not count, one for all does',
    packages: ['a 1; Depends: b | c', 'b 1; Architecture: arm64', 'c 1; Architecture: all'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'without its needs nothing is installed',
    packages: ['a 1; Depends: b', 'b 1; Depends: c (>= 2)', 'c 1'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'two needs that exclude each other cannot be met',
    packages: ['a 1; Depends: b, c', 'b 1', 'c 1; Conflicts: b'],
    root: 'a',
    closure: undefined,
  },
]

/** A stanza of `Packages`. */
export function stanza(text: string): string {
  const [head = '', ...fields] = text.split('; ')
  const [name = '', version = ''] = head.split(' ')
  const has = (field: string): boolean => fields.some(one => one.startsWith(`${field}:`))
  return [
    `Package: ${name}`,
    `Version: ${version}`,
    ...(has('Architecture') ? [] : ['Architecture: amd64']),
    ...fields,
    'Maintainer: M <m@example.test>',
    `Filename: ./${name}_${version}.deb`,
    'Size: 1000',
    `SHA256: ${'0'.repeat(64)}`,
    'Description: one',
  ].join('\n')
}
