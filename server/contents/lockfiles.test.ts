import { describe, expect, test } from 'vitest'
import { componentAt } from './component.ts'
import { openFile } from '../../test/support/open-file.ts'
import { lockfileReaders } from './lockfiles.ts'
import type { Reader } from './reader.ts'

const lockfileReader = (path: string): Reader | undefined =>
  lockfileReaders.find(reader => reader.wants(openFile(path, '')))
const purls = async (path: string, text: string): Promise<string[]> =>
  ((await lockfileReader(path)?.read(openFile(path, text)))?.found ?? []).map(found => componentAt(found, path).purl)

describe('lockfiles', () => {
  test('Cargo.lock: the package tables', async () => {
    const text =
      'version = 3\n\n[[package]]\nname = "time"\nversion = "0.1.43"\nsource = "registry"\ndependencies = [\n "libc",\n]\n\n[[package]]\nname = "libc"\nversion = "0.2.1"\n\n[package.extras]\nname = "no"\nversion = "1"\n\n[metadata]\nname = "x"\n'
    expect(await purls('Cargo.lock', text)).toEqual(['pkg:cargo/time@0.1.43', 'pkg:cargo/libc@0.2.1'])
  })
  test('go.mod: requirements in both forms, replaced ones as they are replaced', async () => {
    const text =
      'module example.com/m\n\ngo 1.21\n\nrequire github.com/a/b v1.2.3 // indirect\nrequire (\n\tgolang.org/x/net v0.1.0\n\texample.com/old v1.0.0\n)\nexclude github.com/a/b v1.0.0\nexclude (\n\tgithub.com/a/c v1.0.0\n)\nreplace example.com/old => example.com/new v2.0.0\n'
    expect(await purls('src/go.mod', text)).toEqual([
      'pkg:golang/github.com/a/b@v1.2.3',
      'pkg:golang/golang.org/x/net@v0.1.0',
      'pkg:golang/example.com/new@v2.0.0',
    ])
  })
})

describe('a component', () => {
  const packaged = (path: string): boolean =>
    componentAt({ type: 'x', name: 'a', version: '1', presence: 'shipped', rule: 'r', confidence: 'certain' }, path)
      .packaged === true
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
