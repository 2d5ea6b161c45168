import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { tar } from '../../test/support/packages.ts'
import { isRefusal } from '../core/errors.ts'
import { trustKeys } from '../signing/trusted-keys.ts'
import { apkUpstream } from './apk/upstream.ts'
import { debUpstream } from './deb/upstream.ts'
import { rpmUpstream } from './rpm/upstream.ts'
import type { UpstreamReader } from './upstream.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** How many entries it has, or why it is refused. */
async function read(reader: UpstreamReader, files: Readonly<Record<string, Buffer>>): Promise<number | string> {
  const now = new Date('2026-11-22T12:00:00Z')
  const place = {
    fetch: async (path: string) => {
      const bytes = files[path]
      return (
        bytes &&
        (async function* () {
          for (let at = 0; at < bytes.length; at += 2 ** 16)
            yield await Promise.resolve(bytes.subarray(at, at + 2 ** 16))
        })()
      )
    },
    keys: await trustKeys({ openpgp: [], rsa: new Map(), now: () => now }),
    now,
    unsigned: true,
    suite: 's',
    archs: ['x86_64'],
  } as const
  try {
    let entries = 0
    for await (const entry of (await reader.open(place)).entries()) {
      entry.read()
      entries += 1
    }
    return entries
  } catch (error) {
    if (isRefusal(error, 'upstream_refused')) return error.message
    throw error
  }
}

function deb(packages: Buffer): Promise<number | string> {
  const name = 'main/binary-x86_64/Packages.gz'
  const release = `Suite: s\nSHA256:\n ${sha256(packages)} ${packages.length} ${name}\n`
  return read(debUpstream, { 'dists/s/Release': Buffer.from(release), [`dists/s/${name}`]: packages })
}
const apk = (index: Buffer): Promise<number | string> =>
  read(apkUpstream, { 'x86_64/APKINDEX.tar.gz': gzipSync(tar([{ name: 'APKINDEX', body: index }])) })
const repomd = (data: string): Promise<number | string> =>
  read(rpmUpstream, { 'repodata/repomd.xml': Buffer.from(`<repomd>${data}</repomd>`) })
function rpm(packages: string): Promise<number | string> {
  const primary = gzipSync(`<?xml version="1.0"?><metadata packages="1">${packages}</metadata>`)
  const data = `<data type="primary"><checksum type="sha256">${sha256(primary)}</checksum><location href="repodata/p.gz"/><size>${primary.length}</size></data>`
  return read(rpmUpstream, {
    'repodata/repomd.xml': Buffer.from(`<repomd>${data}</repomd>`),
    'repodata/p.gz': primary,
  })
}

test.each<[string, () => Promise<number | string>, RegExp]>([
  ['a Packages that unpacks to one line without end', () => deb(gzipSync(Buffer.alloc(40e6))), /more than 16 MiB/],
  ['a Packages of blank lines', () => deb(gzipSync(Buffer.alloc(4e6, '\n'))), /more than 1000000 entries/],
  ['a Packages that is cut off', () => deb(gzipSync('Package: a\n').subarray(0, 12)), /damaged or cut off/],
  ['an APKINDEX of blank lines', () => apk(Buffer.alloc(4e6, '\n')), /more than 1000000 entries/],
  ['a package in an APKINDEX that leads out', () => apk(Buffer.from('P:../x\nV:1\n\n')), /"\.\.\/x" is not allowed/],
  [
    'a primary.xml that nests',
    () => rpm(`<package>${'<a>'.repeat(100)}</package>`),
    /nests elements more than 64 deep/,
  ],
  [
    'a primary.xml with attributes without end',
    () => rpm(`<package ${Array.from({ length: 100 }, (_, i) => `a${i}="1"`).join(' ')}></package>`),
    /more than 64 attributes/,
  ],
  [
    'a primary.xml with entities of its own',
    () => rpm('<!DOCTYPE m [<!ENTITY a "b">]><package><name>&a;</name></package>'),
    /is no XML|document type/,
  ],
  ['a repomd.xml that nests', () => repomd('<a>'.repeat(100_000)), /nests elements more than 64 deep/],
  [
    'a repomd.xml that names files without end',
    () => repomd(Array.from({ length: 2000 }, (_, i) => `<data type="a${i}"/>`).join('')),
    /names more than 1000 files/,
  ],
])('%s is refused', async (_what, reading, why) => {
  expect(await reading()).toMatch(why)
})
