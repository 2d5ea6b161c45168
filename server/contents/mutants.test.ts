import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mutate } from '../../test/support/mutate.ts'
import { createRandom } from '../../test/support/random.ts'
import { buildRpm, CPIO_END, cpioEntry } from '../../test/support/packages-rpm.ts'
import { buildDeb, compress, tar } from '../../test/support/packages.ts'
import { buildZip } from '../../test/support/zip.ts'
import { Malformed } from '../lib/limited.ts'
import type { OpenFile, Reader, Room, Unpacker } from './reader.ts'
import { READERS } from './readers.ts'
import { createRoom, Spent } from './room.ts'
import { UNPACKERS } from './unpackers.ts'
import { walk } from './walk.ts'

/*
 * Damaged files of all kinds, the same on every run. The real artefacts of each ecosystem were damaged in the same way
 * when the readers were written; these are built from the formats' rules.
 */
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-mutants-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const POM =
  '<project><groupId>g</groupId><artifactId>a</artifactId><version>1</version><dependencies><dependency><groupId>g</groupId><artifactId>b</artifactId><version>2</version></dependency></dependencies></project>'
const pom = { name: 'META-INF/maven/g/a/pom.properties', body: 'groupId=g\nartifactId=a\nversion=1\n' }
const manifest = { name: 'META-INF/MANIFEST.MF', body: 'Manifest-Version: 1.0\nBundle-SymbolicName: a.b\n' }
const jar = buildZip([manifest, pom, { name: 'META-INF/maven/g/a/pom.xml', body: POM, stored: true }])

const TEXTS: Readonly<Record<string, string>> = {
  'package-lock.json': '{"lockfileVersion":3,"packages":{"node_modules/a":{"version":"1.0.0"}}}',
  'yarn.lock': '# yarn lockfile v1\n\na@^1.0.0:\n  version "1.0.0"\n  resolved "https://r.example/a-1.0.0.tgz"\n',
  'pnpm-lock.yaml':
    "lockfileVersion: '9.0'\npackages:\n  a@1.0.0:\n    resolution: {integrity: x}\nsnapshots:\n  a@1.0.0: {}\n",
  'bun.lock': '{"lockfileVersion":1,"packages":{"a":["a@1.0.0","",{},"x"],}}',
  'node_modules/a/package.json': '{"name":"a","version":"1.0.0","license":"MIT"}',
  'requirements.txt': 'a==1.0 ; python_version < "4"\nb[c]==2 \\\n --hash=sha256:x\n',
  'poetry.lock': '[[package]]\nname = "a"\nversion = "1.0"\n\n[[package]]\nname = "b"\nversion = "2"\n',
  'Pipfile.lock': '{"default":{"a":{"version":"==1.0"}}}',
  'site-packages/a-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: a\nVersion: 1\n\nText\n',
  'conda-meta/a-1-0.json': '{"name":"a","version":"1","build":"0"}',
  'pom.xml': POM,
  'specifications/a-1.gemspec': 'Gem::Specification.new do |s|\n  s.name = "a".freeze\n  s.version = "1"\nend\n',
  'Gemfile.lock':
    'GEM\n  remote: https://r.example/\n  specs:\n    a (1.0)\n      b (>= 1)\n    b (2.0-x86_64-linux)\n',
  'composer.lock': '{"packages":[{"name":"a/b","version":"v1.0"}]}',
  'vendor/composer/installed.php': "<?php return array('versions' => array('a/b' => array('version' => '1.0.0.0')));",
  'a.deps.json': '{"targets":{"n":{"A/1.0":{"runtime":{"a.dll":{}}}}},"libraries":{"A/1.0":{"type":"package"}}}',
  'packages.config': '<?xml version="1.0"?><packages><package id="a" version="1"/></packages>',
  'ebin/a.app': '{application, a, [{description,"x"},{vsn,"1.0"}]}.\n',
  'mix.lock': '%{\n  "a": {:hex, :a, "1.0.0", "x", [:mix], [], "hexpm", "y"},\n}\n',
  'rebar.lock': '{"1.2.0",\n[{<<"a">>,{pkg,<<"a">>,<<"2.0.0">>},0}]}.\n',
  'R/library/a/DESCRIPTION': 'Package: a\nVersion: 1\nBuilt: R 4.2.2\n',
  'go.mod': 'module x\n\nrequire (\n\ta.example/b v1.0.0 // indirect\n)\n\nreplace a.example/b => ./c\n',
  'vendor/modules.txt': '# a.example/b v0.1.0\n## explicit\na.example/b/c\n',
  'Cargo.lock': 'version = 3\n\n[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "registry+https://r.example"\n',
  'pubspec.lock': 'packages:\n  a:\n    source: hosted\n    version: "1.0.0"\n',
  'Package.resolved':
    '{"pins":[{"identity":"a","location":"https://r.example/a","state":{"version":"1.0"}}],"version":2}',
  'stack.yaml.lock': 'packages:\n- completed:\n    hackage: a-1.0@sha256:x,1\n',
  'cabal.project.freeze': 'constraints: any.a ==1.0,\n             any.b ==2\n',
  '.github/workflows/x.yml': 'jobs:\n  a:\n    steps:\n    - uses: actions/checkout@v4\n',
  'Podfile.lock': 'PODS:\n  - A (1.0):\n    - B (= 2)\n',
  'gradle.lockfile': 'g:a:1.0=compileClasspath\nempty=\n',
  'bom.json':
    '{"bomFormat":"CycloneDX","components":[{"type":"library","name":"a","version":"1","purl":"pkg:npm/a@1"}]}',
  'bom.xml':
    '<?xml version="1.0"?><bom xmlns="http://cyclonedx.org/schema/bom/1.4"><components><component type="library"><name>a</name><version>1</version></component></components></bom>',
  'a.spdx': 'SPDXVersion: SPDX-2.2\nPackageName: a\nPackageVersion: 1\n',
  'a.spdx.json': '{"spdxVersion":"SPDX-2.3","packages":[{"name":"a","versionInfo":"1"}]}',
  'release': 'JAVA_VERSION="17.0.1"\nIMPLEMENTOR="x"\n',
}

async function artefacts(): Promise<(readonly [path: string, bytes: Buffer])[]> {
  const list = Buffer.from('{"files":{"package.json":{"size":30,"offset":"0"}}}\0')
  const asar = Buffer.alloc(16 + list.length + 30, ' ')
  ;[4, list.length + 8, list.length + 4, list.length - 1].forEach((n, at) => asar.writeUInt32LE(n, at * 4))
  list.copy(asar, 16)
  asar.write('{"name":"a","version":"1.0"}', 16 + list.length)
  const plain = tar([{ name: 'a/Cargo.lock', body: TEXTS['Cargo.lock'] ?? '' }])
  const packs = ['gz', 'xz', 'zst'] as const
  return [
    ...Object.entries(TEXTS).map(([name, text]) => [`opt/${name}`, Buffer.from(text)] as const),
    ...(await Promise.all(packs.map(async pack => [`opt/a.tar.${pack}`, await compress(plain, pack)] as const))),
    ['opt/a.jar', jar],
    ['opt/fat.jar', buildZip([{ name: 'lib/a.jar', body: jar, stored: true }])],
    ['opt/a.asar', asar],
    ['opt/a.tar', plain],
    ['opt/a.cpio', Buffer.concat([cpioEntry({ name: 'x', mode: 0o100644, body: jar, ino: 1 }), CPIO_END])],
    ['opt/a.deb', await buildDeb({ name: 'app', version: '1', files: { 'opt/a.jar': jar } })],
    ['opt/a.rpm', await buildRpm({ name: 'app', version: '1', release: '1', files: { 'opt/a.jar': jar } })],
    ['opt/a.bin.zst', zstdCompressSync(jar)],
    ['opt/a.bin.br', brotliCompressSync(jar)],
    ['opt/a.gem', tar([{ name: 'metadata.gz', body: gzipSync('--- !ruby/object:Gem::Specification\nname: a\n') }])],
  ]
}

test('damaged files of every kind are read or refused as damaged, and nothing else happens', async () => {
  const faults: string[] = []
  const watched = (id: string, error: unknown): never => {
    if (!(error instanceof Malformed || error instanceof Spent)) faults.push(`${id}: ${String(error)}`)
    throw error
  }
  const readers = READERS.map((reader): Reader => ({
    ...reader,
    read: file => reader.read(file).catch(error => watched(reader.id, error)),
  }))
  const unpackers = UNPACKERS.map((unpacker): Unpacker => ({
    ...unpacker,
    async *files(file: OpenFile, room: Room) {
      try {
        yield* unpacker.files(file, room)
      } catch (error) {
        watched(unpacker.id, error)
      }
    },
  }))
  const look = (path: string, bytes: Buffer) => {
    async function* streams() {
      const body = tar([{ name: `./${path}`, body: bytes }])
      yield {
        name: 'data.tar',
        open: async function* () {
          yield body
        },
      }
    }
    const signal = new AbortController().signal
    return walk(streams(), { readers, unpackers, room: createRoom(folder), signal })
  }
  const random = createRandom(11)
  const silent: string[] = []
  for (const [path, bytes] of await artefacts()) {
    const sound = await look(path, bytes)
    if (sound.unopened.length > 0 || sound.cut !== undefined) faults.push(`${path}: ${JSON.stringify(sound)}`)
    for (let n = 0; n < 40; n++) await look(path, mutate(bytes, random))
    // an archive without its end must not pass for a whole one
    const { components, unopened } = await look(path, bytes.subarray(0, Math.floor(bytes.length * 0.6)))
    if (path.slice(4) in TEXTS || components.length >= sound.components.length || unopened.length > 0) continue
    silent.push(path)
  }
  expect({ faults, silent }).toEqual({ faults: [], silent: [] })
})
