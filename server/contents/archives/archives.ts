import { AR_MAGIC, listAr } from '../../lib/ar.ts'
import { malformed } from '../../lib/limited.ts'
import { fileWithin } from '../open-file.ts'
import type { OpenFile, Unpacker } from '../reader.ts'
import { sourceOfFile } from '../source.ts'
import { cpioFiles, isCpio } from './cpio.ts'
import { isTar, tarFiles } from './tar.ts'

const limitsOf = (file: OpenFile, entries: number) => ({ place: `${file.path}!/`, entries })

/** Tars, read where they lie: also the layers of container images, and images themselves. */
export const tar: Unpacker = {
  id: 'tar',
  wants: ({ path, head }) => isTar(head) || (/\.tar$/i.test(path) && head.length === 512),
  files: (file, room) => tarFiles(sourceOfFile(file), limitsOf(file, room.limits.entries)),
}

/** Archives of the form newc, as the payload of an .rpm and initial file systems are. */
export const cpio: Unpacker = {
  id: 'cpio',
  wants: ({ head }) => isCpio(head),
  files: (file, room) => cpioFiles(sourceOfFile(file), limitsOf(file, room.limits.entries)),
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
