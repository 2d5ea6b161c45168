import { describe, expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { npmReaders } from './readers.ts'

const read = (path: string, text: string | Buffer) => findings(npmReaders, path, text)
const names = (path: string, text: string) => purls(npmReaders, path, text)
const json = JSON.stringify

describe('an installed package.json', () => {
  const lodash = json({ name: 'lodash', version: '4.17.15' })
  test.each([
    'node_modules/lodash/package.json',
    'opt/app/node_modules/alias/package.json',
    'opt/app/node_modules/.pnpm/lodash@4.17.15/node_modules/lodash/package.json',
    'opt/app/app.asar!/node_modules/lodash/package.json',
    'usr/share/nodejs/lodash/package.json',
    'usr/lib/nodejs/lodash/package.json',
    'opt/app/lodash-4.17.15.tgz!/package/package.json',
    'opt/app/lodash-4.17.15.tar!/package/package.json',
  ])('%s is the package itself', async path => {
    expect(await read(path, lodash)).toEqual([
      {
        type: 'npm',
        name: 'lodash',
        version: '4.17.15',
        presence: 'shipped',
        rule: 'npm-package-json',
        confidence: 'certain',
      },
    ])
  })
  test.each([
    'opt/app/test/fixtures/a/package.json',
    'opt/app/node_modules/lodash/test/fixtures/package.json',
    'opt/app/node_modules/lodash/dist/esm/package.json',
    'opt/app/node_modules/@s/package.json',
    'opt/app/package.json.orig',
  ])('%s is not read', async path => {
    expect(await read(path, lodash)).toBe('not wanted')
  })
  test('with a scope', async () => {
    expect(
      await names('node_modules/@babel/core/package.json', json({ name: '@babel/core', version: '7.0.0' })),
    ).toEqual(['pkg:npm/%40babel/core@7.0.0 shipped certain'])
  })
  test.each([
    { type: 'module' },
    { name: 'a' },
    { version: '1.0.0' },
    { name: 'a b', version: '1.0.0' },
    { name: 1, version: 2 },
  ])('%j names nothing', async content => {
    expect(await read('node_modules/a/package.json', json(content))).toEqual([])
  })
  test('a private one is listed and not asked about', async () => {
    expect(
      await read('node_modules/a/package.json', json({ name: 'a', version: '1.0.0', private: true })),
    ).toMatchObject([{ name: 'a', unasked: 'It is marked private: no registry has it.' }])
  })
  test('a damaged one is told, not skipped', async () => {
    await expect(read('node_modules/a/package.json', '{"name":')).rejects.toThrow('it is not JSON')
  })
})

describe('a package.json elsewhere', () => {
  const lodash = { name: 'lodash', version: '4.17.15' }
  test.each([
    [{ license: 'MIT', repository: 'lodash/lodash' }, 'pkg:npm/lodash@4.17.15 shipped probable'],
    [{ licenses: [{ type: 'MIT' }], repository: { type: 'git', url: 'x' } }, 'pkg:npm/lodash@4.17.15 shipped probable'],
    [
      { license: 'MIT' },
      'pkg:npm/lodash@4.17.15 shipped probable: It does not lie where npm installs, and does not say where it was published from.',
    ],
    [
      { license: 'MIT', repository: 'a/b', private: true },
      'pkg:npm/lodash@4.17.15 shipped probable: It is marked private: no registry has it.',
    ],
  ])('with %j', async (about, expected) => {
    for (const path of ['opt/app/vendor/lodash/package.json', 'package.json', 'opt/app/app.asar!/package.json'])
      expect(await names(path, json({ ...lodash, ...about }))).toEqual([expected])
  })
})

describe('a script that says in its first comment what it is', () => {
  test.each([
    ['/*! jQuery v1.12.4 | (c) jQuery Foundation */', 'pkg:npm/jquery@1.12.4'],
    ['/*!\n * jQuery JavaScript Library v3.4.1\n * https://jquery.com/', 'pkg:npm/jquery@3.4.1'],
    ['/*!\n * Bootstrap v3.3.7 (http://getbootstrap.com)', 'pkg:npm/bootstrap@3.3.7'],
    ['/**\n * @license AngularJS v1.6.0', 'pkg:npm/angularjs@1.6.0'],
    ['/*! Moment.js, version 2.29.1\n', 'pkg:npm/moment@2.29.1'],
    ['/*! Vue.js v2.6.14\n', 'pkg:npm/vue@2.6.14'],
  ])('%j is listed', async (text, purl) => {
    expect(await names('usr/share/app/static/a.min.js', text)).toEqual([
      `${purl} shipped probable: Only a comment in the script says so: what the rest of it holds is not known.`,
    ])
  })
  test.each([
    '// jQuery v1.12.4',
    'var a = "/*! jQuery v1.12.4 */"',
    '/* build 1.2.3 of tomorrow 1 */',
    '/*! a v1.2.3.4',
  ])('%j is not', async text => {
    expect(await read('usr/share/app/a.js', text)).toBe('not wanted')
  })
})

describe('package-lock.json', () => {
  test('lockfileVersion 2 and 3: packages by path, aliases by name, neither links nor the project', async () => {
    const packages = {
      '': { name: 'app', version: '1.0.0' },
      'node_modules/lodash': { version: '4.17.20' },
      'node_modules/@babel/core': { version: '7.0.0', dev: true },
      'node_modules/a/node_modules/lodash': { version: '3.0.0' },
      'node_modules/mine': { link: true, resolved: 'packages/mine', version: '9.9.9' },
      'packages/mine': { version: '9.9.9' },
      'packages/mine/node_modules/b': { version: '1.0.0' },
      'node_modules/alias': { name: 'real', version: '1.2.3' },
      'node_modules/fork': { version: '2.0.0', resolved: 'git+ssh://git@host/fork.git#abc' },
    }
    const text = json({ lockfileVersion: 3, packages, dependencies: { no: { version: '1.0.0' } } })
    expect(await names('opt/app/package-lock.json', text)).toEqual([
      'pkg:npm/lodash@4.17.20 declared certain',
      'pkg:npm/%40babel/core@7.0.0 declared certain: It is wanted for development only.',
      'pkg:npm/lodash@3.0.0 declared certain',
      'pkg:npm/b@1.0.0 declared certain',
      'pkg:npm/real@1.2.3 declared certain',
      'pkg:npm/fork@2.0.0 declared probable',
    ])
  })
  test('lockfileVersion 1: a tree, with npm 6 aliases', async () => {
    const text = json({
      lockfileVersion: 1,
      dependencies: {
        a: { version: '1.0.0', dependencies: { b: { version: '2.0.0', dev: true } } },
        alias: { version: 'npm:minimist@1.2.0' },
        scoped: { version: 'npm:@s/n@1.0.0' },
        c: { version: 'file:../c' },
        d: { version: 'git+https://host/d.git#abc' },
      },
    })
    expect(await names('npm-shrinkwrap.json', text)).toEqual([
      'pkg:npm/a@1.0.0 declared certain',
      'pkg:npm/b@2.0.0 declared certain: It is wanted for development only.',
      'pkg:npm/minimist@1.2.0 declared certain',
      'pkg:npm/%40s/n@1.0.0 declared certain',
      'pkg:npm/d declared certain: It comes from an address and names no release.',
    ])
  })
  test('what npm installed is shipped where its folder is there', async () => {
    const text = json({ packages: { 'node_modules/a/node_modules/b': { version: '1.0.0' } } })
    expect(await read('opt/app/node_modules/.package-lock.json', text)).toEqual([
      {
        type: 'npm',
        name: 'b',
        version: '1.0.0',
        presence: 'shipped',
        rule: 'npm-hidden-lock',
        confidence: 'certain',
        needs: ['opt/app/node_modules/a/node_modules/b'],
      },
    ])
    expect(await read('node_modules/.package-lock.json', text)).toMatchObject([
      { needs: ['node_modules/a/node_modules/b'] },
    ])
  })
  test('a deep tree is refused', async () => {
    const deep = `{"dependencies":${'{"a":{"dependencies":'.repeat(5000)}{}${'}}'.repeat(5000)}}`
    await expect(names('package-lock.json', deep)).rejects.toThrow('nested more than 200 deep')
  })
})

describe('pnpm-lock.yaml', () => {
  test.each([
    [
      '5',
      '/lodash/4.17.15',
      '/@babel/core/7.0.0_react@16.0.0',
      '/minimist/1.2.0',
      'registry.example/my_name/1.0.0_a+b@1',
    ],
    ['6', '/lodash@4.17.15', '/@babel/core@7.0.0(react@16.0.0)', '/minimist@1.2.0', '/my_name@1.0.0(@a/b@1)(c@2)'],
    ['9', 'lodash@4.17.15', "'@babel/core@7.0.0'", 'minimist@1.2.0', 'my_name@1.0.0'],
  ])('version %s', async (version, lodash, core, minimist, other) => {
    const text = [
      `lockfileVersion: ${version}`,
      'dependencies:',
      `  alias: ${minimist}`,
      '  no: 9.9.9',
      'packages:',
      '',
      `  ${lodash}:`,
      '    resolution: {integrity: x}',
      '    version: 9.9.9',
      '    dev: true',
      `  ${core}:`,
      '    dependencies:',
      '      version: 8.8.8',
      `  ${minimist}: {}`,
      `  ? ${other}`,
      '  :',
      '    dev: false',
      '  /file:no@1.0.0:',
      '  github.com/u/fork/abcdef:',
      '    name: fork',
      '    version: 2.0.0',
      '  gone@https://codeload.github.com/u/gone/tar.gz/abc:',
      '    version: 3.0.0',
      'snapshots:',
      '  no@1.0.0: {}',
    ].join('\n')
    expect(await names('pnpm-lock.yaml', text.replace('  /file:no', '  file:no'))).toEqual([
      'pkg:npm/lodash@4.17.15 declared certain: It is wanted for development only.',
      'pkg:npm/%40babel/core@7.0.0 declared certain',
      'pkg:npm/minimist@1.2.0 declared certain',
      'pkg:npm/my_name@1.0.0 declared certain',
      'pkg:npm/fork@2.0.0 declared probable',
      'pkg:npm/gone@3.0.0 declared probable',
    ])
  })
})

describe('yarn.lock', () => {
  test('version 1', async () => {
    const text = [
      '# yarn lockfile v1',
      '"@a/b@^1.0.0", "@a/b@^1.1":',
      '  version "1.2.0"',
      '  dependencies:',
      '    version "9"',
      'lodash@4, lodash@^4.17.15:',
      '  version "4.17.21"',
      '"alias@npm:minimist@1.2.0":',
      '  version "1.2.0"',
      '"alias2@npm:@s/n@^1":',
      '  version "1.5.0"',
      '"fork@https://host/fork.git":',
      '  version "2.0.0"',
      'branch@user/branch:',
      '  version "3.0.0"',
      '"mine@link:../mine":',
      '  version "0.0.0"',
    ].join('\n')
    expect(await names('yarn.lock', text)).toEqual([
      'pkg:npm/%40a/b@1.2.0 declared certain',
      'pkg:npm/lodash@4.17.21 declared certain',
      'pkg:npm/minimist@1.2.0 declared certain',
      'pkg:npm/%40s/n@1.5.0 declared certain',
      'pkg:npm/fork@2.0.0 declared probable',
      'pkg:npm/branch@3.0.0 declared probable',
    ])
  })
  test('since version 2 the resolution has the name', async () => {
    const entry = (key: string, version: string, resolution: string): string =>
      `"${key}":\n  version: ${version}\n  resolution: "${resolution}"\n  dependencies:\n    version: "npm:^1"\n`
    const text = [
      '__metadata:\n  version: 8\n',
      entry('lodash@npm:^4, lodash@npm:^4.1', '4.17.21', 'lodash@npm:4.17.21'),
      entry('alias@npm:minimist@1.2.0', '1.2.0', 'minimist@npm:1.2.0'),
      entry('ts@patch:x', '4.9.5', 'typescript@patch:typescript@npm%3A4.9.5#x::version=4.9.5'),
      entry('fork@x', '2.0.0', 'fork@https://host/fork.git#commit=abc'),
      entry('app@workspace:.', '0.0.0-use.local', 'app@workspace:.'),
    ].join('\n')
    expect(await names('yarn.lock', text)).toEqual([
      'pkg:npm/lodash@4.17.21 declared certain',
      'pkg:npm/minimist@1.2.0 declared certain',
      'pkg:npm/typescript@4.9.5 declared certain',
      'pkg:npm/fork@2.0.0 declared probable',
    ])
  })
})

describe('bun', () => {
  test('bun.lock', async () => {
    const text = `{
      "workspaces": { "": { "name": "app", }, },
      "packages": {
        "@a/b": ["@a/b@1.0.0", "", {}, "sha512-x"],
        "alias": ["minimist@1.2.0", "", {}, "sha512-x"],
        "git": ["git@github:u/git#abc", {}, "x"],
        "mine": ["mine@workspace:packages/mine"],
      },
    }`
    expect(await names('bun.lock', text)).toEqual([
      'pkg:npm/%40a/b@1.0.0 declared certain',
      'pkg:npm/minimist@1.2.0 declared certain',
      'pkg:npm/git declared certain: It comes from an address and names no release.',
    ])
  })
  test('bun.lockb is named as not opened', async () => {
    const [reader] = npmReaders.filter(({ id }) => id === 'bun-lockb')
    const file = { path: 'opt/app/bun.lockb', size: 9, head: Buffer.alloc(9) }
    expect(reader?.wants(file)).toBe(true)
    expect(await read('opt/app/bun.lockb', '#!/usr/bin/env bun\n')).toEqual({
      found: [],
      unopened: [{ path: 'opt/app/bun.lockb', size: 19, why: 'It is a binary lock file of bun, which is not read.' }],
    })
  })
})

test.each(['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb'])(
  'a %s inside a dependency is not read: its authors wanted that, nobody installed it',
  async name => {
    expect(await read(`opt/app/node_modules/uri-js/${name}`, '{}')).toBe('not wanted')
    expect(await read(`usr/share/nodejs/uri-js/${name}`, '{}')).toBe('not wanted')
  },
)

test('hostile text is read in time', async () => {
  for (const line of ['a@'.repeat(1000), `  ${'/'.repeat(1990)}:`, `"${'@'.repeat(1990)}`, ' '.repeat(1990)]) {
    const text = `packages:\n${`${line}\n`.repeat(8000)}`
    for (const path of ['yarn.lock', 'pnpm-lock.yaml']) expect(await names(path, text)).toEqual([])
  }
}, 10_000)
