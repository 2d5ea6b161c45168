import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApk } from '../../../test/support/packages-apk.ts'
import { buildRpm, CPIO_END, cpioEntry } from '../../../test/support/packages-rpm.ts'
import { buildDeb, compress, tar, tarEntry, type TarSpec } from '../../../test/support/packages.ts'
import { buildZip, type ZipEntry } from '../../../test/support/zip.ts'
import type { Contents } from '../component.ts'
import { LIMITS } from '../limits.ts'
import { READERS } from '../readers.ts'
import { createRoom } from '../room.ts'
import { UNPACKERS } from '../unpackers.ts'
import { walk } from '../walk.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-archives-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What is found in a package that has these files and nothing else. */
function contentsOf(files: readonly TarSpec[] | Buffer, limits: Partial<typeof LIMITS> = {}): Promise<Contents> {
  const bytes = Buffer.isBuffer(files) ? files : tar(files)
  async function* open(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
  }
  async function* streams() {
    yield { name: 'data.tar', open }
  }
  return walk(streams(), {
    readers: READERS,
    unpackers: UNPACKERS,
    room: createRoom(folder, { ...LIMITS, ...limits }),
    signal: new AbortController().signal,
  })
}
const inside = (name: string, body: Buffer, limits: Partial<typeof LIMITS> = {}) =>
  contentsOf([{ name: `./opt/${name}`, body }], limits)
/** Without the rows of inner packages themselves. */
const placesOf = ({ components }: Contents): string[] =>
  components.filter(({ purl }) => !/^pkg:(?:deb|rpm|apk)\//.test(purl)).map(({ purl, path }) => `${purl} ${path}`)

const POM = 'META-INF/maven/g/a/pom.properties'
const pom = { name: POM, body: 'groupId=g\nartifactId=a\nversion=1\n' }
const jar = buildZip([pom])
const found = (place: string): string[] => [`pkg:maven/g/a@1 opt/${place}!/${POM}`]

/** An asar as Electron's own tool writes it. */
function buildAsar(list: object, data: Buffer): Buffer {
  const json = Buffer.from(JSON.stringify(list))
  const padded = Math.ceil(json.length / 4) * 4
  const head = Buffer.alloc(16 + padded)
  ;[4, padded + 8, padded + 4, json.length].forEach((n, at) => head.writeUInt32LE(n, at * 4))
  json.copy(head, 16)
  return Buffer.concat([head, data])
}

describe('a jar is found', () => {
  const plainTar = tar([{ name: './lib/x.jar', body: jar }])
  const cpio = Buffer.concat([cpioEntry({ name: './x.jar', mode: 0o100644, body: jar, ino: 1 }), CPIO_END])
  const asar = buildAsar(
    { files: { lib: { files: { 'x.jar': { size: jar.length, offset: '3' } } } } },
    Buffer.concat([Buffer.alloc(3), jar]),
  )
  test.each<[string, () => Buffer | Promise<Buffer>, string]>([
    ['x.jar', () => jar, ''],
    ['x.bin', () => jar, ''],
    ['run.sh', () => Buffer.concat([Buffer.from('#!/bin/sh\nexec java -jar "$0"\n'), jar]), ''],
    ['setup.exe', () => Buffer.concat([Buffer.from('MZ'), randomBytes(5000), jar]), ''],
    ['stored.zip', () => buildZip([{ name: 'x.jar', body: jar, stored: true }]), '!/x.jar'],
    ['deflated.zip', () => buildZip([{ name: 'x.jar', body: jar }]), '!/x.jar'],
    ['odd-name.zip', () => buildZip([{ name: 'data', body: jar }]), '!/data'],
    ['a.tar', () => plainTar, '!/lib/x.jar'],
    ['of-version-7', () => tar([{ name: './lib/x.jar', body: jar, magic: '\0\0\0\0\0\0\0\0' }]), '!/lib/x.jar'],
    ['a.tar.gz', () => gzipSync(plainTar), '!/lib/x.jar'],
    ['a.tar.zst', () => zstdCompressSync(plainTar), '!/lib/x.jar'],
    ['a.tar.xz', () => compress(plainTar, 'xz'), '!/lib/x.jar'],
    ['x.jar.gz', () => gzipSync(jar), '!/x.jar'],
    ['x.jar.br', () => brotliCompressSync(jar), '!/x.jar'],
    ['a.cpio', () => cpio, '!/x.jar'],
    ['a.cpio.gz', () => gzipSync(cpio), '!/x.jar'],
    [
      'a.deb',
      () => buildDeb({ name: 'x', version: '1', files: { 'opt/x.jar': jar }, compression: 'gz' }),
      '!/data.tar.gz!/opt/x.jar',
    ],
    [
      'a.rpm',
      () => buildRpm({ name: 'x', version: '1', release: '1', files: { 'opt/x.jar': jar } }),
      '!/payload!/opt/x.jar',
    ],
    ['a.apk', () => buildApk({ name: 'x', version: '1-r0', files: { 'opt/x.jar': jar } }), '!/opt/x.jar'],
    ['app.asar', () => asar, '!/lib/x.jar'],
    ['image.tar', () => tar([{ name: 'blobs/sha256/00', body: gzipSync(plainTar) }]), '!/blobs/sha256/00!/lib/x.jar'],
  ])('in %s', async (name, build, place) => {
    expect(placesOf(await inside(name, await build()))).toEqual(found(`${name}${place}`))
  })
  test.each<[string, (bytes: Buffer) => Buffer | Promise<Buffer>]>([
    ['zst', zstdCompressSync],
    ['xz', bytes => compress(bytes, 'xz')],
    ['gz', gzipSync],
  ])('in joined streams of %s', async (ending, pack) => {
    const whole = tar([
      { name: 'first', body: randomBytes(300_000) },
      { name: './lib/x.jar', body: jar },
    ])
    const skippable = ending === 'zst' ? [Buffer.from('502a4d180400000000000000', 'hex')] : []
    const packed = await Promise.all(
      [whole.subarray(0, 200_000), whole.subarray(200_000)].map(async part => pack(part)),
    )
    expect(placesOf(await inside(`a.tar.${ending}`, Buffer.concat([...skippable, ...packed])))).toEqual(
      found(`a.tar.${ending}!/lib/x.jar`),
    )
    const { unopened } = await inside(`a.tar.${ending}`, Buffer.concat([...packed, Buffer.from('more bytes')]))
    expect(unopened).toMatchObject([{ path: `opt/a.tar.${ending}` }])
  })
  test.each(['gzip', 'zstd'] as const)('and so is text that names components, compressed by %s alone', async kind => {
    const compress = kind === 'gzip' ? gzipSync : zstdCompressSync
    const ending = kind === 'gzip' ? 'gz' : 'zst'
    const bill = JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      components: [{ type: 'library', name: 'b', version: '1', purl: 'pkg:npm/b@1' }],
    })
    expect(placesOf(await inside(`bom.json.${ending}`, compress(Buffer.from(bill))))).toEqual([
      `pkg:npm/b@1 opt/bom.json.${ending}!/bom.json`,
    ])
  })
  test('once where it lies once, and text is no reason to unpack all of a file', async () => {
    const { components, unopened } = await inside(
      'notes.gz',
      gzipSync(`${'text\n'.repeat(2000)}${jar.toString('latin1')}`),
    )
    expect([components, unopened]).toEqual([[], []])
  })
})

describe('an archive that readers see differently is named', () => {
  const entries = (list: readonly ZipEntry[]): Promise<Contents> => inside('x.zip', buildZip(list))
  const whys = ({ unopened }: Contents): string[] => unopened.map(({ path, why }) => `${path}: ${why}`)
  test('a zip whose members overlap', async () => {
    const bytes = buildZip([
      { name: 'a', body: 'x'.repeat(100), stored: true },
      { name: 'b', body: 'y', stored: true },
    ])
    bytes.writeUInt32LE(10, bytes.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1')) + 42)
    expect(whys(await inside('x.zip', bytes))).toContain('opt/x.zip: a and b in it overlap.')
  })
  test('a zip with two end records', async () => {
    const bytes = buildZip([pom])
    const end = Buffer.from(bytes.subarray(-22))
    const commented = Buffer.concat([bytes, end])
    commented.writeUInt16LE(22, bytes.length - 2)
    expect(whys(await inside('x.zip', commented))).toEqual([
      'opt/x.zip: It could not be read to its end: it has two end records, so that readers see different archives.',
    ])
  })
  test('but a zip with folders, and one whose names are not UTF-8, are sound', async () => {
    const folders = buildZip([{ name: 'META-INF/', body: '', stored: true }, pom])
    expect(await inside('x.zip', folders)).toMatchObject({ components: [{ purl: 'pkg:maven/g/a@1' }], unopened: [] })
    const odd = buildZip([
      { name: 'a\u00e9', body: 'x' },
      { name: 'b', body: 'x' },
    ])
    for (let at = odd.indexOf(0xc3); at >= 0; at = odd.indexOf(0xc3)) odd[at] = odd[at + 1] = 0x99
    expect(whys(await inside('x.zip', odd))).toEqual([])
  })
  test('a zip behind another one', async () => {
    expect(await inside('x.zip', Buffer.concat([buildZip([{ name: 'b', body: 'x' }]), jar]))).toMatchObject({
      components: [{ purl: 'pkg:maven/g/a@1' }],
      unopened: [{ path: 'opt/x.zip', why: 'It begins with members that its directory does not name.' }],
    })
  })
  const npm = { name: 'node_modules/b/package.json', body: '{"name":"b","version":"1.0.0"}' }
  const at = `opt/x.zip!/${npm.name}`
  test('a member with another checksum or size than the directory says', async () => {
    expect(
      whys(
        await entries([
          { ...npm, crc: 1 },
          { name: 'fine', body: 'x' },
        ]),
      ),
    ).toEqual([
      `${at}: It could not be read to its end: it has another size or checksum than the directory of the zip says.`,
    ])
    expect(whys(await entries([{ ...npm, size: 10 }]))).toEqual([
      `${at}: It could not be read to its end: it is damaged, or larger than the directory of the zip says.`,
    ])
  })
  test('an encrypted member, and one of another method', async () => {
    const bytes = buildZip([npm])
    for (const place of [8, bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1')) + 10]) bytes.writeUInt16LE(99, place)
    expect(whys(await inside('x.zip', bytes))).toEqual([`${at}: It is compressed by method 99, which is not read.`])
    expect(whys(await entries([{ ...npm, flags: 1 }]))).toEqual([`${at}: It is encrypted.`])
  })
  test('something behind the end of a tar, a cpio, a gzip stream; a sparse file', async () => {
    const one = tarEntry({ name: 'x.jar', body: jar })
    const behind = Buffer.concat([one, Buffer.alloc(1024), one])
    expect(await inside('a.tar', behind)).toMatchObject({
      components: [{ path: `opt/a.tar!/x.jar!/${POM}` }],
      unopened: [{ why: 'It could not be read to its end: the tar goes on behind its end mark.' }],
    })
    expect(whys(await inside('a.cpio', Buffer.concat([CPIO_END, Buffer.from('more')])))).toEqual([
      'opt/a.cpio: It could not be read to its end: something that is no archive follows the last entry.',
    ])
    expect(whys(await inside('a.tar.gz', Buffer.concat([gzipSync(tar([])), Buffer.from('more')])))).toHaveLength(1)
  })
  test('a sparse file in a tar is named, and the rest of the tar is read', async () => {
    const old = tarEntry({ name: 'x', body: 'map' })
    old.write('S', 156)
    old.write('00000001750\0', 483)
    old[482] = 1
    const withMap = Buffer.concat([old.subarray(0, 512), Buffer.alloc(512), old.subarray(512)])
    old.fill(' ', 148, 156)
    const sum = old.subarray(0, 512).reduce((all, byte) => all + byte, 0)
    withMap.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const record = (key: string, value: string): string => {
      const rest = ` ${key}=${value}\n`
      return `${rest.length + 2}${rest}`
    }
    const pax = tarEntry({
      name: 'pax',
      type: 'x',
      body: record('GNU.sparse.major', '1') + record('GNU.sparse.name', 'big'),
    })
    const bytes = Buffer.concat([
      withMap,
      pax,
      tarEntry({ name: 'GNUSparseFile.1/big', body: '1\n0\n' }),
      tarEntry({ name: 'x.jar', body: jar }),
      Buffer.alloc(1024),
    ])
    expect(await inside('a.tar', bytes)).toMatchObject({
      components: [{ purl: 'pkg:maven/g/a@1' }],
      unopened: [
        { path: 'opt/a.tar!/big', size: 4 },
        { path: 'opt/a.tar!/x', size: 1000, why: 'It is a sparse file, whose holes are not filled in.' },
      ],
    })
  })
  test('an asar that points outside, or with a list that is too long', async () => {
    expect(
      await inside(
        'a.asar',
        buildAsar(
          { files: { x: { size: 9, offset: '99' }, y: { size: 9, offset: 0 }, z: { size: 1, unpacked: true } } },
          Buffer.alloc(20),
        ),
      ),
    ).toEqual({
      components: [],
      unopened: ['x', 'y'].map(name => ({
        path: `opt/a.asar!/${name}`,
        size: 9,
        why: 'The list of its archive puts it outside.',
      })),
    })
    const long = buildAsar({ files: {} }, Buffer.alloc(0))
    long.writeUInt32LE(2 ** 31, 4)
    long.writeUInt32LE(2 ** 31 - 4, 8)
    long.writeUInt32LE(2 ** 30, 12)
    expect(whys(await inside('a.asar', long))).toEqual([
      'opt/a.asar: It could not be read to its end: its list of files has 1073741824 bytes.',
    ])
  })
  test.each([
    ['x.7z', '7z\xbc\xaf\x27\x1c', 'a 7z archive'],
    ['x.rar', 'Rar!\x1a\x07\x01\0', 'a RAR archive'],
    ['x.snap', 'hsqs', 'a squashfs image'],
    ['x.iso', '', 'a disk image'],
    ['x.msi', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'a Windows installer'],
    ['x.lzh', '\x20\x30-lh5-', 'an LZH archive'],
    ['x.tar.gz.enc', 'Salted__', 'an encrypted file'],
    ['x.tar.gpg', '\x8c\x0d', 'an encrypted archive'],
  ])('%s, which nothing here opens', async (name, magic, said) => {
    const bytes = Buffer.concat([Buffer.from(magic, 'latin1'), Buffer.alloc(600)])
    expect((await inside(name, bytes)).unopened).toEqual([
      { path: `opt/${name}`, size: bytes.length, why: `It is ${said}, which is not read.` },
    ])
  })
})

test.each(['x.tar.gz', 'x.tgz', 'x.gem', 'x.deb', 'x.rpm', 'x.egg', 'x.nupkg'])(
  '%s that is none is named, as one may be that cannot be fetched',
  async name => {
    expect((await inside(name, Buffer.from('<html>404 Not Found</html>'))).unopened).toEqual([
      { path: `opt/${name}`, size: 26, why: 'It is no archive, whatever its name says.' },
    ])
  },
)

describe('bombs end with a reason', () => {
  const zeros = Buffer.alloc(30 * 2 ** 20)
  test.each<[string, () => Buffer, string]>([
    ['a.tar.gz', () => gzipSync(tar([{ name: 'x.jar', body: zeros }])), 'opt/a.tar.gz!/x.jar'],
    ['a.zst', () => zstdCompressSync(zeros), 'opt/a.zst'],
    ['x.zip', () => buildZip([{ name: 'y.jar', body: zeros }]), 'opt/x.zip!/y.jar'],
  ])('%s by its ratio', async (name, build, path) => {
    expect((await inside(name, build())).unopened).toContainEqual({
      path,
      size: expect.any(Number) as number,
      why: 'It could not be read to its end: it unpacks to more than 200 times its size.',
    })
  })
  test('archives that unpack each other again and again, by their number or their bytes', async () => {
    let level = buildZip(Array.from({ length: 16 }, (_, n) => ({ name: `${n}.txt`, body: 'x' })))
    for (let n = 0; n < 6; n++) {
      const below = level
      level = buildZip(Array.from({ length: 16 }, (_, at) => ({ name: `${at}.zip`, body: below })))
    }
    expect((await inside('x.zip', level, { files: 10_000 })).cut).toContain('more than 10000 files')
    expect((await inside('x.zip', level, { inflatedBytes: 2 ** 20 })).cut).toContain('unpack to more than 1 MiB')
    expect((await inside('x.zip', level, { readBytes: 2 ** 20 })).cut).toContain('takes more than 1 MiB')
  })
})
