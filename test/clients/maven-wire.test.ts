import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientMetadata, startMavenRegistry, type Got, type MavenRegistry } from '../support/maven-registry.ts'
import { buildLibrary, buildPom } from '../support/packages-maven.ts'
import { buildZip } from '../support/zip.ts'

let maven: MavenRegistry
beforeAll(async () => {
  maven = await startMavenRegistry({ snapshotsKept: 2 })
})
afterAll(() => maven.close())

const sum = (algorithm: string, body: Buffer | string): string => createHash(algorithm).update(body).digest('hex')
const short = ({ status, reason }: Got): string => `${status} ${reason}`
const library = (artifact: string, version: string, more: Record<string, string> = {}): Record<string, Buffer> => ({
  '.jar': buildLibrary({ 'about.txt': `${artifact} ${version}`, ...more }),
  '.pom': buildPom({ artifact, version }),
})
const deploy = (artifact: string, version: string, files = library(artifact, version)): Promise<Got> =>
  maven.deploy({ artifact, version, files })
const versionsIn = (xml: string): string[] =>
  [...xml.matchAll(/<version>([^<]+)<\/version>/g)].map(([, one = '']) => one)

describe('a release', () => {
  test('is there with its checksums and list once the list of versions came, and no file of it before', async () => {
    const files = library('whole', '1.0')
    const at = 'org/example/whole/1.0/whole-1.0'
    expect((await maven.put(`${at}.jar`, files['.jar'] ?? '')).status).toBe(201)
    expect((await maven.get(`${at}.jar`)).status).toBe(404)
    expect(short(await deploy('whole', '1.0', files))).toMatch(/^201/)
    for (const [end, body] of Object.entries(files)) {
      const got = await fetch(`${maven.address}/${at}${end}`)
      expect(Buffer.from(await got.arrayBuffer()).equals(body)).toBe(true)
      expect(got.headers.get('cache-control')).toContain('immutable')
      for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512'])
        expect((await maven.get(`${at}${end}.${algorithm}`)).text).toBe(sum(algorithm, body))
    }
    expect((await maven.send('HEAD', `${at}.jar`)).headers.get('content-length')).toBe(String(files['.jar']?.length))
    const list = await maven.get('org/example/whole/maven-metadata.xml')
    expect(list.headers.get('content-type')).toContain('xml')
    expect(list.text).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>org.example</groupId>
  <artifactId>whole</artifactId>
  <versioning>
    <latest>1.0</latest>
    <release>1.0</release>
    <versions>
      <version>1.0</version>
    </versions>
    <lastUpdated>${/<lastUpdated>(\d{14})</.exec(list.text)?.[1]}</lastUpdated>
  </versioning>
</metadata>
`)
    expect((await maven.get('org/example/whole/maven-metadata.xml.sha1')).text).toBe(sum('sha1', list.text))
    expect(await readdir(join(maven.daemon.root, '.deploys'))).toEqual([])
  })

  test('is never replaced: the same bytes are taken again, others are not', async () => {
    const files = library('fixed', '1.0')
    await deploy('fixed', '1.0', files)
    expect(short(await deploy('fixed', '1.0', files))).toMatch(/^201/)
    const other = await deploy('fixed', '1.0', { ...files, '.jar': buildLibrary({ 'evil.txt': 'x' }) })
    expect(short(other)).toMatch(/^409 org.example:fixed 1.0 is here already and never replaced: deploy a new version/)
    const late = await maven.put('org/example/fixed/1.0/fixed-1.0-evil.jar', 'x')
    expect(short(late)).toMatch(/^409 fixed-1.0-evil.jar came after the list of versions of org.example:fixed 1.0/)
    expect(late.headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(late.text)).toEqual({
      title: 'Conflict',
      status: 409,
      detail: expect.stringContaining('use 3.0 or later.') as unknown,
    })
    const got = await fetch(`${maven.address}/org/example/fixed/1.0/fixed-1.0.jar`)
    expect(Buffer.from(await got.arrayBuffer()).equals(files['.jar'] ?? Buffer.alloc(0))).toBe(true)
  })

  test('lists stand in the order of Maven, whatever came first', async () => {
    for (const version of ['1.10', '1.9', '1.10-rc1', '2.0-20261122.094857-1'])
      expect(
        short(
          await maven.deploy({
            artifact: 'many',
            version,
            files: {
              '.jar': buildLibrary(),
              '.pom': buildPom({ artifact: 'many', version: version.replace(/2\.0-.*/, '2.0-SNAPSHOT') }),
            },
          }),
        ),
      ).toMatch(/^201/)
    const { text } = await maven.get('org/example/many/maven-metadata.xml')
    expect(versionsIn(text)).toEqual(['1.9', '1.10-rc1', '1.10', '2.0-SNAPSHOT'])
    expect(text).toContain('<latest>2.0-SNAPSHOT</latest>')
    expect(text).toContain('<release>1.10</release>')
  })

  test('has files beside: sources, javadoc, module, signatures', async () => {
    const files = {
      ...library('beside', '1.0'),
      '-sources.jar': buildLibrary({ 'A.java': 'class A {}' }),
      '-javadoc.jar': buildLibrary({ 'index.html': '<html></html>' }),
      '.module': '{"formatVersion": "1.1"}',
      '.jar.asc': '-----BEGIN PGP SIGNATURE-----\n',
    }
    expect(short(await maven.deploy({ artifact: 'beside', version: '1.0', files }))).toMatch(/^201/)
    for (const [end, body] of Object.entries(files))
      expect((await maven.get(`org/example/beside/1.0/beside-1.0${end}.sha256`)).text).toBe(sum('sha256', body))
  })

  test('has the pom that it was built from beside its own, as Maven 4 sends it', async () => {
    for (const [artifact, packaging] of [
      ['four', 'jar'],
      ['top-four', 'pom'],
    ] as const) {
      const files = {
        ...(packaging === 'jar' ? { '.jar': buildLibrary() } : {}),
        '-build.pom': buildPom({ artifact, version: '${revision}', packaging }),
        '.pom': buildPom({ artifact, version: '1.0', packaging }),
      }
      expect(short(await maven.deploy({ artifact, version: '1.0', files }))).toMatch(/^201/)
      for (const [end, body] of Object.entries(files))
        expect((await maven.get(`org/example/${artifact}/1.0/${artifact}-1.0${end}.sha1`)).text).toBe(sum('sha1', body))
    }
  })

  test('a pom alone is one, where it says so, and plugins are listed by their group', async () => {
    expect(
      short(
        await maven.deploy({
          artifact: 'top',
          version: '1',
          files: { '.pom': buildPom({ artifact: 'top', version: '1', packaging: 'pom' }) },
        }),
      ),
    ).toMatch(/^201/)
    const pom = buildPom({ group: 'org.plug', artifact: 'hi-maven-plugin', version: '1', packaging: 'maven-plugin' })
    await maven.deploy({
      group: 'org.plug',
      artifact: 'hi-maven-plugin',
      version: '1',
      files: { '.jar': buildLibrary(), '.pom': pom },
    })
    expect((await maven.get('org/plug/maven-metadata.xml')).text).toContain('<prefix>hi</prefix>')
    const list = '<metadata><plugins><plugin><prefix>hi</prefix></plugin></plugins></metadata>'
    expect((await maven.put('org/plug/maven-metadata.xml', list)).status).toBe(201)
  })
})

describe('a snapshot', () => {
  const build = (n: number, more: Record<string, string> = {}): Promise<Got> =>
    maven.deploy({
      artifact: 'snap',
      version: `1.0-20261122.09485${n}-${n}`,
      files: {
        '.jar': buildLibrary({ n: String(n), ...more }),
        '.pom': buildPom({ artifact: 'snap', version: '1.0-SNAPSHOT' }),
      },
    })
  const at = 'org/example/snap/1.0-SNAPSHOT'

  test('keeps its newest builds, each found by its list', async () => {
    for (const n of [1, 2, 3]) expect(short(await build(n))).toMatch(/^201/)
    const { text } = await maven.get(`${at}/maven-metadata.xml`)
    expect(text).toContain('<timestamp>20261122.094853</timestamp>\n      <buildNumber>3</buildNumber>')
    expect([...text.matchAll(/<value>([^<]+)</g)].map(([, one]) => one)).toEqual([
      '1.0-20261122.094852-2',
      '1.0-20261122.094852-2',
      '1.0-20261122.094853-3',
      '1.0-20261122.094853-3',
    ])
    expect((await maven.get(`${at}/snap-1.0-20261122.094851-1.jar`)).status).toBe(404)
    expect((await maven.get(`${at}/snap-1.0-20261122.094852-2.jar`)).status).toBe(200)
    expect((await maven.get(`${at}/snap-1.0-SNAPSHOT.jar.sha1`)).text).toBe(sum('sha1', buildLibrary({ n: '3' })))
    expect(short(await build(3, { other: 'bytes' }))).toMatch(/^409 /)
  })

  test('is deleted whole by the address of its folder', async () => {
    expect((await maven.send('DELETE', `${at}/`, maven.token)).status).toBe(204)
    expect((await maven.get(`${at}/maven-metadata.xml`)).status).toBe(404)
  })
})

describe('what is held', () => {
  test('is said to who deploys and who reads, at every file, and is in no list', async () => {
    await deploy('held', '1.0')
    await maven.holds(true)
    const files = library('held', '1.1')
    const said = await deploy('held', '1.1', files)
    expect(short(said)).toMatch(/^422 Held for review by Gatehouse: /)
    expect(said.text).toContain(`${maven.daemon.url}/#/review?pick=org.example%3Aheld&version=1.1`)
    expect(short(await deploy('held', '1.1', files))).toMatch(/^422 Held for review by Gatehouse: /)
    await maven.holds(false)
    for (const file of ['.jar', '.pom', '.jar.sha1', '.pom.sha256', '-sources.jar'])
      expect(short(await maven.get(`org/example/held/1.1/held-1.1${file}`)), file).toMatch(
        /^403 Held for review by Gatehouse: /,
      )
    expect(versionsIn((await maven.get('org/example/held/maven-metadata.xml')).text)).toEqual(['1.0'])
    await maven.decide('org.example:held', '1.1', 'approve')
    expect((await maven.get('org/example/held/1.1/held-1.1.jar')).status).toBe(200)
    await maven.decide('org.example:held', '1.0', 'quarantine')
    expect(short(await maven.get('org/example/held/1.0/held-1.0.jar'))).toMatch(/^403 Quarantined by Gatehouse: /)
    await maven.decide('org.example:held', '1.1', 'quarantine')
    // a client that got 404 would ask the next repository for the name
    expect(short(await maven.get('org/example/held/maven-metadata.xml'))).toMatch(/^403 Quarantined by Gatehouse: /)
  })
})

describe('who may do what', () => {
  test('nobody deploys without a credential, with a wrong one, or as a reader; an uploader does not delete', async () => {
    const put = (token?: string): Promise<Got> => maven.send('PUT', 'org/example/mine/1/mine-1.jar', token)
    const nobody = await put()
    expect(nobody.status).toBe(401)
    expect(nobody.headers.get('www-authenticate')).toBe('Basic realm="Gatehouse", charset="UTF-8"')
    expect((await put('svc_wrong')).status).toBe(401)
    expect(short(await put(await maven.apiToken('reads', 'reader')))).toMatch(/^403 This needs uploader/)
    expect((await put(await maven.apiToken('elsewhere', 'uploader', ['jammy']))).status).toBe(403)
    const uploader = await maven.apiToken('uploads', 'uploader', ['ours'])
    expect(
      short(await maven.deploy({ artifact: 'mine', version: '1', files: library('mine', '1'), token: uploader })),
    ).toMatch(/^201/)
    expect((await maven.send('DELETE', 'org/example/mine/1/', uploader)).status).toBe(403)
    expect((await maven.send('DELETE', 'org/example/mine/1/mine-1.jar', maven.token)).status).toBe(400)
    expect((await maven.send('DELETE', 'org/example/mine/1/', maven.token)).status).toBe(204)
    expect((await maven.get('org/example/mine/1/mine-1.jar')).status).toBe(404)
  })

  test('a private registry opens for a token alone', async () => {
    await deploy('secret', '1.0')
    await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: true } })
    try {
      expect((await maven.get('org/example/secret/1.0/secret-1.0.jar')).status).toBe(401)
      expect((await maven.get('org/example/secret/1.0/secret-1.0.jar', maven.token)).status).toBe(200)
    } finally {
      await maven.daemon.call('PUT', '/access/distributions/ours', { token: maven.token, body: { private: false } })
    }
  })
})

describe('two at once', () => {
  test('of two senders one wins, and nothing of the other is in it', async () => {
    const [one, two] = [await maven.apiToken('ci-1', 'uploader'), await maven.apiToken('ci-2', 'uploader')]
    const at = 'org/example/race/1.0/race-1.0'
    const [mine, other] = [buildLibrary({ by: 'one' }), buildLibrary({ by: 'two' })]
    expect((await maven.put(`${at}.jar`, mine, one)).status).toBe(201)
    expect(short(await maven.put(`${at}.jar`, other, two))).toMatch(/^409 ci-1 is deploying org.example:race 1.0/)
    expect(short(await maven.put(`${at}.pom`, buildPom({ artifact: 'race' }), two))).toMatch(/^409 /)
    expect((await maven.put(`${at}.jar.sha1`, sum('sha1', other), two)).status).toBe(409)
    expect(
      (await maven.put('org/example/race/maven-metadata.xml', clientMetadata('org.example', 'race', '1.0'), two))
        .status,
    ).toBe(201)
    expect((await maven.get(`${at}.jar`)).status).toBe(404)
    expect(
      short(
        await maven.deploy({
          artifact: 'race',
          version: '1.0',
          files: { '.jar': mine, '.pom': buildPom({ artifact: 'race' }) },
          token: one,
        }),
      ),
    ).toMatch(/^201/)
    expect((await maven.get(`${at}.jar.sha1`)).text).toBe(sum('sha1', mine))
  })

  test('the same version ten times at once is one version', async () => {
    const files = library('ten', '1.0')
    const answers = await Promise.all(Array.from({ length: 10 }, () => deploy('ten', '1.0', files)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(versionsIn((await maven.get('org/example/ten/maven-metadata.xml')).text)).toEqual(['1.0'])
  })

  test('many versions at once are all in the list', async () => {
    const versions = Array.from({ length: 8 }, (_, n) => `1.${n}`)
    await Promise.all(versions.map(version => deploy('eight', version)))
    expect(versionsIn((await maven.get('org/example/eight/maven-metadata.xml')).text)).toEqual(versions)
  })
})

test('a daemon that is killed in the middle of a deploy goes on with it', async () => {
  const files = library('killed', '1.0')
  const at = 'org/example/killed/1.0/killed-1.0'
  for (const [end, body] of Object.entries(files)) expect((await maven.put(`${at}${end}`, body)).status).toBe(201)
  await maven.daemon.kill9()
  await maven.daemon.restart()
  const last = await maven.put('org/example/killed/maven-metadata.xml', clientMetadata('org.example', 'killed', '1.0'))
  expect(last.status).toBe(201)
  expect((await maven.get(`${at}.jar.sha1`)).text).toBe(sum('sha1', files['.jar'] ?? ''))
  expect(await readdir(join(maven.daemon.root, '.deploys'))).toEqual([])
})

describe('refused, and nothing of it stays', () => {
  const jar = (...names: readonly string[]): Buffer => buildZip(names.map(name => ({ name, body: name })))
  const bomb = Buffer.from('<!DOCTYPE p [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><project><name>&b;</name></project>')
  const pom = (more: Parameters<typeof buildPom>[0] = {}): Buffer => buildPom({ artifact: 'bad', ...more })
  test.each<[string, Record<string, Buffer>, RegExp]>([
    ['an entity bomb', { '.jar': jar('a'), '.pom': bomb }, /^422 .*DOCTYPE/],
    [
      'another group in the pom',
      { '.jar': jar('a'), '.pom': pom({ group: 'org.other' }) },
      /^422 .*org.other:bad 1.0, and its address org.example:bad 1.0/,
    ],
    ['another artifact in the pom', { '.jar': jar('a'), '.pom': pom({ artifact: 'good' }) }, /^422 .*its pom says/],
    ['another version in the pom', { '.jar': jar('a'), '.pom': pom({ version: '2.0' }) }, /^422 .*its pom says/],
    ['a snapshot in the pom of a release', { '.jar': jar('a'), '.pom': pom({ version: '1.0-SNAPSHOT' }) }, /^422 /],
    [
      'a version that the pom leaves open',
      { '.jar': jar('a'), '.pom': pom({ version: '${revision}' }) },
      /^422 .*revision/,
    ],
    [
      'an entity bomb in the pom that it was built from',
      { '.jar': jar('a'), '.pom': pom(), '-build.pom': bomb },
      /^422 .*-build.pom.*DOCTYPE/,
    ],
    ['half a deploy without the jar', { '.pom': pom() }, /^422 .*no bad-1.0.jar came/],
    ['half a deploy without the pom', { '.jar': jar('a') }, /^422 .*no .pom came/],
    ['a jar that climbs out', { '.jar': jar('../../etc/passwd'), '.pom': pom() }, /^422 .*leads out of the folder/],
    [
      'a jar with a name twice',
      {
        '.jar': buildZip([
          { name: 'A', body: '1' },
          { name: 'A', body: '2' },
        ]),
        '.pom': pom(),
      },
      /^422 .*twice/,
    ],
    ['a jar that is none', { '.jar': Buffer.from('nothing'), '.pom': pom() }, /^422 .*no zip/],
    ['sources that climb out', { '.jar': jar('a'), '.pom': pom(), '-sources.jar': jar('/x') }, /^422 .*leads out/],
    ['a pom of 100 MB', { '.pom': Buffer.alloc(100 * 2 ** 20, 'x') }, /^413 The file is larger than 8 MB/],
  ])('%s', async (_, files, why) => {
    expect(short(await maven.deploy({ artifact: 'bad', version: '1.0', files }))).toMatch(why)
    expect((await maven.get('org/example/bad/1.0/bad-1.0.jar')).status).toBe(404)
    // what was refused is in nobody's way
    const again = await maven.put('org/example/bad/1.0/bad-1.0.jar', 'other bytes')
    expect(again.status).toBe(201)
    expect((await maven.put('org/example/bad/1.0/bad-1.0.jar.sha1', sum('sha1', ''))).status).toBe(400)
  })

  test.each([
    'x.jar',
    'a/b/x.jar',
    'org/example/lib/1.0/other-1.0.jar',
    'org/example/lib/1.0/lib-2.0.jar',
    'org/example/lib/1.0/lib-1.0',
    'org/example/lib/1.0/lib-1.0..jar',
    'org/example/lib/1.0/lib-1.0-%20.jar',
    'org/exa.mple/lib/1.0/lib-1.0.jar',
    'org/example/lib/%5B1,2)/lib-%5B1,2).jar',
    'org/example/lib/LATEST/lib-LATEST.jar',
    'org/example/lib/1.0-20261122.094857-2/lib-1.0-20261122.094857-2.jar',
    `org/example/lib/${'1'.repeat(500)}/lib-${'1'.repeat(500)}.jar`,
    `org/example/lib/1.0/lib-1.0-${'x'.repeat(300)}.jar`,
    'maven-metadata.xml',
    'org/example/..%2f..%2fetc/1.0/etc-1.0.jar',
    'org/%2e%2e/lib/1.0/lib-1.0.jar',
    'org/example/lib/1.0/lib-1.0%00.jar',
    'org/example/lib/1.0/lib-1.0%0a.jar',
    'org/example/lib//lib-1.0.jar',
    // a moment that no calendar has, and a number that has no next one
    'org/example/lib/1.0-SNAPSHOT/lib-1.0-99999999.999999-1.jar',
    'org/example/lib/1.0-SNAPSHOT/lib-1.0-20261122.094857-999999999.jar',
    'org/example/lib/1.0-SNAPSHOT/lib-1.0-20261122.094857-0.jar',
    'org/example/lib/1.0-SNAPSHOT/lib-2.0-20261122.094857-1.jar',
    `${'a/'.repeat(300)}lib/1.0/lib-1.0.jar`,
    '%D0%BErg/example/lib/1.0/lib-1.0.jar',
    'org/example/lib/1.0/lib-1.0-a%2fb.jar',
  ])('the address %s', async path => {
    expect((await maven.put(path, 'x')).status).toBe(400)
  })

  test('a wrong checksum, before its file and after it', async () => {
    const files = library('sums', '1.0')
    const at = 'org/example/sums/1.0/sums-1.0'
    await maven.put(`${at}.jar`, files['.jar'] ?? '')
    expect(short(await maven.put(`${at}.jar.sha1`, sum('sha1', 'x')))).toMatch(
      /^400 The sha1 of sums-1.0.jar is not the one that was sent/,
    )
    expect((await maven.put(`${at}.jar.sha256`, sum('sha256', 'x'))).status).toBe(201)
    expect((await maven.put(`${at}.jar`, files['.jar'] ?? '')).status).toBe(400)
    expect((await maven.put(`${at}.jar.md5`, 'not hex')).status).toBe(400)
    expect((await maven.put(`${at}.jar.md5`, `${sum('md5', files['.jar'] ?? '')}  sums-1.0.jar\n`)).status).toBe(201)
    expect(short(await deploy('sums', '1.0', files))).toMatch(/^201/)
    for (const algorithm of ['sha256', 'sha512'])
      expect(short(await maven.put(`${at}.jar.${algorithm}`, sum(algorithm, 'x')))).toMatch(/^400 The sha/)
  })

  test.each([
    ['of another artifact', clientMetadata('org.example', 'other', '1'), /^400 .*it is the list of org.example:other/],
    ['of another group', clientMetadata('org.other', 'list', '1'), /^400 /],
    ['that is no XML', '<metadata>', /^400 /],
    ['with entities', '<!DOCTYPE m [<!ENTITY a "b">]><metadata>&a;</metadata>', /^400 .*DOCTYPE/],
    ['of 3 MB', `<metadata>${' '.repeat(3 * 2 ** 20)}</metadata>`, /^400 .*larger than 2 MiB/],
  ])('a list %s', async (_, body, why) => {
    expect(short(await maven.put('org/example/list/maven-metadata.xml', body))).toMatch(why)
  })

  test('a list of builds with wild moments and numbers, which is not taken for true', async () => {
    const at = 'org/example/wild/1.0-SNAPSHOT'
    const files = { '.jar': buildLibrary(), '.pom': buildPom({ artifact: 'wild', version: '1.0-SNAPSHOT' }) }
    expect(short(await maven.deploy({ artifact: 'wild', version: '1.0-20261122.094857-1', files }))).toMatch(/^201/)
    const list = `<metadata><groupId>org.example</groupId><artifactId>wild</artifactId><version>1.0-SNAPSHOT</version><versioning><snapshot><timestamp>99999999.999999</timestamp><buildNumber>99999999999</buildNumber></snapshot><lastUpdated>99999999999999</lastUpdated></versioning></metadata>`
    expect((await maven.put(`${at}/maven-metadata.xml`, list)).status).toBe(201)
    const { text } = await maven.get(`${at}/maven-metadata.xml`)
    expect(text).toContain('<timestamp>20261122.094857</timestamp>')
    expect(text).not.toContain('9999')
  })

  test('requests that no client sends', async () => {
    expect((await maven.send('POST', 'org/example/lib/1.0/lib-1.0.jar', maven.token)).status).toBe(405)
    expect((await maven.send('GET', 'org/example/lib/')).status).toBe(404)
    expect((await maven.send('DELETE', 'org/example/nothing/1.0/', maven.token)).status).toBe(404)
    // Maven 4 looks whether there is one
    const none = await maven.get('.meta/prefixes.txt')
    expect(none.status).toBe(404)
    // by a problem Maven would read that something is wrong
    expect(none.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  })
})
