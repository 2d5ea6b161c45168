import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync, crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildDeb, spoolBytes, type FileSpec } from '../../test/support/packages.ts'
import { sha256, type Codename } from '../core/identity.ts'
import type { InnerStream } from '../formats/format.ts'
import { deb } from '../formats/deb/index.ts'
import { createComponents, readContents } from './components.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-sbom-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A zip of deflated entries. */
function zip(entries: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const [name, content] of Object.entries(entries)) {
    const body = Buffer.from(content)
    const packed = deflateRawSync(body)
    const fields = (start: number[]): Buffer => {
      const header = Buffer.alloc(start.length * 2)
      start.forEach((value, n) => header.writeUInt16LE(value, n * 2))
      return header
    }
    const sizes = Buffer.alloc(12)
    sizes.writeUInt32LE(crc32(body), 0)
    sizes.writeUInt32LE(packed.length, 4)
    sizes.writeUInt32LE(body.length, 8)
    const common = Buffer.concat([fields([20, 0x800, 8, 0, 0x21]), sizes, fields([Buffer.byteLength(name), 0])])
    const offset = Buffer.alloc(4)
    offset.writeUInt32LE(at)
    directory.push(Buffer.from('PK\u0001\u0002'), fields([20]), common, Buffer.alloc(10), offset, Buffer.from(name))
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), packed])
    parts.push(local)
    at += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(Object.keys(entries).length, 8)
  end.writeUInt16LE(Object.keys(entries).length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, central, end])
}

const pom = (group: string, name: string, version: string): Record<string, string> => ({
  [`META-INF/maven/${group}/${name}/pom.properties`]: `#Generated\nartifactId=${name}\ngroupId=${group}\nversion=${version}\n`,
})

async function contentsOf(files: Readonly<Record<string, FileSpec>>) {
  const bytes = await buildDeb({ name: 'app', version: '1.0', files })
  return readContents(deb, await spoolBytes(folder, 'app.deb', bytes))
}
const purlsOf = async (files: Readonly<Record<string, FileSpec>>): Promise<string[]> =>
  (await contentsOf(files)).components.map(({ purl }) => purl)

describe('what a package carries', () => {
  test('lockfiles of several ecosystems and jars, sorted, each with its place', async () => {
    const log4j = zip(pom('org.apache.logging.log4j', 'log4j-core', '2.14.1'))
    const { components, incomplete } = await contentsOf({
      'opt/app/package-lock.json': JSON.stringify({ packages: { 'node_modules/lodash': { version: '4.17.20' } } }),
      'opt/app/requirements.txt': 'requests==2.19.0\n',
      'opt/app/lib/log4j-core-2.14.1.jar': log4j,
      'opt/app/README': 'requests==1.0',
      'usr/lib/python3/dist-packages/app-1.dist-info/METADATA': 'Metadata-Version: 2.1\nName: app\nVersion: 1\n',
    })
    expect(incomplete).toEqual([])
    expect(components).toEqual([
      {
        purl: 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1',
        group: 'org.apache.logging.log4j',
        name: 'log4j-core',
        version: '2.14.1',
        path: 'opt/app/lib/log4j-core-2.14.1.jar!/META-INF/maven/org.apache.logging.log4j/log4j-core/pom.properties',
      },
      { purl: 'pkg:npm/lodash@4.17.20', name: 'lodash', version: '4.17.20', path: 'opt/app/package-lock.json' },
      {
        purl: 'pkg:pypi/app@1',
        name: 'app',
        version: '1',
        path: 'usr/lib/python3/dist-packages/app-1.dist-info/METADATA',
        packaged: true,
      },
      { purl: 'pkg:pypi/requests@2.19.0', name: 'requests', version: '2.19.0', path: 'opt/app/requirements.txt' },
    ])
  })
  test('archives inside archives, and one that only its name describes', async () => {
    const war = zip({
      'WEB-INF/lib/b-2.jar': zip(pom('g', 'b', '2')),
      ...pom('g', 'a', '1'),
      'WEB-INF/lib/plain-3.1.jar': zip({ 'A.class': 'x' }),
    })
    expect(await purlsOf({ 'srv/a.war': war })).toEqual(['pkg:generic/plain@3.1', 'pkg:maven/g/a@1', 'pkg:maven/g/b@2'])
  })
  test('a name that no file system allows describes no component', async () => {
    const jar = zip({ [`a${'-1'.repeat(32_000)} .jar`]: zip({ 'A.class': 'x' }), 'b-1.jar': zip({ 'A.class': 'x' }) })
    expect(await purlsOf({ 'srv/a.jar': jar })).toEqual(['pkg:generic/b@1'])
  })
  test('a damaged jar, an invalid lockfile and too deep nesting are reported, and the rest still counts', async () => {
    const deep = zip({ 'a.jar': zip({ 'b.jar': zip({ 'c.jar': zip({ 'd.jar': 'x' }) }) }) })
    const { components, incomplete } = await contentsOf({
      'a/x.jar': 'not a zip',
      'b/package-lock.json': '{',
      'c/deep.jar': deep,
      'd/requirements.txt': 'a==1',
    })
    expect(components.map(({ purl }) => purl)).toEqual(['pkg:pypi/a@1'])
    expect(incomplete).toHaveLength(3)
    expect(incomplete.join('\n')).toMatch(
      /a\/x\.jar: .+\nb\/package-lock\.json: it is not JSON\.\nc\/deep\.jar: c\.jar in it is nested more than 3 deep\./,
    )
  })
  test('an archive that unpacks to more than the limit is reported', async () => {
    const bomb = zip({ 'a-1.jar': Buffer.alloc(70 * 1024 * 1024) })
    expect((await contentsOf({ 'x.jar': bomb })).incomplete).toEqual([
      expect.stringContaining('at most 67108864 are read'),
    ])
  })
  test('bytes limit how much is read, never the clock', async () => {
    const bytes = await buildDeb({
      name: 'app',
      version: '1.0',
      files: { 'a/requirements.txt': 'a==1\n', 'b/requirements.txt': 'b==1\n' },
    })
    const file = await spoolBytes(folder, 'app.deb', bytes)
    let hours = 0
    vi.spyOn(performance, 'now').mockImplementation(() => hours++ * 3_600_000)
    try {
      const { components, incomplete } = await readContents(deb, file)
      expect([components.map(({ purl }) => purl), incomplete]).toEqual([['pkg:pypi/a@1', 'pkg:pypi/b@1'], []])
    } finally {
      vi.restoreAllMocks()
    }
    expect(await readContents(deb, file, 9)).toMatchObject({
      components: [{ purl: 'pkg:pypi/a@1' }],
      incomplete: ['Its lockfiles and archives have more than 9 bytes; the rest is left out.'],
    })
  })
  test('a cpio payload, as an RPM has it', async () => {
    const field = (n: number): string => n.toString(16).padStart(8, '0')
    const entry = (name: string, body: string, mode = 0o100644): Buffer => {
      const head = `070701${[1, mode, 0, 0, 1, 0, body.length, 0, 0, 0, 0, name.length + 1, 0].map(field).join('')}${name}\0`
      return Buffer.from(
        head + '\0'.repeat((4 - (head.length % 4)) % 4) + body + '\0'.repeat((4 - (body.length % 4)) % 4),
      )
    }
    const cpio = Buffer.concat([
      entry('./opt', '', 0o040755),
      entry('./opt/link.jar', 'elsewhere', 0o120777),
      entry('./opt/README.long', 'x'.repeat(1001)),
      entry('./opt/requirements.txt', 'flask==1.0\n'),
      entry('TRAILER!!!', ''),
    ])
    const inner = (bytes: Buffer) => ({
      async *inner(): AsyncGenerator<InnerStream> {
        yield {
          name: 'payload.cpio',
          async *open() {
            for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
          },
        }
      },
    })
    const file = await spoolBytes(folder, 'x.rpm', Buffer.from('x'))
    expect(await readContents(inner(cpio), file)).toMatchObject({
      components: [{ purl: 'pkg:pypi/flask@1.0', path: 'opt/requirements.txt' }],
      incomplete: [],
    })
    expect((await readContents(inner(cpio.subarray(0, 900)), file)).incomplete).toEqual([
      'The payload could not be read to its end: the payload is cut off.',
    ])
  })
})

describe('the cache', () => {
  test('a payload is read once, and never when no path may name components', async () => {
    const bytes = await buildDeb({ name: 'app', version: '2.0', files: { 'opt/requirements.txt': 'flask==1.0\n' } })
    const file = await spoolBytes(folder, 'app.deb', bytes)
    let opened = 0
    const components = createComponents({
      pool: {
        locate: async () => {
          opened++
          return file.path
        },
      },
      formats: () => deb,
      folder: join(folder, 'cache'),
    })
    const carrier = {
      ref: { format: 'deb', name: 'app', version: '2.0', arch: 'amd64', codename: 'jammy' as Codename },
      files: [{ path: 'app.deb', blob: { ...file.blob, sha256: sha256(file.blob.sha256) } }],
    } as const
    expect(await components.of(carrier, ['usr/bin/app', 'usr/share/doc/app/requirements'])).toEqual({
      components: [],
      incomplete: [],
    })
    expect(await components.of(carrier, false)).toEqual({ components: [], incomplete: [] })
    expect(opened).toBe(0)
    const answers = await Promise.all([components.of(carrier, true), components.of(carrier, ['opt/requirements.txt'])])
    expect(answers[0].components.map(({ purl }) => purl)).toEqual(['pkg:pypi/flask@1.0'])
    expect(answers[1]).toEqual(answers[0])
    expect(opened).toBe(1)
    const [kept = ''] = await readdir(join(folder, 'cache', file.blob.sha256.slice(0, 2)))
    await writeFile(join(folder, 'cache', file.blob.sha256.slice(0, 2), kept), '{"sch')
    expect(await components.of(carrier, true)).toEqual(answers[0])
    expect(opened).toBe(2)
  })
})
