import { AR_MAGIC, listAr } from '../../lib/ar.ts'
import { isZero } from '../../lib/collector.ts'
import { malformed } from '../../lib/limited.ts'
import { fileWithin } from '../open-file.ts'
import type { OpenFile, Unpacker } from '../reader.ts'
import { sourceOfFile, type Source } from '../source.ts'
import { isCompressed } from './compressed.ts'
import { cpioFiles, isCpio } from './cpio.ts'
import { isTar, tarFiles } from './tar.ts'

const limitsOf = (file: OpenFile, entries: number) => ({ place: `${file.path}!/`, entries })

/** Tars, read where they lie: also the layers of container images, and images themselves. */
export const tar: Unpacker = {
  id: 'tar',
  wants: ({ path, head }) => isTar(head) || (/\.tar$/i.test(path) && head.length === 512),
  files: (file, room) => tarFiles(sourceOfFile(file), limitsOf(file, room.limits.entries)),
}

/** Where something follows the zeros that a cpio ends with. */
async function nextAfter(source: Source, size: number): Promise<number | undefined> {
  let first: number | undefined
  let passed = 0
  for await (const bytes of source.rest()) {
    if (first === undefined && !isZero(bytes)) first = passed + bytes.findIndex(byte => byte !== 0)
    passed += bytes.length
  }
  return first === undefined ? undefined : size - passed + first
}

/**
 * Archives of the form newc, as the payload of an .rpm and initial file systems are. The latter are several archives,
 * one behind the other, each compressed or not. Source: docs.kernel.org, "initramfs buffer format"
 */
export const cpio: Unpacker = {
  id: 'cpio',
  wants: ({ head }) => isCpio(head),
  async *files(file, room) {
    const source = sourceOfFile(file)
    yield* cpioFiles(source, { ...limitsOf(file, room.limits.entries), goesOn: true })
    const offset = await nextAfter(source, file.size)
    if (offset === undefined) return
    const next = await fileWithin(file, { path: `${file.path}!/archive`, offset, size: file.size - offset })
    if (!isCpio(next.head) && !isCompressed(next)) malformed('something that is no archive follows the last entry')
    yield next
  },
}

const DEB = `${AR_MAGIC}debian-binary`
const MOST_MEMBERS = 1000

/** Packages for dpkg: their members, of which the tars are opened in turn. Source: deb(5) */
export const deb: Unpacker = {
  id: 'deb',
  wants: ({ head }) => head.toString('latin1', 0, DEB.length) === DEB,
  async *files(file) {
    const stream = (): never => malformed('it is read by position')
    const window = { size: file.size, read: file.read, stream, close: () => Promise.resolve() }
    for (const { name, offset, size } of await listAr(window, MOST_MEMBERS))
      yield await fileWithin(file, { path: `${file.path}!/${name}`, offset, size })
  },
}

const LEAD = 96
const RPM_HEADER = 0x8eade801

/** Where the payload begins: behind the lead and two headers, the first padded to eight. Source: rpm's format.md */
async function payloadOffset(file: OpenFile): Promise<number> {
  let at = LEAD
  for (const pad of [8, 1]) {
    const intro = await file.read(at, 16)
    if (intro.length < 16 || intro.readUInt32BE(0) !== RPM_HEADER) malformed('a header of the .rpm is damaged')
    at += 16 + 16 * intro.readUInt32BE(8) + intro.readUInt32BE(12)
    at = Math.ceil(at / pad) * pad
  }
  return at
}

/** Packages for rpm: their payload, which is a compressed cpio. */
export const rpm: Unpacker = {
  id: 'rpm',
  wants: ({ head }) => head.toString('hex', 0, 4) === 'edabeedb',
  async *files(file) {
    const offset = await payloadOffset(file)
    if (offset >= file.size) malformed('the .rpm is cut off')
    yield await fileWithin(file, { path: `${file.path}!/payload`, offset, size: file.size - offset })
  },
}
