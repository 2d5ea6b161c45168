import { expect, test } from 'vitest'
import { openFile } from '../../../test/support/open-file.ts'
import { pomReaders } from './pom-files.ts'

async function found(path: string, text: string): Promise<readonly object[]> {
  const readers = pomReaders.filter(reader => reader.wants(openFile(path, text)))
  return (await Promise.all(readers.map(reader => reader.read(openFile(path, text))))).flatMap(reading => reading.found)
}

const POM =
  '<project><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>1</version></dependency>' +
  '<dependency><groupId>g</groupId><artifactId>t</artifactId><version>2</version><scope>test</scope></dependency>' +
  '<dependency><groupId>g</groupId><artifactId>managed</artifactId></dependency></dependencies></project>'

test('a pom.xml in a source tree declares what it wants', async () => {
  const base = { type: 'maven', namespace: 'g', presence: 'declared', rule: 'pom-xml', confidence: 'certain' }
  for (const path of ['usr/src/x/pom.xml', 'pom.xml', 'repository/g/a/1/a-1.pom', 'src.zip!/x/pom.xml'])
    expect(await found(path, POM)).toEqual([
      { ...base, name: 'a', version: '1' },
      { ...base, name: 't', version: '2', unasked: 'It is wanted for development only.' },
      { ...base, name: 'managed', version: undefined },
    ])
  expect(await found('opt/x.jar!/META-INF/maven/g/a/pom.xml', POM)).toEqual([])
})

test('pom.properties of an unpacked jar is shipped; at the root of an archive it belongs to the archive', async () => {
  const text = 'groupId=g\nartifactId=a\nversion=1\n'
  const shipped = [
    {
      type: 'maven',
      namespace: 'g',
      name: 'a',
      version: '1',
      presence: 'shipped',
      rule: 'pom-properties',
      confidence: 'certain',
    },
  ]
  expect(await found('opt/app/META-INF/maven/g/a/pom.properties', text)).toEqual(shipped)
  expect(await found('opt/app.war!/WEB-INF/classes/META-INF/maven/g/a/pom.properties', text)).toEqual(shipped)
  expect(await found('opt/app.war!/META-INF/maven/g/a/pom.properties', text)).toEqual([])
  expect(await found('opt/pom.properties', text)).toEqual([])
})
