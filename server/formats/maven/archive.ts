import { openWindow, type FileSource, type FileWindow } from '../../lib/file-window.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'
import { readZipDirectory, type ZipDirectory, type ZipMember, type ZipSource } from '../../lib/zip-directory.ts'
import { unpackMember, whyClosed } from '../../lib/zip-entry.ts'

const MAX_ENTRIES = 300_000
const MAX_TOTAL_BYTES = 8 * 2 ** 30
const HEAD = 512

/** Files of these kinds are zips, whatever their names say of what is in them. */
const ZIPS: ReadonlySet<string> = new Set([
  'jar',
  'war',
  'ear',
  'aar',
  'rar',
  'zip',
  'hpi',
  'jpi',
  'nbm',
  'kar',
  'klib',
  'par',
  'sar',
])

/** Whether a file of this extension has to be a zip. */
export const isZip = (extension: string): boolean => ZIPS.has(extension)

// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/

function mustStayInside({ name }: ZipMember): void {
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name) || name.includes('\\') || name.split('/').includes('..'))
    malformed(`${quote(name)} in it leads out of the folder that it is unpacked into`)
  if (CONTROL.test(name)) malformed(`${quote(name)} in it has a control character`)
}

/** Readers take the first or the last of two: what is scanned must be what runs. */
function mustDiffer(members: readonly ZipMember[]): void {
  const seen = new Map<string, ZipMember>()
  for (const member of members) {
    const other = seen.get(member.name)
    if (other !== undefined && (other.crc !== member.crc || other.size !== member.size))
      malformed(`${quote(member.name)} stands in it twice with different bytes, so that readers see different archives`)
    seen.set(member.name, member)
  }
}

/** The members of an archive whose names and sizes are fit to be unpacked. @throws Malformed */
function check({ members, faults }: ZipDirectory): readonly ZipMember[] {
  const [fault] = faults
  if (fault !== undefined) malformed(fault.replace(/\.$/, '').replace(/^It/, 'it'))
  let total = 0
  for (const member of members) {
    mustStayInside(member)
    const why = whyClosed(member)
    if (why !== undefined) malformed(`${quote(member.name)} in it cannot be read. ${why}`.replace(/\.$/, ''))
    total += member.size
    if (total > MAX_TOTAL_BYTES) malformed(`it unpacks to more than ${printBytes(MAX_TOTAL_BYTES)}`)
  }
  mustDiffer(members)
  return members
}

async function sourceOf(window: FileWindow): Promise<ZipSource> {
  return {
    size: window.size,
    head: await window.read(0, Math.min(HEAD, window.size)),
    read: (offset, length) => window.read(offset, Math.max(0, Math.min(length, window.size - offset))),
  }
}

/** An archive that is open, and what is in it. */
export interface Archive {
  readonly members: readonly ZipMember[]
  /** A small member, whole. @throws Malformed */
  read(member: ZipMember, most: number): Promise<Buffer>
}

/** Opens an archive for as long as `work` takes. @throws Malformed for what is no zip, or none that is fit to unpack */
export async function withArchive<T>(file: FileSource, work: (archive: Archive) => Promise<T>): Promise<T> {
  const window = await openWindow(file)
  try {
    const directory = await readZipDirectory(await sourceOf(window), MAX_ENTRIES)
    if (directory === undefined) return malformed('it is no zip, or is cut off')
    const members = check(directory)
    return await work({
      members,
      async read(member, most) {
        if (member.size > most) malformed(`${quote(member.name)} in it is larger than ${printBytes(most)}`)
        const chunks: Buffer[] = []
        for await (const chunk of unpackMember(window, member)) chunks.push(chunk)
        return Buffer.concat(chunks)
      },
    })
  } finally {
    await window.close()
  }
}
