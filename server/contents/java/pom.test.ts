import { expect, test } from 'vitest'
import { readPomProperties, readPomXml } from './pom.ts'

test.each([
  ['#Created by Maven\r\nversion=1\r\ngroupId=g\r\nartifactId=a\r\n', { group: 'g', artifact: 'a', version: '1' }],
  [' groupId = g\nartifactId: a\nversion=1.0-SNAPSHOT', { group: 'g', artifact: 'a', version: '1.0-SNAPSHOT' }],
  ['groupId=g\nartifactId=a\nversion=${project.version}', undefined],
  ['groupId=g\nartifactId=a', undefined],
])('pom.properties %j', (text, release) => expect(readPomProperties(text)).toEqual(release))

const self = (inner: string) => readPomXml(`<?xml version="1.0"?><project xmlns="x">${inner}</project>`).self

test('group and version may be the parent’s, and properties are filled in', () => {
  expect(self('<groupId>g</groupId><artifactId>a</artifactId><version>1</version>')).toEqual({
    group: 'g',
    artifact: 'a',
    version: '1',
  })
  expect(
    self(
      '<parent><groupId>g</groupId><artifactId>p</artifactId><version>2</version></parent><!-- <version>9</version> -->' +
        '<artifactId><![CDATA[a]]></artifactId><dependencies><dependency><version>7</version></dependency></dependencies>',
    ),
  ).toEqual({ group: 'g', artifact: 'a', version: '2' })
  expect(
    self(
      '<groupId>g</groupId><artifactId>a_${scala}</artifactId><version>${revision}</version>' +
        '<properties><revision>${one}.2</revision><one>1</one><scala>2.12</scala></properties>',
    ),
  ).toEqual({ group: 'g', artifact: 'a_2.12', version: '1.2' })
  expect(self('<groupId>g</groupId><artifactId>a</artifactId><version>${changelist}</version>')).toBeUndefined()
})

test('dependencies are those of the project itself', () => {
  expect(
    readPomXml(
      '<project><properties><v>1.2</v></properties><dependencyManagement><dependencies><dependency><groupId>m</groupId>' +
        '<artifactId>m</artifactId><version>1</version></dependency></dependencies></dependencyManagement><dependencies>' +
        '<dependency><groupId>g</groupId><artifactId>a</artifactId><version>${v}</version></dependency><dependency>' +
        '<groupId>g</groupId><artifactId>b</artifactId><scope>test</scope><exclusions><exclusion><groupId>no</groupId>' +
        '</exclusion></exclusions></dependency></dependencies></project>',
    ).dependencies,
  ).toEqual([
    { group: 'g', artifact: 'a', version: '1.2', scope: 'compile' },
    { group: 'g', artifact: 'b', version: undefined, scope: 'test' },
  ])
})

test('damaged and hostile XML ends at once', () => {
  expect(() => readPomXml('<project><groupId>g</groupId>')).toThrow('it is cut off')
  expect(() => readPomXml('<project><a></b></project>')).toThrow('its tags do not match')
  expect(() => readPomXml('<a>'.repeat(100))).toThrow('nested too deep')
  for (const mark of ['<!--', '<!', '<a ', '<![CDATA[', '<a>${a}</a>'])
    expect(readPomXml(mark.repeat(200_000))).toEqual({ self: undefined, dependencies: [] })
  expect(readPomXml(`<${'a'.repeat(2_000_000)}`)).toEqual({ self: undefined, dependencies: [] })
  const bomb = `<project><properties><a>${'${b}'.repeat(70)}</a><b>${'${c}'.repeat(70)}</b><c>${'${a}'.repeat(70)}</c></properties><version>${'${a}'.repeat(200)}</version></project>`
  expect(readPomXml(bomb).self).toBeUndefined()
})
