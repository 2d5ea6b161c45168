import { describe, expect, test } from 'vitest'
import { componentAt } from './component.ts'
import { lockfileReader } from './lockfiles.ts'

const purls = (path: string, text: string): string[] =>
  (lockfileReader(path)?.(text, path) ?? []).map(found => componentAt(found, path).purl)

describe('lockfiles', () => {
  test('package-lock.json of npm 7: packages by path, aliases by their name, no links, not the project itself', () => {
    const text = JSON.stringify({
      lockfileVersion: 3,
      packages: {
        '': { name: 'app', version: '1.0.0' },
        'node_modules/lodash': { version: '4.17.20' },
        'node_modules/@babel/core': { version: '7.0.0' },
        'node_modules/a/node_modules/lodash': { version: '3.0.0' },
        'node_modules/mine': { link: true, resolved: 'packages/mine' },
        'packages/mine': { version: '9.9.9' },
        'node_modules/alias': { name: 'real', version: '1.2.3' },
        'node_modules/git': { version: 'git+ssh://git@x/y' },
      },
    })
    expect(purls('opt/app/package-lock.json', text)).toEqual([
      'pkg:npm/lodash@4.17.20',
      'pkg:npm/%40babel/core@7.0.0',
      'pkg:npm/lodash@3.0.0',
      'pkg:npm/real@1.2.3',
    ])
  })
  test('package-lock.json of npm 6: a tree', () => {
    const text = JSON.stringify({
      lockfileVersion: 1,
      dependencies: { a: { version: '1.0.0', dependencies: { b: { version: '2.0.0' } } }, c: { version: 'file:../c' } },
    })
    expect(purls('npm-shrinkwrap.json', text)).toEqual(['pkg:npm/a@1.0.0', 'pkg:npm/b@2.0.0'])
  })
  test('an installed package.json counts below node_modules only', () => {
    const text = JSON.stringify({ name: '@s/n', version: '1.0.0' })
    expect(purls('usr/lib/node_modules/@s/n/package.json', text)).toEqual(['pkg:npm/%40s/n@1.0.0'])
    expect(lockfileReader('usr/lib/node_modules/@s/n/src/package.json')).toBeUndefined()
    expect(lockfileReader('opt/app/package.json')).toBeUndefined()
  })
  test('yarn.lock, old and new', () => {
    expect(
      purls(
        'yarn.lock',
        '# yarn\n"@a/b@^1.0.0", "@a/b@^1.1":\n  version "1.2.0"\n  dependencies:\n    version "9"\nlodash@4:\n  version "4.17.21"\n',
      ),
    ).toEqual(['pkg:npm/%40a/b@1.2.0', 'pkg:npm/lodash@4.17.21'])
    expect(purls('yarn.lock', '__metadata:\n  version: 6\n\n"lodash@npm:^4.0.0":\n  version: 4.17.21\n')).toEqual([
      'pkg:npm/lodash@4.17.21',
    ])
  })
  test('requirements.txt: what is pinned, with markers, hashes and extras', () => {
    const text = [
      'requests==2.19.0',
      'Flask [async] == 1.0 ; python_version > "3"',
      'a>=1',
      'b',
      '# c==1',
      '-r x.txt',
      'd==1.*',
      'e==1.0 --hash=sha256:aa',
      'f==2.0 \\',
      'g @ https://x',
      'h==1.0,<2',
    ].join('\n')
    expect(purls('srv/requirements-prod.txt', text)).toEqual([
      'pkg:pypi/requests@2.19.0',
      'pkg:pypi/flask@1.0',
      'pkg:pypi/e@1.0',
      'pkg:pypi/f@2.0',
    ])
  })
  test('METADATA and PKG-INFO: headers only', () => {
    const text = 'Metadata-Version: 2.1\nName: Zope.Interface\nVersion: 5.4.0\n\nName: not-this\nVersion: 1\n'
    expect(purls('usr/lib/python3/dist-packages/zope.interface-5.4.0.dist-info/METADATA', text)).toEqual([
      'pkg:pypi/zope-interface@5.4.0',
    ])
    expect(purls('usr/lib/python3/dist-packages/z.egg-info', text)).toEqual(['pkg:pypi/zope-interface@5.4.0'])
    expect(purls('x.dist-info/METADATA', 'Name: a\nVersion: 1\n')).toEqual([])
  })
  test('Cargo.lock and poetry.lock: the package tables', () => {
    const text =
      'version = 3\n\n[[package]]\nname = "time"\nversion = "0.1.43"\nsource = "registry"\ndependencies = [\n "libc",\n]\n\n[[package]]\nname = "libc"\nversion = "0.2.1"\n\n[package.extras]\nname = "no"\nversion = "1"\n\n[metadata]\nname = "x"\n'
    expect(purls('Cargo.lock', text)).toEqual(['pkg:cargo/time@0.1.43', 'pkg:cargo/libc@0.2.1'])
    expect(purls('poetry.lock', text)).toEqual(['pkg:pypi/time@0.1.43', 'pkg:pypi/libc@0.2.1'])
  })
  test('go.mod: requirements in both forms, replaced ones as they are replaced', () => {
    const text =
      'module example.com/m\n\ngo 1.21\n\nrequire github.com/a/b v1.2.3 // indirect\nrequire (\n\tgolang.org/x/net v0.1.0\n\texample.com/old v1.0.0\n)\nexclude github.com/a/b v1.0.0\nexclude (\n\tgithub.com/a/c v1.0.0\n)\nreplace example.com/old => example.com/new v2.0.0\n'
    expect(purls('src/go.mod', text)).toEqual([
      'pkg:golang/github.com/a/b@v1.2.3',
      'pkg:golang/golang.org/x/net@v0.1.0',
      'pkg:golang/example.com/new@v2.0.0',
    ])
  })
  test('long lines and deep trees are bounded', () => {
    expect(purls('requirements.txt', `a${' '.repeat(2_000_000)}==1\nb==2`)).toEqual(['pkg:pypi/b@2'])
    expect(() =>
      purls('package-lock.json', `{"dependencies":${'{"a":{"dependencies":'.repeat(5000)}{}${'}}'.repeat(5000)}}`),
    ).toThrow('nested more than 100 deep')
  })
  test.each(['package-lock.json', 'usr/lib/node_modules/a/package.json'])(
    '%s that is no JSON is told, not skipped',
    path => {
      expect(() => purls(path, '{"a":')).toThrow('it is not JSON')
    },
  )
})

describe('a component', () => {
  const packaged = (path: string): boolean =>
    componentAt({ type: 'x', name: 'a', version: '1' }, path).packaged === true
  test.each([
    ['usr/lib/python3/dist-packages/requests-2.28.1.dist-info/METADATA', true],
    ['usr/lib/python3.12/site-packages/a-1.dist-info/METADATA', true],
    ['usr/lib/python3/dist-packages/setuptools/_vendor/a-1.dist-info/METADATA', false],
    ['opt/app/venv/lib/python3.11/site-packages/a-1.dist-info/METADATA', false],
    ['usr/share/java/log4j.jar!/META-INF/maven/g/a/pom.properties', true],
    ['usr/share/java/fat.jar!/lib/in.jar!/META-INF/maven/g/a/pom.properties', false],
    ['opt/x/log4j.jar!/META-INF/maven/g/a/pom.properties', false],
    ['usr/share/nodejs/lodash/package.json', true],
    ['usr/lib/node_modules/npm/node_modules/a/package.json', false],
  ])('%s is packaged by the distribution: %s', (path, expected) => expect(packaged(path)).toBe(expected))
})
