import type { FileWindow } from './file-window.ts'
import { malformed, quote } from './limited.ts'

/*
 * Written here because ar-async 0.1.4 takes 5 of 13 damaged archives (a cut-off member, a wrong magic, a size behind
 * the end) and throws at the other 8 where nothing can catch it, which ends the process.
 */
/** The first bytes of an ar archive. */
export const AR_MAGIC = '!<arch>\n'
const HEADER = 60

/** One file in an ar archive; its bytes are `[offset, offset + size)` of the archive. */
export interface ArMember {
  readonly name: string
  readonly offset: number
  readonly size: number
}

function parseHeader(header: Buffer, at: number): { name: string; size: number } {
  if (header[58] !== 0x60 || header[59] !== 0x0a) {
    malformed(
      `there is no ar member header at byte ${at}: the size of the member before it is wrong, or something follows the archive`,
    )
  }
  // GNU ar ends a name with a slash, Debian's own writer does not. dpkg-deb reads both.
  const name = header.toString('latin1', 0, 16).replace(/ +$/, '').replace(/\/$/, '')
  if (!/^[!-~]+$/.test(name))
    malformed(`the ar member at byte ${at} has the name ${quote(name)}, which is not printable ASCII`)
  const text = header.toString('latin1', 48, 58)
  if (!/^\d+ *$/.test(text))
    malformed(`the ar member ${quote(name)} has the size ${quote(text)}, which is not a decimal number`)
  return { name, size: Number(text) }
}

/**
 * Lists the members of an ar archive in order. Reads only their headers.
 * @throws Malformed when the magic is wrong, a size points outside the file, a header is damaged, there are more than
 * `most` members, or bytes follow the last one
 * Source: deb(5), ar(5), the common variant without extended names.
 */
export async function listAr(file: FileWindow, most: number): Promise<ArMember[]> {
  if (file.size < AR_MAGIC.length || (await file.read(0, AR_MAGIC.length)).toString('latin1') !== AR_MAGIC) {
    malformed(`it does not begin with ${quote(AR_MAGIC)}, as an ar archive does`)
  }
  const members: ArMember[] = []
  let at = AR_MAGIC.length
  while (at < file.size) {
    if (members.length === most) malformed(`it has more than ${most} ar members`)
    if (file.size - at < HEADER)
      malformed(`${file.size - at} bytes follow the last ar member at byte ${at}, too few for another header`)
    const { name, size } = parseHeader(await file.read(at, HEADER), at)
    const offset = at + HEADER
    if (offset + size > file.size) {
      malformed(
        `the ar member ${quote(name)} says it has ${size} bytes, only ${file.size - offset} are there: the file is truncated`,
      )
    }
    members.push({ name, offset, size })
    // members begin at even bytes; the last one may have no padding byte
    at = offset + size + (size & 1)
  }
  return members
}
