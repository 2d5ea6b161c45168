import { createBarriers } from '../../lib/barriers.ts'
import type { FileWindow } from '../../lib/file-window.ts'
import { malformed, Malformed, printBytes, quote } from '../../lib/limited.ts'
import { END, fileHeader, padding } from '../../lib/tar-writer.ts'
import { readZipDirectory, type ZipMember } from '../../lib/zip-directory.ts'
import { unpackMember, whyClosed } from '../../lib/zip-entry.ts'
import { cleanName } from '../deb/payload.ts'
import { MAX_METADATA } from './metadata.ts'
import { normalName, normalVersion, type FileName } from './names.ts'

export const MAX_ENTRIES = 300_000
export const MAX_UNPACKED = 8 * 2 ** 30
/** RECORD has a line of some 100 bytes for each file. */
const MAX_RECORD = 28 * 2 ** 20
const MAX_WHEEL = 64 * 1024
const UTF8_NAMES = 0x800
/** The longest name of a file or folder that a file system takes, in bytes. */
const LONGEST = 255

/** A wheel whose directory was read and found sound. */
export interface Wheel {
  readonly members: readonly ZipMember[]
  /** `hello-1.0.dist-info` */
  readonly distInfo: string
}

// eslint-disable-next-line no-control-regex -- what is not ASCII is exactly what is looked for
const OTHER_THAN_ASCII = /[^\u0000-\u007f]/

/** @throws Malformed for a name that leads elsewhere, or that readers see differently */
function mustBeName({ name, flags }: ZipMember): void {
  if (name.includes('\ufffd')) malformed(`the name ${quote(name)} in it is not UTF-8`)
  if (OTHER_THAN_ASCII.test(name) && (flags & UTF8_NAMES) === 0)
    malformed(`the name ${quote(name)} in it is not marked as UTF-8, so that readers take different names`)
  if (name.includes('\\'))
    malformed(`the name ${quote(name)} in it holds a backslash, which some readers take for a slash`)
  if (cleanName(name, 'the wheel') !== name)
    malformed(`the name ${quote(name)} in it is not plain: no /, . or nothing between two slashes`)
}

/** @throws Malformed */
function mustBeSound(members: readonly ZipMember[]): void {
  const barriers = createBarriers()
  const seen = new Set<string>()
  let total = 0
  for (const member of members) {
    const { name, size } = member
    mustBeName(member)
    if (seen.has(name)) malformed(`${quote(name)} is twice in it, and readers take different ones`)
    seen.add(name)
    const why = whyClosed(member)
    if (why !== undefined)
      malformed(`${quote(name)} in it cannot be read: ${why.replace(/\.$/, '').replace(/^It/, 'it')}`)
    total += size
    if (total > MAX_UNPACKED)
      malformed(`it unpacks to more than ${printBytes(MAX_UNPACKED)}, the most a package may hold`)
    barriers.add(name)
  }
  for (const { name } of members) {
    const above = barriers.above(name)
    if (above !== undefined) malformed(`${quote(name)} in it lies below ${quote(above)}, which is a file`)
    if (name.split('/').some(segment => Buffer.byteLength(segment) > LONGEST))
      malformed(`${quote(name)} in it holds a name of more than ${LONGEST} bytes, which cannot be unpacked`)
  }
}

/** The one folder that describes the wheel. @throws Malformed */
function distInfoOf(members: readonly ZipMember[], { name, version }: FileName): string {
  const folders = [...new Set(members.map(one => one.name.split('/')[0] ?? ''))].filter(one =>
    /\.dist-info$/i.test(one),
  )
  const [only = '', other] = folders
  if (only === '') malformed('it has no .dist-info folder, so it is no wheel')
  if (other !== undefined) malformed(`it has two .dist-info folders, ${quote(only)} and ${quote(other)}`)
  const [, ofName = '', ofVersion = ''] = /^(.+)-([^-]+)\.dist-info$/.exec(only) ?? []
  if (
    normalName(ofName) !== normalName(name) ||
    normalVersion(ofVersion.replaceAll('_', '-')) !== normalVersion(version)
  )
    malformed(`its folder ${quote(only)} is not named after ${quote(`${name} ${version}`)}, as its file is`)
  return only
}

/**
 * The directory of a wheel, checked: what follows reads no member before that.
 * @throws Malformed where readers see different archives, where a name leads out, and beyond the budgets
 * Source: PEP 427; https://packaging.python.org/specifications/binary-distribution-format/
 */
export async function openWheel(file: FileWindow, named: FileName | undefined): Promise<Wheel> {
  const head = await file.read(0, Math.min(512, file.size))
  const directory = await readZipDirectory({ size: file.size, head, read: file.read }, MAX_ENTRIES)
  if (directory === undefined) return malformed('it is no zip, or it is cut off')
  const [fault] = directory.faults
  if (fault !== undefined) malformed(`readers see different archives in it: ${fault.replace(/\.$/, '')}`)
  const [renamed] = directory.renamed
  if (renamed !== undefined) malformed(`${quote(renamed)} in it has a second name, which some readers take`)
  mustBeSound(directory.members)
  const { members } = directory
  return { members, distInfo: named === undefined ? '' : distInfoOf(members, named) }
}

/** The bytes of one member. @throws Malformed, naming the member */
export async function* readMember(file: FileWindow, member: ZipMember): AsyncGenerator<Buffer> {
  try {
    yield* unpackMember(file, member)
  } catch (error) {
    if (error instanceof Malformed) malformed(`${quote(member.name)} in it is bad: ${error.why}`, error)
    throw error
  }
}

const LIMITS: Readonly<Record<string, number>> = { METADATA: MAX_METADATA, WHEEL: MAX_WHEEL, RECORD: MAX_RECORD }

/** A file of the .dist-info folder, whole. @throws Malformed where it is missing, damaged or too large */
export async function readInfo(
  file: FileWindow,
  { members, distInfo }: Wheel,
  name: 'METADATA' | 'WHEEL' | 'RECORD',
): Promise<Buffer> {
  const path = `${distInfo}/${name}`
  const member = members.find(one => one.name === path) ?? malformed(`it has no ${path}, which every wheel has`)
  const most = LIMITS[name] ?? 0
  if (member.size > most) malformed(`${path} has ${member.size} bytes, at most ${printBytes(most)} are allowed`)
  const chunks: Buffer[] = []
  for await (const chunk of readMember(file, member)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Told of each member: what it returns is told of its bytes. */
export type OnMember = (member: ZipMember) => { update(chunk: Buffer): void; end(): void }

/** The files of a wheel as a plain tar, which engines read whole. @throws Malformed */
export async function* wheelTar(file: FileWindow, { members }: Wheel, onMember?: OnMember): AsyncGenerator<Buffer> {
  for (const member of members) {
    const told = onMember?.(member)
    yield fileHeader(member.name, member.size)
    for await (const chunk of readMember(file, member)) {
      told?.update(chunk)
      yield chunk
    }
    told?.end()
    yield padding(member.size)
  }
  yield END
}
