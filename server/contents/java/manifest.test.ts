import { expect, test } from 'vitest'
import { bundleName, manifestVersion, readManifest, undoBundleVersion } from './manifest.ts'

const read = (text: string): Record<string, string> => Object.fromEntries(readManifest(Buffer.from(text)))

test('only the first section counts, whatever ends its lines', () => {
  for (const end of ['\n', '\r\n', '\r'])
    expect(
      read(
        ['Manifest-Version: 1.0', 'Implementation-Title: a', '', 'Name: b/', 'Implementation-Title: b', ''].join(end),
      ),
    ).toEqual({ 'manifest-version': '1.0', 'implementation-title': 'a' })
})

test('a folded line goes on behind the blank, also within a character', () => {
  const [before, after] = [Buffer.from('Bundle-Name: caf\u00e9').subarray(0, 17), Buffer.from([0xa9])]
  const bytes = Buffer.concat([
    before,
    Buffer.from('\r\n '),
    after,
    Buffer.from('\r\nBundle-Symbolic\r\n Name: x.y;a:=b\r\n'),
  ])
  const manifest = readManifest(bytes)
  expect([manifest.get('bundle-name'), bundleName(manifest)]).toEqual(['caf\u00e9', 'x.y'])
})

test('of an attribute that is there twice the first counts, and names have no case', () => {
  expect(read('implementation-VERSION: 1\nImplementation-Version: 2\n: x\nno colon\n')).toEqual({
    'implementation-version': '1',
  })
})

test.each([
  ['29.0.0.jre', '29.0-jre'],
  ['2.0.0.beta9', '2.0-beta9'],
  ['1.2.3.SNAPSHOT', '1.2.3-SNAPSHOT'],
  ['4.1.42.Final', '4.1.42.Final'],
  ['9.4.38.v20210224', '9.4.38.v20210224'],
  ['2.13.6.v20210514-180743-VFINAL-9468b9a', '2.13.6'],
  ['10.14.2000000.1828579', '10.14.2.0'],
  ['1.4.200', '1.4.200'],
  ['1.55', '1.55'],
  ['', undefined],
  ['${project.version}', undefined],
])('the Maven version of bundle %j is %j', (bundle, version) => expect(undoBundleVersion(bundle)).toBe(version))

test.each([
  ['Implementation-Version: 5.3.17\nBundle-Version: 5.3.0', '5.3.17'],
  ['Implementation-Version: build 17 of today\nBundle-Version: 1.2.0.rc1', '1.2-rc1'],
  ['Specification-Version: 4.2', undefined],
  ['Implementation-Version: private-19991231', undefined],
])('the version in %j is %j', (text, version) => expect(manifestVersion(readManifest(Buffer.from(text)))).toBe(version))
