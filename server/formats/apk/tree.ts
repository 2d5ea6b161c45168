import { basename } from 'node:path'
import { promisify } from 'node:util'
import { constants, crc32, deflateRawSync, gunzip, gzip, inflateRawSync } from 'node:zlib'
import type { Distribution } from '../../core/repository.ts'
import { relPath, type RelPath } from '../../core/identity.ts'
import { createTarReader } from '../../lib/tar.ts'
import type { TarEntry } from '../../lib/tar-header.ts'
import type { Signer } from '../../signing/signer.ts'
import type { PublishedEntry } from '../tree.ts'
import { CARRIED, indexId, type IndexPlan, type ListedFile, type TreeWriter } from '../tree.ts'
import type { ApkFacts } from './facts.ts'
import { USTAR_END, ustarHeader, ustarPadding, writeUstar } from './ustar.ts'

const pack = promisify(gzip)
const unpack = promisify(gunzip)

// RFC 1952, 2.3: deflate, no flags, no time, made on Unix
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
const TRAILER = 8

const factsOf = (entry: PublishedEntry): ApkFacts => entry.facts as ApkFacts // written by this format's inspect

const list = (key: string, words: readonly string[]): string =>
  words.length === 0 ? '' : `${key}:${words.join(' ')}\n`
const field = (key: string, value: string | number | undefined): string =>
  value === undefined || value === '' ? '' : `${key}:${value}\n`

/**
 * One entry, in the order in which `apk index` writes its lines. `A:` names the architecture of the index, as
 * `--rewrite-arch` has it: clients take the folder of a package from there.
 * Source: apk-tools, src/package.c; `r:` and `q:` are of the installed database, and passed over in an index.
 */
function render(entry: PublishedEntry, arch: string): string {
  const facts = factsOf(entry)
  return [
    `C:${facts.checksum}\nP:${entry.name}\nV:${entry.version}\nA:${arch}\nS:${entry.blob.size}\nI:${facts.installed}\nT:${facts.description}\nU:${facts.url}\nL:${facts.license}\n`,
    field('o', facts.origin),
    field('m', facts.maintainer),
    facts.built === 0 ? '' : field('t', facts.built),
    field('c', facts.commit),
    field('k', facts.providerPriority),
    list('D', facts.depends),
    list('p', facts.provides),
    list('i', facts.installIf),
    list('r', facts.replaces),
    field('q', facts.replacesPriority),
    '\n',
  ].join('')
}

const DEFLATED = '.deflate'

interface Part {
  readonly component: string
  readonly arch: string
  readonly path: RelPath
}

/** One index for each component and architecture. */
const partsOf = ({ components, archs }: Pick<Distribution, 'components' | 'archs'>): readonly Part[] =>
  components.flatMap(component =>
    archs.map(arch => ({ component, arch, path: relPath(`${component}/${arch}/APKINDEX`) })),
  )
const archiveOf = ({ path }: Part): RelPath => relPath(`${path}.tar.gz`)

// clients use the first signature whose key they have, so the stronger hash comes first; before 2.7 they know only RSA
const KINDS = [
  ['RSA256', 'sha256'],
  ['RSA', 'sha1'],
] as const

/** The signatures of every key as a separate member. It has no end mark, or clients would stop reading there. */
async function signatureMember(signed: Buffer, signer: Signer): Promise<Buffer> {
  const files = await Promise.all(
    KINDS.map(async ([kind, hash]) =>
      (await signer.signRsa(signed, hash)).map(({ keyName, signature }) => ({
        name: `.SIGN.${kind}.${keyName}`,
        body: signature,
      })),
    ),
  )
  return pack(writeUstar(files.flat(), { end: false }), { level: 9 })
}

/** The index, and its pieces in the form `.deflate`, one after the other. */
interface Index {
  readonly plain: Buffer
  readonly deflated: Buffer
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

/**
 * The signed gzip member: a tar with DESCRIPTION and APKINDEX. Clients want one member, so the pieces are joined inside
 * of it: packing the index of 10,000 packages as a whole takes longer than the rest of a publication.
 */
function packIndex({ plain, deflated }: Index, codename: string): Buffer {
  const before = Buffer.concat([
    writeUstar([{ name: 'DESCRIPTION', body: Buffer.from(`Gatehouse ${codename}`) }], { end: false }),
    ustarHeader('APKINDEX', plain.length),
  ])
  const after = Buffer.concat([ustarPadding(plain.length), USTAR_END])
  return Buffer.concat([
    HEADER,
    deflateRawSync(before, { finishFlush: constants.Z_FULL_FLUSH }),
    deflated,
    deflateRawSync(after),
    u32(crc32(after, crc32(plain, crc32(before)))),
    u32(before.length + plain.length + after.length),
  ])
}

/** `APKINDEX.tar.gz`: two gzip members, the signatures and then the signed index. */
async function signedIndex(
  index: Index,
  { codename, signer }: { readonly codename: string; readonly signer: Signer },
): Promise<Buffer> {
  const signed = packIndex(index, codename)
  return Buffer.concat([await signatureMember(signed, signer), signed])
}

/** The APK tree: for each architecture an index, and its signed archive, which is all that clients fetch. */
export const apkTree: TreeWriter = {
  indexes: distribution =>
    partsOf(distribution).map(({ component, arch, path }): IndexPlan => ({
      id: indexId(component, arch),
      arch,
      component,
      path,
      kinds: ['', DEFLATED],
      addressed: 'path',
      render: entry => render(entry, arch),
    })),
  contents: () => [],
  fileName: (_distribution, arch, path) => `${arch}/${basename(path)}`,
  async root(files, distribution, { signer, read, isSame }) {
    const roots = partsOf(distribution).map(async part => {
      const mine = files.filter((file: ListedFile) => file.path === part.path)
      if (isSame(mine)) return [archiveOf(part), CARRIED] as const
      const [plain, deflated] =
        mine.length > 0
          ? await Promise.all([read(part.path), read(relPath(`${part.path}${DEFLATED}`))])
          : [Buffer.alloc(0), Buffer.alloc(0)]
      const index = { plain, deflated }
      return [archiveOf(part), await signedIndex(index, { codename: distribution.codename, signer })] as const
    })
    return new Map<RelPath, Buffer | typeof CARRIED>(await Promise.all(roots))
  },
  async verifyRoot(read, signer, distribution, carried = new Set()) {
    const proofs = partsOf(distribution)
      .filter(part => !carried.has(archiveOf(part)))
      .map(async part => isVerified(await read(archiveOf(part)), { index: await read(part.path), signer }))
    return (await Promise.all(proofs)).every(Boolean)
  },
}

/** Parses the signature member. @returns undefined when it is none, or not the first of two */
function readSignatures(archive: Buffer): { readonly files: readonly TarEntry[]; readonly signed: Buffer } | undefined {
  try {
    // with `info` zlib says how far it read; the types do not know it. The header is the ten bytes that `pack` writes
    const answer = inflateRawSync(archive.subarray(HEADER.length), { maxOutputLength: 2 ** 20, info: true })
    const { buffer, engine } = answer as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
    const tar = createTarReader({
      what: 'the signature member',
      maxEntries: 100,
      endMark: 'absent',
      keep: () => 64 * 1024,
    })
    const files = tar.push(buffer)
    tar.end()
    return { files, signed: archive.subarray(HEADER.length + engine.bytesWritten + TRAILER) }
  } catch {
    return undefined
  }
}

/** True when the signed member holds exactly this index, and every active key signed it in each kind. */
async function isVerified(
  archive: Buffer,
  { index, signer }: { readonly index: Buffer; readonly signer: Signer },
): Promise<boolean> {
  const found = readSignatures(archive)
  if (found === undefined || found.files.length !== KINDS.length * (await signer.rsaKeys()).length) return false
  const proofs = found.files.map(({ name, body }) => {
    const [, kind = '', keyName = ''] = /^\.SIGN\.([A-Z0-9]+)\.(.+)$/.exec(name) ?? []
    const hash = KINDS.find(([one]) => one === kind)?.[1]
    return hash === undefined || body === undefined
      ? Promise.resolve(false)
      : signer.verifyRsa(found.signed, { keyName, hash, signature: body })
  })
  if (
    !(await Promise.all(proofs)).every(Boolean) ||
    new Set(found.files.map(({ name }) => name)).size !== found.files.length
  )
    return false
  const tar = await unpack(found.signed)
  const start = tar.length - USTAR_END.length - index.length - ustarPadding(index.length).length
  return start > 0 && tar.subarray(start, start + index.length).equals(index)
}
