import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildNpm, npmEntries, packNpm, type NpmSpec } from '../../../test/support/packages-npm.ts'
import { pax, spoolBytes, tar, type TarSpec } from '../../../test/support/packages.ts'
import { isRefusal } from '../../core/errors.ts'
import type { Inspection } from '../format.ts'
import { parsePackageJson } from './package-json.ts'
import { differenceFrom } from './difference.ts'
import type { NpmFacts } from './facts.ts'
import { npm } from './index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'npm-inspect-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const inspect = async (bytes: Buffer): Promise<Inspection<NpmFacts>> => {
  const file = await spoolBytes(folder, 'a.tgz', bytes)
  try {
    return await npm.inspect(file, new AbortController().signal)
  } finally {
    await file.discard()
  }
}
const why = (bytes: Buffer): Promise<string> =>
  inspect(bytes).then(
    ({ identity }) => `taken as ${identity.name}@${identity.version}`,
    (error: unknown) => {
      if (isRefusal(error, 'bad_package')) return error.message
      throw error
    },
  )

const A: NpmSpec = { name: 'a', version: '1.0.0' }
const of = (json: NpmSpec['json'], more: Partial<NpmSpec> = {}): Promise<Inspection<NpmFacts>> =>
  inspect(buildNpm({ ...A, ...(json === undefined ? {} : { json }), ...more }))
const parsed = ({ facts }: Inspection<NpmFacts>): Record<'full' | 'short', Record<string, unknown>> => ({
  full: JSON.parse(facts.full) as Record<string, unknown>,
  short: JSON.parse(facts.short) as Record<string, unknown>,
})

describe('what is read of a tarball', () => {
  test('identity, description, files and both forms of what the registry says', async () => {
    const found = await of(
      {
        author: { name: 'Jo', email: 'jo@ours.example' },
        homepage: 'https://ours.example/a',
        keywords: ['x', 'y'],
        bin: './cli.js',
        engines: { node: '>=20' },
        scripts: { test: 'node --test' },
        dependencies: { b: '^1.0.0' },
        exports: { '.': './index.js' },
        dist: { tarball: 'https://elsewhere.example/a.tgz' },
        deprecated: 'no',
        _resolved: '/home/jo/a',
      },
      { files: { 'index.js': 'x', 'lib/b.js': 'yy' } },
    )
    expect(found.identity).toEqual({ format: 'npm', name: 'a', version: '1.0.0', arch: 'any' })
    expect(found.paths).toEqual(['package.json', 'index.js', 'lib/b.js'])
    expect(found.about).toEqual({
      summary: 'The package a',
      description: 'The package a',
      source: 'a',
      source_version: '1.0.0',
      homepage: 'https://ours.example/a',
      maintainer: 'Jo <jo@ours.example>',
      license: 'MIT',
      installed_size: found.facts.unpackedSize,
      depends: [[{ name: 'b', op: '=', version: '>=1.0.0 <2.0.0-0' }]],
      provides: [{ name: 'a', version: '1.0.0' }],
      conflicts: [],
    })
    expect(found.facts).toMatchObject({ fileCount: 3, keywords: ['x', 'y'] })
    const { full, short } = parsed(found)
    expect(short).toEqual({
      name: 'a',
      version: '1.0.0',
      dependencies: { b: '^1.0.0' },
      bin: { a: 'cli.js' },
      engines: { node: '>=20' },
    })
    expect(full).toMatchObject({ ...short, _id: 'a@1.0.0', exports: { '.': './index.js' }, license: 'MIT' })
    expect(Object.keys(full)).not.toEqual(expect.arrayContaining(['dist']))
    expect(Object.keys(full)).not.toEqual(expect.arrayContaining(['deprecated']))
    expect(Object.keys(full)).not.toEqual(expect.arrayContaining(['_resolved']))
  })

  test.each([
    ['v1.0.0', '1.0.0'],
    ['1.0.0+build.5', '1.0.0'],
    [' 1.0.0 ', '1.0.0'],
    ['1.0.0-rc.1', '1.0.0-rc.1'],
  ])('the version %j is kept as %s', async (version, clean) => {
    expect((await inspect(buildNpm({ name: 'a', version }))).identity.version).toBe(clean)
  })

  test.each(['package', 'a', 'node-v1'])('the folder at the top may be %s', async top => {
    expect((await of({}, { folder: top, files: { 'i.js': 'x' } })).paths).toEqual(['package.json', 'i.js'])
  })

  test('needs: ranges, tags, aliases and peers; neither optional, bundled, nor from an address', async () => {
    const { about } = await of({
      dependencies: {
        range: '~1.2',
        any: '*',
        empty: '',
        tag: 'next',
        alias: 'npm:@real/name@^2.0.0',
        git: 'git+ssh://git@host/x.git',
        short: 'user/repository',
        file: 'file:../x',
        inside: '1.0.0',
        optional: '1.0.0',
      },
      bundleDependencies: ['inside'],
      optionalDependencies: { optional: '1.0.0' },
      peerDependencies: { peer: '>=1', other: '>=1' },
      peerDependenciesMeta: { other: { optional: true } },
      devDependencies: { dev: '1.0.0' },
    })
    expect(about.depends).toEqual([
      [{ name: 'peer', op: '=', version: '>=1.0.0' }],
      [{ name: 'range', op: '=', version: '>=1.2.0 <1.3.0-0' }],
      [{ name: 'any' }],
      [{ name: 'empty' }],
      [{ name: 'tag' }],
      [{ name: '@real/name', op: '=', version: '>=2.0.0 <3.0.0-0' }],
    ])
  })

  test.each([
    [{ scripts: { postinstall: 'node x.js' } }, {}, true],
    [{ scripts: { install: 'node x.js' } }, {}, true],
    [{ scripts: { prepare: 'node x.js', test: 'x' } }, {}, undefined],
    [{ scripts: { postinstall: '' } }, {}, undefined],
    [{}, { 'binding.gyp': '{}' }, true],
    [{ gypfile: false }, { 'binding.gyp': '{}' }, undefined],
    [{}, { 'lib/binding.gyp': '{}' }, undefined],
  ])('whether installing runs a script: %j with %j', async (json, files, expected) => {
    const { full, short } = parsed(await of(json, { files }))
    expect([full['hasInstallScript'], short['hasInstallScript']]).toEqual([expected, expected])
    expect(short).not.toHaveProperty('scripts')
  })

  test('commands from directories.bin, and a shrinkwrap', async () => {
    const { short } = parsed(
      await of({ directories: { bin: './bin' } }, { files: { 'bin/x': '', 'bin/y': '', 'npm-shrinkwrap.json': '{}' } }),
    )
    expect(short).toMatchObject({ bin: { x: 'bin/x', y: 'bin/y' }, _hasShrinkwrap: true })
  })

  test('names that are something else in JavaScript stay names', async () => {
    const text =
      '{"name":"a","version":"1.0.0","dependencies":{"__proto__":"1.0.0","constructor":"1.0.0"},"__proto__":{"polluted":true},"engines":{"__proto__":"x"}}'
    const { facts, about } = await inspect(packNpm([{ name: 'package/package.json', body: text }]))
    expect(facts.full).toContain('"dependencies":{"__proto__":"1.0.0","constructor":"1.0.0"}')
    expect(about.depends).toEqual([[{ name: 'constructor', op: '=', version: '1.0.0' }]])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('what no database holds is taken out of texts for people', async () => {
    const { about } = await of({ description: 'a\u0000b \ud800 c', author: 'J\u0007o' })
    expect([about.description, about.maintainer]).toEqual(['a b \ufffd c', 'J o'])
  })
})

const packageJson = (body: string | Buffer, name = 'package/package.json'): TarSpec => ({ name, body })
const GOOD = npmEntries(A)
const json = (body: string | Buffer): Buffer => packNpm([packageJson(body)])
const deep = (n: number): string => `{"name":"a","version":"1.0.0","x":${'['.repeat(n)}${']'.repeat(n)}}`

describe('hostile tarballs are refused, each with its reason', () => {
  test.each<readonly [string, () => Buffer, RegExp]>([
    ['no gzip', () => Buffer.from('not a package'), /no gzip|damaged/],
    ['no tar', () => gzipSync(Buffer.alloc(1500, 'x')), /not an octal number/],
    ['empty', () => packNpm([]), /has no package\.json/],
    ['bytes behind the gzip', () => Buffer.concat([buildNpm(A), Buffer.from('more')]), /follows|behind/],
    ['two gzips', () => Buffer.concat([buildNpm(A), buildNpm(A)]), /behind/],
    ['an entry behind the end mark', () => gzipSync(Buffer.concat([tar(GOOD), tar(GOOD)])), /behind its end mark/],
    ['no package.json', () => packNpm([{ name: 'package/index.js', body: 'x' }]), /has no package\.json/],
    ['package.json outside a folder', () => packNpm([packageJson('{}', 'package.json')]), /lies in no folder/],
    [
      'package.json in a folder too deep',
      () => packNpm([packageJson('{}', 'package/x/package.json')]),
      /has no package/,
    ],
    [
      'two package.json',
      () => packNpm([...GOOD, ...npmEntries({ ...A, version: '6.6.6' })]),
      /two files package\.json/,
    ],
    [
      './ before the second',
      () => packNpm([...GOOD, packageJson('{}', './package/./package.json')]),
      /two files package/,
    ],
    [
      'PACKAGE.JSON beside it',
      () => packNpm([...GOOD, packageJson('{}', 'package/PACKAGE.JSON')]),
      /two files package/,
    ],
    ['two folders', () => packNpm([...GOOD, packageJson('{}', 'other/package.json')]), /two folders at its top/],
    ['..', () => packNpm([...GOOD, { name: 'package/../../x', body: 'x' }]), /leads out of its folder/],
    ['an absolute name', () => packNpm([...GOOD, { name: '/etc/cron.d/x', body: 'x' }]), /is absolute/],
    ['.. for Windows', () => packNpm([...GOOD, { name: 'package/..\\..\\x', body: 'x' }]), /on Windows/],
    ['a drive of Windows', () => packNpm([...GOOD, { name: 'package/C:/x', body: 'x' }]), /on Windows/],
    [
      '.. in a pax header',
      () => packNpm([...GOOD, pax('path', 'package/../../x'), { name: 'package/y', body: '' }]),
      /leads out/,
    ],
    ['a symlink', () => packNpm([...GOOD, { name: 'package/l', type: '2', link: '/etc/passwd' }]), /is a symlink/],
    [
      'a symlink in place of package.json',
      () => packNpm([{ name: 'package/package.json', type: '2', link: 'x' }]),
      /symlink/,
    ],
    [
      'a hard link',
      () => packNpm([...GOOD, { name: 'package/l', type: '1', link: 'package/package.json' }]),
      /hard link/,
    ],
    ['a device', () => packNpm([...GOOD, { name: 'package/d', type: '3' }]), /is a device/],
    ['a pipe', () => packNpm([...GOOD, { name: 'package/p', type: '6' }]), /is a pipe/],
    [
      'a control character in a name',
      () => packNpm([...GOOD, { name: 'package/a\nb', body: '' }]),
      /control character/,
    ],
    ['a name of 300 bytes', () => packNpm([...GOOD, { name: `package/${'é'.repeat(150)}`, body: '' }]), /255 bytes/],
    ['a name that is no UTF-8', () => packNpm([...GOOD, { name: Buffer.from('package/\xff', 'latin1') }]), /not UTF-8/],
    ['a file below a file', () => packNpm([...GOOD, { name: 'package/package.json/x', body: '' }]), /lies below/],
    ['a size that is not true', () => packNpm([...GOOD, { name: 'package/x', body: 'x', size: 9_999 }]), /cut off/],
    ['a package.json of 5 MB', () => json(`{"x":"${'x'.repeat(5e6)}"}`), /at most 4 MiB/],
    ['no JSON', () => json('name: a'), /it is not JSON/],
    ['a list', () => json('[]'), /not a JSON object/],
    ['no UTF-8', () => json(Buffer.from('{"name":"\xff"}', 'latin1')), /not UTF-8/],
    ['JSON of 100,000 levels', () => json(deep(100_000)), /nested more than 200/],
    ['no name', () => json('{"version":"1.0.0"}'), /has no name/],
    ['a name that is a number', () => json('{"name":1,"version":"1.0.0"}'), /has no name/],
    ['no version', () => json('{"name":"a"}'), /has no version/],
    ['a version that is none', () => json('{"name":"a","version":"latest"}'), /three numbers/],
    ['the name __proto__', () => json('{"name":"__proto__","version":"1.0.0"}'), /is not allowed/],
    ['a name with ..', () => json('{"name":"../../etc","version":"1.0.0"}'), /is not allowed/],
    ['a name in Cyrillic that looks Latin', () => json('{"name":"lоdash","version":"1.0.0"}'), /is not allowed/],
    ['a name of 215 characters', () => json(`{"name":"${'a'.repeat(215)}","version":"1.0.0"}`), /at most 214/],
    ['dependencies as a text', () => json('{"name":"a","version":"1.0.0","dependencies":"b"}'), /no object/],
    ['a dependency on a number', () => json('{"name":"a","version":"1.0.0","dependencies":{"b":1}}'), /no version/],
    [
      'a command outside',
      () => json('{"name":"a","version":"1.0.0","bin":{"x":"../../bin/sh"}}'),
      /outside the package/,
    ],
    ['a command named ..', () => json('{"name":"a","version":"1.0.0","bin":{"..":"x"}}'), /cannot be one/],
  ])('%s', async (_, build, reason) => {
    expect(await why(build())).toMatch(reason)
  })

  test('a bomb of 300,001 files in 2 MB', async () => {
    const entry = tar([{ name: 'package/x', body: '' }]).subarray(0, 512)
    const bomb = gzipSync(Buffer.concat([tar(GOOD).subarray(0, -1024), Buffer.alloc(512 * 300_000, entry)]), {
      level: 1,
    })
    expect(bomb.length).toBeLessThan(2e6)
    expect(await why(bomb)).toMatch(/more than 300000 entries/)
  })
})

describe('the manifest of a request beside that of the tarball', () => {
  const inside = {
    name: 'a',
    version: '1.0.0',
    dependencies: { b: '^1.0.0' },
    scripts: { postinstall: 'node x' },
    bin: 'x.js',
  }
  const compare = (outside: object, json: object = inside, paths: string[] = []): string | undefined =>
    differenceFrom(
      parsePackageJson(Buffer.from(JSON.stringify(json))),
      parsePackageJson(Buffer.from(JSON.stringify(outside))),
      { paths, said: 'the request' },
    )
  test.each<[string, object, object?, string[]?]>([
    ['the same', inside],
    ['what a registry adds', { ...inside, _id: 'a@1.0.0', dist: {}, readme: 'x', description: 'other' }],
    ['one command by its name', { ...inside, bin: { a: './x.js' } }],
    ['other scripts', { ...inside, scripts: { ...inside.scripts, test: 'x' } }],
    ['needs of development', { ...inside, devDependencies: { c: '1' } }],
    [
      'node-gyp said aloud',
      { name: 'a', version: '1.0.0', scripts: { install: 'node-gyp rebuild' }, gypfile: true },
      { name: 'a', version: '1.0.0' },
      ['binding.gyp'],
    ],
    [
      'an optional need that stands among the others, too',
      { name: 'a', version: '1.0.0', dependencies: { o: '1' }, optionalDependencies: { o: '1' } },
      { name: 'a', version: '1.0.0', optionalDependencies: { o: '1' } },
    ],
    ['a version with v', { ...inside, version: 'v1.0.0' }],
  ])('%s is no difference', (_, outside, json, paths) => {
    expect(compare(outside, json, paths)).toBeUndefined()
  })
  test.each<[string, object, string]>([
    ['another name', { ...inside, name: 'b' }, 'the name is "a" in the tarball and "b" in the request'],
    [
      'another version',
      { ...inside, version: '1.0.1' },
      'the version is "1.0.0" in the tarball and "1.0.1" in the request',
    ],
    [
      'a hidden dependency',
      { ...inside, dependencies: {} },
      'dependencies: "b" is "^1.0.0" in the tarball and nothing in the request',
    ],
    [
      'a hidden script',
      { ...inside, scripts: {} },
      'scripts: "postinstall" is "node x" in the tarball and nothing in the request',
    ],
    ['a hidden command', { ...inside, bin: undefined }, 'bin: "a" is "x.js" in the tarball and nothing in the request'],
    [
      'a peer that is not there',
      { ...inside, peerDependencies: { p: '1' } },
      'peerDependencies: "p" is nothing in the tarball and "1" in the request',
    ],
    [
      'a bundle that is not there',
      { ...inside, bundleDependencies: ['b'] },
      'bundleDependencies: "b" is nothing in the tarball and "bundled" in the request',
    ],
  ])('%s is named', (_, outside, said) => {
    expect(compare(outside)).toBe(said)
  })
})
