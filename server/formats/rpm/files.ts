import { basename } from 'node:path'
import type { CpioFile } from '../../lib/cpio.ts'
import { typeOfMode } from '../../lib/cpio.ts'
import { createBarriers } from '../../lib/barriers.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'
import type { RpmHeader } from './header.ts'
import { isSourceHeader } from './kind.ts'
import { FILE_GHOST, TAG } from './tags.ts'

/** The most files a package may have, and the most bytes they may have together. */
export const MAX_FILES = 300_000
export const PAYLOAD_BYTES = 8 * 2 ** 30
const MAX_PATH = 4096
/** The most bytes of one name: rpm first writes the file under its name and nine more characters. */
const MAX_FOLDER = 255
const MAX_BASE = MAX_FOLDER - 9
/** Of all names together, which are kept in memory. Those of the largest texlive have 10 MiB. */
const MAX_NAMES = 64 * 2 ** 20
// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/

/** A file as the header lists it. `name` is its path, relative to the root; '' is the root itself. */
export interface HeaderFile extends CpioFile {
  readonly isGhost: boolean
  readonly isFolder: boolean
  /** The bytes of it in the payload: of several hard links, only the last has content. */
  readonly packedSize: number
  /** Of the content, lower-case hex, where the payload has one: rpm compares it while it unpacks. */
  readonly digest: string | undefined
}

/**
 * Where a path of a package leads, relative to the root: without `/` or `./` before it.
 * @throws Malformed for `..`, for segments that are empty or `.`, and for control characters (a newline would break
 *   file lists)
 */
export function cleanPath(path: string, what: string): string {
  if (CONTROL.test(path)) malformed(`${what}: the name ${quote(path)} holds a control character`)
  if (path.length > MAX_PATH) malformed(`${what} holds a name of more than ${MAX_PATH} characters`)
  const plain = path.replace(/^\.?\/|^\.$/, '')
  if (plain === '') return ''
  const segments = plain.replace(/\/$/, '').split('/')
  if (segments.includes('..')) malformed(`${what}: the name ${quote(path)} leads out of its folder with ..`)
  if (segments.includes('') || segments.includes('.'))
    malformed(`${what}: the name ${quote(path)} has an empty segment or one of a single dot`)
  return segments.join('/')
}

/** Folders and names apart, as rpm has written them since 2000; whole paths before that. */
function paths(header: RpmHeader): string[] {
  const names = header.names(TAG.basenames)
  if (names.length === 0) return header.names(TAG.oldfilenames)
  const folders = header.names(TAG.dirnames)
  const indexes = header.numbers(TAG.dirindexes)
  if (indexes.length !== names.length)
    malformed(`the header lists ${names.length} file names and ${indexes.length} numbers of folders`)
  for (const folder of folders) {
    // what a source holds lies beside its spec file, in no folder
    if (isSourceHeader(header) ? folder !== '' : !folder.endsWith('/') || !folder.startsWith('/'))
      malformed(
        `the header: the folder ${quote(folder)} must begin and end with a slash, and be empty in a source package`,
      )
  }
  // before they are put together: 300,000 names in one deep folder are small in the header, and a gigabyte in memory
  const total = names.reduce((sum, name, i) => sum + name.length + (folders[indexes[i] ?? -1]?.length ?? 0), 0)
  if (total > MAX_NAMES)
    malformed(
      `the header: the names of its files have more than ${printBytes(MAX_NAMES)} together, the most a package may have`,
    )
  return names.map((name, i) => {
    const folder = folders[indexes[i] ?? -1]
    if (folder === undefined)
      return malformed(
        `the header: the file ${quote(name)} is in folder number ${indexes[i]}, there are ${folders.length}`,
      )
    if (name.includes('/')) malformed(`the header: the file name ${quote(name)} holds a slash`)
    if (name === '' && folder !== '/') malformed(`the header: a file in ${quote(folder)} has no name`)
    return folder + name
  })
}

function column(header: RpmHeader, tag: number, rows: number): number[] | undefined {
  const numbers = header.numbers(tag)
  if (numbers.length === 0) return undefined
  return numbers.length === rows
    ? numbers
    : malformed(`the header lists ${rows} files, and ${numbers.length} numbers under the value ${tag}`)
}

/** Columns that are only checked for their length: when one differs, rpm reads no file of the package. */
function checkColumns(header: RpmHeader, rows: number): void {
  for (const tag of [TAG.filedevnumbers, TAG.filetimes, TAG.filecolors]) column(header, tag, rows)
  for (const [tag, isNeeded] of [
    [TAG.fileusers, true],
    [TAG.filegroups, true],
    [TAG.filedigests, false],
    [TAG.filelinktos, false],
    [TAG.filecaps, false],
  ] as const) {
    const { length } = header.texts(tag)
    if (length !== rows && (isNeeded || header.has(tag)))
      malformed(`the header lists ${rows} files, and ${length} texts under the value ${tag}`)
  }
}

/**
 * One name for each set of hard links: files of one inode on one device. Without either, or of inode 0, rpm takes a
 * file for itself.
 */
function linkKeys(header: RpmHeader, rows: number): readonly string[] {
  const inodes = column(header, TAG.fileinodes, rows)
  const devices = column(header, TAG.filedevices, rows)
  return Array.from({ length: rows }, (_, i) =>
    inodes === undefined || devices === undefined || inodes[i] === 0 ? `${i}` : `${devices[i]}:${inodes[i]}`,
  )
}

/**
 * A folder of a path may not be a symlink of the same package: files would be written somewhere else. Nor may it be a
 * file.
 */
function mustStandInFolders(files: readonly HeaderFile[]): void {
  const barriers = createBarriers()
  const links = new Set<string>()
  for (const { name, mode, isFolder } of files) {
    if (!isFolder) barriers.add(name)
    if (typeOfMode(mode) === 'symlink') links.add(name)
  }
  for (const { name } of files) {
    const above = barriers.above(name)
    if (above === undefined) continue
    if (links.has(above))
      malformed(`the header: ${quote(name)} would be written through ${quote(above)}, a symlink of the same package`)
    malformed(`the header: ${quote(name)} lies below ${quote(above)}, which is no folder in the same package`)
  }
}

/**
 * The files of the header, in its order.
 * @throws Malformed for names that lead elsewhere, a name twice, and columns of different lengths
 */
export function readFiles(header: RpmHeader): HeaderFile[] {
  const names = paths(header)
  const rows = names.length
  if (rows === 0) return []
  if (rows > MAX_FILES) malformed(`the header lists ${rows} files, at most ${MAX_FILES} are allowed`)
  const modes = column(header, TAG.filemodes, rows) ?? malformed('the header lists files and no modes')
  const sizes =
    column(header, TAG.longfilesizes, rows) ??
    column(header, TAG.filesizes, rows) ??
    malformed('the header lists files and no sizes')
  const flags = column(header, TAG.fileflags, rows)
  checkColumns(header, rows)
  const links = linkKeys(header, rows)
  const isGhost = (i: number): boolean => ((flags?.[i] ?? 0) & FILE_GHOST) !== 0
  const last = new Map<string, number>()
  links.forEach((key, i) => {
    if (typeOfMode(modes[i] ?? 0) === 'file' && !isGhost(i)) last.set(key, i)
  })
  const [targets, digests] = [header.texts(TAG.filelinktos), header.texts(TAG.filedigests)]
  // checked for every file: one bad digest makes rpm ignore all of them
  for (const digest of digests)
    if (!/^[0-9a-f]*$/i.test(digest)) malformed(`the header: the digest ${quote(digest)} of a file is not hexadecimal`)
  const seen = new Set<string>()
  const files = names.map((path, i): HeaderFile => {
    if (!isSourceHeader(header) && !path.startsWith('/'))
      malformed(`the header: the name ${quote(path)} does not begin with a slash`)
    const name = cleanPath(path, 'the header')
    if (seen.has(name)) malformed(`the header lists ${quote(path)} twice`)
    seen.add(name)
    const mode = modes[i] ?? 0
    const type =
      typeOfMode(mode) ??
      malformed(`the header: the mode ${mode.toString(8)} of ${quote(path)} says nothing of what it is`)
    const size = sizes[i] ?? 0
    const hasContent = type === 'symlink' || (type === 'file' && last.get(links[i] ?? '') === i)
    const base = Buffer.byteLength(basename(name))
    if (base > (type === 'directory' || isGhost(i) ? MAX_FOLDER : MAX_BASE))
      malformed(`the header: the name ${quote(basename(name))} has ${base} bytes, which rpm cannot unpack`)
    const digest =
      type === 'file' && hasContent
        ? (digests[i]?.toLowerCase() ??
          malformed(`the header has no digest of ${quote(path)}, and rpm would not install that`))
        : undefined
    return {
      name,
      mode,
      size,
      isGhost: isGhost(i),
      isFolder: type === 'directory',
      packedSize: hasContent ? size : 0,
      digest,
    }
  })
  const total = files.reduce((sum, { isGhost: ghost, packedSize }) => sum + (ghost ? 0 : packedSize), 0)
  if (total > PAYLOAD_BYTES)
    malformed(`the header lists files of ${total} bytes together, at most ${printBytes(PAYLOAD_BYTES)} are allowed`)
  for (const target of targets)
    if (CONTROL.test(target))
      malformed(`the header: the target ${quote(target)} of a symlink holds a control character`)
  mustStandInFolders(files)
  const aimless = files.find(
    ({ mode, isGhost: ghost }, i) => !ghost && typeOfMode(mode) === 'symlink' && (targets[i] ?? '') === '',
  )
  if (aimless !== undefined) malformed(`the header has no target for the symlink ${quote(aimless.name)}`)
  return files
}
