import type { ClosureCase } from './closure-cases-deb.ts'

/** `a 1-r0; D: b !c; p: v=1 so:x; i: b c; k: 10`: fields of APKINDEX. */
export const APK_CASES: readonly ClosureCase[] = [
  {
    rule: 'a name that one package provides without a version is taken by nobody',
    packages: ['a 1-r0; D: v', 'b 1-r0; p: v'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'a name provided with a version is',
    packages: ['a 1-r0; D: v', 'b 1-r0; p: v=1'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'a provider without a version comes where it has a priority, the highest of them',
    packages: ['a 1-r0; D: v', 'b 1-r0; p: v; k: 10', 'c 1-r0; p: v; k: 20', 'd 1-r0; p: v'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'a provider without a version counts where it is needed by its own name',
    packages: ['a 1-r0; D: v c', 'b 1-r0; p: v', 'c 1-r0; p: v'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'of versioned providers the highest version comes',
    packages: ['a 1-r0; D: v', 'b 1-r0; p: v=1', 'c 1-r0; p: v=3', 'd 1-r0; p: v=2'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'the highest version comes, with its release',
    packages: ['a 1-r0; D: b', 'b 1.2-r1', 'b 1.2-r10', 'b 1.2_rc1-r20'],
    root: 'a',
    closure: ['a', 'b 1.2-r10'],
  },
  {
    rule: 'an equal sign is exact, with the release',
    packages: ['a 1-r0; D: b=1.2-r1', 'b 1.2-r1', 'b 1.2-r2'],
    root: 'a',
    closure: ['a', 'b 1.2-r1'],
  },
  {
    rule: 'a tilde takes every version that begins so',
    packages: ['a 1-r0; D: b~1.2', 'b 1.2.9-r1', 'b 1.3-r0'],
    root: 'a',
    closure: ['a', 'b 1.2.9-r1'],
  },
  {
    rule: 'a name provided without a version meets no bound',
    packages: ['a 1-r0; D: v>=1', 'b 1-r0; p: v; k: 10', 'c 1-r0; p: v=2'],
    root: 'a',
    closure: ['a', 'c'],
  },
  {
    rule: 'a package that another one excludes is not taken',
    packages: ['a 1-r0; D: x v', 'x 1-r0; D: !c', 'b 1-r0; p: v=1', 'c 1-r0; p: v=2'],
    root: 'a',
    closure: ['a', 'b', 'x'],
  },
  {
    rule: 'versions that are excluded give way',
    packages: ['a 1-r0; D: b !b>2', 'b 1-r0', 'b 3-r0'],
    root: 'a',
    closure: ['a', 'b 1-r0'],
  },
  {
    rule: 'apk fails where the provider that it prefers lacks something that nobody has',
    packages: ['a 1-r0; D: v', 'b 1-r0; p: v=1', 'c 1-r0; p: v=2; D: nothing'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'and takes another one where what is lacking is there and excluded',
    packages: ['a 1-r0; D: v !d', 'b 1-r0; p: v=1', 'c 1-r0; p: v=2; D: d', 'd 1-r0'],
    root: 'a',
    closure: ['a', 'b'],
  },
  {
    rule: 'two packages that provide a name with a version exclude each other',
    packages: ['a 1-r0; D: b c', 'b 1-r0; p: v=1', 'c 1-r0; p: v=1'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'two packages that provide a name without a version do not',
    packages: ['a 1-r0; D: b c', 'b 1-r0; p: v', 'c 1-r0; p: v'],
    root: 'a',
    closure: ['a', 'b', 'c'],
  },
  {
    rule: 'what reacts comes when all of its parts are in',
    packages: ['a 1-r0; D: b', 'b 1-r0', 'a-b 1-r0; i: a=1-r0 b', 'a-doc 1-r0; i: a docs'],
    root: 'a',
    closure: ['a', 'a-b', 'b'],
  },
  {
    rule: 'what reacts brings what it needs, and may make others react',
    packages: ['a 1-r0', 'a-x 1-r0; i: a; D: x', 'x 1-r0', 'y 1-r0; i: a-x'],
    root: 'a',
    closure: ['a', 'a-x', 'x', 'y'],
  },
  {
    rule: 'what reacts to another version does not come',
    packages: ['a 2-r0', 'a-x 1-r0; i: a=1-r0'],
    root: 'a',
    closure: ['a'],
  },
  {
    rule: 'a shared library is a name like others',
    packages: ['a 1-r0; D: so:libx.so.1', 'libx 1-r0; p: so:libx.so.1=1.0.0', 'liby 1-r0; p: so:liby.so.1=1.0.0'],
    root: 'a',
    closure: ['a', 'libx'],
  },
  { rule: 'a cycle is no error', packages: ['a 1-r0; D: b', 'b 1-r0; D: a'], root: 'a', closure: ['a', 'b'] },
  {
    rule: 'a need deep down decides a choice above it',
    packages: ['a 1-r0; D: v c', 'b 1-r0; p: v=2', 'c 1-r0; D: d', 'd 1-r0; D: e', 'e 1-r0; D: !b', 'f 1-r0; p: v=1'],
    root: 'a',
    closure: ['a', 'c', 'd', 'e', 'f'],
  },
  {
    rule: 'a name that others provide is one of those, where it has a version',
    packages: ['b 1-r0; p: v=1', 'c 1-r0; p: v=2'],
    root: 'v',
    closure: ['c'],
  },
  {
    rule: 'without its needs nothing is installed',
    packages: ['a 1-r0; D: b', 'b 1-r0; D: c>2', 'c 1-r0'],
    root: 'a',
    closure: undefined,
  },
  {
    rule: 'two needs that exclude each other cannot be met',
    packages: ['a 1-r0; D: b c', 'b 1-r0', 'c 1-r0; D: !b'],
    root: 'a',
    closure: undefined,
  },
]

/** An entry of APKINDEX. */
export function apkEntry(text: string): string {
  const [head = '', ...fields] = text.split('; ')
  const [name = '', version = ''] = head.split(' ')
  const sum = Buffer.from(text.padEnd(20, '.')).subarray(-20).toString('base64')
  const lines = fields.map(field => field.replace(': ', ':'))
  return [`C:Q1${sum}`, `P:${name}`, `V:${version}`, 'A:x86_64', 'S:1000', 'I:4096', 'T:one', 'o:one', ...lines].join(
    '\n',
  )
}
