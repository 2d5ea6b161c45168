import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { buildJar, type JarParts } from '../../../test/support/jar.ts'
import { openFile } from '../../../test/support/open-file.ts'
import { buildZip } from '../../../test/support/zip.ts'
import { componentAt, type Component } from '../component.ts'
import type { Found, OpenFile } from '../reader.ts'
import { NO_NAMES, type JavaNames } from './coordinates.ts'
import { jarReader } from './jar.ts'
import { nameJars } from './late.ts'

async function read(path: string, parts: JarParts | Buffer): Promise<readonly Found[]> {
  const file = openFile(path, Buffer.isBuffer(parts) ? parts : buildJar(parts))
  expect(jarReader.wants(file)).toBe(true)
  const { found, unopened } = await jarReader.read(file)
  expect(unopened ?? []).toEqual([])
  return found
}
/** `group:artifact@version rule`, with a `?` where it is probable, and a `-` where nothing is asked about it. */
const print = ({
  group,
  name,
  version,
  rule,
  confidence,
  unasked,
}: Omit<Component, 'purl' | 'path' | 'presence'>): string =>
  `${group ?? ''}:${name}@${version ?? ''} ${rule}${confidence === 'certain' ? '' : '?'}${unasked === undefined ? '' : '-'}`
/** What it is, also by what is loaded. */
async function printed(path: string, parts: JarParts | Buffer, names: Partial<JavaNames> = {}): Promise<string[]> {
  const found = (await read(path, parts)).flatMap(one =>
    nameJars({ components: [componentAt(one, path)], unopened: [] }, { ...NO_NAMES, ...names }).components.map(print),
  )
  return [...new Set(found)]
}

describe('what a jar is', () => {
  test('its own pom.properties, with the place, as a whole answer', async () => {
    expect(await read('opt/x/log4j-core-2.14.1.jar', { poms: ['org.apache.logging.log4j:log4j-core:2.14.1'] })).toEqual(
      [
        {
          type: 'maven',
          namespace: 'org.apache.logging.log4j',
          name: 'log4j-core',
          version: '2.14.1',
          presence: 'shipped',
          rule: 'pom-properties',
          confidence: 'certain',
          path: 'opt/x/log4j-core-2.14.1.jar!/META-INF/maven/org.apache.logging.log4j/log4j-core/pom.properties',
        },
      ],
    )
  })

  test.each<[string, string, Record<string, string>, string[], string[]]>([
    [
      'spring-core',
      'spring-core-5.3.17.jar',
      {
        'Automatic-Module-Name': 'spring.core',
        'Implementation-Title': 'spring-core',
        'Implementation-Version': '5.3.17',
      },
      ['org.springframework:spring-core@5.3.17 module-name'],
      ['org.springframework:spring-core@5.3.17 module-name'],
    ],
    [
      'okhttp',
      'okhttp-4.9.1.jar',
      { 'Automatic-Module-Name': 'okhttp3' },
      ['com.squareup.okhttp3:okhttp@4.9.1 module-name'],
      ['com.squareup.okhttp3:okhttp@ module-name'],
    ],
    [
      'h2',
      'h2-1.4.200.jar',
      { 'Bundle-SymbolicName': 'com.h2database', 'Bundle-Version': '1.4.200' },
      ['com.h2database:h2@1.4.200 bundle-name'],
      ['com.h2database:h2@1.4.200 bundle-name'],
    ],
    [
      'postgresql',
      'postgresql-42.2.5.jar',
      { 'Bundle-SymbolicName': 'org.postgresql.jdbc42', 'Bundle-Version': '42.2.5' },
      ['org.postgresql:postgresql@42.2.5 bundle-name'],
      ['org.postgresql:postgresql@42.2.5 bundle-name'],
    ],
    [
      'guava, whose bundle has another version',
      'guava-29.0-jre.jar',
      { 'Bundle-SymbolicName': 'com.google.guava', 'Bundle-Version': '29.0.0.jre' },
      ['com.google.guava:guava@29.0-jre bundle-name'],
      ['com.google.guava:guava@29.0-jre bundle-name'],
    ],
    [
      'commons-collections',
      'commons-collections-3.2.1.jar',
      { 'Bundle-SymbolicName': 'org.apache.commons.collections', 'Bundle-Version': '3.2.1' },
      ['commons-collections:commons-collections@3.2.1 bundle-name'],
      ['commons-collections:commons-collections@3.2.1 bundle-name'],
    ],
    [
      'commons-collections4',
      'commons-collections4-4.0.jar',
      {
        'Bundle-SymbolicName': 'org.apache.commons.collections4',
        'Bundle-Version': '4.0.0',
        'Implementation-Version': '4.0',
      },
      ['org.apache.commons:commons-collections4@4.0 bundle-name'],
      ['org.apache.commons:commons-collections4@4.0 bundle-name'],
    ],
    [
      'velocity',
      'velocity-1.7.jar',
      { 'Extension-Name': 'velocity', 'Implementation-Title': 'org.apache.velocity', 'Implementation-Version': '1.7' },
      ['org.apache.velocity:velocity@1.7 manifest-title'],
      ['org.apache.velocity:velocity@1.7 manifest-title'],
    ],
    [
      'velocity-tools, with the same title',
      'velocity-tools-2.0.jar',
      {
        'Extension-Name': 'velocity-tools',
        'Implementation-Title': 'org.apache.velocity',
        'Implementation-Version': '2.0',
      },
      ['org.apache.velocity:velocity-tools@2.0 manifest-title'],
      ['org.apache.velocity:velocity-tools@2.0 manifest-title'],
    ],
    [
      'derby, whose bundle counts in millions',
      'derby-10.14.2.0.jar',
      { 'Bundle-SymbolicName': 'derby', 'Bundle-Version': '10.14.2000000.1828579' },
      ['org.apache.derby:derby@10.14.2.0 bundle-name'],
      ['org.apache.derby:derby@10.14.2.0 bundle-name'],
    ],
    [
      'beanutils, whose manifest says another version: both are asked about',
      'commons-beanutils-1.7.0.jar',
      {
        'Implementation-Title': 'org.apache.commons.beanutils',
        'Implementation-Version': '1.6',
        'Specification-Version': '9',
      },
      [
        'commons-beanutils:commons-beanutils@1.6 manifest-title?',
        'commons-beanutils:commons-beanutils@1.7.0 manifest-title',
      ],
      ['commons-beanutils:commons-beanutils@1.6 manifest-title'],
    ],
    [
      'akka, which only says vendor and title',
      'akka-http-core_2.12-10.1.5.jar',
      {
        'Implementation-Vendor-Id': 'com.typesafe.akka',
        'Implementation-Title': 'akka-http-core',
        'Implementation-Version': '10.1.5',
      },
      ['com.typesafe.akka:akka-http-core_2.12@10.1.5 manifest-title?'],
      [':x@ file-name?-'],
    ],
    [
      'one with the vendor of all Apache, which is no group',
      'commons-chain-1.1.jar',
      {
        'Implementation-Vendor-Id': 'org.apache',
        'Implementation-Title': 'commons-chain',
        'Implementation-Version': '1.1',
      },
      [':commons-chain@1.1 file-name?-'],
      [':x@ file-name?-'],
    ],
  ])('%s by its manifest, and renamed', async (_, name, manifest, named, renamed) => {
    const parts = { manifest, classes: ['a/b/C'] }
    expect([await printed(`lib/${name}`, parts), await printed('lib/x.jar', parts)]).toEqual([named, renamed])
  })

  test('by its file name only where the artifact is known, and its classes are such', async () => {
    const groupsOf = (artifact: string) =>
      artifact === 'widget-core' ? ['org.widgets'] : artifact === 'tool' ? ['com.first', 'com.second'] : []
    const at = (path: string, classes: string[]) => printed(path, { classes }, { groupsOf })
    expect(await at('widget-core-1.2.jar', ['org/widgets/A'])).toEqual(['org.widgets:widget-core@1.2 file-name?'])
    expect(await at('widget-core-1.2.jar', ['com/other/A'])).toEqual([':widget-core@1.2 file-name?-'])
    expect(await at('tool-1.jar', ['com/second/A'])).toEqual(['com.second:tool@1 file-name?'])
    expect(await at('unheard-of-1.jar', ['org/widgets/A'])).toEqual([':unheard-of@1 file-name?-'])
    expect(await at('org.widgets.widget-core-1.2.jar', ['z/A'])).toEqual(['org.widgets:widget-core@1.2 file-name?'])
    expect(await at('xercesImpl-2.11.0.jar', ['org/apache/xerces/A'])).toEqual(['xerces:xercesImpl@2.11.0 file-name?'])
    expect(await at('log4j-1.2-api-2.14.1.jar', ['org/apache/log4j/A'])).toEqual([
      'org.apache.logging.log4j:log4j-1.2-api@2.14.1 file-name?',
    ])
  })

  test('as Quarkus calls jars, with their group', async () => {
    const manifest = { 'Automatic-Module-Name': 'okhttp3' }
    expect(await printed('lib/com.squareup.okhttp3.okhttp-4.9.1.jar', { manifest, classes: ['okhttp3/A'] })).toEqual([
      'com.squareup.okhttp3:okhttp@4.9.1 module-name',
    ])
    expect(await printed('lib/g.a-1.jar', { poms: ['g:a:1', 'g:part:2'] })).toEqual([
      'g:a@1 pom-properties',
      'g:part@2 pom-properties',
    ])
  })

  test('shaded poms are parts, and its own name counts beside them', async () => {
    expect(
      await printed('groovy-2.4.3.jar', {
        manifest: { 'Bundle-SymbolicName': 'groovy', 'Bundle-Version': '2.4.3' },
        poms: ['commons-cli:commons-cli:1.2', 'org.ow2.asm:asm:5.0'],
        classes: ['groovyjarjarcommonscli/A'],
      }),
    ).toEqual([
      'commons-cli:commons-cli@1.2 pom-properties',
      'org.ow2.asm:asm@5.0 pom-properties',
      'org.codehaus.groovy:groovy@2.4.3 bundle-name',
    ])
    expect(
      await printed('fat-1.0.jar', {
        manifest: { 'Implementation-Title': 'Apache Hadoop shaded Protobuf 3.7', 'Implementation-Version': '1.1.1' },
        poms: ['g:fat:1.0', 'com.google.guava:guava:27.0-jre'],
      }),
    ).toEqual(['g:fat@1.0 pom-properties', 'com.google.guava:guava@27.0-jre pom-properties'])
  })

  test('a renamed copy is asked about by its pom and by its name', async () => {
    expect(await printed('log4j-core-2.17.1.jar', { poms: ['org.apache.logging.log4j:log4j-core:2.14.1'] })).toEqual([
      'org.apache.logging.log4j:log4j-core@2.14.1 pom-properties',
      'org.apache.logging.log4j:log4j-core@2.17.1 file-name?',
    ])
    const okhttp = { manifest: { 'Automatic-Module-Name': 'okhttp3' }, classes: ['okhttp3/A', 'org/yaml/snakeyaml/B'] }
    expect(await printed('snakeyaml-2.2.jar', okhttp)).toEqual([
      'com.squareup.okhttp3:okhttp@ module-name',
      'org.yaml:snakeyaml@2.2 file-name?',
    ])
  })

  test('plugins of Jenkins, bundles of NiFi, a pom.xml alone, and what Android and netty write', async () => {
    expect(
      await printed('script-security.jpi', {
        manifest: {
          'Group-Id': 'org.jenkins-ci.plugins',
          'Short-Name': 'script-security',
          'Plugin-Version': '1.2 (private)',
        },
      }),
    ).toEqual(['org.jenkins-ci.plugins:script-security@1.2 manifest-coordinates'])
    expect(
      await printed('nifi.nar', {
        manifest: { 'Nar-Group': 'org.apache.nifi', 'Nar-Id': 'nifi-x-nar', 'Nar-Version': '1.2' },
      }),
    ).toEqual(['org.apache.nifi:nifi-x-nar@1.2 manifest-coordinates'])
    const more = [
      {
        name: 'META-INF/maven/g/a/pom.xml',
        body: '<project><parent><groupId>g</groupId><version>3</version></parent><artifactId>a</artifactId></project>',
      },
      { name: 'META-INF/androidx.core_core.version', body: '1.3.0\n' },
      {
        name: 'META-INF/io.netty.versions.properties',
        body: '#\nnetty-codec.version=4.1.42.Final\nnetty-codec.buildDate=1\n',
      },
    ]
    expect(await printed('x.aar', { more })).toEqual([
      'g:a@3 pom-xml',
      'androidx.core:core@1.3.0 version-file',
      'io.netty:netty-codec@4.1.42.Final version-file',
      ':x@ file-name?-',
    ])
  })

  test('sources and documentation are listed, and nothing is asked about them', async () => {
    const poms = ['g:a:1']
    expect(await read('a-1-sources.jar', { poms })).toMatchObject([
      { name: 'a', unasked: 'It holds sources, and no code of the library.' },
    ])
    expect(await printed('a-1-sources.jar', { poms, classes: ['a/B'] })).toEqual(['g:a@1 pom-properties'])
  })

  test('by its SHA-1 where it does not say what it is, whatever it is called', async () => {
    const jar = buildJar({ poms: ['g:part:1', 'g:other:1'], classes: ['a/B'] })
    const sha1 = createHash('sha1').update(jar).digest('hex')
    const releasesOf = (asked: string) => (asked === sha1 ? [{ group: 'g', artifact: 'real', version: '9' }] : [])
    const parts = ['g:part@1 pom-properties', 'g:other@1 pom-properties']
    expect(await printed('log4j-core-2.14.1.jar', jar)).toEqual([...parts, ':log4j-core@2.14.1 file-name?-'])
    expect(await printed('log4j-core-2.14.1.jar', jar, { releasesOf })).toEqual([...parts, 'g:real@9 sha1'])
  })

  test('a SHA-1 takes the place of what names say', async () => {
    const jar = buildJar({
      manifest: { 'Extension-Name': 'dom4j', 'Implementation-Version': '1.2' },
      classes: ['org/dom4j/A'],
    })
    expect(await printed('dom4j-1.1.jar', jar)).toEqual([
      'dom4j:dom4j@1.1 manifest-title?',
      'dom4j:dom4j@1.2 manifest-title?',
      'org.dom4j:dom4j@1.1 manifest-title?',
      'org.dom4j:dom4j@1.2 manifest-title?',
    ])
    const components = (await read('dom4j-1.1.jar', jar)).map(one => componentAt(one, 'dom4j-1.1.jar'))
    const releasesOf = () => [{ group: 'dom4j', artifact: 'dom4j', version: '1.1' }]
    expect(nameJars({ components, unopened: [] }, { ...NO_NAMES, releasesOf }).components.map(print)).toEqual([
      'dom4j:dom4j@1.1 sha1',
    ])
  })

  test('what is kept of it depends on no data', async () => {
    const [own] = await read('lib/x-1.jar', {
      manifest: { 'Implementation-Title': 'x', 'Other': 'y' },
      classes: ['a/com/B'],
    })
    expect(own?.jar).toEqual({
      sha1: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      parts: [
        { name: 'x', version: '1' },
        { name: 'x-1', version: undefined },
      ],
      manifest: [['implementation-title', 'x']],
      folders: ['a'],
    })
  })
})

describe('log4j-core by its classes', () => {
  const classes = {
    '2.14.1': ['23a35f29', 2937, '29da1d9c', 5029],
    '2.17.1': ['6d043e73', 3158, 'cbada7f8', 6648],
  } as const
  const jar = (
    folder: string,
    version: keyof typeof classes,
    { without = '', poms = [] as string[], broken = 0 } = {},
  ) => {
    const [lookupCrc, lookupSize, managerCrc, managerSize] = classes[version]
    return buildJar({
      poms,
      more: [
        { name: `${folder}lookup/Interpolator.class`, body: '' },
        { name: `${folder}LoggerContext.class`, body: '' },
        {
          name: `${folder}lookup/JndiLookup.class`,
          body: 'x',
          crc: parseInt(lookupCrc, 16),
          size: lookupSize + broken,
        },
        { name: `${folder}net/JndiManager.class`, body: 'x', crc: parseInt(managerCrc, 16), size: managerSize },
        { name: `${folder}appender/rolling/RolloverListener.class`, body: '' },
        ...(version === '2.17.1' ? [{ name: `${folder}lookup/PropertiesLookup.class`, body: '' }] : []),
      ].filter(({ name }) => without === '' || !name.endsWith(without)),
    })
  }
  const CORE = 'org/apache/logging/log4j/core/'
  const log4j = 'org.apache.logging.log4j:log4j-core'

  test('without its pom, wherever shading put them; rewritten ones by their names', async () => {
    expect(await printed('x.zip', jar(CORE, '2.14.1'))).toEqual([`${log4j}@2.14.1 classes`])
    expect(await printed('x.zip', jar(`BOOT-INF/classes/${CORE}`, '2.17.1'))).toEqual([`${log4j}@2.17.1 classes`])
    expect(await printed('x.zip', jar('my/shaded/core/', '2.14.1', { broken: 7 }))).toEqual([
      `${log4j}@2.14.1 classes?`,
    ])
    expect(await printed('x.zip', jar('my/shaded/core/', '2.17.1', { broken: 7 }))).toEqual([
      `${log4j}@2.17.1 classes?`,
    ])
  })

  // the sizes that maven-shade made in a folder that is one character shorter
  test.each([
    ['2.3.2', 5806, ['lookup/ConfigurationStrSubstitutor']],
    ['2.12.4', 6430, ['lookup/ConfigurationStrSubstitutor', 'config/HttpWatcher']],
    ['2.15.0', 9334, ['config/arbiters/Arbiter']],
    ['2.16.0', 9929, ['config/arbiters/Arbiter']],
    ['2.15.0', 20_000, ['config/arbiters/Arbiter']],
  ])('shaded releases with the same names of classes differ in size: %s, %i bytes', async (version, size, names) => {
    const folder = 'x/y/inner/logging/log4j/core/'
    const more = [
      ...['lookup/Interpolator', 'LoggerContext', 'lookup/JndiLookup', ...names].map(name => ({ name, size: 1 })),
      { name: 'net/JndiManager', size },
    ].map(one => ({ name: `${folder}${one.name}.class`, body: 'x', crc: 7, size: one.size }))
    expect(await printed('x.zip', buildJar({ more }))).toEqual([`${log4j}@${version} classes?`])
  })

  test('classes that are not those of the pom contradict it', async () => {
    expect(await printed('x.zip', jar(CORE, '2.14.1', { poms: [`${log4j}:2.17.1`] }))).toEqual([
      `${log4j}@2.17.1 pom-properties`,
      `${log4j}@2.14.1 classes`,
    ])
    expect(await printed('x.zip', jar(CORE, '2.14.1', { poms: [`${log4j}:2.14.0`] }))).toEqual([
      `${log4j}@2.14.0 pom-properties`,
    ])
    expect(await printed('x.zip', jar(CORE, '2.14.1', { poms: [`${log4j}:2.14.1.redhat-1`] }))).toEqual([
      `${log4j}@2.14.1.redhat-1 pom-properties`,
    ])
  })

  test('without JndiLookup two vulnerabilities are cleared, with the reason', async () => {
    const cleared = {
      ids: ['CVE-2021-44228', 'CVE-2021-45046'],
      why: 'Its class JndiLookup is not in this copy.',
    }
    const without = 'JndiLookup.class'
    expect(await read('x.zip', jar(CORE, '2.14.1', { without }))).toMatchObject([{ version: '2.14.1', cleared }])
    expect(await read('x.zip', jar(CORE, '2.14.1', { without, poms: [`${log4j}:2.14.1`] }))).toMatchObject([
      { rule: 'pom-properties', cleared },
    ])
    expect((await read('x.zip', jar(CORE, '2.14.1')))[0]).not.toHaveProperty('cleared')
  })
})

describe('what is read of it', () => {
  test('any zip may be one, also behind a script, and other files are none', async () => {
    const jar = buildJar({ poms: ['g:a:1'] })
    const script = Buffer.concat([Buffer.from('#!/bin/sh\nexec java -jar "$0"\n'), jar])
    expect(await printed('opt/app', script)).toEqual(['g:a@1 pom-properties'])
    expect(await printed('a.jmod', Buffer.concat([Buffer.from('JM\x01\x00'), jar]))).toEqual(['g:a@1 pom-properties'])
    expect(await printed('a.docx', buildZip([{ name: 'word/document.xml', body: 'x' }]))).toEqual([])
    expect(await printed('run.sh', Buffer.from('#!/bin/sh\necho hello, this is a script\n'))).toEqual([])
    expect(jarReader.wants(openFile('a.txt', 'a text that is long enough'))).toBe(false)
  })

  test('the directory, the manifest and the poms, and nothing else', async () => {
    const jar = buildJar({
      manifest: {},
      poms: ['g:a:1'],
      more: [{ name: 'big', body: Buffer.alloc(5e6), stored: true }],
    })
    const file = openFile('a.jar', jar)
    let bytes = 0
    const counted: OpenFile = {
      ...file,
      read: async (offset, length) => {
        const got = await file.read(offset, length)
        bytes += got.length
        return got
      },
      whole: () => Promise.reject(new Error('it was read whole')),
    }
    expect((await jarReader.read(counted)).found.map(({ name }) => name)).toEqual(['a'])
    expect(bytes).toBeLessThan(70_000)
  })

  test('a pom that cannot be read is named, and the rest counts', async () => {
    const name = (artifact: string): string => `META-INF/maven/g/${artifact}/pom.properties`
    const jar = buildJar({
      poms: ['g:good:1'],
      more: [
        { name: name('bomb'), body: Buffer.alloc(1e6) },
        { name: name('lies'), body: 'groupId=g', crc: 1 },
        { name: name('secret'), body: 'groupId=g', flags: 1 },
      ],
    })
    const { found, unopened } = await jarReader.read(openFile('a.jar', jar))
    expect(found.map(({ name }) => name)).toEqual(['good'])
    expect(unopened).toEqual([
      {
        path: `a.jar!/${name('bomb')}`,
        size: 1e6,
        why: `It could not be read: ${name('bomb')} in it has more than 65536 bytes.`,
      },
      { path: `a.jar!/${name('lies')}`, size: 9, why: `It could not be read: ${name('lies')} in it is damaged.` },
      { path: `a.jar!/${name('secret')}`, size: 9, why: `It could not be read: ${name('secret')} in it is encrypted.` },
    ])
  })

  test('what a pom.properties leaves out stands in its path', async () => {
    const entry = 'META-INF/maven/com.github.jnr/jnr-x86asm/pom.properties'
    expect(await printed('jruby-core.jar', buildZip([{ name: entry, body: 'version=1.0.2\n' }]))).toEqual([
      'com.github.jnr:jnr-x86asm@1.0.2 pom-properties',
    ])
  })

  test.each([
    ['xercesImpl-2.12.0.jar', 'org/apache/xerces/impl/', ['xerces:xercesImpl@2.12.2 manifest-section']],
    ['xalan2-2.12.2.jar', 'org/apache/xalan/', ['xalan:xalan@2.12.2 manifest-section']],
    ['serializer.jar', 'org/apache/xml/serializer/', ['xalan:serializer@2.12.2 manifest-section']],
    [
      'xercesImpl-2.12.0.jar',
      'org/w3c/dom/',
      ['xerces:xercesImpl@2.11.0 file-name?', 'xerces:xercesImpl@2.12.0 file-name?'],
    ],
  ])('%s says its version beside the folder %s', async (path, folder, said) => {
    const main = 'Manifest-Version: 1.0\r\nBundle-SymbolicName: org.apache.xerces\r\nBundle-Version: 2.11.0\r\n'
    const section = `Name: ${folder}\r\nImplementation-Title: x\r\nImplementation-Version: 2.12.2\r\n`
    const body = `${main}\r\n${section}\r\nName: org/w3c/dom/\r\nImplementation-Version: 1.0\r\n\r\n`
    const jar = buildZip([{ name: 'META-INF/MANIFEST.MF', body }])
    expect(await printed(path, jar)).toEqual(said)
  })

  test('a manifest of many megabytes costs its beginning', async () => {
    const sections = 'Name: a/B.class\r\nSHA-256-Digest: x\r\n\r\n'.repeat(300_000)
    const body = `Manifest-Version: 1.0\r\nAutomatic-Module-Name: okhttp3\r\n\r\n${sections}`
    expect(await printed('okhttp-4.9.1.jar', buildZip([{ name: 'META-INF/MANIFEST.MF', body }]))).toEqual([
      'com.squareup.okhttp3:okhttp@4.9.1 module-name',
    ])
  })
})
