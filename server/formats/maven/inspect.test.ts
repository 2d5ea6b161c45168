import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildJar } from '../../../test/support/jar.ts'
import { buildLibrary, buildPom, dependency, spoolVersion } from '../../../test/support/packages-maven.ts'
import { buildZip } from '../../../test/support/zip.ts'
import type { Inspection } from '../format.ts'
import type { MavenFacts } from './facts.ts'
import { maven } from './index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'maven-inspect-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const { signal } = new AbortController()
async function look(files: Readonly<Record<string, Buffer>>): Promise<Inspection<MavenFacts>> {
  return maven.inspect(await spoolVersion(folder, files), signal) as Promise<Inspection<MavenFacts>>
}
const ofPom = (more: string, packaging = 'pom'): Promise<Inspection<MavenFacts>> =>
  look({ 'lib-1.0.pom': buildPom({ packaging, more }) })
const whyNot = async (files: Readonly<Record<string, Buffer>>): Promise<string> => {
  try {
    await look(files)
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad_package' })
    return (error as Error).message
  }
  return 'it was taken'
}

test('a jar with its pom and sources is one version, and everything a pom says is read', async () => {
  const pom = buildPom({
    more: `<name>The library</name><description>Does
 things.</description><url>https://example.org/</url>
<licenses><license><name>MIT</name></license><license><name>Apache-2.0</name></license></licenses>
<developers><developer><name>Ann</name><email>ann@example.org</email></developer></developers>
<properties><other.version>2.5</other.version></properties>
<dependencies>${dependency('org.other:other:${other.version}')}${dependency('org.junit:junit:4.13', '<scope>test</scope>')}</dependencies>`,
  })
  expect(
    await look({
      'lib-1.0.jar': buildLibrary(),
      'lib-1.0.pom': pom,
      'lib-1.0-sources.jar': buildLibrary({ 'A.java': '' }),
    }),
  ).toEqual({
    identity: { format: 'maven', name: 'org.example:lib', version: '1.0', arch: 'any' },
    about: {
      summary: 'The library',
      description: 'Does\n things.',
      source: 'org.example:lib',
      source_version: '1.0',
      homepage: 'https://example.org/',
      maintainer: 'Ann <ann@example.org>',
      section: 'jar',
      license: 'MIT OR Apache-2.0',
      installed_size: 33,
      depends: [[{ name: 'org.other:other', op: '=', version: '2.5' }]],
      provides: [{ name: 'org.example:lib', version: '1.0' }],
      conflicts: [],
    },
    facts: {
      packaging: 'jar',
      dependencies: [
        { group: 'org.other', artifact: 'other', version: '2.5', scope: 'compile' },
        { group: 'org.junit', artifact: 'junit', version: '4.13', scope: 'test' },
      ],
    },
    paths: ['META-INF/MANIFEST.MF', 'org/example/Lib.class'],
  })
})

describe('what a pom needs', () => {
  test.each([
    [
      'its parent, which also says its group and version',
      '<parent><groupId>o.p</groupId><artifactId>top</artifactId><version>3</version></parent>',
      ['o.p:top = 3'],
    ],
    [
      'versions that it manages itself',
      `<dependencyManagement><dependencies>${dependency('a:b:7')}</dependencies></dependencyManagement><dependencies>${dependency('a:b')}</dependencies>`,
      ['a:b = 7'],
    ],
    [
      'a bill of materials',
      `<dependencyManagement><dependencies>${dependency('a:bom:7', '<type>pom</type><scope>import</scope>')}</dependencies></dependencyManagement>`,
      ['a:bom = 7'],
    ],
    ['what another pom gives a version', `<dependencies>${dependency('a:b')}</dependencies>`, ['a:b']],
    ['a property of another pom', `<dependencies>${dependency('a:b:${nowhere}')}</dependencies>`, ['a:b']],
    ['no optional one', `<dependencies>${dependency('a:b:1', '<optional>true</optional>')}</dependencies>`, []],
    [
      'nothing that the platform provides',
      `<dependencies>${dependency('a:b:1', '<scope>provided</scope>')}</dependencies>`,
      [],
    ],
    ['a range', `<dependencies>${dependency('a:b:[1.0,2.0)')}</dependencies>`, ['a:b >= 1.0', 'a:b < 2.0']],
    ['exactly one', `<dependencies>${dependency('a:b:[1.5]')}</dependencies>`, ['a:b = 1.5']],
    ['at most one', `<dependencies>${dependency('a:b:(,1.0]')}</dependencies>`, ['a:b <= 1.0']],
    ['any', `<dependencies>${dependency('a:b:(,)')}</dependencies>`, ['a:b']],
    [
      'a range with a gap',
      `<dependencies>${dependency('a:b:(,1.0],[1.2,)')}</dependencies>`,
      ['a:b <= 1.0 | a:b >= 1.2'],
    ],
    [
      'three intervals',
      `<dependencies>${dependency('a:b:[1,2),(3,4],[5,)')}</dependencies>`,
      ['a:b >= 1', 'a:b < 2 | a:b > 3', 'a:b <= 4 | a:b >= 5'],
    ],
  ])('%s', async (_, more, expected) => {
    const { about } = await ofPom(more)
    const printed = about.depends.map(need =>
      need.map(one => [one.name, one.op, one.version].filter(Boolean).join(' ')).join(' | '),
    )
    expect(printed).toEqual(expected)
  })

  test('what others have to say is named', async () => {
    const { facts } = await ofPom(
      `<dependencies>${dependency('a:b')}${dependency('a:c:1')}${dependency('a:b')}</dependencies>`,
    )
    expect(facts.unresolved).toEqual(['a:b'])
  })
})

test('group and version are those of the parent where the pom says none', async () => {
  const pom = Buffer.from(
    '<project><parent><groupId>o.p</groupId><artifactId>top</artifactId><version>3</version></parent><artifactId>a</artifactId><packaging>pom</packaging></project>',
  )
  expect((await look({ 'a-3.pom': pom })).identity).toMatchObject({ name: 'o.p:a', version: '3' })
})

test('a pom in an old encoding is read as it says', async () => {
  const pom = Buffer.from(
    buildPom({ packaging: 'pom', more: '<name>Übung</name>' }).toString().replace('UTF-8', 'ISO-8859-1'),
    'latin1',
  )
  expect((await look({ 'lib-1.0.pom': pom })).about.summary).toBe('Übung')
})

test('a build of a snapshot has the version that the names of its files say', async () => {
  const pom = buildPom({ version: '1.0-SNAPSHOT' })
  const found = await look({
    'lib-1.0-20261122.094857-2.jar': buildLibrary(),
    'lib-1.0-20261122.094857-2.pom': pom,
  })
  expect(found.identity.version).toBe('1.0-20261122.094857-2')
})

test('a jar that came alone is known by the pom inside', async () => {
  const jar = buildLibrary({ 'META-INF/maven/org.example/lib/pom.xml': buildPom() })
  expect((await look({ 'whatever.jar': jar })).identity).toMatchObject({ name: 'org.example:lib', version: '1.0' })
})

test.each([
  ['said by its descriptor', { 'META-INF/maven/plugin.xml': '<plugin><goalPrefix>hi</goalPrefix></plugin>' }, 'hi'],
  ['what its name says otherwise', {}, 'hello'],
])('the prefix of a plugin is %s', async (_, more, prefix) => {
  const pom = buildPom({ artifact: 'hello-maven-plugin', packaging: 'maven-plugin' })
  const found = await look({ 'hello-maven-plugin-1.0.jar': buildLibrary(more), 'hello-maven-plugin-1.0.pom': pom })
  expect(found.facts.prefix).toBe(prefix)
})

const jarWith = (...names: readonly string[]): Buffer => buildZip(names.map(name => ({ name, body: name })))
const withJar = (jar: Buffer): Record<string, Buffer> => ({ 'lib-1.0.jar': jar, 'lib-1.0.pom': buildPom() })
const laughs = [...'bcdefghij'].reduce(
  (all, char, at) => `${all}<!ENTITY ${char} "${`&${'abcdefghi'[at] ?? ''};`.repeat(10)}">`,
  '<!ENTITY a "ha">',
)
const grow = [...'bcdefghij']
  .map((char, at) => `<${char}>${`\${${'abcdefghi'[at] ?? ''}}`.repeat(10)}</${char}>`)
  .join('')

describe('is refused, and nothing stays open', () => {
  const big = 'x'.repeat(2 ** 20)
  test.each<[string, Record<string, Buffer>, RegExp]>([
    [
      'a pom with an entity bomb',
      { 'lib-1.0.pom': Buffer.from(`<!DOCTYPE project [${laughs}]><project><name>&j;</name></project>`) },
      /DOCTYPE/,
    ],
    [
      'a pom that reads a file',
      {
        'lib-1.0.pom': Buffer.from(
          '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><project><name>&x;</name></project>',
        ),
      },
      /DOCTYPE/,
    ],
    ['a pom with an unknown entity', { 'lib-1.0.pom': buildPom({ more: '<name>&x;</name>' }) }, /no well-formed XML/],
    [
      'a pom whose properties grow',
      {
        'lib-1.0.pom': buildPom({
          packaging: 'pom',
          more: `<properties><a>hahahahaha</a>${grow}</properties><url>\${j}</url>`,
        }),
      },
      /grow without end/,
    ],
    [
      'a pom whose property is itself',
      { 'lib-1.0.pom': buildPom({ version: '${v}', more: '<properties><v>${v}</v></properties>' }) },
      /its version is "\$\{v\}"/,
    ],
    [
      'a pom with a version of the command line',
      { 'lib-1.0.pom': buildPom({ version: '${revision}' }) },
      /flatten-maven-plugin/,
    ],
    ['a pom that nests', { 'lib-1.0.pom': Buffer.from(`<project>${'<a>'.repeat(10_000)}`) }, /nests elements/],
    [
      'a pom of 100 MB',
      {
        'lib-1.0.pom': Buffer.concat([
          Buffer.from('<project><name>'),
          ...Array.from({ length: 100 }, () => Buffer.from(big)),
        ]),
      },
      /larger than 8 MiB/,
    ],
    ['a pom that is cut off', { 'lib-1.0.pom': buildPom({}).subarray(0, 200) }, /no well-formed XML/],
    ['a pom that is none', { 'lib-1.0.pom': Buffer.from('<html></html>') }, /not <project>/],
    [
      'a pom without an artifact',
      { 'lib-1.0.pom': Buffer.from('<project><groupId>a</groupId><version>1</version></project>') },
      /says no artifactId/,
    ],
    ['a pom that is empty', { 'lib-1.0.pom': Buffer.alloc(0) }, /no well-formed XML|not <project>/],
    ['a pom that is binary', { 'lib-1.0.pom': Buffer.from([0xff, 0xfe, 0, 1, 2]) }, /not written in utf-8/],
    [
      'a pom in an encoding of its own',
      { 'lib-1.0.pom': Buffer.from('<?xml version="1.0" encoding="UTF-7"?><project/>') },
      /written in "UTF-7"/,
    ],
    [
      'a range that is none',
      { 'lib-1.0.pom': buildPom({ packaging: 'pom', more: `<dependencies>${dependency('a:b:[1,2')}</dependencies>` }) },
      /no range of versions/,
    ],
    [
      'a range of a thousand parts',
      {
        'lib-1.0.pom': buildPom({
          packaging: 'pom',
          more: `<dependencies>${dependency(`a:b:${Array.from({ length: 200 }, (__, n) => `[${n}]`).join(',')}`)}</dependencies>`,
        }),
      },
      /more than 20 parts/,
    ],
    [
      'a pom with a classifier in place of its own',
      { 'lib-1.0.jar': jarWith('a'), 'lib-1.0-build.pom': buildPom() },
      /"lib-1.0-build.pom" has a classifier, and no lib-1.0.pom came/,
    ],
    [
      'a second pom of another name',
      { 'lib-1.0.jar': jarWith('a'), 'lib-1.0.pom': buildPom(), 'other-1.0.pom': buildPom({ artifact: 'other' }) },
      /"other-1.0.pom" is a second pom/,
    ],
    [
      'a jar whose pom is a bomb: 64 MiB behind a size of ten bytes',
      {
        'lib-1.0.jar': buildZip([
          { name: 'META-INF/maven/org.example/lib/pom.xml', body: Buffer.alloc(64 * 2 ** 20, ' '), size: 10 },
        ]),
      },
      /more than|larger|its size|says/,
    ],
    [
      'a jar whose pom says that it has 64 MiB',
      { 'lib-1.0.jar': buildZip([{ name: 'META-INF/maven/org.example/lib/pom.xml', body: big.repeat(64) }]) },
      /larger than 8 MiB/,
    ],
    [
      'a plugin whose descriptor has 64 MiB behind a size of ten bytes',
      {
        'x-plugin-1.0.jar': buildZip([
          { name: 'META-INF/maven/plugin.xml', body: Buffer.alloc(64 * 2 ** 20, ' '), size: 10 },
        ]),
        'x-plugin-1.0.pom': buildPom({ artifact: 'x-plugin', packaging: 'maven-plugin' }),
      },
      /more than|larger|its size|says/,
    ],
    [
      'sources that unpack to more than any disk',
      {
        ...withJar(jarWith('a')),
        'lib-1.0-sources.jar': buildZip(
          Array.from({ length: 3 }, (__, n) => ({ name: `A${n}.java`, body: '', size: 0xfffffff0 })),
        ),
      },
      /lib-1.0-sources.jar.*unpacks to more than 8 GiB/,
    ],
    ['a jar in capitals that climbs out', { 'lib-1.0.JAR': jarWith('../x'), 'lib-1.0.pom': buildPom() }, /leads out/],
    ['a jar without a pom', { 'lib-1.0.jar': jarWith('a') }, /no .pom came with it/],
    [
      'a jar with the poms of others',
      { 'lib-1.0.jar': jarWith('META-INF/maven/a/b/pom.xml', 'META-INF/maven/a/c/pom.xml') },
      /2 are inside/,
    ],
    ['a pom without its jar', { 'lib-1.0.pom': buildPom() }, /no lib-1.0.jar came/],
    [
      'a pom with its signature only',
      { 'lib-1.0.pom': buildPom(), 'lib-1.0.jar.asc': Buffer.from('x') },
      /no lib-1.0.jar came/,
    ],
    [
      'a pom with its sources only',
      { 'lib-1.0.pom': buildPom(), 'lib-1.0-sources.jar': jarWith('a') },
      /no lib-1.0.jar came/,
    ],
    [
      'a build of another snapshot',
      {
        'lib-2.0-20261122.094857-2.jar': jarWith('a'),
        'lib-2.0-20261122.094857-2.pom': buildPom({ version: '1.0-SNAPSHOT' }),
      },
      /no build of that/,
    ],
    ['a jar that climbs out', withJar(jarWith('../../etc/cron.d/x')), /leads out of the folder/],
    ['a jar that climbs out in the middle', withJar(jarWith('a/../../x')), /leads out of the folder/],
    ['a jar with an absolute path', withJar(jarWith('/etc/passwd')), /leads out of the folder/],
    ['a jar with backslashes', withJar(jarWith('..\\x')), /leads out of the folder/],
    ['a jar with a drive', withJar(jarWith('C:/x')), /leads out of the folder/],
    ['a jar with a control character', withJar(jarWith('a\nb')), /control character/],
    [
      'a jar with one name twice',
      withJar(
        buildZip([
          { name: 'A.class', body: 'one' },
          { name: 'A.class', body: 'two' },
        ]),
      ),
      /stands in it twice/,
    ],
    ['a jar with an encrypted member', withJar(buildZip([{ name: 'A.class', body: 'one', flags: 1 }])), /encrypted/],
    [
      'a jar that unpacks to more than any disk',
      withJar(buildZip(Array.from({ length: 3 }, (__, n) => ({ name: `A${n}`, body: '', size: 0xfffffff0 })))),
      /unpacks to more than 8 GiB/,
    ],
    [
      'a jar behind another',
      withJar(Buffer.concat([jarWith('Hidden.class'), jarWith('Seen.class')])),
      /begins with members|two end records/,
    ],
    ['a jar that is none', withJar(Buffer.from('not a zip at all, whatever it is called')), /no zip/],
    ['a jar that is empty', withJar(Buffer.alloc(0)), /no zip/],
    [
      'sources that are no zip',
      { ...withJar(jarWith('a')), 'lib-1.0-sources.jar': Buffer.from('x'.repeat(100)) },
      /lib-1.0-sources.jar.*no zip/,
    ],
    [
      'a plugin whose descriptor is a bomb',
      {
        'x-plugin-1.0.jar': buildJar({
          manifest: {},
          more: [{ name: 'META-INF/maven/plugin.xml', body: `<!DOCTYPE x [${laughs}]><plugin/>` }],
        }),
        'x-plugin-1.0.pom': buildPom({ artifact: 'x-plugin', packaging: 'maven-plugin' }),
      },
      /DOCTYPE/,
    ],
  ])('%s', async (_, files, why) => {
    const before = (await readdir('/proc/self/fd')).length
    expect(await whyNot(files)).toMatch(why)
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before)
  })
})

test('a jar cut off anywhere is refused; with any byte changed it is taken or refused, and nothing else happens', async () => {
  const jar = buildLibrary()
  for (let length = 0; length < jar.length; length += 7)
    expect(await whyNot(withJar(jar.subarray(0, length))), `${length} bytes`).not.toBe('it was taken')
  for (let at = 0; at < jar.length; at += 3) {
    const changed = Buffer.from(jar)
    changed[at] = (changed[at] ?? 0) ^ (1 + (at % 255))
    await whyNot(withJar(changed))
  }
})

test('engines and readers get every file as it is', async () => {
  const files = { ...withJar(buildLibrary()), 'lib-1.0.jar.asc': Buffer.from('signed') }
  const seen: Record<string, Buffer> = {}
  for await (const { name, open } of maven.inner(await spoolVersion(folder, files))) {
    const chunks: Buffer[] = []
    for await (const chunk of open()) chunks.push(chunk)
    seen[name] = Buffer.concat(chunks)
  }
  expect(seen).toEqual(files)
})

test('an aborted inspection ends with the given reason', async () => {
  const file = await spoolVersion(folder, withJar(buildLibrary()))
  await expect(maven.inspect(file, AbortSignal.abort(new Error('the client has gone')))).rejects.toThrow('has gone')
})
