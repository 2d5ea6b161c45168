import { describe, expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { sbomFileReaders } from './readers.ts'

const read = (path: string, text: string) => findings(sbomFileReaders, path, text)
const names = (path: string, value: unknown) =>
  purls(sbomFileReaders, path, typeof value === 'string' ? value : JSON.stringify(value))

const CYCLONEDX = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  metadata: {
    component: { type: 'library', name: 'cryptography', version: '42.0', purl: 'pkg:pypi/cryptography@42.0' },
  },
  components: [
    {
      type: 'library',
      name: 'openssl',
      version: '3.0.2',
      purl: 'pkg:generic/openssl@3.0.2?download_url=https://x/openssl.tar.gz',
    },
    {
      type: 'library',
      name: 'libXau',
      purl: 'pkg:rpm/almalinux/libXau@1.0.9-3.el8?arch=x86_64',
      components: [{ type: 'library', group: 'org.x', name: 'inner', version: '1' }],
    },
    { type: 'library', name: 'own', version: '1', purl: 'pkg:cargo/own@1?download_url=file:///src/own' },
    { type: 'library', name: 'test', version: '1', purl: 'pkg:npm/test@1', scope: 'excluded' },
    { type: 'file', name: '/usr/bin/x' },
    { type: 'library', name: 'unknown' },
    'not a component',
  ],
}
const EXPECTED = [
  'pkg:pypi/cryptography@42.0 shipped certain',
  'pkg:generic/openssl@3.0.2 shipped certain',
  'pkg:rpm/almalinux/libXau@1.0.9-3.el8?arch=x86_64 shipped certain',
  'pkg:generic/org.x/inner@1 shipped certain',
  'pkg:npm/test@1 declared certain: The bill of materials says that it is not shipped.',
  'pkg:generic/unknown shipped certain',
]

describe('CycloneDX', () => {
  test.each([
    'site-packages/cryptography-42.0.dist-info/sboms/auditwheel.cdx.json',
    'site-packages/cryptography-42.0.dist-info/sboms/rust.json',
    'lib.jar!/META-INF/sbom/application.cdx.json',
    'opt/app/bom.json',
    'opt/app/SBOM.json',
    'opt/app/anything.json',
  ])('%s', async path => {
    expect(await names(path, CYCLONEDX)).toEqual(EXPECTED)
  })
  test('as XML, also with a prefix', async () => {
    const xml = (p: string): string => `<?xml version="1.0"?>
<${p}bom xmlns="http://cyclonedx.org/schema/bom/1.4"><${p}metadata><${p}component type="library"><${p}name>cryptography</${p}name><${p}purl>pkg:pypi/cryptography@42.0</${p}purl></${p}component></${p}metadata>
<${p}components>
<${p}component type="library"><${p}name>openssl</${p}name><${p}version>3.0.2</${p}version><${p}licenses><${p}license><${p}name>MIT</${p}name></${p}license></${p}licenses></${p}component>
<${p}component type="library"><${p}name>x</${p}name><${p}components><${p}component type="library"><${p}group>org.x</${p}group><${p}name>in&amp;ner</${p}name><${p}version>1</${p}version></${p}component></${p}components><${p}purl>pkg:npm/x@2</${p}purl></${p}component>
<${p}component type="file"><${p}name>f</${p}name></${p}component>
</${p}components></${p}bom>`
    for (const prefix of ['', 'b:'])
      expect(await names('opt/app/bom.xml', xml(prefix))).toEqual([
        'pkg:pypi/cryptography@42.0 shipped certain',
        'pkg:generic/openssl@3.0.2 shipped certain',
        'pkg:generic/org.x/in%26ner@1 shipped certain',
        'pkg:npm/x@2 shipped certain',
      ])
  })
  test('another bom.json names nothing, and a damaged one is told', async () => {
    expect(await read('opt/app/bom.json', '{"components": [{"name": "a", "type": "library"}]}')).toEqual([])
    expect(await read('opt/app/data.json', '{}')).toBe('not wanted')
    expect(await read('opt/app/bom.xml', '<project/>')).toBe('not wanted')
    await expect(read('opt/app/x.cdx.json', '{"bomFormat":')).rejects.toThrow('it is not JSON')
    await expect(read('bom.xml', '<bom xmlns="http://cyclonedx.org/schema/bom/1.4"><a></bom>')).rejects.toThrow(
      'it is not XML',
    )
  })
  test('entities that grow, and elements in elements', async () => {
    const head = '<bom xmlns="http://cyclonedx.org/schema/bom/1.4">'
    const bomb = `<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>${head}<components><component type="library"><name>&b;</name></component></components></bom>`
    await expect(read('bom.xml', bomb)).rejects.toThrow('it is not XML')
    await expect(read('bom.xml', head + '<component type="library">'.repeat(300_000))).rejects.toThrow(
      'nested more than 200 deep',
    )
  })
})

describe('SPDX', () => {
  const purl = (locator: string) => [
    { referenceCategory: 'SECURITY', referenceType: 'cpe23Type', referenceLocator: 'cpe:2.3:a:x:x:1' },
    { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: locator },
  ]
  const document = {
    spdxVersion: 'SPDX-2.3',
    packages: [
      { SPDXID: 'SPDXRef-DocumentRoot-Directory-x', name: '/src', versionInfo: '1' },
      {
        SPDXID: 'SPDXRef-1',
        name: 'redis',
        versionInfo: '7.0.5',
        externalRefs: purl('pkg:bitnami/redis@7.0.5-0?arch=amd64'),
      },
      { SPDXID: 'SPDXRef-2', name: 'tcl', versionInfo: '8.6' },
      { SPDXID: 'SPDXRef-3', name: 'no', versionInfo: 'NOASSERTION' },
      { SPDXID: 'SPDXRef-4', name: 'f', primaryPackagePurpose: 'FILE' },
    ],
  }
  test.each(['opt/bitnami/redis/.spdx-redis.spdx', 'opt/app/app.spdx.json', 'opt/app/app.json'])('%s', async path => {
    expect(await names(path, document)).toEqual([
      'pkg:bitnami/redis@7.0.5-0?arch=amd64 shipped certain',
      'pkg:generic/tcl@8.6 shipped certain',
      'pkg:generic/no shipped certain',
    ])
  })
  test('of vcpkg: the port alone', async () => {
    const packages = [
      { SPDXID: 'SPDXRef-port', name: 'zlib', versionInfo: '1.2.11#13' },
      { SPDXID: 'SPDXRef-binary', name: 'zlib:x64-linux', versionInfo: '0a1b2c' },
      { SPDXID: 'SPDXRef-resource-1', name: 'madler/zlib', versionInfo: '' },
    ]
    expect(await names('share/zlib/vcpkg.spdx.json', { spdxVersion: 'SPDX-2.2', packages })).toEqual([
      'pkg:generic/zlib@1.2.11 shipped certain',
    ])
  })
  test('version 3 is a graph', async () => {
    const graph = [
      { type: 'software_Package', name: 'a', software_packageVersion: '1', software_packageUrl: 'pkg:npm/a@1' },
      {
        type: 'software_Package',
        name: 'b',
        software_packageVersion: '2',
        externalIdentifier: [{ externalIdentifierType: 'packageUrl', identifier: 'pkg:pypi/b@2' }],
      },
      { type: 'software_File', name: 'c' },
    ]
    const text = JSON.stringify({ '@context': 'https://spdx.org/rdf/3.0.1/spdx-context.jsonld', '@graph': graph })
    expect(await names('opt/app/sbom-3.json', text)).toEqual([
      'pkg:npm/a@1 shipped certain',
      'pkg:pypi/b@2 shipped certain',
    ])
  })
  test('as tags and values', async () => {
    const text = `SPDXVersion: SPDX-2.3
DocumentName: x
PackageName: lodash
SPDXID: SPDXRef-1
PackageVersion: 4.17.15
PackageComment: <text>
PackageName: wrong
PackageVersion: 9</text>
ExternalRef: PACKAGE-MANAGER purl pkg:npm/lodash@4.17.15

PackageName: zlib
PackageVersion: 1.2.11
FileName: ./x
PackageVersion: 9
`
    expect(await names('usr/share/doc/x/x.spdx', text)).toEqual([
      'pkg:npm/lodash@4.17.15 shipped certain',
      'pkg:generic/zlib@1.2.11 shipped certain',
    ])
  })
})
