import { relPath } from '../../core/identity.ts'
import { readGzipMember } from '../../lib/gzip-members.ts'
import { Malformed, malformed, quote } from '../../lib/limited.ts'
import { createTarReader } from '../../lib/tar.ts'
import type { TarEntry } from '../../lib/tar-header.ts'
import { openWindow, type FileWindow } from '../../lib/file-window.ts'
import type { RsaSigned } from '../../signing/signer.ts'
import type {
  Upstream,
  UpstreamEntry,
  UpstreamPackage,
  UpstreamPlace,
  UpstreamReader,
  UpstreamRoot,
} from '../upstream.ts'
import {
  mustBeCountable,
  atMost,
  digestOfEntry,
  fetchWhole,
  hexOf,
  notesOf,
  parsing,
  refuseUpstream,
  rethrow,
} from '../upstream-files.ts'
import type { ApkFacts } from './facts.ts'
import { digestOf, findMembers, hashOf } from './members.ts'
import { complain } from './pkginfo.ts'
import { relationsOf } from './index-relations.ts'

/** Alpine's community index is 2 MB, unpacked 12 MB. No file announces its size. */
const MAX_ARCHIVE = 64 * 2 ** 20
const MAX_INDEX = 256 * 2 ** 20
const MAX_SIGNATURES = 2 ** 20

function windowOver(bytes: Buffer): FileWindow {
  const read = (offset: number, length: number): Promise<Buffer> =>
    Promise.resolve(bytes.subarray(offset, offset + length))
  return {
    size: bytes.length,
    read,
    async *stream(offset, length) {
      for (let at = offset; at < offset + length; at += 2 ** 16)
        yield await read(at, Math.min(2 ** 16, offset + length - at))
    },
    close: () => Promise.resolve(),
  }
}

/** The files of one gzip member, and where it ends. @throws Malformed, upstream_refused */
async function readMember(
  archive: Buffer,
  from: { readonly path: string; readonly offset: number; readonly maxBytes: number; readonly isLast: boolean },
): Promise<{ readonly files: readonly TarEntry[]; readonly end: number }> {
  const { path, offset, maxBytes, isLast } = from
  const member = readGzipMember(windowOver(archive), offset, 'a member of the index')
  const tar = createTarReader({
    what: 'a member of the index',
    maxEntries: 100,
    endMark: isLast ? 'required' : 'absent',
    keep: ({ size }) => Math.min(size, maxBytes),
  })
  const files: TarEntry[] = []
  for await (const chunk of atMost(member.chunks, path, maxBytes)) files.push(...tar.push(chunk))
  tar.end()
  return { files, end: member.end() }
}

const signatureOf = ({ name, body }: TarEntry): RsaSigned[] => {
  const [, kind = '', keyName = ''] = /^\.SIGN\.([A-Z0-9]+)\.([^/]+)$/.exec(name) ?? []
  const hash = hashOf(kind)
  return hash === undefined || body === undefined ? [] : [{ keyName, hash, signature: body }]
}

/** The index of one architecture, whose signature is over the packed bytes that follow it. @throws Malformed */
async function openIndex(
  { fetch, keys, unsigned }: UpstreamPlace,
  arch: string,
): Promise<{ readonly root: UpstreamRoot; readonly index: Buffer; readonly arch: string }> {
  const path = relPath(`${arch}/APKINDEX.tar.gz`)
  const archive = await fetchWhole(fetch, path, MAX_ARCHIVE)
  if (archive === undefined) return refuseUpstream(path, 'missing', 'it is not there')
  const first = await readMember(archive, { path, offset: 0, maxBytes: MAX_SIGNATURES, isLast: false }).catch(
    (error: unknown) => {
      // an index without a signature has one member, which ends as an archive does
      if (error instanceof Malformed) return undefined
      throw error
    },
  )
  const isSigned = first?.files.every(({ name }) => name.startsWith('.SIGN.')) === true
  if (!isSigned && unsigned !== true)
    return refuseUpstream(path, 'unsigned', 'it does not begin with a member of signatures')
  const offset = isSigned ? first.end : 0
  const signed =
    unsigned === true ? { by: [] } : keys.rsa(archive.subarray(offset), (first?.files ?? []).flatMap(signatureOf))
  if ('why' in signed) return refuseUpstream(path, 'untrusted', signed.why)
  const { files, end } = await readMember(archive, { path, offset, maxBytes: MAX_INDEX, isLast: true })
  if (end !== archive.length) malformed('something follows its last member')
  const index = files.find(({ name }) => name === 'APKINDEX')?.body ?? malformed('it holds no file named APKINDEX')
  return { root: { path, sha256: hexOf('sha256', archive), signedBy: signed.by }, index, arch }
}

/** @throws Malformed. Source: apk-tools, src/package.c; a later line of one letter wins, as there */
function packageOf(text: string, arch: string): UpstreamPackage {
  const fields = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    if (line[1] !== ':') malformed(`an entry of APKINDEX holds ${quote(line)}; a letter and a colon are needed`)
    fields.set(line.charAt(0), line.slice(2))
  }
  const [name, version] = [fields.get('P') ?? '', fields.get('V') ?? '']
  const identity = { format: 'apk', name, version, arch: fields.get('A') ?? arch } as const
  const why = complain(identity)
  if (why !== undefined) malformed(`an entry of APKINDEX: ${why}`)
  const [size, checksum] = [fields.get('S') ?? '', fields.get('C') ?? '']
  if (!/^\d{1,15}$/.test(size)) malformed(`the entry of ${name} has no size`)
  if (!/^Q1[A-Za-z0-9+/]{27}=$/.test(checksum)) malformed(`the entry of ${name} has no checksum`)
  return {
    identity,
    path: relPath(`${arch}/${name}-${version}.apk`),
    size: Number(size),
    digests: {},
    controlSha1: Buffer.from(checksum.slice(2), 'base64').toString('hex'),
    source: fields.get('o') ?? name,
    source_version: version,
    summary: fields.get('T') ?? '',
    notes: notesOf({
      homepage: fields.get('U'),
      license: fields.get('L'),
      maintainer: fields.get('m'),
      installed_size: fields.get('I'),
    }),
    relations: relationsOf(fields),
  }
}

function* readIndex({ index, arch, path }: { index: Buffer; arch: string; path: string }): Generator<UpstreamEntry> {
  let entries = 0
  for (let from = 0; from < index.length;) {
    mustBeCountable(++entries, path)
    const blank = index.indexOf('\n\n', from)
    const end = blank === -1 ? index.length : blank + 2
    const bytes = index.subarray(from, end)
    from = end
    if (bytes.every(byte => byte === 0x0a)) continue
    yield { digest: digestOfEntry(bytes), read: () => parsing(path, () => packageOf(bytes.toString('utf8'), arch)) }
  }
}

/** APK repositories of apk-tools 2: an index for each architecture, which is its own root. */
export const apkUpstream: UpstreamReader = {
  atOnce: 3,
  // the facts of this format, which `inspect` wrote
  controlSha1Of: facts => Buffer.from((facts as ApkFacts).checksum.slice(2), 'base64').toString('hex'),
  async controlSha1(path) {
    const file = await openWindow({ path })
    try {
      const { control } = await findMembers(file, { maxPkginfo: MAX_SIGNATURES })
      return (await digestOf(file, control, { algorithm: 'sha1' })).toString('hex')
    } finally {
      await file.close()
    }
  },
  places: ({ paths }, { archs }) =>
    paths.flatMap(path => {
      const [, base = '', arch] = /^((?:.*\/)?)([^/]+)\/APKINDEX\.tar\.gz$/.exec(path) ?? []
      return arch === undefined || !archs.includes(arch) ? [] : [{ name: path, base, place: { archs: [arch] } }]
    }),
  async open(place): Promise<Upstream> {
    const opening = (place.archs ?? []).map(arch =>
      openIndex(place, arch).catch((error: unknown) => rethrow(`${arch}/APKINDEX.tar.gz`, error)),
    )
    const indexes = await Promise.all(opening)
    return {
      roots: indexes.map(({ root }) => root),
      async *entries() {
        for (const { root, index, arch } of indexes) {
          for (const entry of readIndex({ index, arch, path: root.path })) yield await Promise.resolve(entry)
        }
      },
    }
  },
}
