import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { dotnetReaders } from './readers.ts'

const read = (path: string, value: unknown) => findings(dotnetReaders, path, JSON.stringify(value))
const names = (path: string, value: unknown) =>
  purls(dotnetReaders, path, typeof value === 'string' ? value : JSON.stringify(value))

const DEPS = {
  runtimeTarget: { name: '.NETCoreApp,Version=v6.0/linux-x64', signature: '' },
  targets: {
    '.NETCoreApp,Version=v6.0': {},
    '.NETCoreApp,Version=v6.0/linux-x64': {
      'app/1.0.0': { runtime: { 'app.dll': {} } },
      'Newtonsoft.Json/12.0.1': { runtime: { 'lib/netstandard2.0/Newtonsoft.Json.dll': {} } },
      'SQLitePCLRaw.lib/2.0.4': { runtimeTargets: { 'runtimes/linux-x64/native/libe_sqlite3.so': {} } },
      'NETStandard.Library/2.0.3': {},
      'System.Placeholder/1.0.0': { runtime: { 'lib/net6.0/_._': {} } },
      'runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/6.0.5': { runtime: { 'System.Private.CoreLib.dll': {} } },
      'Reference/1.0.0': { runtime: { 'Reference.dll': {} } },
    },
  },
  libraries: {
    'app/1.0.0': { type: 'project' },
    'Newtonsoft.Json/12.0.1': { type: 'package' },
    'SQLitePCLRaw.lib/2.0.4': { type: 'package' },
    'NETStandard.Library/2.0.3': { type: 'package' },
    'System.Placeholder/1.0.0': { type: 'package' },
    'runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/6.0.5': { type: 'runtimepack' },
    'Reference/1.0.0': { type: 'reference' },
  },
}

test('deps.json: what a package brings is shipped where its files are; a bundled runtime counts', async () => {
  const shipped = { type: 'nuget', presence: 'shipped', rule: 'dotnet-deps', confidence: 'certain' }
  const compileOnly = {
    type: 'nuget',
    presence: 'declared',
    rule: 'dotnet-deps',
    confidence: 'certain',
    unasked: 'It was needed for compiling only.',
  }
  expect(await read('opt/app/app.deps.json', DEPS)).toEqual([
    {
      ...shipped,
      name: 'Newtonsoft.Json',
      version: '12.0.1',
      needs: ['opt/app/Newtonsoft.Json.dll', 'opt/app/lib/netstandard2.0/Newtonsoft.Json.dll'],
    },
    {
      ...shipped,
      name: 'SQLitePCLRaw.lib',
      version: '2.0.4',
      needs: ['opt/app/libe_sqlite3.so', 'opt/app/runtimes/linux-x64/native/libe_sqlite3.so'],
    },
    { ...compileOnly, name: 'NETStandard.Library', version: '2.0.3' },
    { ...compileOnly, name: 'System.Placeholder', version: '1.0.0' },
    {
      ...shipped,
      name: 'Microsoft.NETCore.App.Runtime.linux-x64',
      version: '6.0.5',
      rule: 'dotnet-runtimepack',
      needs: ['opt/app/System.Private.CoreLib.dll'],
    },
  ])
})
test('a deps.json without a target names what it wants, and one of another shape nothing', async () => {
  expect(
    await names('a.deps.json', { libraries: { 'A/1.0.0': { type: 'package' }, 'B': { type: 'package' } } }),
  ).toEqual(['pkg:nuget/A@1.0.0 declared certain'])
  expect(await read('a.deps.json', { targets: [], libraries: 1, runtimeTarget: [] })).toEqual([])
})

test.each([
  [
    'packages.lock.json',
    {
      version: 1,
      dependencies: {
        'net6.0': {
          A: { type: 'Direct', requested: '[1.0, )', resolved: '1.0.0' },
          B: { type: 'Transitive', resolved: '2.0.0' },
          C: { type: 'Project' },
        },
      },
    },
    ['pkg:nuget/A@1.0.0 declared certain', 'pkg:nuget/B@2.0.0 declared certain'],
  ],
  [
    'packages.config',
    '<packages>\n  <package id="A" version="1.0.0" targetFramework="net45" />\n  <package version="2.0.0" id="B" developmentDependency="true"/>\n</packages>',
    ['pkg:nuget/A@1.0.0 declared certain', 'pkg:nuget/B@2.0.0 declared certain: It is wanted for development only.'],
  ],
  [
    'obj/project.assets.json',
    { libraries: { 'A/1.0.0': { type: 'package' }, 'me/1.0.0': { type: 'project' } } },
    ['pkg:nuget/A@1.0.0 declared certain'],
  ],
  [
    'app.runtimeconfig.json',
    { runtimeOptions: { framework: { name: 'Microsoft.NETCore.App', version: '6.0.0' } } },
    ['pkg:nuget/Microsoft.NETCore.App@6.0.0 declared certain'],
  ],
  [
    'app.runtimeconfig.json',
    { runtimeOptions: { includedFrameworks: [{ name: 'Microsoft.NETCore.App', version: '6.0.5' }] } },
    ['pkg:nuget/Microsoft.NETCore.App@6.0.5 declared certain'],
  ],
  [
    'A.1.0.0.nupkg!/A.nuspec',
    '<package><metadata>\n<id>A</id>\n<version>1.0.0</version>\n<dependencies><dependency id="B" version="2"/></dependencies></metadata></package>',
    ['pkg:nuget/A@1.0.0 shipped certain'],
  ],
])('%s', async (path, content, expected) => {
  expect(await names(`opt/app/${path}`, content)).toEqual(expected)
})

test('hostile text is read in time', async () => {
  for (const line of ['<package '.repeat(220), '<id>'.repeat(490), `<package ${'id='.repeat(600)}`]) {
    const text = `${line}\n`.repeat(8000)
    expect(await names('packages.config', text)).toEqual([])
    expect(await names('a.nupkg!/a.nuspec', text.slice(0, 2 ** 20))).toEqual([])
  }
}, 10_000)
